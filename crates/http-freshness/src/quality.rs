//! Lists with weights: `de, en;q=0.5` (RFC 9110 §12.4.2).
//!
//! Pure. Called by the comparison of languages and codings.

use http::header::{HeaderMap, HeaderName};

/// Members of one list that are looked at. More are the mark of noise, and are left out.
const MEMBERS_MAX: usize = 64;

/// Each member as it stands with its weight in thousandths: 1000 where none is given or it is
/// malformed.
pub(crate) fn members<'a>(
    fields: &'a HeaderMap,
    name: &HeaderName,
) -> impl Iterator<Item = (&'a str, u16)> + use<'a> {
    fields
        .get_all(name)
        .into_iter()
        .flat_map(|line| line.as_bytes().split(|it| *it == b','))
        .filter_map(|member| {
            let mut parts = member.split(|it| *it == b';').map(<[u8]>::trim_ascii);
            let name = std::str::from_utf8(parts.next()?).ok()?;
            let weight = parts.find_map(|part| {
                part.strip_prefix(b"q=").or_else(|| part.strip_prefix(b"Q=")).map(thousandths)
            });
            (!name.is_empty()).then_some((name, weight.unwrap_or(1000)))
        })
        .take(MEMBERS_MAX)
}

fn thousandths(text: &[u8]) -> u16 {
    let mut digits = text.iter();
    let mut weight = match digits.next() {
        Some(b'0') => 0,
        _ => return 1000,
    };
    if digits.next().is_some_and(|it| *it != b'.') {
        return 1000;
    }
    for place in [100, 10, 1] {
        match digits.next() {
            Some(digit @ b'0'..=b'9') => weight += u16::from(digit - b'0') * place,
            Some(_) => return 1000,
            None => return weight,
        }
    }
    weight
}
