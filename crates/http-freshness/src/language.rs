//! `Accept-Language` in the form in which requests are compared, and whether what is stored is what
//! a request likes best (RFC 9110 §12.5.4).
//!
//! Pure. Called by the rule for variants.

use super::quality;
use http::header::{self, HeaderMap};

/// Ranges by liking, those liked alike in the order of letters with `,` between them, `>` between
/// likings, and refused ones behind `!`: how much one is liked more than another changes nothing.
pub(crate) fn normal(request: &HeaderMap) -> Vec<u8> {
    let members = quality::members(request, &header::ACCEPT_LANGUAGE);
    let mut ranges: Vec<_> =
        members.map(|(it, weight)| (it.to_ascii_lowercase(), weight)).collect();
    ranges.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    ranges.dedup();
    let mut text = String::new();
    let mut before = None;
    for (range, weight) in ranges {
        match before {
            Some(it) if it == weight => text.push(','),
            _ if weight == 0 => text.push('!'),
            Some(_) => text.push('>'),
            None => {}
        }
        text.push_str(&range);
        before = Some(weight);
    }
    text.into_bytes()
}

/// True if a stored response is in the one language that the request likes best: then the origin
/// would choose it for this request too.
pub(crate) fn prefers(request: &HeaderMap, response: &HeaderMap) -> bool {
    let Some(language) = response.get(header::CONTENT_LANGUAGE) else { return false };
    let members = || quality::members(request, &header::ACCEPT_LANGUAGE);
    let Some(most) = members().map(|(_, weight)| weight).max().filter(|most| *most > 0) else {
        return false;
    };
    let mut best = members().filter(|(_, weight)| *weight == most);
    match (best.next(), best.next()) {
        (Some((range, _)), None) => {
            language.as_bytes().trim_ascii().eq_ignore_ascii_case(range.as_bytes())
        }
        _ => false,
    }
}
