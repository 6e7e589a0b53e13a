//! Settings of the pixel door: the `pixel` section of the configuration.
//!
//! It binds nothing and mints nothing; `config` reads it and [`Settings::check`] says what is
//! wrong.

mod inspect;

pub use self::inspect::InspectSettings;

use crate::answered_names::AnsweredNames;
use http_front::ConnectionCaps;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::time::Duration;
use vocab::{Complaint, Door, Listen, Network, Scheme, TimeSpan};

/// Connections that can be asked for at most: each costs a descriptor and, under TLS, some 30 KiB.
const CONNECTIONS_MAX: u32 = 1_000_000;

/// Time between requests of a connection.
const IDLE_TIMEOUT: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_hours(1);

/// Networks of `servstats` at most.
const READERS_MAX: usize = 64;

/// The pixel door.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Where to answer: `http://ADDRESS:PORT` and `https://ADDRESS:PORT`. Browsers ask at ports 80
    /// and 443 only. Default `http://127.0.0.1:8080` and `https://127.0.0.1:8443`.
    pub listen: Vec<Text<Listen>>,
    /// The addresses that the DNS door gives for blocked names: those at which clients reach these
    /// listeners. Default `127.0.0.1`; with an empty list the DNS door sends no client here.
    pub addresses: Vec<Text<IpAddr>>,
    /// Answers for names that no rule names, as pixelserv-tls answers every name that is sent to
    /// it: for networks where another blocker (a router's dnsmasq, Pi-hole) sends blocked names
    /// here. Names that a rule lets pass are not answered. Over HTTPS it wants `signer.names: any`.
    /// Default false: such a name is told that it is not blocked.
    pub any_name: bool,
    /// Redirects for people who open a blocked address that carries another web address inside, as
    /// links of advertisements and counters do: 307 to that one, instead of the page that says why
    /// with a link to it. Default false.
    pub redirect: bool,
    /// The clients that may read `/servstats` and `/servstats.txt` at the door's address: its
    /// counters under the names of pixelserv-tls, for scripts and people who know them; addresses
    /// and networks. Default none, and nobody is shown them; at most 64.
    pub servstats: Vec<Text<Network>>,
    /// Number of connections that may be open at once, all clients together; one over it is closed
    /// at once. Default 10000, from 1 to 1000000.
    pub connections: u32,
    /// Connections that one client may hold. Default 512, from 1 to 1000000.
    pub connections_per_client: u32,
    /// Time for which a connection may stay open between requests. Default 1m, from 1s to 1h.
    pub idle_timeout: Text<TimeSpan>,
    /// The beginnings of bodies that pages post to blocked hosts, kept for the administrator, who
    /// finds in them what is told of the devices' users. Default: of nobody.
    pub inspect: InspectSettings,
}

impl Default for Settings {
    fn default() -> Self {
        let at = |scheme, port| {
            let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
            Text(Listen { scheme, address, path: String::new() })
        };
        Self {
            listen: vec![at(Scheme::Http, 8080), at(Scheme::Https, 8443)],
            addresses: vec![Text(Ipv4Addr::LOCALHOST.into())],
            any_name: false,
            redirect: false,
            servstats: Vec::new(),
            connections: transport::CONNECTIONS_MAX_DEFAULT as u32,
            connections_per_client: transport::CONNECTIONS_PER_CLIENT_MAX_DEFAULT as u32,
            idle_timeout: Text(TimeSpan(Duration::from_mins(1))),
            inspect: InspectSettings::default(),
        }
    }
}

impl Settings {
    /// The caps on its connections.
    pub(crate) const fn connection_caps(&self) -> ConnectionCaps {
        ConnectionCaps::new(self.connections, self.connections_per_client)
    }

