//! Preconditions: has the client the representation already, and does it still want this one?
//!
//! RFC 9110 §13, in the precedence of §13.2.2. Pure: it takes the request's fields and what is
//! known of the representation, and says which answer is due; it reads no file. Called by the web
//! door, and by every cache.

use http::{HeaderMap, HeaderValue, Method, header};
use std::fmt;
use std::time::{Duration, UNIX_EPOCH};

/// Holds what is known of the selected representation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Validators {
    /// Entity tag.
    pub etag: Option<ETag>,
    /// When it last changed, in seconds since 1970: HTTP dates have no finer grain.
    pub modified_unix_secs: Option<u64>,
}

/// An entity tag (RFC 9110 §8.8.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ETag {
    opaque: Box<str>,
    strength: ComparisonStrength,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ComparisonStrength {
    Strong,
    Weak,
}

/// Tells what the preconditions ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precondition {
    /// Go on with the request.
    Met,
    /// Answer 304: the client's copy is current.
    NotModified,
    /// Answer 412: the representation is not the one that the client means.
    Failed,
}

/// Tells whether a `Range` field is to be honoured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfRange {
    /// Yes: no `If-Range`, or it matches.
    Satisfied,
    /// No: the representation has changed, so the whole of it is due.
    Ignore,
}

impl ETag {
    /// A strong tag: equal tags mean equal bytes. `None` if `opaque` has bytes that a tag may not.
    pub fn strong(opaque: &str) -> Option<Self> {
        is_valid_opaque(opaque)
            .then(|| Self { opaque: opaque.into(), strength: ComparisonStrength::Strong })
    }

    /// A weak tag: equal tags mean equal meaning.
    pub fn weak(opaque: &str) -> Option<Self> {
        is_valid_opaque(opaque)
            .then(|| Self { opaque: opaque.into(), strength: ComparisonStrength::Weak })
    }

    /// Reads one tag as it stands in a field.
    pub fn parse(text: &str) -> Option<Self> {
        let (tag, rest) = Self::read(text.trim())?;
        rest.is_empty().then_some(tag)
    }

    fn read(text: &str) -> Option<(Self, &str)> {
        let (strength, quoted) = match text.strip_prefix("W/") {
            Some(quoted) => (ComparisonStrength::Weak, quoted),
            None => (ComparisonStrength::Strong, text),
        };
        let (opaque, rest) = quoted.strip_prefix('"')?.split_once('"')?;
        is_valid_opaque(opaque).then(|| (Self { opaque: opaque.into(), strength }, rest))
    }

    /// Strong comparison (RFC 9110 §8.8.3.2).
    pub fn is_same_bytes(&self, other: &Self) -> bool {
        self.strength == ComparisonStrength::Strong && *self == *other
    }

    /// Weak comparison (RFC 9110 §8.8.3.2).
    pub fn is_same_meaning(&self, other: &Self) -> bool {
        self.opaque == other.opaque
    }

    /// As a field value.
    pub fn to_value(&self) -> HeaderValue {
        HeaderValue::from_str(&self.to_string())
            .expect("visible ASCII and quotes: checked when the tag was made")
    }
}

// `etagc` without obs-text, so that a tag is always a string.
fn is_valid_opaque(opaque: &str) -> bool {
    opaque.bytes().all(|it| it == 0x21 || (0x23..=0x7E).contains(&it))
}

impl fmt::Display for ETag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix = if self.strength == ComparisonStrength::Weak { "W/" } else { "" };
        write!(f, "{prefix}\"{}\"", self.opaque)
    }
}

/// Judges the preconditions of a request (RFC 9110 §13.2.2).
pub fn precondition(method: &Method, headers: &HeaderMap, current: &Validators) -> Precondition {
    let reads = *method == Method::GET || *method == Method::HEAD;
    if headers.contains_key(header::IF_MATCH) {
        if !any_tag(headers, header::IF_MATCH, current, ETag::is_same_bytes) {
            return Precondition::Failed;
        }
    } else if let (Some(since), Some(modified)) =
        (date(headers, header::IF_UNMODIFIED_SINCE), current.modified_unix_secs)
        && modified > since
    {
        return Precondition::Failed;
    }
    if headers.contains_key(header::IF_NONE_MATCH) {
        if any_tag(headers, header::IF_NONE_MATCH, current, ETag::is_same_meaning) {
            return if reads { Precondition::NotModified } else { Precondition::Failed };
        }
    } else if reads
        && let (Some(since), Some(modified)) =
            (date(headers, header::IF_MODIFIED_SINCE), current.modified_unix_secs)
        && modified <= since
    {
        return Precondition::NotModified;
    }
    Precondition::Met
}

/// Judges `If-Range` (RFC 9110 §13.1.5).
///
/// A date counts only if it is exactly the one we gave and `now_unix_secs` is a minute or more
/// past it: within that minute the file may have changed twice (§8.8.2.2).
pub fn if_range(headers: &HeaderMap, current: &Validators, now_unix_secs: u64) -> IfRange {
    let Some(value) = headers.get(header::IF_RANGE) else { return IfRange::Satisfied };
    let Ok(text) = value.to_str() else { return IfRange::Ignore };
    let honour = match ETag::parse(text) {
        Some(tag) => current.etag.as_ref().is_some_and(|it| it.is_same_bytes(&tag)),
        None => current.modified_unix_secs.is_some_and(|modified| {
            parse_date(text) == Some(modified) && now_unix_secs >= modified.saturating_add(60)
        }),
    };
    if honour { IfRange::Satisfied } else { IfRange::Ignore }
}

