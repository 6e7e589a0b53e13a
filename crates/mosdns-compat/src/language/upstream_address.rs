//! Addresses of upstreams: taken apart far enough to refuse what cannot be reached, and written
//! anew as our own settings want them.
//!
//! Called by [`super::upstreams`].

use super::position::{PlacedWord, ReadNotes, not_yet, with_remedy};
use super::upstreams::{HTTP3_FALLS_BACK, PipeliningMode, UpstreamSpec};
use settings::suggest;
use std::net::IpAddr;
use vocab::DomainName;

/// Each scheme of the peers, ours, and its port.
const SCHEMES: &[(&str, &str, u16)] = &[
    ("udp", "udp", 53),
    ("tcp", "tcp", 53),
    ("tcp+pipeline", "tcp", 53),
    ("tls", "tls", 853),
    ("tls+pipeline", "tls", 853),
    ("dot", "tls", 853),
    ("https", "https", 443),
    ("doh", "https", 443),
    ("h3", "https", 443),
    ("quic", "quic", 853),
    ("doq", "quic", 853),
];

impl UpstreamSpec {
    /// True if its name is looked up before it is connected to.
    pub(super) fn is_looked_up(&self) -> bool {
        let host = self.address.split_once("://").map_or("", |(_, rest)| rest);
        let host = host.split('/').next().and_then(host_port).map_or("", |(host, _)| host);
        let dialled = self.dial.as_deref().unwrap_or(host);
        self.socks5.is_none() && dialled.parse::<IpAddr>().is_err()
    }

    /// Takes `[scheme://]host[:port][/path]` and where to connect to. Complains and gives false if
    /// that cannot be.
    pub(super) fn set_address(
        &mut self,
        written: &PlacedWord,
        dial: Option<&PlacedWord>,
        port: Option<u16>,
        notes: &ReadNotes,
    ) -> bool {
        let text = written.text.trim();
        let (scheme, rest) = text.split_once("://").unwrap_or(("udp", text));
        if scheme == "sdns" {
            not_yet("a DNSCrypt stamp", &written.position, notes);
            return false;
        }
        if scheme == "h3" {
            notes.warn(written.position.complaint(HTTP3_FALLS_BACK));
        }
        let Some((_, ours, usual)) = SCHEMES.iter().find(|(name, ..)| *name == scheme) else {
            let complaint =
                written.position.complaint(format!("{scheme:?} is no protocol of upstreams"));
            let remedy = suggest(scheme, SCHEMES.iter().map(|(name, ..)| *name));
            notes.complain(with_remedy(complaint, remedy));
            return false;
        };
        if scheme.ends_with("+pipeline") {
            self.pipeline = PipeliningMode::On;
        }
        let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
        let Some((host, own_port)) = host_port(authority) else {
            let message = format!("{text:?} holds no host and port");
            notes.complain(written.position.complaint(message));
            return false;
        };
        let mut port = own_port.or(port).unwrap_or(*usual);
        let dial_ip = dial.and_then(|dial| self.set_dial(dial, ours, &mut port, notes));
        let host = match (host.parse::<IpAddr>(), dial_ip) {
            (Ok(ip), _) => bracketed(ip),
            // A name that is not looked up: the address is what counts.
            (Err(_), Some(ip)) if matches!(*ours, "udp" | "tcp") => bracketed(ip),
            (Err(_), _) if matches!(*ours, "udp" | "tcp") => {
                let message = format!("plain DNS goes to an IP address, not to {host:?}");
                let complaint = written.position.complaint(message);
                notes.complain(complaint.remedy("write its address, or use tls:// or https://"));
                return false;
            }
            (Err(_), _) => match ascii_host(host, written, notes) {
                Some(host) => host,
                None => return false,
            },
        };
        self.address = format!("{ours}://{host}:{port}{path}");
        true
    }

    /// Takes where to connect to: an address, which is given back, or a name. Its port counts
    /// instead of `port`.
    fn set_dial(
        &mut self,
        written: &PlacedWord,
        scheme: &str,
        port: &mut u16,
        notes: &ReadNotes,
    ) -> Option<IpAddr> {
        let text = written.text.trim();
        let Some((host, own_port)) = host_port(text) else {
            let message = format!("{text:?} holds no host and port");
            notes.complain(written.position.complaint(message));
            return None;
        };
        let ip = host.parse::<IpAddr>().ok();
        if ip.is_none() && scheme == "udp" {
            let message = format!("plain DNS goes to an IP address, not to {host:?}");
            notes.complain(written.position.complaint(message).remedy("write its address"));
            return None;
        }
        let host = match ip {
            Some(_) => host.to_owned(),
            None => ascii_host(host, written, notes)?,
        };
        *port = own_port.unwrap_or(*port);
        self.dial = Some(host);
        ip
    }
}

fn bracketed(ip: IpAddr) -> String {
    if ip.is_ipv6() { format!("[{ip}]") } else { ip.to_string() }
}

/// The host and the port of `host:port`, `[v6]:port`, or one of them alone; nothing if there is no
/// host, or a port that is none.
fn host_port(text: &str) -> Option<(&str, Option<u16>)> {
    if text.parse::<IpAddr>().is_ok() {
        return Some((text, None));
    }
    if let Some(rest) = text.strip_prefix('[') {
        let (host, rest) = rest.split_once(']')?;
        host.parse::<std::net::Ipv6Addr>().ok()?;
        return match rest.strip_prefix(':') {
            Some(port) => Some((host, Some(port.parse().ok()?))),
            None => rest.is_empty().then_some((host, None)),
        };
    }
    let (host, port) = match text.split_once(':') {
        Some((host, port)) => (host, Some(port.parse().ok()?)),
        None => (text, None),
    };
    (!host.is_empty()).then_some((host, port))
}

/// The name of a host as DNS has it: letters outside ASCII in their form for DNS (RFC 5891).
fn ascii_host(host: &str, written: &PlacedWord, notes: &ReadNotes) -> Option<String> {
    let name = idna::domain_to_ascii(host).ok().filter(|name| DomainName::parse(name).is_ok());
    name.or_else(|| {
        let message = format!("{host:?} is no name of a host");
        notes.refuse(written.position.complaint(message))
    })
}
