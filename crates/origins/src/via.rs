//! `Via` (RFC 9110 §7.6.3): who passed a message on, and how a loop is noticed.
//!
//! Every Tidegate signs as `tidegate`. A pseudonym of its own for each process would catch a loop
//! at the first turn, but it would also mark the user to every origin; so a request is a loop once
//! it has passed more of us than any real chain does.

use http::header::{HeaderMap, HeaderValue, VIA};

/// As whom we sign.
const PSEUDONYM: &str = "tidegate";

/// A request that has passed so many Tidegates is going round in circles. A proxy in front of a
/// gateway in front of a gateway makes three.
pub const HOPS_MAX: usize = 4;

/// The request goes round in circles: answer 508 (RFC 5842 §7.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestLoop;

/// Refuses a message that has come round.
pub fn check_via(headers: &HeaderMap) -> Result<(), RequestLoop> {
    if passed_us(headers) >= HOPS_MAX { Err(RequestLoop) } else { Ok(()) }
}

/// Number of Tidegates that a message has passed.
pub fn passed_us(headers: &HeaderMap) -> usize {
    let lines = headers.get_all(VIA).iter().filter_map(|line| line.to_str().ok());
    let entries = lines.flat_map(|line| line.split(','));
    entries.filter(|entry| entry.split_ascii_whitespace().nth(1) == Some(PSEUDONYM)).count()
}

/// Signs a request or a response, or refuses one that has come round.
pub fn add_via(headers: &mut HeaderMap, received: http::Version) -> Result<(), RequestLoop> {
    check_via(headers)?;
    let entry = match received {
        http::Version::HTTP_2 => HeaderValue::from_static("2.0 tidegate"),
        http::Version::HTTP_10 => HeaderValue::from_static("1.0 tidegate"),
        _ => HeaderValue::from_static("1.1 tidegate"),
    };
    headers.append(VIA, entry);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Version;

    #[test]
    fn a_chain_passes_and_a_circle_does_not() {
        let mut headers = HeaderMap::new();
        headers.append(VIA, HeaderValue::from_static("1.1 squid, 1.0 tidegate-like (x)"));
        for _ in 0..HOPS_MAX {
            assert_eq!(add_via(&mut headers, Version::HTTP_11), Ok(()));
        }
        assert_eq!(add_via(&mut headers, Version::HTTP_11), Err(RequestLoop));
        assert_eq!(headers.get_all(VIA).iter().nth(1).unwrap(), "1.1 tidegate");
    }

    #[test]
    fn a_circle_is_seen_in_one_joined_line() {
        let mut headers = HeaderMap::new();
        let joined = ["1.1 tidegate"; HOPS_MAX].join(", ");
        headers.append(VIA, HeaderValue::from_str(&joined).unwrap());
        assert_eq!(add_via(&mut headers, Version::HTTP_11), Err(RequestLoop));
    }
}
