//! Offer of a machine to a first run: its addresses, the ports that doors need and who holds
//! them, resolvers, lists.
//!
//! `diagnosis` knows ports and resolvers; nothing is opened or changed.

use crate::choice::FirstRunPorts;
use crate::pixel_address;
use crate::settings_text::STARTER;
use crate::upstreams::upstream_choices;
use admin_api::{FirstList, FirstRunInfo, FirstRunQuery, OwnAddress, PortInfo, UpstreamChoice};
use config::Plan;
use diagnosis::{DiagnosisSubject, PortState};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use vocab::{Listen, Scheme};

/// Addresses that are told.
const ADDRESSES_MAX: usize = 64;

/// This machine, for a configuration.
#[derive(Debug)]
pub struct MachineOffer {
    subject: DiagnosisSubject,
    /// Addresses with their interfaces.
    addresses: Vec<(IpAddr, String)>,
}

impl MachineOffer {
    /// Looks at the machine. A kernel that tells no addresses leaves loopback.
    pub fn look(subject: DiagnosisSubject) -> Self {
        let addresses = transport::neighbours::named_addresses().unwrap_or_default();
        Self { subject, addresses }
    }

    /// All that is known here, for what is asked about.
    pub fn info(&self, asked: &FirstRunQuery) -> FirstRunInfo {
        let plan = &self.subject.plan;
        let address = asked.address.as_deref().and_then(|it| it.trim().parse().ok());
        let address = address.or_else(|| self.proposed());
        let pixel = self.pixel_address(None, address);
        FirstRunInfo {
            config: (!plan.is_built_in()).then(|| config_history::absolute(&plan.source)),
            addresses: self.told(),
            ports: self.ports(
                address.unwrap_or(Ipv4Addr::LOCALHOST.into()),
                pixel,
                FirstRunPorts::asked(asked),
            ),
            pixel: pixel_address::told(pixel),
            upstreams: self.upstreams(),
            lists: lists(plan),
            ..FirstRunInfo::default()
        }
    }

    /// Address that blocked names get where nobody says another.
    pub fn pixel_address(&self, asked: Option<IpAddr>, address: Option<IpAddr>) -> Option<IpAddr> {
        let own: Vec<IpAddr> = self.addresses.iter().map(|(address, _)| *address).collect();
        let in_force = self.subject.plan.file.pixel.iter().flat_map(|pixel| &pixel.addresses);
        let in_force = in_force.map(|it| it.0).next();
        pixel_address::proposed(asked, &own, in_force, address)
    }

    /// Address that devices would most likely use.
    fn proposed(&self) -> Option<IpAddr> {
        self.told().first().and_then(|it| it.address.parse().ok())
    }

    /// Addresses, those that devices would use first.
    fn told(&self) -> Vec<OwnAddress> {
        let mut all: Vec<_> = self.addresses.iter().collect();
        all.sort_by_key(|(address, _)| (rank(*address), *address));
        let told = all.into_iter().take(ADDRESSES_MAX).map(|(address, interface)| OwnAddress {
            address: address.to_string(),
            interface: interface.clone(),
            kind: kind(*address).into(),
        });
        told.collect()
    }

    fn ports(&self, address: IpAddr, pixel: Option<IpAddr>, ports: FirstRunPorts) -> Vec<PortInfo> {
        let at_pixel = pixel.map_or(address, |it| pixel_address::pixel_place(it, address));
        let wanted = [
            ("dns", Scheme::Udp, address, ports.dns),
            ("dns", Scheme::Tcp, address, ports.dns),
            ("pixel", Scheme::Http, at_pixel, ports.http),
            ("pixel", Scheme::Https, at_pixel, ports.https),
            ("proxy", Scheme::Http, address, ports.proxy),
        ];
        let listen = wanted.map(|(door, scheme, address, port)| {
            let address = SocketAddr::new(address, port);
            (door, Listen { scheme, address, path: String::new() })
        });
        let named = listen.iter().map(|(door, listen)| (*door, listen));
        let found = diagnosis::standings(&self.subject, named);
        let info = |((door, listen), found): (&(&str, Listen), diagnosis::PortStanding)| PortInfo {
            port: listen.address.port(),
            protocol: if listen.scheme == Scheme::Udp { "udp" } else { "tcp" }.into(),
            door: (*door).into(),
            state: match found.state {
                PortState::Free => "free",
                PortState::Ours => "ours",
                PortState::Held => "held",
                PortState::Forbidden => "forbidden",
            }
            .into(),
            holder: found.holder,
            remedy: found.finding.remedy,
        };
        // Ports that the system is to pick are in neither.
        let asked = listen.iter().filter(|(_, listen)| listen.address.port() != 0);
        asked.zip(found).map(info).collect()
    }

    fn upstreams(&self) -> Vec<UpstreamChoice> {
        let dns = self.subject.plan.file.dns.as_ref();
        let in_force = dns.and_then(|dns| serde_json::to_value(&dns.upstreams).ok());
        let in_force = in_force.as_ref().and_then(|it| it.as_array()).into_iter().flatten();
        let in_force: Vec<String> = in_force.filter_map(address_of).collect();
        upstream_choices(&in_force, &diagnosis::name_servers(&self.subject.machine))
    }
}

