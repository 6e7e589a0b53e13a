//! Asking the origin whether what is stored is still right (RFC 9111 §4.3.1), and to which stored
//! response its answer belongs (§4.3.4).
//!
//! Pure. Called by the rule for reuse, and by the store when the answer is there.

use crate::head::StoredHead;
use http::header::{self, HeaderMap, HeaderValue};

/// Variants whose tags are sent in one request; the rest are left out.
const TAGS_SENT_MAX: usize = 8;
/// Bytes of a list of tags that is sent.
const TAGS_BYTES_MAX: usize = 2048;

/// The preconditions of a request that asks whether stored responses are still right.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ValidationConditions {
    /// `If-None-Match`.
    pub if_none_match: Option<HeaderValue>,
    /// `If-Modified-Since`.
    pub if_modified_since: Option<HeaderValue>,
}

impl ValidationConditions {
    /// Returns those of one stored response: all validators that it has.
    pub fn of(head: &StoredHead) -> Self {
        Self {
            if_none_match: head.etag().cloned(),
            if_modified_since: head.fields.get(header::LAST_MODIFIED).cloned(),
        }
    }

    /// Returns those of variants of which none matches the request: their strong and weak tags. The
    /// origin may say that one of them is right for this request too.
    pub fn of_variants<'h>(heads: impl IntoIterator<Item = &'h StoredHead>) -> Self {
        let mut list: Vec<u8> = Vec::new();
        for tag in heads.into_iter().filter_map(StoredHead::etag).take(TAGS_SENT_MAX) {
            // A tag that is not written as it should be would spoil the list.
            if !tag.as_bytes().ends_with(b"\"") || list.len() + tag.len() > TAGS_BYTES_MAX {
                continue;
            }
            if !list.is_empty() {
                list.extend_from_slice(b", ");
            }
            list.extend_from_slice(tag.as_bytes());
        }
        let if_none_match = HeaderValue::from_bytes(&list).ok().filter(|it| !it.is_empty());
        Self { if_none_match, if_modified_since: None }
    }

    /// True if there is nothing to ask by: the whole is fetched again.
    pub const fn is_empty(&self) -> bool {
        self.if_none_match.is_none() && self.if_modified_since.is_none()
    }

    /// Puts them into a request in place of the client's own, which are answered from what is
    /// stored then.
    pub fn apply(&self, request: &mut HeaderMap) {
        if self.is_empty() {
            return;
        }
        let conditions = [
            (header::IF_NONE_MATCH, &self.if_none_match),
            (header::IF_MODIFIED_SINCE, &self.if_modified_since),
        ];
        for (name, value) in conditions {
            match value {
                Some(value) => request.insert(name, value.clone()),
                None => request.remove(name),
            };
        }
    }
}

/// The places of the stored responses that a 304 confirms, among those whose validators were sent.
/// With none, the request must be sent again without conditions.
pub fn confirmed(sent: &[&StoredHead], answer: &HeaderMap) -> Vec<usize> {
    let all = || sent.iter().enumerate();
    let places = |same: &dyn Fn(&StoredHead) -> bool| -> Vec<usize> {
        all().filter(|(_, head)| same(head)).map(|(place, _)| place).collect()
    };
    if let Some(tag) = answer.get(header::ETAG) {
        let same = places(&|head| head.etag().is_some_and(|it| opaque(it) == opaque(tag)));
        // A strong tag confirms all that have it; a weak one the newest (§4.3.4).
        if !tag.as_bytes().starts_with(b"W/") {
            return same;
        }
        return same.into_iter().max_by_key(|place| sent[*place].received_ms).into_iter().collect();
    }
    if let Some(modified) = answer.get(header::LAST_MODIFIED) {
        let same = places(&|head| head.fields.get(header::LAST_MODIFIED) == Some(modified));
        return same.into_iter().max_by_key(|place| sent[*place].received_ms).into_iter().collect();
    }
    // Without a validator there is no doubt only where one was sent.
    if sent.len() == 1 { vec![0] } else { Vec::new() }
}

/// A tag without its mark of weakness: whether it is the same is asked by weak comparison, for that
/// is how `If-None-Match` was answered.
fn opaque(tag: &HeaderValue) -> &[u8] {
    let bytes = tag.as_bytes();
    bytes.strip_prefix(b"W/").unwrap_or(bytes)
}