    /// Every complaint, with paths relative to this section.
    pub fn check(&self) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        if self.listen.is_empty() {
            complaints.push(
                Complaint::new("listen", "the pixel door has nowhere to listen").remedy(
                    "write listen: [\"http://127.0.0.1:8080\", \"https://127.0.0.1:8443\"]",
                ),
            );
        }
        for (index, listen) in self.listen.iter().enumerate() {
            complaints.extend(check_listen(&format!("listen.{index}"), listen));
        }
        for (index, address) in self.addresses.iter().enumerate() {
            complaints.extend(self.check_address(&format!("addresses.{index}"), address.0));
        }
        if self.servstats.len() > READERS_MAX {
            complaints.push(
                Complaint::new(
                    "servstats",
                    format!("{} networks are listed", self.servstats.len()),
                )
                .remedy(format!("{READERS_MAX} is the most: name larger ones")),
            );
        }
        for (path, count) in [
            ("connections", self.connections),
            ("connections_per_client", self.connections_per_client),
        ] {
            if !(1..=CONNECTIONS_MAX).contains(&count) {
                complaints.push(
                    Complaint::new(path, format!("{count} is out of bounds"))
                        .remedy(format!("write a number from 1 to {CONNECTIONS_MAX}")),
                );
            }
        }
        if !IDLE_TIMEOUT.contains(&self.idle_timeout.0.0) {
            complaints.push(
                Complaint::new("idle_timeout", "it is out of bounds").remedy("write 1s to 1h"),
            );
        }
        complaints.extend(self.inspect.check().into_iter().map(|it| it.under("inspect")));
        complaints
    }

    /// Returns what is allowed and still worth saying, with paths relative to this section.
    ///
    /// Browsers have a page from the internet ask its reader before it may load anything from a
    /// local address (Local Network Access; Chromium since 142), so its blocked parts fail or
    /// prompt.
    pub fn warnings(&self) -> Vec<Complaint> {
        let gated = self.addresses.iter().enumerate().filter(|(_, address)| is_gated(address.0));
        let warning = |(index, address): (usize, &Text<IpAddr>)| {
            let message = format!(
                "warning: {address} is a local address, and browsers keep pages of the internet from \
                 loading anything there without asking their reader",
            );
            Complaint::new(format!("addresses.{index}"), message).remedy(GATED_REMEDY)
        };
        gated.map(warning).chain(self.any_name_warning()).chain(self.inspect_warning()).collect()
    }

    /// Returns what is given up where names are certified that no list of ours blocks.
    fn any_name_warning(&self) -> Option<Complaint> {
        if !self.any_name || !self.has_https() {
            return None;
        }
        let message = "warning: whoever can send a device's connections here gets a certificate for \
                       any name but public suffixes, signer.own_domains and signer.excluded, where \
                       only blocked names had one";
        let remedy = "let nobody but your own blocker send clients here, or fetch its lists \
                      (policy.lists) and leave any_name out";
        Some(Complaint::new("any_name", message).remedy(remedy))
    }

    /// Returns what is kept of people where posted bodies are.
    fn inspect_warning(&self) -> Option<Complaint> {
        let message = "warning: what pages of these clients post to blocked hosts is kept for a \
                       while, in memory, and shown to the administrator; values that look like \
                       secrets are taken out, and some may be missed";
        let remedy = "tell the people whose devices these are, or leave inspect out";
        (!self.inspect.clients.is_empty())
            .then(|| Complaint::new("inspect.clients", message).remedy(remedy))
    }

    /// True if it answers over HTTPS, with certificates of the signer.
    pub fn has_https(&self) -> bool {
        self.listen.iter().any(|listen| listen.scheme == Scheme::Https)
    }

    /// The names that it answers.
    pub fn answered_names(&self) -> AnsweredNames {
        if self.any_name { AnsweredNames::Any } else { AnsweredNames::Blocked }
    }

    fn check_address(&self, path: &str, address: IpAddr) -> Option<Complaint> {
        if address.is_unspecified() || address.is_multicast() {
            let message = format!("{address} is no address that a client can connect to");
            return Some(
                Complaint::new(path, message)
                    .remedy("write this machine's address, as clients see it"),
            );
        }
        let listens_on_loopback = self.listen.iter().any(|it| it.address.ip().is_loopback());
        if address.is_loopback() && !self.listen.is_empty() && !listens_on_loopback {
            let message = format!(
                "{address} sends every client to itself, and the pixel door does not listen there"
            );
            return Some(
                Complaint::new(path, message)
                    .remedy("write addresses: [ADDRESS], with one of those under listen"),
            );
        }
        None
    }
}

/// Remedy for an address that browsers gate.
pub const GATED_REMEDY: &str = "give the pixel door an address that browsers take for public and \
    nobody else uses, such as 192.0.2.1 (RFC 5737), and route it to this machine: \
    ip address add 192.0.2.1/32 dev lo, and a route on the router if there is one";

