//! The client of a request, and the fields that tell servers about it.
//!
//! `X-Forwarded-*` and `Forwarded` are what anybody can write. They are believed only from the
//! proxies that the settings trust; from anybody else they are replaced, and so is whatever else
//! only such a proxy may say (`claims`). Called by `request` and `passing`.

use crate::caller::ClientConnection;
use crate::settings::ForwardedStyle;
use http::Method;
use http::header::{FORWARDED, HOST, HeaderMap, HeaderName, HeaderValue};
use http_engine::claims::{self, MethodOverrides};
use std::net::{IpAddr, SocketAddr};
use vocab::Network;

const FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const PORT: HeaderName = HeaderName::from_static("x-forwarded-port");
/// RFC 9440 §2.2.
const CLIENT_CERT: HeaderName = HeaderName::from_static("client-cert");
/// Proxies that are believed, and the fields in which servers are told of the client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ForwardedHeaders<'s> {
    pub(crate) trusted: &'s [Network],
    pub(crate) style: ForwardedStyle,
}

impl ForwardedHeaders<'_> {
    fn trusts(&self, address: IpAddr) -> bool {
        self.trusted.iter().any(|network| network.contains(address))
    }

    /// The client: the peer, or where the peer is trusted, the last address of `X-Forwarded-For`
    /// (or of `Forwarded`, where that is the only one spoken) that is not trusted itself.
    pub(crate) fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        if !self.trusts(peer) {
            return peer;
        }
        let standard = self.style == ForwardedStyle::Standard;
        let field = if standard { FORWARDED } else { FOR };
        let lines: Vec<&str> =
            headers.get_all(field).iter().filter_map(|line| line.to_str().ok()).collect();
        let mut client = peer;
        for entry in lines.iter().rev().flat_map(|line| line.rsplit(',')) {
            let address = if standard { standard_for(entry) } else { entry.trim().parse().ok() };
            // What cannot be read was not written by a proxy that we trust: stop believing there.
            let Some(address) = address else { return client };
            client = address.to_canonical();
            if !self.trusts(client) {
                return client;
            }
        }
        client
    }

    /// Takes out what a peer that is not trusted has no business to say, but for the names in
    /// `passed`; and from anybody what some servers would take for it.
    pub(crate) fn strip_untrusted(
        &self,
        headers: &mut HeaderMap,
        peer: IpAddr,
        passed: &[HeaderName],
        method: &Method,
        overrides: MethodOverrides,
    ) {
        drop_look_alikes(headers);
        if !self.trusts(peer) {
            claims::strip_claims(headers, passed, method, overrides);
        }
    }

    /// Sets what servers behind are told, in fields that [`Self::strip_untrusted`] has looked at.
    pub(crate) fn apply(&self, headers: &mut HeaderMap, caller: &ClientConnection) {
        if let Some(secured) = caller.context.handshake()
            && let Some(shown) = &secured.client_certificate
        {
            headers.insert(CLIENT_CERT, shown.clone());
        }
        match self.style {
            ForwardedStyle::XForwarded => apply_x_forwarded(headers, caller),
            ForwardedStyle::Standard => apply_forwarded(headers, caller),
            ForwardedStyle::Both => {
                apply_x_forwarded(headers, caller);
                apply_forwarded(headers, caller);
            }
            ForwardedStyle::Off => {}
        }
    }
}

fn apply_x_forwarded(headers: &mut HeaderMap, caller: &ClientConnection) {
    let told = caller.forwarded();
    headers.append(FOR, told.address.clone());
    // A proxy in front that told of another scheme was come to at another port.
    if !headers.contains_key(PROTO) {
        headers.insert(PROTO, HeaderValue::from_static(caller.scheme()));
        if let Some(port) = &told.port {
            headers.entry(PORT).or_insert_with(|| port.clone());
        }
    }
    if let Some(host) = headers.get(HOST).cloned() {
        headers.entry(FORWARDED_HOST).or_insert(host);
    }
}

/// Appends an element of RFC 7239 §4.
fn apply_forwarded(headers: &mut HeaderMap, caller: &ClientConnection) {
    let mut element = match caller.peer() {
        IpAddr::V4(address) => format!("for={address};proto={}", caller.scheme()),
        IpAddr::V6(address) => format!("for=\"[{address}]\";proto={}", caller.scheme()),
    };
    // The engine has refused hosts with quotes; who else knows.
    if let Some(host) = headers.get(HOST).and_then(|host| host.to_str().ok())
        && !host.contains(['"', '\\'])
    {
        element.push_str(";host=\"");
        element.push_str(host);
        element.push('"');
    }
    if let Ok(element) = HeaderValue::try_from(element) {
        headers.append(FORWARDED, element);
    }
}

/// The address of `for=` in an element of RFC 7239 §4; none where it is hidden or unknown. An
/// element with a comma between quotes is cut there, and so ends the chain.
fn standard_for(element: &str) -> Option<IpAddr> {
    let mut pairs = element.split(';').filter_map(|pair| pair.trim().split_once('='));
    let (_, node) = pairs.find(|(name, _)| name.eq_ignore_ascii_case("for"))?;
    let node = node.strip_prefix('"').map_or(Some(node), |node| node.strip_suffix('"'))?;
    if let Ok(address) = node.parse() {
        return Some(address);
    }
    if let Ok(address) = node.parse::<SocketAddr>() {
        return Some(address.ip());
    }
    node.strip_prefix('[')?.strip_suffix(']')?.parse().ok()
}

