//! Who the client is, where a proxy stands in front: by a header, if it comes from one we trust.
//!
//! A stranger's header is not looked at, and of a trusted proxy's only the end that proxies we
//! trust have written (RFC 7239 §8.1 says why). Called by `doh` for every request.

use crate::settings::doh::DohSettings;
use http::HeaderMap;
use http::header::{HeaderName, HeaderValue};
use std::net::{IpAddr, SocketAddr};
use vocab::{Complaint, Network};

/// Addresses of one header that are looked at; proxies in a row that we all trust are few.
const HOPS_MAX: usize = 16;

/// Which header of which proxies is believed.
#[derive(Clone, Debug)]
pub(crate) struct ForwardedTrust {
    header: HeaderName,
    trusted: Box<[Network]>,
}

impl ForwardedTrust {
    /// Returns what the settings say.
    pub(crate) fn new(settings: &DohSettings) -> Result<Self, Complaint> {
        let header = settings.header()?;
        let trusted = settings.trusted_proxies.iter().map(|network| network.0).collect();
        Ok(Self { header, trusted })
    }

    /// Returns who asks, when the request came from `peer`: the right-most address of the header
    /// that is not a trusted proxy's. What is no address ends the search at the proxy that passed
    /// it on.
    pub(crate) fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        if self.trusted.is_empty() || !self.is_trusted(peer) {
            return peer;
        }
        let mut client = peer;
        let values = headers.get_all(&self.header);
        // The lines of a header in their order are one list (RFC 9110 §5.3).
        let hops = values.iter().rev().flat_map(|value| hops(value).rev());
        for hop in hops.take(HOPS_MAX) {
            let Some(address) = address(hop) else { break };
            client = address;
            if !self.is_trusted(address) {
                break;
            }
        }
        client
    }

    fn is_trusted(&self, address: IpAddr) -> bool {
        self.trusted.iter().any(|network| network.contains(address))
    }
}

fn hops(value: &HeaderValue) -> impl DoubleEndedIterator<Item = &str> {
    value.to_str().unwrap_or("").split(',')
}

/// `192.0.2.1`, `2001:db8::1`, and with a port as some proxies write it.
fn address(hop: &str) -> Option<IpAddr> {
    let hop = hop.trim();
    let bare = hop.strip_prefix('[').and_then(|it| it.strip_suffix(']')).unwrap_or(hop);
    let address = bare.parse::<IpAddr>().ok();
    let address = address.or_else(|| hop.parse::<SocketAddr>().ok().map(|it| it.ip()));
    address.map(|it| it.to_canonical())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn check(peer: &str, lines: &[&'static str], expected: &str) {
        let settings = DohSettings {
            client_header: None,
            trusted_proxies: ["127.0.0.1", "10.0.0.0/8"]
                .map(|network| network.parse::<Network>().unwrap().into())
                .into(),
        };
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append("x-forwarded-for", HeaderValue::from_static(line));
        }
        let client =
            ForwardedTrust::new(&settings).unwrap().client(peer.parse().unwrap(), &headers);
        assert_eq!(client, expected.parse::<IpAddr>().unwrap(), "{peer} {lines:?}");
    }

    #[test]
    fn a_stranger_is_who_it_is() {
        check("192.0.2.7", &["198.51.100.1"], "192.0.2.7");
        check("192.0.2.7", &[], "192.0.2.7");
    }

    #[test]
    fn a_trusted_proxy_says_who_asked() {
        check("127.0.0.1", &["198.51.100.1"], "198.51.100.1");
        check("127.0.0.1", &["198.51.100.1:4711"], "198.51.100.1");
        check("127.0.0.1", &["[2001:db8::1]:4711"], "2001:db8::1");
        check("127.0.0.1", &["2001:db8::1"], "2001:db8::1");
        check("127.0.0.1", &["::ffff:198.51.100.1"], "198.51.100.1");
        check("127.0.0.1", &[], "127.0.0.1");
    }

    #[test]
    fn what_the_client_wrote_itself_is_not_believed() {
        check("127.0.0.1", &["203.0.113.9, 198.51.100.1"], "198.51.100.1");
        check("127.0.0.1", &["203.0.113.9", "198.51.100.1, 10.0.0.3"], "198.51.100.1");
        check("127.0.0.1", &["203.0.113.9, nonsense, 10.0.0.3"], "10.0.0.3");
        check("127.0.0.1", &["nonsense"], "127.0.0.1");
        check("127.0.0.1", &["10.0.0.1, 10.0.0.2"], "10.0.0.1");
    }

    #[test]
    fn a_header_that_is_none_is_a_complaint() {
        let settings =
            DohSettings { client_header: Some("X Real IP".into()), ..DohSettings::default() };
        assert!(ForwardedTrust::new(&settings).is_err());
        // The file is refused for it, not the start.
        let listen = vec!["udp://127.0.0.1:0".parse::<vocab::Listen>().unwrap().into()];
        let door = crate::Settings { doh: settings, listen, ..crate::Settings::default() };
        let paths: Vec<_> = door.check().into_iter().map(|it| it.path).collect();
        assert_eq!(paths, ["doh.client_header"]);
    }
}