/// True if browsers count an address among the local ones: Chromium's table, M142 to M151, and
/// 198.18.0.0/15, which the draft of Local Network Access adds.
pub fn is_gated(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => match v4.octets() {
            [0 | 10 | 127, ..] | [169, 254, ..] | [192, 168, ..] | [198, 18 | 19, ..] => true,
            [100, second, ..] => (64..128).contains(&second),
            [172, second, ..] => (16..32).contains(&second),
            _ => false,
        },
        IpAddr::V6(v6) => match v6.segments() {
            [0x2001, 0xdb8, ..] | [0, 0, 0, 0, 0, 0, 0, 0 | 1] => true,
            // fc00::/7, fe80::/10, fec0::/10 and 3fff::/20.
            [first, second, ..] => {
                first & 0xfe00 == 0xfc00
                    || matches!(first & 0xffc0, 0xfe80 | 0xfec0)
                    || (first == 0x3fff && second < 0x1000)
            }
        },
    }
}

fn check_listen(path: &str, listen: &Listen) -> Option<Complaint> {
    let no_path = "the pixel door answers every path, so none can be given here";
    http_front::check_listen(Door::Pixel, path, listen, no_path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(settings: &Settings) -> Vec<String> {
        settings.check().into_iter().map(|complaint| complaint.path).collect()
    }

    fn listening(entries: &[&str]) -> Settings {
        let listen = entries.iter().map(|it| Text(it.parse().unwrap())).collect();
        Settings { listen, ..Settings::default() }
    }

    #[test]
    fn the_default_settings_are_right() {
        assert_eq!(Settings::default().check(), []);
    }

    #[test]
    fn every_listener_is_http_or_https_without_a_path() {
        let wrong = listening(&["udp://127.0.0.1:53", "http://127.0.0.1:80/x", "quic://127.0.0.1"]);
        assert_eq!(paths(&wrong), ["listen.0", "listen.1", "listen.2"]);
        assert_eq!(paths(&listening(&[])), ["listen"]);
    }

    #[test]
    fn addresses_are_those_that_clients_can_reach() {
        let mut settings = listening(&["http://192.168.1.2:80"]);
        assert_eq!(paths(&settings), ["addresses.0"], "the default sends clients to themselves");
        settings.addresses = vec![Text(Ipv4Addr::new(192, 168, 1, 2).into())];
        assert_eq!(settings.check(), []);
        settings.addresses.push(Text(Ipv4Addr::UNSPECIFIED.into()));
        assert_eq!(paths(&settings), ["addresses.1"]);
        settings.addresses.clear();
        assert_eq!(settings.check(), []);
    }

    #[test]
    fn every_complaint_comes_at_once() {
        let mut settings = listening(&["tls://127.0.0.1:853"]);
        settings.connections = 0;
        settings.connections_per_client = CONNECTIONS_MAX + 1;
        assert_eq!(paths(&settings), ["listen.0", "connections", "connections_per_client"]);
    }

    #[test]
    fn addresses_that_browsers_take_for_local_are_worth_a_word() {
        let gated = |address: &str| is_gated(address.parse().unwrap());
        for local in [
            "10.1.2.3",
            "127.0.0.1",
            "192.168.1.2",
            "172.31.0.1",
            "100.64.0.1",
            "169.254.1.1",
            "198.19.0.1",
            "::1",
            "fd00::1",
            "fe80::1",
            "2001:db8::1",
            "3fff::1",
            "::ffff:192.168.1.2",
        ] {
            assert!(gated(local), "{local}");
        }
        for public in [
            "192.0.2.1",
            "198.51.100.1",
            "203.0.113.1",
            "172.32.0.1",
            "100.128.0.1",
            "2001:2::1",
            "2a00::1",
        ] {
            assert!(!gated(public), "{public}");
        }
        let addresses = ["192.0.2.1", "192.168.1.2"].map(|it| Text(it.parse().unwrap())).to_vec();
        let warnings = Settings { addresses, ..Settings::default() }.warnings();
        assert_eq!(warnings.len(), 1);
        assert_eq!(warnings[0].path, "addresses.1");
    }
}
