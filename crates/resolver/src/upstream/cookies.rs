//! DNS cookies of one upstream (RFC 7873): eight random bytes that its answers repeat, and the
//! bytes that it wants to see again.
//!
//! Whoever forges an answer without seeing the query does not know them. Called by
//! [`super::proof`], which says what becomes of an answer.

use super::random::RandomBytes;
use dns_wire::ask_options::{OPTION_COOKIE, ResponseOpt, add_option};
use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

/// Bytes of our part (RFC 7873 §4.1).
const CLIENT_BYTES: usize = 8;
/// Bytes of a whole cookie with the server's part (RFC 7873 §4.2).
const WHOLE_BYTES: std::ops::RangeInclusive<usize> = 16..=40;
/// Our part is changed after so long, so that it follows nobody around (RFC 7873 §7.1 allows at
/// most 36 days).
const LIFE_MAX: Duration = Duration::from_hours(24);
/// The response code that says that the server's part was wrong (RFC 7873 §8).
const BADCOOKIE: u16 = 23;

/// The DNS cookies of one upstream (RFC 7873).
pub(crate) struct UpstreamCookies {
    client_part: Cell<[u8; CLIENT_BYTES]>,
    /// The one before: answers to what was asked under it may still come.
    before: Cell<[u8; CLIENT_BYTES]>,
    created: Cell<Instant>,
    /// Ours and the server's; empty while it is not known.
    full_cookie: RefCell<Vec<u8>>,
}

/// Tells what an answer's cookie says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CookieSays {
    /// Is ours.
    Valid,
    /// There is none, and none was to be expected.
    NotExpected,
    /// There is none, though the server has sent one before.
    Missing,
    /// Is ours, but the server wants to see its own part, which it has sent.
    Retry,
    /// Is malformed, or not ours: somebody guesses.
    Wrong,
}

impl UpstreamCookies {
    pub(crate) fn new(dice: &RandomBytes, now: Instant) -> Self {
        Self {
            client_part: Cell::new(random(dice)),
            before: Cell::new(random(dice)),
            created: Cell::new(now),
            full_cookie: RefCell::default(),
        }
    }

    /// Adds the cookie to `query`.
    pub(crate) fn option_for_query(&self, query: &mut Vec<u8>, dice: &RandomBytes, now: Instant) {
        if now.saturating_duration_since(self.created.get()) > LIFE_MAX {
            self.before.set(self.client_part.replace(random(dice)));
            self.created.set(now);
            self.full_cookie.borrow_mut().clear();
        }
        let whole = self.full_cookie.borrow();
        let cookie = if whole.is_empty() { &self.client_part.get()[..] } else { &whole };
        add_option(query, OPTION_COOKIE, cookie);
    }

    /// Reads the cookie in an answer, and remembers the server's part.
    pub(crate) fn check(&self, message: &[u8]) -> CookieSays {
        let opt = ResponseOpt::of(message);
        let Some(cookie) = opt.and_then(|it| it.option(OPTION_COOKIE)) else {
            // Asked without from now on, in case the server has stopped; whoever asks now is more
            // careful.
            let expected = !std::mem::take(&mut *self.full_cookie.borrow_mut()).is_empty();
            return if expected { CookieSays::Missing } else { CookieSays::NotExpected };
        };
        let formed = cookie.len() == CLIENT_BYTES || WHOLE_BYTES.contains(&cookie.len());
        let Some(client) = cookie.first_chunk::<CLIENT_BYTES>().filter(|_| formed) else {
            return CookieSays::Wrong;
        };
        if *client == self.client_part.get() {
            if cookie.len() > CLIENT_BYTES {
                let mut whole = self.full_cookie.borrow_mut();
                whole.clear();
                whole.extend_from_slice(cookie);
            }
        } else if *client != self.before.get() {
            return CookieSays::Wrong;
        }
        if opt.is_some_and(|it| it.rcode == BADCOOKIE) {
            CookieSays::Retry
        } else {
            CookieSays::Valid
        }
    }
}

