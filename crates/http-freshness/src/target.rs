//! URLs in fields, seen from the URL that was asked for: `Location` and `Content-Location`.
//!
//! Pure. Called by the rules for storing and for invalidation.

use http::header::HeaderValue;
use url::Url;

/// A reference in the form in which URLs are filed, without its fragment; `None` if it is none, or
/// of another origin (RFC 9111 §4.4: it must not reach beyond its own).
pub(crate) fn of_same_origin(base: &str, reference: &HeaderValue) -> Option<Url> {
    let base = Url::parse(base).ok()?;
    let mut target = base.join(reference.to_str().ok()?).ok()?;
    target.set_fragment(None);
    let is_same = target.scheme() == base.scheme()
        && target.host() == base.host()
        && target.port_or_known_default() == base.port_or_known_default();
    is_same.then_some(target)
}

/// True if a reference is the URL that was asked for.
pub(crate) fn is_same(base: &str, reference: &HeaderValue) -> bool {
    of_same_origin(base, reference)
        .is_some_and(|target| Url::parse(base).is_ok_and(|it| it == target))
}
