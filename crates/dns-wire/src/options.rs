//! Options of EDNS between a client and us: read from its query, written into its answer
//! (RFC 6891 §6.1.2).
//!
//! Cookies, client subnet, keep-alive and padding; a malformed one is refused, an unknown one
//! passed over. Nothing here allocates or keeps anything, and secrets and time are handed in.
//! Called by the DNS door for every query with options; what we ask of upstreams is
//! [`crate::ask_options`]'s.

mod answer;
mod cookie;
mod subnet;

pub use answer::{ANSWER_BLOCK_BYTES, AnswerOptions, OptionBuffer, PaddingPolicy};
pub use cookie::{BADCOOKIE, COOKIE_BYTES, CookieSays, CookieSecrets, DnsCookie};
pub use subnet::ClientSubnet;

use crate::ask_options::{OPTION_COOKIE, OPTION_KEEPALIVE, OPTION_PADDING};
use std::fmt;

/// Client subnet (RFC 7871 §6).
pub const OPTION_SUBNET: u16 = 8;

/// Structured DNS error: the client reads a JSON object in the text of an extended error
/// (draft-ietf-dnsop-structured-dns-error-22 section 5.4; the number is IANA's).
pub const OPTION_STRUCTURED_ERROR: u16 = 26;

/// Bytes before an option's data: its code and its length.
const OPTION_HEAD_BYTES: usize = 4;

/// Holds what the options of a query say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientOptions<'q> {
    /// Cookie; the first, where there are several (RFC 7873 §5.2).
    pub cookie: Option<DnsCookie<'q>>,
    /// Where it wants the answer for; scope is 0.
    pub subnet: Option<ClientSubnet>,
    /// True if it is padded, so that its answer must be (RFC 7830 §4).
    pub is_padded: bool,
    /// True if it asks how long its connection may stay idle (RFC 7828 §3.2).
    pub wants_keepalive: bool,
    /// True if it reads structured errors.
    pub reads_structured: bool,
}

/// An option that is not what its number says: the query gets FORMERR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadOption {
    /// The last one ends after its record.
    Cut,
    /// A cookie of a length that there is not (RFC 7873 §5.2.2).
    Cookie,
    /// A client subnet of an unknown family, with too few or too many bytes, bits behind its prefix
    /// or a scope (RFC 7871 §6 and §7.1.2).
    Subnet,
    /// A keep-alive that is neither empty nor a number (RFC 7828 §3.1).
    Keepalive,
}

/// The options in `raw` ([`crate::DnsQuery::options`]): code and data; ends where one is cut.
pub fn iter_options(raw: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = raw;
    std::iter::from_fn(move || {
        let (head, behind) = rest.split_first_chunk::<OPTION_HEAD_BYTES>()?;
        let length = usize::from(u16::from_be_bytes([head[2], head[3]]));
        let (data, behind) = behind.split_at_checked(length)?;
        rest = behind;
        Some((u16::from_be_bytes([head[0], head[1]]), data))
    })
}

impl<'q> ClientOptions<'q> {
    /// Reads the options of a query.
    pub fn read(raw: &'q [u8]) -> Result<Self, BadOption> {
        let mut found = Self::default();
        let mut bytes = 0;
        for (code, data) in iter_options(raw) {
            bytes += OPTION_HEAD_BYTES + data.len();
            match code {
                OPTION_COOKIE if found.cookie.is_none() => {
                    found.cookie = Some(DnsCookie::read(data).ok_or(BadOption::Cookie)?);
                }
                OPTION_SUBNET if found.subnet.is_none() => {
                    let subnet = ClientSubnet::read(data).ok_or(BadOption::Subnet)?;
                    // A query says nothing of the scope (RFC 7871 §6).
                    if subnet.scope() != 0 {
                        return Err(BadOption::Subnet);
                    }
                    found.subnet = Some(subnet);
                }
                OPTION_PADDING => found.is_padded = true,
                // Whatever its data, which is to be ignored.
                OPTION_STRUCTURED_ERROR => found.reads_structured = true,
                OPTION_KEEPALIVE if matches!(data.len(), 0 | 2) => found.wants_keepalive = true,
                OPTION_KEEPALIVE => return Err(BadOption::Keepalive),
                _ => {}
            }
        }
        if bytes == raw.len() { Ok(found) } else { Err(BadOption::Cut) }
    }
}

impl fmt::Display for BadOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cut => "the last option is cut",
            Self::Cookie => "the cookie has a wrong length",
            Self::Subnet => "the client subnet is malformed",
            Self::Keepalive => "the keep-alive has a wrong length",
        })
    }
}

impl std::error::Error for BadOption {}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(raw: &[u8], expected: Result<ClientOptions<'_>, BadOption>) {
        assert_eq!(ClientOptions::read(raw), expected, "{raw:02x?}");
    }

    #[test]
    fn options_are_read_in_any_order_and_unknown_ones_passed_over() {
        check(b"", Ok(ClientOptions::default()));
        let raw = b"\0\x0b\0\0\xff\xf0\0\x02xy\0\x0a\0\x08COOKIE!!\0\x0c\0\x03\0\0\0\0\x08\0\x07\0\x01\x18\0\xc0\0\x02";
        let read = ClientOptions::read(raw).unwrap();
        assert!(read.is_padded && read.wants_keepalive && !read.reads_structured);
        assert_eq!(read.cookie, DnsCookie::read(b"COOKIE!!"));
        assert_eq!(read.subnet, Some(ClientSubnet::of("192.0.2.77".parse().unwrap(), 24)));
    }

    #[test]
    fn structured_errors_are_asked_for_with_data_or_without() {
        for raw in [&b"\0\x1a\0\0"[..], b"\0\x1a\0\x02de"] {
            assert!(ClientOptions::read(raw).unwrap().reads_structured);
        }
    }

    #[test]
    fn malformed_options_are_named() {
        for length in (0..8).chain(9..16).chain(41..50) {
            let mut raw = vec![0, 10, 0, length];
            raw.resize(4 + usize::from(length), 1);
            check(&raw, Err(BadOption::Cookie));
        }
        check(b"\0\x0b\0\x01\0", Err(BadOption::Keepalive));
        check(b"\0\x08\0\x04\0\x01\x18\0", Err(BadOption::Subnet));
        check(b"\0\x08\0\x07\0\x01\x18\x18\xc0\0\x02", Err(BadOption::Subnet));
        check(b"\0\x0c\0\x03\0\0", Err(BadOption::Cut));
        check(b"\0\x0c\0", Err(BadOption::Cut));
    }

    #[test]
    fn the_first_of_two_cookies_counts() {
        let raw = b"\0\x0a\0\x08COOKIE!!\0\x0a\0\x01x";
        assert_eq!(ClientOptions::read(raw).unwrap().cookie, DnsCookie::read(b"COOKIE!!"));
    }
}
