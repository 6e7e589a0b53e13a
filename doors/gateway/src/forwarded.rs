//! Who the client is, and what servers behind are told about it.
//!
//! `X-Forwarded-*` is what anybody can write. It is believed only from the proxies that the
//! settings trust; from anybody else it is replaced, and its look-alikes are dropped.

use http::header::{HOST, HeaderMap, HeaderName, HeaderValue};
use std::net::IpAddr;
use vocab::Network;

const FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
/// Other ways of saying the same, which servers behind may believe.
const OTHERS: [HeaderName; 4] = [
    HeaderName::from_static("forwarded"),
    HeaderName::from_static("x-real-ip"),
    HeaderName::from_static("x-forwarded-port"),
    HeaderName::from_static("x-forwarded-server"),
];

/// The client: the peer, or where the peer is trusted, the last address of `X-Forwarded-For` that
/// is not trusted itself.
pub(crate) fn client(peer: IpAddr, headers: &HeaderMap, trusted: &[Network]) -> IpAddr {
    let is_trusted = |address: IpAddr| trusted.iter().any(|network| network.contains(address));
    if !is_trusted(peer) {
        return peer;
    }
    let lines: Vec<&str> =
        headers.get_all(FOR).iter().filter_map(|line| line.to_str().ok()).collect();
    let mut client = peer;
    for entry in lines.iter().rev().flat_map(|line| line.rsplit(',')) {
        // What cannot be read was not written by a proxy that we trust: stop believing there.
        let Ok(address) = entry.trim().parse::<IpAddr>() else { return client };
        client = address.to_canonical();
        if !is_trusted(client) {
            return client;
        }
    }
    client
}

/// Sets what servers behind are told.
pub(crate) fn tell(headers: &mut HeaderMap, peer: IpAddr, trusted: &[Network]) {
    let believed = trusted.iter().any(|network| network.contains(peer));
    let peer_text = HeaderValue::from_str(&peer.to_string()).expect("an address is visible ASCII");
    drop_look_alikes(headers);
    if believed {
        headers.append(FOR, peer_text);
        headers.entry(PROTO).or_insert(HeaderValue::from_static("http"));
    } else {
        for other in &OTHERS {
            headers.remove(other);
        }
        headers.insert(FOR, peer_text);
        headers.insert(PROTO, HeaderValue::from_static("http"));
        headers.remove(FORWARDED_HOST);
    }
    if let Some(host) = headers.get(HOST).cloned() {
        headers.entry(FORWARDED_HOST).or_insert(host);
    }
}

/// Drops fields with an underscore: `X_Forwarded_For` is `X-Forwarded-For` to a server that makes
/// environment variables of fields (CGI, WSGI).
fn drop_look_alikes(headers: &mut HeaderMap) {
    let look_alikes: Vec<HeaderName> =
        headers.keys().filter(|name| name.as_str().contains('_')).cloned().collect();
    for name in look_alikes {
        headers.remove(name);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;

    fn headers(fields: &[(&'static str, &'static str)]) -> HeaderMap {
        let field = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        fields.iter().map(field).collect()
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_stranger_is_who_it_is() {
        let mut fields = headers(&[
            ("host", "app.example"),
            ("x-forwarded-for", "10.0.0.1"),
            ("x-forwarded-proto", "https"),
            ("x-forwarded-host", "evil.example"),
            ("forwarded", "for=10.0.0.1"),
            ("x-real-ip", "10.0.0.1"),
            ("x_forwarded_for", "10.0.0.1"),
        ]);
        assert_eq!(client(ip("203.0.113.9"), &fields, &[]), ip("203.0.113.9"));
        tell(&mut fields, ip("203.0.113.9"), &[]);
        let told = headers(&[
            ("host", "app.example"),
            ("x-forwarded-for", "203.0.113.9"),
            ("x-forwarded-proto", "http"),
            ("x-forwarded-host", "app.example"),
        ]);
        assert_eq!(fields, told);
    }

    #[test]
    fn a_trusted_proxy_is_believed_up_to_the_first_stranger() {
        let trusted = ["10.0.0.0/8".parse().unwrap()];
        let fields = headers(&[("x-forwarded-for", "1.1.1.1, 203.0.113.9, 10.0.0.2")]);
        assert_eq!(client(ip("10.0.0.1"), &fields, &trusted), ip("203.0.113.9"));
        let broken = headers(&[("x-forwarded-for", "1.1.1.1, nobody, 10.0.0.2")]);
        assert_eq!(client(ip("10.0.0.1"), &broken, &trusted), ip("10.0.0.2"));
        let mut fields =
            headers(&[("x-forwarded-for", "203.0.113.9"), ("x-forwarded-proto", "https")]);
        tell(&mut fields, ip("10.0.0.1"), &trusted);
        let chain: Vec<_> = fields.get_all(FOR).iter().collect();
        assert_eq!(chain, ["203.0.113.9", "10.0.0.1"]);
        assert_eq!(fields[PROTO], "https");
    }
}
