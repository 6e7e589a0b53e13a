//! What upstreams are told of where a client is (RFC 7871).
//!
//! By default nothing. Addresses that mean nothing outside are never told, and never more bits than
//! set. It only says what; the pipeline sends it. Asked for each question that goes to an upstream.

use super::networks::check_prefixes;
use dns_wire::options::ClientSubnet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use std::net::IpAddr;
use vocab::Complaint;

/// EDNS client subnet: the part of a client's address that upstreams are told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ClientSubnetSettings {
    /// `off`: nothing, whatever clients send. `forward`: what a client sends of itself. `client`:
    /// that, or else the client's own network. `fixed`: `address`, for every client. Private
    /// addresses are never sent. Default `off`: answers may come from farther away, but clients
    /// cannot be tracked by it.
    pub mode: SubnetMode,
    /// The address of `fixed`; of it, too, only the prefix is sent. Default: none.
    pub address: Option<Text<IpAddr>>,
    /// Leading bits of an IPv4 address that are sent at most. Default 24 (RFC 7871 §11.1), at most
    /// 32.
    pub ipv4_prefix: u8,
    /// Leading bits of an IPv6 address that are sent at most. Default 48, at most 128.
    pub ipv6_prefix: u8,
}

/// Tells whose subnet is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SubnetMode {
    /// None.
    #[default]
    Off,
    /// What the client sends.
    Forward,
    /// What the client sends, or else its own.
    Client,
    /// A fixed one.
    Fixed,
}

impl Default for ClientSubnetSettings {
    fn default() -> Self {
        Self { mode: SubnetMode::Off, address: None, ipv4_prefix: 24, ipv6_prefix: 48 }
    }
}

impl ClientSubnetSettings {
    /// Returns what is wrong, with paths relative to the section.
    pub(crate) fn check(&self) -> Vec<Complaint> {
        let mut complaints = check_prefixes(self.ipv4_prefix, self.ipv6_prefix);
        match (self.mode, self.address) {
            (SubnetMode::Fixed, None) => complaints.push(
                Complaint::new("address", "mode fixed needs an address")
                    .remedy("write a public address of the place that answers should suit"),
            ),
            (SubnetMode::Fixed, Some(address)) if self.of_address(address.0).is_none() => {
                complaints.push(
                    Complaint::new("address", format!("{address} means nothing outside"))
                        .remedy("write a public address"),
                );
            }
            (SubnetMode::Off | SubnetMode::Forward | SubnetMode::Client, Some(_)) => complaints
                .push(
                    Complaint::new("address", "the address is used with mode fixed only")
                        .remedy("write mode: fixed, or leave the address out"),
                ),
            _ => {}
        }
        complaints
    }

    /// Returns what an upstream is told for a query of `client` that came with `sent`.
    pub(crate) fn for_upstream(
        &self,
        sent: Option<ClientSubnet>,
        client: IpAddr,
    ) -> Option<ClientSubnet> {
        match self.mode {
            SubnetMode::Off => None,
            SubnetMode::Forward => self.forwarded(sent?),
            SubnetMode::Client => match sent {
                Some(sent) => self.forwarded(sent),
                None => self.of_address(client),
            },
            SubnetMode::Fixed => self.of_address(self.address?.0),
        }
    }

    /// A client that sends no bits does not want to be told apart, and is not (RFC 7871 §7.1.2).
    fn forwarded(&self, sent: ClientSubnet) -> Option<ClientSubnet> {
        let cut = sent.cut_by_family(self.ipv4_prefix, self.ipv6_prefix);
        let address = cut.address();
        match address {
            Some(address) if cut.bits() > 0 => ClientSubnet::of_client(address, cut.bits()),
            _ => Some(cut),
        }
    }

    fn of_address(&self, address: IpAddr) -> Option<ClientSubnet> {
        let bits = match address.to_canonical() {
            IpAddr::V4(_) => self.ipv4_prefix,
            IpAddr::V6(_) => self.ipv6_prefix,
        };
        ClientSubnet::of_client(address, bits)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A test fails by panicking.
    use super::*;

    fn subnet(text: &str) -> ClientSubnet {
        let (address, bits) = text.split_once('/').unwrap();
        ClientSubnet::of(address.parse().unwrap(), bits.parse().unwrap())
    }

    fn check(mode: SubnetMode, sent: Option<&str>, client: &str, expected: Option<&str>) {
        let address = (mode == SubnetMode::Fixed).then(|| Text("8.8.4.4".parse().unwrap()));
        let settings = ClientSubnetSettings { mode, address, ..Default::default() };
        assert_eq!(settings.check(), []);
        let told = settings.for_upstream(sent.map(subnet), client.parse().unwrap());
        assert_eq!(told, expected.map(subnet), "{mode:?} {sent:?} {client}");
    }

    #[test]
    fn nothing_is_told_unless_asked_for() {
        check(SubnetMode::Off, Some("8.8.8.0/24"), "9.9.9.9", None);
        check(SubnetMode::Forward, None, "9.9.9.9", None);
    }

    #[test]
    fn what_clients_send_is_passed_on_cut_to_the_prefix() {
        check(SubnetMode::Forward, Some("8.8.8.8/32"), "9.9.9.9", Some("8.8.8.0/24"));
        check(SubnetMode::Forward, Some("8.8.0.0/16"), "9.9.9.9", Some("8.8.0.0/16"));
        check(SubnetMode::Forward, Some("2a00:1:2:3::/64"), "9.9.9.9", Some("2a00:1:2::/48"));
        check(SubnetMode::Client, Some("8.8.8.8/32"), "9.9.9.9", Some("8.8.8.0/24"));
    }

    #[test]
    fn a_client_that_wants_not_to_be_told_apart_is_not() {
        check(SubnetMode::Client, Some("0.0.0.0/0"), "9.9.9.9", Some("0.0.0.0/0"));
        check(SubnetMode::Forward, Some("::/0"), "9.9.9.9", Some("::/0"));
    }

    #[test]
    fn private_addresses_are_never_told() {
        check(SubnetMode::Client, None, "9.9.9.9", Some("9.9.9.0/24"));
        check(SubnetMode::Client, None, "192.168.1.7", None);
        check(SubnetMode::Client, None, "fd00::1", None);
        check(SubnetMode::Forward, Some("10.0.0.0/8"), "9.9.9.9", None);
        check(SubnetMode::Fixed, Some("9.9.9.0/24"), "192.168.1.7", Some("8.8.4.0/24"));
    }

    #[test]
    fn settings_that_tell_nothing_are_refused() {
        let path = |mode, address: Option<&str>| {
            let address = address.map(|it| Text(it.parse().unwrap()));
            let settings = ClientSubnetSettings { mode, address, ..Default::default() };
            settings.check().first().map(|it| it.path.clone())
        };
        assert_eq!(path(SubnetMode::Fixed, None).as_deref(), Some("address"));
        assert_eq!(path(SubnetMode::Fixed, Some("10.0.0.1")).as_deref(), Some("address"));
        assert_eq!(path(SubnetMode::Off, Some("8.8.8.8")).as_deref(), Some("address"));
        assert_eq!(path(SubnetMode::Fixed, Some("8.8.8.8")), None);
    }
}
