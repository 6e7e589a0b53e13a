//! Any bytes in any field: nothing panics, and what is decided is sound.

use crate::scene::{Pairs, URL, answered, get};
use http::Method;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use http_freshness::{
    CachingRules, DELTA_SECS_MAX, OriginTrouble, RequestFacts, Reuse, ReuseTerms, StaleUse,
    StoredHead, ValidationConditions, choose, confirmed, explain, first_part, freshened, freshness,
    head_effect, invalidation, matches, next_part, reuse, stale_on_error, storable_head, storing,
};

/// Names that some rule reads.
const NAMES: [&str; 24] = [
    "accept-encoding",
    "accept-language",
    "age",
    "authorization",
    "cache-control",
    "cache-tag",
    "cdn-cache-control",
    "connection",
    "content-encoding",
    "content-language",
    "content-length",
    "content-location",
    "content-range",
    "content-type",
    "date",
    "etag",
    "expires",
    "if-match",
    "last-modified",
    "location",
    "pragma",
    "set-cookie",
    "surrogate-key",
    "vary",
];

/// What values are made of.
const PIECES: [&str; 40] = [
    "max-age",
    "s-maxage",
    "no-cache",
    "no-store",
    "private",
    "must-understand",
    "public",
    "=",
    "=",
    ",",
    ", ",
    "\"",
    "\\",
    "*",
    "0",
    "60",
    "2147483648",
    "99999999999999999999",
    "-1",
    "1.5",
    ";q=",
    "stale-while-revalidate=9",
    "stale-if-error",
    "Sun, 06 Nov 1994 08:49:37 GMT",
    "Sunday, 06-Nov-94 08:49:37 GMT",
    "Sun Nov  6 08:49:37 1994",
    "bytes 0-4/10",
    "bytes ",
    "/",
    "-",
    "W/\"a\"",
    "\"a\"",
    "vary",
    "foo",
    "http://example.com/dir/page",
    "//",
    "#",
    " ",
    "\t",
    "\u{fc}",
];

/// A small generator, so that every run tries the same (Marsaglia's xorshift).
struct Dice(u64);

impl Dice {
    fn throw(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides as u64).unwrap()
    }

    fn value(&mut self) -> HeaderValue {
        let mut value = Vec::new();
        for _ in 0..self.throw(6) {
            match self.throw(8) {
                0 => value.push(u8::try_from(self.throw(256)).unwrap()),
                _ => value.extend_from_slice(PIECES[self.throw(PIECES.len())].as_bytes()),
            }
        }
        HeaderValue::from_bytes(&value).unwrap_or_else(|_| HeaderValue::from_static(""))
    }

    fn fields(&mut self) -> HeaderMap {
        let names = (0..self.throw(6)).map(|_| NAMES[self.throw(NAMES.len())]).collect::<Vec<_>>();
        names.into_iter().map(|name| (HeaderName::from_static(name), self.value())).collect()
    }

    fn rules(&mut self) -> CachingRules {
        let mut rules =
            if self.throw(2) == 0 { CachingRules::forward() } else { CachingRules::reverse() };
        rules.stale = [
            StaleUse::OnlyIfAllowed,
            StaleUse::WhenUnreachable,
            StaleUse::WhenFailing,
            StaleUse::Always,
            StaleUse::Offline,
        ][self.throw(5)];
        rules
    }
}

/// Everything that is asked about a stored response.
fn live(rules: &CachingRules, head: &StoredHead, terms: &ReuseTerms, dice: &mut Dice) {
    let (request, response) = (dice.fields(), dice.fields());
    let asked = get(&request, dice.throw(200) as u64);
    let fresh = freshness(head, terms, asked.now.unix_ms);
    assert!(terms.lifetime_secs <= DELTA_SECS_MAX && fresh.age_secs <= DELTA_SECS_MAX);
    if matches!(reuse(rules, &asked, head, terms), Reuse::Fresh(_)) {
        assert!(fresh.age_secs < terms.lifetime_secs);
    }
    for trouble in
        [OriginTrouble::Unreachable, OriginTrouble::Status(http::StatusCode::BAD_GATEWAY)]
    {
        let _ = stale_on_error(rules, &asked, head, terms, trouble);
    }
    assert!(explain(rules, head, terms, asked.now).contains(" old"));
    let came = answered([200, 206, 304][dice.throw(3)], &response);
    let _ = (head_effect(head, &came), next_part(head, &came), choose([head], &request));
    let _ = (confirmed(&[head], &response), ValidationConditions::of_variants([head]));
    if let Ok((head, terms)) = freshened(rules, &asked, head, &came) {
        assert_eq!(ReuseTerms::of(rules, &head), terms);
        assert_eq!(StoredHead::decode(&head.encode().unwrap()), Ok(head));
    }
}

#[test]
fn no_field_makes_a_rule_panic_or_contradict_itself() {
    let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
    let mut stored = 0;
    for _ in 0..40_000 {
        let (rules, request, response) = (dice.rules(), dice.fields(), dice.fields());
        let method = [Method::GET, Method::GET, Method::GET, Method::POST][dice.throw(4)].clone();
        let asked = RequestFacts { method: &method, ..get(&request, 0) };
        let came = answered([200, 206, 404, 599][dice.throw(4)], &response);
        assert!(invalidation(&asked, &came).len() <= 3);
        let _ = first_part(&came);
        let Ok(terms) = storing(&rules, &asked, &came) else { continue };
        stored += 1;
        let head = storable_head(&rules, &asked, &came);
        assert_eq!(StoredHead::decode(&head.encode().unwrap()).as_ref(), Ok(&head));
        assert_eq!(ReuseTerms::of(&rules, &head), terms);
        // Some origins send a coding that was not asked for.
        if !response.contains_key("content-encoding") {
            assert!(matches(&head, &request), "{request:?} {head:?}");
        }
        live(&rules, &head, &terms, &mut dice);
    }
    assert!(stored > 2_000, "only {stored} were stored: nothing was tried");
}

#[test]
fn what_is_in_normal_form_stays_as_it_is() {
    let mut dice = Dice(1);
    let response = crate::scene::fields(&[("cache-control", "max-age=9"), ("vary", "vary, foo")]);
    for _ in 0..10_000 {
        let mut request = HeaderMap::new();
        for name in ["vary", "foo", "foo"] {
            request.append(name, dice.value());
        }
        let first =
            storable_head(&CachingRules::forward(), &get(&request, 0), &answered(200, &response));
        let again = storable_head(
            &CachingRules::forward(),
            &get(&first.selecting, 0),
            &answered(200, &response),
        );
        assert_eq!(first.selecting, again.selecting, "{request:?}");
    }
}

#[test]
fn a_url_that_is_none_is_an_answer_too() {
    let response = crate::scene::fields(&[("location", "/x"), ("content-location", URL)]);
    let none = HeaderMap::new();
    for url in ["", "x", "http://[", "data:x", "http://example.com"] {
        let asked = RequestFacts { method: &Method::POST, url, ..get(&none, 0) };
        let _ = storing(&CachingRules::forward(), &asked, &answered(200, &response));
        assert_eq!(invalidation(&asked, &answered(200, &response))[0], url);
    }
    let pairs: Pairs<'_> = &[("content-location", "\u{fc}"), ("cache-control", "max-age=9")];
    let asked = RequestFacts { method: &Method::POST, ..get(&none, 0) };
    assert!(
        storing(&CachingRules::forward(), &asked, &answered(200, &crate::scene::fields(pairs)))
            .is_err()
    );
}
