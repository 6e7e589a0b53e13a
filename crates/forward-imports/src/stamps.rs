//! DNS stamps (`sdns://`): a server's address with all that it needs, as Base64.
//!
//! Those of DNS over HTTPS, TLS and QUIC, and of plain DNS, become addresses of ours.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// A server that a stamp names.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct StampServer {
    /// The address in our words.
    pub(crate) address: String,
    /// The IP address that is connected to, if the stamp says one.
    pub(crate) dial: Option<String>,
}

/// Reads a stamp; none for `DNSCrypt`, relays, and what is no stamp.
pub(crate) fn read(stamp: &str) -> Option<StampServer> {
    let bytes =
        URL_SAFE_NO_PAD.decode(stamp.strip_prefix("sdns://")?.trim_end_matches('=')).ok()?;
    let (protocol, rest) = bytes.split_first()?;
    // Eight bytes of promises: DNSSEC, no log, no filter.
    let mut rest = rest.get(8..)?;
    let address = text(&mut rest)?;
    if *protocol == 0 {
        let host = if address.contains(':') && !address.starts_with('[') && !is_ported(&address) {
            format!("[{address}]")
        } else {
            address
        };
        return Some(StampServer { address: format!("udp://{host}"), dial: None });
    }
    hashes(&mut rest)?;
    let host = text(&mut rest)?;
    let address_of = match protocol {
        2 => format!("https://{host}{}", text(&mut rest)?),
        3 => format!("tls://{host}"),
        4 => format!("quic://{host}"),
        _ => return None,
    };
    let dial = address.trim_start_matches('[').split(']').next().unwrap_or("").to_owned();
    let dial = if is_ported(&dial) { dial.split(':').next().unwrap_or("").into() } else { dial };
    Some(StampServer { address: address_of, dial: (!dial.is_empty()).then_some(dial) })
}

/// True for `192.0.2.1:53`, and false for an IPv6 address.
fn is_ported(address: &str) -> bool {
    address.matches(':').count() == 1
}

fn text(rest: &mut &[u8]) -> Option<String> {
    let (length, after) = rest.split_first()?;
    let bytes = after.get(..usize::from(*length))?;
    *rest = &after[usize::from(*length)..];
    String::from_utf8(bytes.to_vec()).ok()
}

/// Passes over the hashes of certificates; the last one has no high bit in its length.
fn hashes(rest: &mut &[u8]) -> Option<()> {
    loop {
        let (length, after) = rest.split_first()?;
        *rest = after.get(usize::from(length & 0x7f)..)?;
        if length & 0x80 == 0 {
            return Some(());
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;

    fn stamp(bytes: &[u8]) -> String {
        format!("sdns://{}", URL_SAFE_NO_PAD.encode(bytes))
    }

    #[test]
    fn stamps_become_addresses() {
        let https = b"\x02\0\0\0\0\0\0\0\0\x09192.0.2.1\x00\x0bdns.example\x0a/dns-query";
        let server = read(&stamp(https)).unwrap();
        assert_eq!(server.address, "https://dns.example/dns-query");
        assert_eq!(server.dial.unwrap(), "192.0.2.1");
        let plain = b"\x00\0\0\0\0\0\0\0\0\x07192.0.2";
        assert_eq!(read(&stamp(plain)).unwrap().address, "udp://192.0.2");
        let crypt = b"\x01\0\0\0\0\0\0\0\0\x09192.0.2.1\x00\x01a\x01b";
        assert!(read(&stamp(crypt)).is_none() && read("sdns://AQ").is_none());
    }
}