/// True if a list field names the current representation, or `*`.
fn any_tag(
    headers: &HeaderMap,
    field: header::HeaderName,
    current: &Validators,
    same: fn(&ETag, &ETag) -> bool,
) -> bool {
    headers.get_all(field).iter().filter_map(|value| value.to_str().ok()).any(|list| {
        let mut rest = list.trim();
        if rest == "*" {
            return current.etag.is_some() || current.modified_unix_secs.is_some();
        }
        let Some(mine) = &current.etag else { return false };
        while let Some((tag, behind)) = ETag::read(rest) {
            if same(&tag, mine) {
                return true;
            }
            rest = behind.trim_start_matches([' ', '\t', ',']);
        }
        false
    })
}

fn date(headers: &HeaderMap, field: header::HeaderName) -> Option<u64> {
    parse_date(headers.get(field)?.to_str().ok()?)
}

/// Seconds since 1970 of an HTTP date in any of its three forms (RFC 9110 §5.6.7).
pub fn parse_date(text: &str) -> Option<u64> {
    let moment = httpdate::parse_http_date(text.trim()).ok()?;
    moment.duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs())
}

/// A moment as an HTTP date; beyond the year 9999, which the form cannot say, its last second.
pub fn format_date(unix_secs: u64) -> HeaderValue {
    const LAST: u64 = 253_402_300_799;
    let moment = UNIX_EPOCH + Duration::from_secs(unix_secs.min(LAST));
    HeaderValue::from_str(&httpdate::fmt_http_date(moment)).expect("a date is visible ASCII")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    const MODIFIED: u64 = 784_111_777;
    const DATE: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    const LATER: &str = "Sun, 06 Nov 1994 08:49:38 GMT";
    const EARLIER: &str = "Sun, 06 Nov 1994 08:49:36 GMT";

    fn headers(fields: &[(&'static str, &str)]) -> HeaderMap {
        fields
            .iter()
            .map(|(name, value)| {
                (header::HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
            })
            .collect()
    }

    fn current() -> Validators {
        Validators { etag: ETag::strong("v1"), modified_unix_secs: Some(MODIFIED) }
    }

    fn check(method: &Method, fields: &[(&'static str, &str)], expected: Precondition) {
        assert_eq!(precondition(method, &headers(fields), &current()), expected, "{fields:?}");
    }

    #[test]
    fn a_current_copy_is_not_sent_again() {
        let get = |fields, expected| check(&Method::GET, fields, expected);
        get(&[("if-none-match", "\"v1\"")], Precondition::NotModified);
        get(&[("if-none-match", "\"v0\", W/\"v1\"")], Precondition::NotModified);
        get(&[("if-none-match", "*")], Precondition::NotModified);
        get(&[("if-none-match", "\"v2\"")], Precondition::Met);
        get(&[("if-none-match", "v1")], Precondition::Met);
        get(&[("if-modified-since", DATE)], Precondition::NotModified);
        get(&[("if-modified-since", LATER)], Precondition::NotModified);
        get(&[("if-modified-since", EARLIER)], Precondition::Met);
        get(&[("if-modified-since", "yesterday")], Precondition::Met);
        get(&[], Precondition::Met);
    }

    #[test]
    fn a_tag_outranks_a_date() {
        let fields = &[("if-none-match", "\"v2\""), ("if-modified-since", LATER)];
        check(&Method::GET, fields, Precondition::Met);
        let fields = &[("if-match", "\"v1\""), ("if-unmodified-since", EARLIER)];
        check(&Method::PUT, fields, Precondition::Met);
    }

    #[test]
    fn a_lost_update_is_prevented() {
        let put = |fields, expected| check(&Method::PUT, fields, expected);
        put(&[("if-match", "\"v0\"")], Precondition::Failed);
        put(&[("if-match", "W/\"v1\"")], Precondition::Failed);
        put(&[("if-match", "*")], Precondition::Met);
        put(&[("if-none-match", "*")], Precondition::Failed);
        put(&[("if-unmodified-since", EARLIER)], Precondition::Failed);
        put(&[("if-unmodified-since", DATE)], Precondition::Met);
        put(&[("if-modified-since", DATE)], Precondition::Met);
    }

    #[test]
    fn a_range_is_honoured_only_of_the_same_bytes() {
        let judge = |value: &str, now| if_range(&headers(&[("if-range", value)]), &current(), now);
        assert_eq!(if_range(&HeaderMap::new(), &current(), 0), IfRange::Satisfied);
        assert_eq!(judge("\"v1\"", 0), IfRange::Satisfied);
        assert_eq!(judge("W/\"v1\"", 0), IfRange::Ignore);
        assert_eq!(judge("\"v2\"", 0), IfRange::Ignore);
        assert_eq!(judge(DATE, MODIFIED + 60), IfRange::Satisfied);
        assert_eq!(judge(DATE, MODIFIED + 59), IfRange::Ignore);
        assert_eq!(judge(LATER, MODIFIED + 600), IfRange::Ignore);
        assert_eq!(judge("nonsense", MODIFIED + 600), IfRange::Ignore);
    }

    #[test]
    fn tags_and_dates_print_as_they_are_read() {
        for text in ["\"\"", "\"a-b,c\"", "W/\"x\""] {
            assert_eq!(ETag::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(ETag::parse("\"a\" b"), None);
        assert_eq!(ETag::strong("a\"b"), None);
        assert_eq!(ETag::strong("a\r\nb"), None);
        assert_eq!(format_date(MODIFIED), DATE);
        assert_eq!(parse_date(DATE), Some(MODIFIED));
        assert_eq!(format_date(u64::MAX), "Fri, 31 Dec 9999 23:59:59 GMT");
    }
}
