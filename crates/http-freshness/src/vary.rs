//! Which of several responses to one URL a request selects (RFC 9111 §4.1).
//!
//! A response is stored with the request's fields that its `Vary` names, brought into a form in
//! which requests that mean the same read the same. Pure. Called before a response is stored, and
//! for each that is a candidate.

use super::{coding, language};
use crate::head::StoredHead;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use std::cmp::Reverse;
use vocab::NotStored;

/// Names in one `Vary`; a response with more is not stored.
pub(crate) const NAMES_MAX: usize = 32;
/// Bytes of all selecting fields of one response; with more it is not stored.
pub(crate) const SELECTING_BYTES_MAX: usize = 16 * 1024;

/// The request's fields that select a response of these fields. A field that the request lacks is
/// lacking here too.
pub(crate) fn selecting(request: &HeaderMap, response: &HeaderMap) -> Result<HeaderMap, NotStored> {
    let mut selecting = HeaderMap::new();
    let mut bytes = 0;
    for (count, name) in names(response).enumerate() {
        let name = name?;
        if count == NAMES_MAX {
            return Err(NotStored::VaryTooLarge);
        }
        if let Some(value) = normal(request, &name) {
            bytes += name.as_str().len() + value.len() + 6;
            if bytes > SELECTING_BYTES_MAX {
                return Err(NotStored::VaryTooLarge);
            }
            selecting.insert(name, value);
        }
    }
    Ok(selecting)
}

/// True if a request selects a stored response.
pub fn matches(head: &StoredHead, request: &HeaderMap) -> bool {
    names(&head.fields).all(|name| {
        let Ok(name) = name else { return false };
        let (Some(stored), Some(asked)) = (head.selecting.get(&name), request.get(&name)) else {
            return head.selecting.contains_key(&name) == request.contains_key(&name);
        };
        if name == header::ACCEPT_ENCODING {
            // Requests that read the same may still refuse what came for the other.
            return coding::AcceptedWords::of(&head.selecting)
                == coding::AcceptedWords::of(request)
                && coding::accepts(request, &head.fields);
        }
        // What is in its normal form already is the rule, and needs no heap.
        let is_single = request.get_all(&name).iter().nth(1).is_none();
        (is_single && stored == asked)
            || normal(request, &name).as_ref() == Some(stored)
            || (name == header::ACCEPT_LANGUAGE && language::prefers(request, &head.fields))
    })
}

/// The request's `Accept-Encoding` in the form in which it is compared; none if it has none.
pub fn accepted_codings(request: &HeaderMap) -> Option<Vec<u8>> {
    request
        .contains_key(header::ACCEPT_ENCODING)
        .then(|| coding::AcceptedWords::of(request).words())
}

/// True if a response varies by nothing, or by `Accept-Encoding` alone.
pub fn varies_by_codings_at_most(response: &HeaderMap) -> bool {
    names(response).all(|name| name == Ok(header::ACCEPT_ENCODING))
}

/// The place of the response that a request selects among the candidates: of those that match the
/// newest, and one with `Vary` before one without (§4.1: such a one may be an origin's slip).
pub fn choose<'h>(
    candidates: impl IntoIterator<Item = &'h StoredHead>,
    request: &HeaderMap,
) -> Option<usize> {
    candidates
        .into_iter()
        .enumerate()
        .filter(|(_, head)| matches(head, request))
        .max_by_key(|(place, head)| {
            let varies = head.fields.contains_key(header::VARY);
            (varies, head.date_unix_secs(), head.received_ms, Reverse(*place))
        })
        .map(|(place, _)| place)
}

/// The names in all lines of `Vary`; an error for `*`, or for what is no name, wherever it stands.
fn names(fields: &HeaderMap) -> impl Iterator<Item = Result<HeaderName, NotStored>> {
    fields
        .get_all(header::VARY)
        .into_iter()
        .flat_map(|line| line.as_bytes().split(|it| *it == b','))
        .map(<[u8]>::trim_ascii)
        .filter(|name| !name.is_empty())
        .map(|name| match name {
            b"*" => Err(NotStored::VaryStar),
            name => HeaderName::from_bytes(name).map_err(|_| NotStored::VaryStar),
        })
}

/// A request's field in the form in which it is compared; `None` if the request lacks it.
fn normal(request: &HeaderMap, name: &HeaderName) -> Option<HeaderValue> {
    if !request.contains_key(name) {
        return None;
    }
    let bytes = if name == header::ACCEPT_ENCODING {
        coding::AcceptedWords::of(request).words()
    } else if name == header::ACCEPT_LANGUAGE {
        language::normal(request)
    } else {
        joined(request, name)
    };
    // Made of bytes that stood in values, with commas between: it is a value again.
    HeaderValue::from_bytes(&bytes).ok()
}

/// Lines and elements of a list with one comma between them and no spaces around it (§4.1).
fn joined(request: &HeaderMap, name: &HeaderName) -> Vec<u8> {
    let mut joined: Vec<u8> = Vec::new();
    for line in request.get_all(name) {
        if !joined.is_empty() {
            joined.push(b',');
        }
        let mut is_quoted = false;
        let mut is_escaped = false;
        for byte in line.as_bytes().trim_ascii() {
            let behind_comma = joined.last().is_none_or(|it| *it == b',');
            match byte {
                b' ' | b'\t' if !is_quoted && behind_comma => continue,
                b',' if !is_quoted => joined.truncate(joined.trim_ascii_end().len()),
                b'"' if !is_escaped => is_quoted = !is_quoted,
                _ => {}
            }
            is_escaped = is_quoted && *byte == b'\\' && !is_escaped;
            joined.push(*byte);
        }
    }
    joined
}
