//! Changes of a stored head by a later answer: a 304 (RFC 9111 §4.3.4), the answer to a `HEAD`
//! (§4.3.5), another part (§3.4).
//!
//! Pure. Called by the store when such an answer is there.

use super::reuse_terms::ReuseTerms;
use super::rules::{CachingRules, RequestFacts, ResponseFacts};
use super::{date, fields, storing, vary};
use crate::head::StoredHead;
use http::StatusCode;
use http::header::{self, HeaderMap, HeaderName};
use vocab::NotStored;

/// Fields that belong to the bytes that are stored, not to the answer (§3.2): they are never
/// changed.
static OF_BODY: [HeaderName; 3] =
    [header::CONTENT_LENGTH, header::CONTENT_ENCODING, header::CONTENT_RANGE];

/// Tells what the answer to a `HEAD` does to a stored response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadEffect {
    /// Updates it, as a 304 does: [`freshened`].
    Updates,
    /// Shows that it has changed: it must be asked about before it is used.
    Invalidates,
    /// Nothing: the answer is no 200.
    Nothing,
}

/// A stored head with what a 304, a `HEAD` or a further part brings, and its new terms; an error if
/// it may not be stored any longer, and is to be dropped.
///
/// The request's fields select it anew only if its `Vary` has changed.
pub fn freshened(
    rules: &CachingRules,
    asked: &RequestFacts<'_>,
    stored: &StoredHead,
    answered: &ResponseFacts<'_>,
) -> Result<(StoredHead, ReuseTerms), NotStored> {
    let mut merged = stored.fields.clone();
    // How old the stored answer was says nothing of this one.
    merged.remove(header::AGE);
    merged.remove(header::DATE);
    let came = fields::stored(rules, answered.fields);
    for name in came.keys().filter(|name| !OF_BODY.contains(name)) {
        merged.remove(name);
        for value in came.get_all(name) {
            // At its limit a map takes no more; the head is refused by its size then.
            let _ = merged.try_append(name.clone(), value.clone());
        }
    }
    if date::field(&merged, &header::DATE).is_none() {
        merged.insert(header::DATE, date::value(answered.received_ms / 1000));
    }
    let selecting = if same_vary(&merged, &stored.fields) {
        stored.selecting.clone()
    } else {
        vary::selecting(asked.fields, &merged)?
    };
    let head = StoredHead {
        status: stored.status,
        fields: merged,
        selecting,
        requested_ms: answered.requested_ms,
        received_ms: answered.received_ms,
    };
    let terms = storing::still_stored(rules, &head)?;
    Ok((head, terms))
}

fn same_vary(one: &HeaderMap, other: &HeaderMap) -> bool {
    one.get_all(header::VARY).iter().eq(other.get_all(header::VARY).iter())
}

/// Returns what the answer to a `HEAD` does to the stored response that the request selects.
pub fn head_effect(stored: &StoredHead, answered: &ResponseFacts<'_>) -> HeadEffect {
    if answered.status != StatusCode::OK {
        return HeadEffect::Nothing;
    }
    let differs = |name: HeaderName| {
        answered.fields.get(&name).is_some_and(|came| stored.fields.get(&name) != Some(came))
    };
    let names = [header::CONTENT_LENGTH, header::ETAG, header::LAST_MODIFIED];
    // A body whose length was not announced has none to compare.
    let mut compared = names.into_iter().filter(|name| {
        *name != header::CONTENT_LENGTH || stored.fields.contains_key(header::CONTENT_LENGTH)
    });
    if compared.any(differs) { HeadEffect::Invalidates } else { HeadEffect::Updates }
}
