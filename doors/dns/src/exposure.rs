//! Warnings about a DNS door that strangers can use, or that would ask itself. The settings are
//! valid, so nothing is refused: `check` and the start print them.
//!
//! It resolves nothing and opens nothing. Called by `config` for `DnsPlan::warnings`.

use crate::Settings;
use pipeline::records::RedirectTable;
use resolver::{UpstreamAddress, UpstreamHost, UpstreamProtocol, UpstreamSettings};
use std::net::{IpAddr, SocketAddr};
use vocab::{Complaint, DomainName, Listen, Scheme};

/// Steps that are followed from one rewritten name: longer chains end as circles do, with no
/// answer.
const REWRITES_FOLLOWED_MAX: usize = 16;

impl Settings {
    /// Warnings, with paths relative to this section: an open resolver, upstreams that are this
    /// door itself, rewrites that lead in a circle.
    pub fn warnings(&self) -> Vec<Complaint> {
        let mut warnings: Vec<Complaint> = self.open_resolver().into_iter().collect();
        warnings.extend(self.upstream_loops());
        warnings.extend(self.rewrite_loops());
        warnings
    }

    /// A resolver that answers everybody is used to flood others with answers they never asked for
    /// (RFC 5358).
    fn open_resolver(&self) -> Option<Complaint> {
        if !self.access.allow.is_empty() {
            return None;
        }
        let is_open = |listen: &Listen| {
            matches!(listen.scheme, Scheme::Udp | Scheme::Tcp) && !is_inside(listen.address.ip())
        };
        let index = self.listen.iter().position(|it| is_open(it))?;
        let message = format!(
            "warning: everybody who reaches {} may ask; open resolvers are used for attacks on \
             others (RFC 5358)",
            self.listen[index].address
        );
        let remedy = "name your own networks under dns.access.allow, as in [127.0.0.0/8, \
                      192.168.0.0/16], or listen on an inside address";
        Some(Complaint::new(format!("listen.{index}"), message).remedy(remedy))
    }

    /// True if a proxy on the way to an upstream is named with its password.
    pub fn has_passwords(&self) -> bool {
        self.upstream_groups().iter().flat_map(|(_, upstreams)| upstreams.iter()).any(|upstream| {
            let UpstreamSettings::Detailed(details) = upstream else { return false };
            details.socks5.as_ref().is_some_and(|proxy| proxy.credentials.is_some())
        })
    }

    /// Every list of upstreams with its path.
    fn upstream_groups(&self) -> Vec<(String, &[UpstreamSettings])> {
        let mut groups: Vec<(String, &[UpstreamSettings])> = vec![
            ("upstreams".to_owned(), &self.upstreams),
            ("private_reverse".to_owned(), &self.private_reverse),
        ];
        for (index, view) in self.views.iter().enumerate() {
            groups.push((format!("views.{index}.upstreams"), &view.upstreams));
        }
        if let Some(fallback) = &self.fallback {
            groups.push(("fallback.upstreams".to_owned(), &fallback.upstreams));
        }
        groups
    }

    fn upstream_loops(&self) -> Vec<Complaint> {
        let mut warnings = Vec::new();
        for (path, upstreams) in self.upstream_groups() {
            for (index, upstream) in upstreams.iter().enumerate() {
                if let Some(address) = self.own_listener(upstream) {
                    let message = format!(
                        "warning: {address} is this door itself: every question would come back \
                         until it times out"
                    );
                    let remedy = "name another resolver, as in https://dns.quad9.net/dns-query";
                    let complaint = Complaint::new(format!("{path}.{index}"), message);
                    warnings.push(complaint.remedy(remedy));
                }
            }
        }
        warnings
    }

    /// The address of `upstream` where this door listens there.
    fn own_listener(&self, upstream: &UpstreamSettings) -> Option<SocketAddr> {
        let (written, dial) = match upstream {
            UpstreamSettings::Address(address) => (address, None),
            UpstreamSettings::Detailed(details) => (&details.address, details.dial.as_ref()),
        };
        let address: UpstreamAddress = written.parse().ok()?;
        let host = dial.map_or(&address.host, |dial| &dial.0);
        let UpstreamHost::Ip(ip) = *host else { return None };
        let at = SocketAddr::new(ip, address.port);
        let is_here = |listen: &Listen| {
            listen.address.port() == at.port()
                && protocols_match(listen.scheme, address.protocol)
                && (listen.address.ip() == ip
                    || (listen.address.ip().is_unspecified() && ip.is_loopback()))
        };
        self.listen.iter().any(|it| is_here(it)).then_some(at)
    }