fn random(dice: &RandomBytes) -> [u8; CLIENT_BYTES] {
    let mut bytes = [0; CLIENT_BYTES];
    for pair in bytes.chunks_exact_mut(2) {
        pair.copy_from_slice(&dice.number().to_ne_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A test fails by panicking.
    use super::*;
    use dns_wire::{key_of, write_query};
    use vocab::DomainName;

    fn query() -> Vec<u8> {
        let key = key_of(DomainName::parse("a.example").unwrap().as_name(), 1).unwrap();
        let mut query = Vec::new();
        write_query(7, &key, &mut query);
        query
    }

    fn sent(cookies: &UpstreamCookies, now: Instant) -> Vec<u8> {
        let mut query = query();
        cookies.option_for_query(&mut query, &RandomBytes::new(), now);
        ResponseOpt::of(&query).unwrap().option(OPTION_COOKIE).unwrap().to_vec()
    }

    /// An answer with this cookie; what of it is read looks the same in a query.
    fn answer(cookie: &[u8]) -> Vec<u8> {
        let mut answer = query();
        add_option(&mut answer, OPTION_COOKIE, cookie);
        answer
    }

    #[test]
    fn the_servers_part_is_sent_back() {
        let now = Instant::now();
        let cookies = UpstreamCookies::new(&RandomBytes::new(), now);
        let mut cookie = sent(&cookies, now);
        assert_eq!(cookie.len(), 8);
        assert_eq!(cookies.check(&answer(&cookie)), CookieSays::Valid);
        cookie.extend([9; 16]);
        assert_eq!(cookies.check(&answer(&cookie)), CookieSays::Valid);
        assert_eq!(sent(&cookies, now), cookie);
    }

    #[test]
    fn what_does_not_repeat_our_part_is_wrong() {
        let now = Instant::now();
        let cookies = UpstreamCookies::new(&RandomBytes::new(), now);
        let ours = sent(&cookies, now);
        for wrong in [vec![0; 8], ours[..7].to_vec(), [&ours[..], &[1; 7]].concat()] {
            assert_eq!(cookies.check(&answer(&wrong)), CookieSays::Wrong, "{wrong:?}");
        }
        assert_eq!(cookies.check(&answer(&[&ours[..], &[1; 33]].concat())), CookieSays::Wrong);
        assert_eq!(sent(&cookies, now), ours, "nothing wrong is remembered");
    }

    #[test]
    fn a_cookie_that_is_missing_all_of_a_sudden_is_noticed_once() {
        let now = Instant::now();
        let cookies = UpstreamCookies::new(&RandomBytes::new(), now);
        assert_eq!(cookies.check(&query()), CookieSays::NotExpected);
        let whole = [&sent(&cookies, now)[..], &[9; 8]].concat();
        cookies.check(&answer(&whole));
        assert_eq!(cookies.check(&query()), CookieSays::Missing);
        assert_eq!(cookies.check(&query()), CookieSays::NotExpected);
    }

    #[test]
    fn badcookie_asks_for_the_part_that_it_brings() {
        let now = Instant::now();
        let cookies = UpstreamCookies::new(&RandomBytes::new(), now);
        let whole = [&sent(&cookies, now)[..], &[9; 8]].concat();
        let mut refused = answer(&whole);
        // Its upper bits stand in OPT's TTL, right behind type and size.
        let opt = refused.len() - 4 - whole.len() - 6;
        (refused[3], refused[opt]) = (7, 1);
        assert_eq!(cookies.check(&refused), CookieSays::Retry);
        assert_eq!(sent(&cookies, now), whole);
    }

    #[test]
    fn our_part_changes_and_the_old_one_is_good_for_what_is_under_way() {
        let now = Instant::now();
        let cookies = UpstreamCookies::new(&RandomBytes::new(), now);
        let old = [&sent(&cookies, now)[..], &[9; 8]].concat();
        cookies.check(&answer(&old));
        let new = sent(&cookies, now + LIFE_MAX + Duration::from_secs(1));
        assert_eq!(new.len(), 8);
        assert_ne!(new, old[..8]);
        assert_eq!(cookies.check(&answer(&old)), CookieSays::Valid);
        assert_eq!(sent(&cookies, now), new);
    }
}