/// Drops fields with an underscore or a dot: `X_Forwarded_For` is `X-Forwarded-For` to a server
/// that makes environment variables of fields (CGI, WSGI).
fn drop_look_alikes(headers: &mut HeaderMap) {
    let look_alikes: Vec<HeaderName> =
        headers.keys().filter(|name| name.as_str().contains(['_', '.'])).cloned().collect();
    for name in look_alikes {
        headers.remove(name);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;
    use http_front::{ConnectionContext, ConnectionSecurity};
    use origins::BecomesTunnel;
    use std::net::SocketAddr;

    fn headers(fields: &[(&'static str, &'static str)]) -> HeaderMap {
        let field = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        fields.iter().map(field).collect()
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn caller(peer: &str) -> ClientConnection {
        let tunnel = BecomesTunnel::default();
        let client = SocketAddr::new(ip(peer), 50_000);
        let (local, security) = (Some(([127, 0, 0, 1], 8081).into()), ConnectionSecurity::Plain);
        ClientConnection::new(ConnectionContext { client, local, security }, tunnel)
    }

    const fn telling(trusted: &[Network], style: ForwardedStyle) -> ForwardedHeaders<'_> {
        ForwardedHeaders { trusted, style }
    }

    fn disbelieve(telling: ForwardedHeaders<'_>, fields: &mut HeaderMap, peer: &str) {
        telling.strip_untrusted(fields, ip(peer), &[], &Method::GET, MethodOverrides::OfPosts);
    }

    const SPOOF: &[(&str, &str)] = &[
        ("host", "app.example"),
        ("x-forwarded-for", "10.0.0.1"),
        ("x-forwarded-proto", "https"),
        ("x-forwarded-host", "evil.example"),
        ("x-forwarded-port", "443"),
        ("forwarded", "for=10.0.0.1"),
        ("x-real-ip", "10.0.0.1"),
        ("client-cert", ":AA==:"),
        ("remote-user", "root"),
        ("x-original-url", "/admin"),
        ("x_forwarded_for", "10.0.0.1"),
        ("x.forwarded.for", "10.0.0.1"),
    ];

    #[test]
    fn a_stranger_is_who_it_is() {
        let x = [
            ("host", "app.example"),
            ("x-forwarded-for", "203.0.113.9"),
            ("x-forwarded-proto", "http"),
            ("x-forwarded-port", "8081"),
            ("x-forwarded-host", "app.example"),
        ];
        let standard = ("forwarded", "for=203.0.113.9;proto=http;host=\"app.example\"");
        for (style, told) in [
            (ForwardedStyle::XForwarded, &x[..]),
            (ForwardedStyle::Standard, &[x[0], standard]),
            (ForwardedStyle::Both, &[x[0], x[1], x[2], x[3], x[4], standard]),
            (ForwardedStyle::Off, &[x[0]]),
        ] {
            let mut fields = headers(SPOOF);
            let telling = telling(&[], style);
            assert_eq!(telling.client(ip("203.0.113.9"), &fields), ip("203.0.113.9"));
            disbelieve(telling, &mut fields, "203.0.113.9");
            telling.apply(&mut fields, &caller("203.0.113.9"));
            assert_eq!(fields, headers(told), "{style:?}");
        }
    }

    #[test]
    fn a_trusted_proxy_is_believed_up_to_the_first_stranger() {
        let trusted = ["10.0.0.0/8".parse().unwrap()];
        let telling = telling(&trusted, ForwardedStyle::XForwarded);
        let fields = headers(&[("x-forwarded-for", "1.1.1.1, 203.0.113.9, 10.0.0.2")]);
        assert_eq!(telling.client(ip("10.0.0.1"), &fields), ip("203.0.113.9"));
        let broken = headers(&[("x-forwarded-for", "1.1.1.1, nobody, 10.0.0.2")]);
        assert_eq!(telling.client(ip("10.0.0.1"), &broken), ip("10.0.0.2"));
        let mut fields =
            headers(&[("x-forwarded-for", "203.0.113.9"), ("x-forwarded-proto", "https")]);
        disbelieve(telling, &mut fields, "10.0.0.1");
        telling.apply(&mut fields, &caller("10.0.0.1"));
        let chain: Vec<_> = fields.get_all(FOR).iter().collect();
        assert_eq!(chain, ["203.0.113.9", "10.0.0.1"]);
        assert_eq!(fields[PROTO], "https");
        assert!(!fields.contains_key(PORT));
    }

    #[test]
    fn the_standard_field_names_the_client_where_it_alone_is_spoken() {
        let trusted = ["10.0.0.0/8".parse().unwrap()];
        let telling = telling(&trusted, ForwardedStyle::Standard);
        for (line, expected) in [
            ("for=1.1.1.1, For=\"[2001:db8::7]:4711\";proto=https, for=10.0.0.3", "2001:db8::7"),
            ("for=\"[2001:db8::7]\"", "2001:db8::7"),
            ("for=203.0.113.9;by=10.0.0.1", "203.0.113.9"),
            ("for=\"203.0.113.9:80\"", "203.0.113.9"),
            ("for=unknown", "10.0.0.1"),
            ("for=_hidden, for=10.0.0.9", "10.0.0.9"),
            ("proto=https", "10.0.0.1"),
            ("for=\"1.1.1.1", "10.0.0.1"),
        ] {
            let mut fields = HeaderMap::new();
            fields.insert(FORWARDED, line.parse().unwrap());
            assert_eq!(telling.client(ip("10.0.0.1"), &fields), ip(expected), "{line}");
        }
    }
}
