//! What is wrong with the settings of one upstream, option by option and protocol by protocol.
//!
//! An option that a protocol cannot have is refused with a remedy, not ignored. Called by the check
//! of the resolver's settings, which adds where the upstream stands.

use super::address::{UpstreamAddress, UpstreamHost, UpstreamProtocol};
use super::upstream::{
    CertificateCheck, PipelineMode, QueryLetters, UpstreamCookieMode, UpstreamDetails,
};
use settings::Text;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::time::Duration;
use transport::INTERFACE_BYTES_MAX;
use transport::tls::PINS_MAX;
use vocab::Complaint;

const IDLE: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_mins(10);
const CONNECTIONS: RangeInclusive<u8> = 1..=64;

impl UpstreamDetails {
    /// Every complaint about how it is reached; paths are relative to the upstream. What is wrong
    /// with the address itself is not among them.
    pub fn check(&self) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        let address: Option<UpstreamAddress> = self.address.parse().ok();
        if let Some(address) = &address {
            self.check_protocol(address.protocol, &mut complaints);
        }
        let mut complain = |path: &str, message: String, remedy: &str| {
            complaints.push(Complaint::new(path, message).remedy(remedy));
        };
        if let Some(interface) = &self.interface {
            let fits = (1..=INTERFACE_BYTES_MAX).contains(&interface.len())
                && interface.bytes().all(|it| it.is_ascii_graphic() && it != b'/');
            if !fits {
                let message = format!("{interface:?} is no name of an interface");
                complain("interface", message, "write it as `ip link` shows it");
            }
        }
        if let Some(idle) = self.idle.filter(|it| !IDLE.contains(&it.0.0)) {
            complain("idle", format!("{idle} is out of bounds"), "from 1s to 10m");
        }
        if let Some(count) = self.connections.filter(|it| !CONNECTIONS.contains(it)) {
            complain("connections", format!("{count} is out of bounds"), "from 1 to 64");
        }
        let most = self.connections.unwrap_or(*CONNECTIONS.end());
        if self.min_connections > most {
            let message = format!("{} are more than there may be at once", self.min_connections);
            complain("min_connections", message, &format!("at most `connections`: {most}"));
        }
        if self.pins.len() > PINS_MAX {
            complain("pins", format!("{} pins are too many", self.pins.len()), "16 is the most");
        }
        let target = address.and_then(|it| self.target(&it));
        if let (Some(source), Some(target)) = (self.source, target)
            && source.0.is_ipv4() != target.is_ipv4()
        {
            let message = format!("{target} cannot be reached from {source}");
            complain("source", message, "use an address of the same family");
        }
        complaints
    }

    /// The address that is connected to, as far as the settings say.
    fn target(&self, address: &UpstreamAddress) -> Option<IpAddr> {
        if let Some(proxy) = &self.socks5 {
            return Some(proxy.0.address.ip());
        }
        match self.dial.as_ref().map_or(&address.host, |dial| &dial.0) {
            UpstreamHost::Ip(ip) => Some(*ip),
            UpstreamHost::Name(_) => None,
        }
    }

    fn check_protocol(&self, protocol: UpstreamProtocol, all: &mut Vec<Complaint>) {
        let streams = matches!(
            protocol,
            UpstreamProtocol::Tcp | UpstreamProtocol::Tls | UpstreamProtocol::Https
        );
        let encrypted = matches!(
            protocol,
            UpstreamProtocol::Tls | UpstreamProtocol::Https | UpstreamProtocol::Quic
        );
        let plain_streams = matches!(protocol, UpstreamProtocol::Tcp | UpstreamProtocol::Tls);
        let udp = protocol == UpstreamProtocol::Udp;
        let scheme = protocol.as_str();
        let is_by_name = matches!(self.dial, Some(Text(UpstreamHost::Name(_))));
        let given = [
            (
                "dial",
                is_by_name && udp,
                "is not connected to by name",
                "write an IP address, or use tcp://, tls://, https:// or quic://",
            ),
            (
                "socks5",
                self.socks5.is_some() && !streams,
                "goes through no SOCKS5 proxy",
                "use tcp://, tls:// or https://",
            ),
            (
                "pins",
                !self.pins.is_empty() && !encrypted,
                "has no certificate to pin",
                "use tls://, https:// or quic://, or leave it out",
            ),
            (
                "verify",
                self.verify == CertificateCheck::None && !encrypted,
                "has no certificate to verify",
                "leave it out",
            ),
            (
                "pipeline",
                self.pipeline == PipelineMode::Off && !plain_streams,
                "cannot ask one question at a time",
                "use tcp:// or tls://, or leave it out",
            ),
            (
                "min_connections",
                self.min_connections > 0 && !streams,
                "keeps no connections open",
                "use tcp://, tls:// or https://, or leave it out",
            ),
            (
                "case",
                self.case == QueryLetters::Random && !udp,
                "needs no random letters: its connection keeps guessers out",
                "leave it out",
            ),
            (
                "cookies",
                self.cookies == UpstreamCookieMode::On && !udp,
                "needs no cookies: its connection keeps guessers out",
                "leave it out",
            ),
        ];
        for (path, wrong, message, remedy) in given {
            if wrong {
                all.push(Complaint::new(path, format!("{scheme}:// {message}")).remedy(remedy));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A test fails by panicking.
    use super::*;

    fn check(given: serde_json::Value, expected: &[(&str, &str)]) {
        let details: UpstreamDetails = serde_json::from_value(given).unwrap();
        let complaints = details.check();
        let found: Vec<_> =
            complaints.iter().map(|it| (it.path.as_str(), it.message.as_str())).collect();
        assert_eq!(found, expected);
        assert!(complaints.iter().all(|it| it.remedy.is_some()));
    }

    const PIN: &str = "sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=";

    #[test]
    fn each_protocol_takes_what_it_can_do() {
        check(
            serde_json::json!({ "address": "udp://9.9.9.9", "case": "random", "cookies": "on",
                "interface": "eth0", "mark": 16, "source": "192.0.2.1" }),
            &[],
        );
        check(
            serde_json::json!({ "address": "tls://dns.example", "dial": "9.9.9.9",
                "socks5": "me:pw@127.0.0.1:1080", "pins": [PIN], "pipeline": "off",
                "idle": "30s", "connections": 8, "min_connections": 8 }),
            &[],
        );
        check(
            serde_json::json!({ "address": "quic://dns.example", "pins": [PIN], "verify": "none",
                "family": "ipv6" }),
            &[],
        );
    }

    #[test]
    fn what_a_protocol_cannot_do_is_refused() {
        check(
            serde_json::json!({ "address": "udp://9.9.9.9", "socks5": "127.0.0.1", "pins": [PIN],
                "verify": "none", "pipeline": "off", "dial": "dns.example" }),
            &[
                ("dial", "udp:// is not connected to by name"),
                ("socks5", "udp:// goes through no SOCKS5 proxy"),
                ("pins", "udp:// has no certificate to pin"),
                ("verify", "udp:// has no certificate to verify"),
                ("pipeline", "udp:// cannot ask one question at a time"),
            ],
        );
        check(
            serde_json::json!({ "address": "quic://9.9.9.9", "socks5": "127.0.0.1",
                "case": "random", "cookies": "on", "min_connections": 1 }),
            &[
                ("socks5", "quic:// goes through no SOCKS5 proxy"),
                ("min_connections", "quic:// keeps no connections open"),
                ("case", "quic:// needs no random letters: its connection keeps guessers out"),
                ("cookies", "quic:// needs no cookies: its connection keeps guessers out"),
            ],
        );
    }

    #[test]
    fn values_out_of_bounds_are_refused() {
        check(
            serde_json::json!({ "address": "tls://9.9.9.9", "interface": "much-too-long-name",
                "idle": "0s", "connections": 0, "min_connections": 1,
                "source": "::1", "pins": vec![PIN; 17] }),
            &[
                ("interface", "\"much-too-long-name\" is no name of an interface"),
                ("idle", "0 is out of bounds"),
                ("connections", "0 is out of bounds"),
                ("min_connections", "1 are more than there may be at once"),
                ("pins", "17 pins are too many"),
                ("source", "9.9.9.9 cannot be reached from ::1"),
            ],
        );
    }
}