    fn rewrite_loops(&self) -> Vec<Complaint> {
        // Lines that cannot be read are complaints of `check`.
        let Ok(Some(redirects)) = self.redirects() else { return Vec::new() };
        let mut told: Vec<DomainName> = Vec::new();
        let mut warnings = Vec::new();
        for (index, line) in self.rewrites.iter().enumerate() {
            let target = line.split_whitespace().nth(1).and_then(|it| DomainName::parse(it).ok());
            let Some(target) = target.filter(|it| !told.contains(it)) else { continue };
            let Some(circle) = loop_from(&redirects, target) else { continue };
            let names: Vec<String> = circle.iter().map(ToString::to_string).collect();
            let message =
                format!("warning: these rewrites lead in a circle: {}", names.join(" → "));
            let remedy = "let one of them name where the answer is";
            warnings.push(Complaint::new(format!("rewrites.{index}"), message).remedy(remedy));
            told.extend(circle);
        }
        warnings
    }
}

/// The names from `start` back to it, where following rewrites leads there.
fn loop_from(redirects: &RedirectTable, start: DomainName) -> Option<Vec<DomainName>> {
    let mut names = vec![start];
    while names.len() <= REWRITES_FOLLOWED_MAX {
        let next = redirects.find(names.last()?.as_name())?.name.clone();
        let is_back = next == names[0];
        names.push(next);
        if is_back {
            return Some(names);
        }
    }
    None
}

/// Addresses that no stranger reaches from the internet: loopback, private, link-local.
fn is_inside(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_loopback() || v4.is_private() || v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_loopback() || v6.is_unique_local() || v6.is_unicast_link_local(),
    }
}

/// True if a listener of this scheme takes what an upstream of this protocol is sent.
fn protocols_match(scheme: Scheme, protocol: UpstreamProtocol) -> bool {
    match scheme {
        Scheme::Udp => protocol == UpstreamProtocol::Udp,
        Scheme::Tcp => matches!(protocol, UpstreamProtocol::Tcp | UpstreamProtocol::Udp),
        Scheme::Tls => protocol == UpstreamProtocol::Tls,
        Scheme::Https => protocol == UpstreamProtocol::Https,
        Scheme::Quic => protocol == UpstreamProtocol::Quic,
        Scheme::Http | Scheme::Redirect | Scheme::Tproxy => false,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use settings::Text;

    fn listening(listen: &[&str]) -> Settings {
        let listen = listen.iter().map(|it| Text(it.parse().unwrap())).collect();
        Settings { listen, ..Settings::default() }
    }

    fn paths(settings: &Settings) -> Vec<String> {
        settings.warnings().into_iter().map(|it| it.path).collect()
    }

    #[test]
    fn a_resolver_for_everybody_is_warned_of() {
        let mut open = listening(&["udp://192.168.1.2:53", "tcp://0.0.0.0:53"]);
        assert_eq!(paths(&open), ["listen.1"]);
        open.access.allow = vec![Text("192.168.0.0/16".parse().unwrap())];
        assert!(paths(&open).is_empty());
        assert!(paths(&listening(&["udp://127.0.0.1:53", "tcp://[fd00::1]:53"])).is_empty());
    }

    #[test]
    fn an_upstream_that_is_this_door_is_warned_of() {
        let mut settings = listening(&["udp://127.0.0.1:5353"]);
        let plain = |text: &str| UpstreamSettings::Address(text.into());
        settings.upstreams = vec![plain("9.9.9.9"), plain("127.0.0.1:5353")];
        settings.private_reverse = vec![plain("udp://127.0.0.1:5354"), plain("127.0.0.1:5353")];
        assert_eq!(paths(&settings), ["upstreams.1", "private_reverse.1"]);
        settings.listen = vec![Text("tls://127.0.0.1:5353".parse().unwrap())];
        assert!(paths(&settings).is_empty());
    }

    #[test]
    fn rewrites_in_a_circle_are_warned_of() {
        let mut settings = listening(&["udp://127.0.0.1:5353"]);
        settings.rewrites = ["a.example b.example", "b.example a.example", "c.example a.example"]
            .map(String::from)
            .to_vec();
        let told: Vec<String> = settings.warnings().iter().map(ToString::to_string).collect();
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains("b.example → a.example → b.example"), "{told:?}");
        settings.rewrites = vec!["||example^ www.example".into()];
        assert!(paths(&settings).is_empty());
    }
}