/// The address of an upstream as it is written: a text, or a mapping that has one.
fn address_of(written: &serde_json::Value) -> Option<String> {
    let text = written.as_str().or_else(|| written.get("address")?.as_str());
    text.map(str::to_owned)
}

/// Lists to begin with, and those of the configuration.
fn lists(plan: &Plan) -> Vec<FirstList> {
    let policy = &plan.file.policy;
    let on = |name: &str| !policy.lists_off.iter().any(|off| off == name);
    let held = policy.lists.iter().map(|list| list.name.as_str());
    let held: Vec<FirstList> =
        held.map(|name| FirstList { name: name.into(), on: on(name) }).collect();
    let starter = (!held.iter().any(|list| list.name == STARTER))
        .then(|| FirstList { name: STARTER.into(), on: false });
    starter.into_iter().chain(held).collect()
}

/// True where no door answers anybody but this machine.
pub fn answers_this_machine_alone(plan: &Plan) -> bool {
    let listeners = plan.listen_settings();
    let mut doors = listeners.iter().filter(|(path, _)| !path.starts_with("admin"));
    doors.all(|(_, listen)| listen.address.ip().is_loopback())
}

fn kind(address: IpAddr) -> &'static str {
    match address {
        _ if address.is_loopback() => "loopback",
        IpAddr::V4(v4) if v4.is_link_local() => "link_local",
        IpAddr::V6(v6) if v6.is_unicast_link_local() => "link_local",
        IpAddr::V4(v4) if v4.is_private() => "private",
        IpAddr::V6(v6) if v6.is_unique_local() => "private",
        _ if door_pixel::is_gated(address) => "private",
        _ => "public",
    }
}

/// Place of an address among those that are told: devices of a home reach private ones of IPv4.
fn rank(address: IpAddr) -> u8 {
    match (kind(address), address.is_ipv4()) {
        ("private", true) => 0,
        ("private", false) => 1,
        ("public", true) => 2,
        ("public", false) => 3,
        ("loopback", _) => 4,
        _ => 5,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use diagnosis::MachineFolders;
    use std::net::TcpListener;
    use std::path::Path;
    use test_support::ScratchFolder;

    fn offer(yaml: &str, addresses: &[(&str, &str)]) -> (MachineOffer, ScratchFolder) {
        let folder = ScratchFolder::new();
        let plan = config::parse(yaml, Path::new("tidegate.yaml")).unwrap();
        let machine = MachineFolders::default();
        let subject = DiagnosisSubject { plan, state: folder.path().into(), machine };
        let named = |(address, name): &(&str, &str)| (address.parse().unwrap(), (*name).into());
        (MachineOffer { subject, addresses: addresses.iter().map(named).collect() }, folder)
    }

    #[test]
    fn addresses_of_a_home_come_first() {
        let all =
            [("::1", "lo"), ("fe80::1", "eth0"), ("203.0.113.7", "ppp0"), ("10.0.0.2", "br0")];
        let (offer, _folder) = offer("", &all);
        let told: Vec<_> = offer.told().into_iter().map(|it| (it.address, it.kind)).collect();
        let kinds = [("10.0.0.2", "private"), ("203.0.113.7", "public"), ("::1", "loopback")];
        let expected: Vec<_> = kinds.map(|(it, kind)| (it.to_owned(), kind.to_owned())).into();
        assert_eq!(told[..3], expected);
        assert_eq!(
            offer.info(&FirstRunQuery::default()).pixel.address.as_deref(),
            Some("203.0.113.7")
        );
    }

    #[test]
    fn a_port_that_somebody_holds_is_told_with_the_holder() {
        let holder = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = holder.local_addr().unwrap().port();
        let (offer, _folder) = offer("", &[("127.0.0.1", "lo")]);
        let asked = FirstRunQuery {
            address: Some("127.0.0.1".into()),
            proxy_port: Some(port),
            dns_port: Some(0),
            ..FirstRunQuery::default()
        };
        let info = offer.info(&asked);
        let proxy = info.ports.iter().find(|it| it.door == "proxy").unwrap();
        assert_eq!((proxy.state.as_str(), proxy.port), ("held", port));
        assert!(proxy.holder.is_some() && proxy.remedy.is_some(), "{proxy:?}");
        assert!(!info.ports.iter().any(|it| it.door == "dns"), "the system picks one");
        assert!(info.pixel.gated);
        let starter = FirstList { name: STARTER.into(), on: false };
        assert_eq!(info.lists, [starter]);
    }

    #[test]
    fn what_is_in_force_is_told_and_whether_others_are_answered() {
        let yaml = "policy: { lists: [{ name: a, rules: [\"||x.example^\"] }], lists_off: [a] }\n\
                    dns: { listen: [\"udp://127.0.0.1:5353\"], upstreams: [\"tls://1.1.1.1\"] }\n";
        let (offer, _folder) = offer(yaml, &[("192.168.1.2", "eth0")]);
        let info = offer.info(&FirstRunQuery::default());
        assert!(info.upstreams[0].current && info.upstreams[0].url == "tls://1.1.1.1");
        assert!(!info.lists[1].on, "{:?}", info.lists);
        assert!(answers_this_machine_alone(&offer.subject.plan));
        let open = yaml.replace("127.0.0.1:5353", "0.0.0.0:5353");
        assert!(!answers_this_machine_alone(&config::parse(&open, Path::new("t.yaml")).unwrap()));
    }
}
