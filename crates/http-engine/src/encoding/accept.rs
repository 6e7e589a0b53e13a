//! What `Accept-Encoding` says, and the coding that follows from it (RFC 9110 §12.5.3).
//!
//! Pure. A field that makes no sense is read as far as it does: refusing a request for it would
//! help nobody. Called by the web door.

use super::ContentCoding;
use http::header::{ACCEPT_ENCODING, HeaderMap};

/// Elements looked at; what comes after so many is noise.
const ELEMENTS_MAX: usize = 32;
/// The weight of what is listed without one, in thousandths (RFC 9110 §12.4.2).
const FULL: u16 = 1000;

/// The weights that a request gives to each coding, in thousandths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AcceptedCodings {
    zstd: Option<u16>,
    brotli: Option<u16>,
    gzip: Option<u16>,
    identity: Option<u16>,
    any: Option<u16>,
}

/// Tells whether the client takes a body that is not coded at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdentityCoding {
    /// It does.
    Acceptable,
    /// `identity;q=0`, or `*;q=0` without a word on identity.
    Refused,
}

impl AcceptedCodings {
    /// Reads the request's fields. Where there are none, nothing but identity is chosen: RFC 9110
    /// lets a server pick any coding then, and the clients that say nothing are those that cannot.
    pub fn of(headers: &HeaderMap) -> Self {
        Self::of_lists(headers.get_all(ACCEPT_ENCODING).iter().filter_map(|it| it.to_str().ok()))
    }

    /// The same of the fields' values.
    pub fn of_lists<'l>(lists: impl Iterator<Item = &'l str>) -> Self {
        let mut accepted = Self::default();
        let elements = lists
            .flat_map(|list| list.split(','))
            .map(str::trim)
            .filter(|element| !element.is_empty());
        for element in elements.take(ELEMENTS_MAX) {
            let (name, parameters) = element.split_once(';').unwrap_or((element, ""));
            let Some(weight) = weight(parameters) else { continue };
            let name = name.trim();
            let place = match () {
                () if name.eq_ignore_ascii_case("gzip") => &mut accepted.gzip,
                // RFC 9110 §8.4.1.3: the same thing by its old name.
                () if name.eq_ignore_ascii_case("x-gzip") => &mut accepted.gzip,
                () if name.eq_ignore_ascii_case("br") => &mut accepted.brotli,
                () if name.eq_ignore_ascii_case("zstd") => &mut accepted.zstd,
                () if name.eq_ignore_ascii_case("identity") => &mut accepted.identity,
                () if name == "*" => &mut accepted.any,
                () => continue,
            };
            *place = Some(place.map_or(weight, |earlier| earlier.max(weight)));
        }
        accepted
    }

    /// The best of `offers`, which stand in our order of preference; `None` is identity.
    pub fn choose(&self, offers: &[ContentCoding]) -> Option<ContentCoding> {
        let mut best: Option<(ContentCoding, u16)> = None;
        for coding in offers {
            let weight = self.weight(*coding);
            if weight > best.map_or(0, |(_, weight)| weight) {
                best = Some((*coding, weight));
            }
        }
        let (coding, weight) = best?;
        // Unlisted, identity is acceptable but nobody's wish; listed, its weight counts.
        (weight >= self.identity.unwrap_or(0)).then_some(coding)
    }

    /// Returns whether an uncoded body is acceptable.
    pub fn identity(&self) -> IdentityCoding {
        match self.identity.or(self.any) {
            Some(0) => IdentityCoding::Refused,
            Some(_) | None => IdentityCoding::Acceptable,
        }
    }

    fn weight(&self, coding: ContentCoding) -> u16 {
        let listed = match coding {
            ContentCoding::Zstd => self.zstd,
            ContentCoding::Brotli => self.brotli,
            ContentCoding::Gzip => self.gzip,
        };
        listed.or(self.any).unwrap_or(0)
    }
}

/// The weight among the parameters, or `None` where it is no weight.
fn weight(parameters: &str) -> Option<u16> {
    let found = parameters.split(';').find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("q").then(|| value.trim())
    });
    let Some(text) = found else { return Some(FULL) };
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if fraction.len() > 3 || !fraction.bytes().all(|it| it.is_ascii_digit()) {
        return None;
    }
    let thousandths = format!("{fraction:0<3}").parse::<u16>().ok()?;
    match whole {
        "0" => Some(thousandths),
        "1" if thousandths == 0 => Some(FULL),
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::super::PREFERENCE;
    use super::*;

    fn accepted(field: &str) -> AcceptedCodings {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT_ENCODING, field.parse().unwrap());
        AcceptedCodings::of(&headers)
    }

    fn check(field: &str, expected: Option<ContentCoding>) {
        assert_eq!(accepted(field).choose(&PREFERENCE), expected, "{field}");
    }

    #[test]
    fn among_equals_the_servers_order_decides() {
        check("gzip, deflate, br, zstd", Some(ContentCoding::Zstd));
        check("gzip, deflate, br", Some(ContentCoding::Brotli));
        check("gzip;q=0.5, br;q=0.5", Some(ContentCoding::Brotli));
        check("*", Some(ContentCoding::Zstd));
    }

    #[test]
    fn the_clients_weights_stand_over_our_order() {
        check("gzip, br;q=0.9, zstd;q=0.001", Some(ContentCoding::Gzip));
        check("x-gzip", Some(ContentCoding::Gzip));
        check("GZIP ; Q=0.2 , br;q=0.1", Some(ContentCoding::Gzip));
        check("zstd;q=0, *;q=0.5", Some(ContentCoding::Brotli));
        check("identity, gzip;q=0.5", None);
        check("identity;q=0.5, gzip;q=0.5", Some(ContentCoding::Gzip));
    }

    #[test]
    fn what_is_refused_or_unknown_is_not_used() {
        check("gzip;q=0", None);
        check("gzip;q=0.000", None);
        check("deflate, compress", None);
        check("", None);
        check("*;q=0", None);
        assert_eq!(AcceptedCodings::default().choose(&PREFERENCE), None);
    }

    #[test]
    fn a_malformed_weight_drops_its_element_only() {
        check("gzip;q=1.5, br", Some(ContentCoding::Brotli));
        check("br;q=, zstd;q=-1, gzip;q=0.1234, gzip;q=.5", None);
        check("br;q=0.5x, gzip", Some(ContentCoding::Gzip));
        check(",,;,gzip,,", Some(ContentCoding::Gzip));
        let many = "a,".repeat(ELEMENTS_MAX) + "gzip";
        check(&many, None);
    }

    #[test]
    fn identity_can_be_refused() {
        assert_eq!(accepted("identity;q=0").identity(), IdentityCoding::Refused);
        assert_eq!(accepted("gzip, *;q=0").identity(), IdentityCoding::Refused);
        assert_eq!(accepted("*;q=0, identity;q=0.1").identity(), IdentityCoding::Acceptable);
        assert_eq!(accepted("gzip").identity(), IdentityCoding::Acceptable);
    }
}
