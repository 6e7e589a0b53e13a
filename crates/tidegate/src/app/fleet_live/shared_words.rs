//! Words in which machines of a fleet tell each other of pauses, overrides and purges.
//!
//! Keys and purges are read back as they were written; what is none is passed over, for another
//! machine may be of another version.

use admin::DnsCachePurge;
use admin_api::{EVERY_NAME, TakeBackRequest};
use policy::OverrideClients;
use serde_json::{Value as Json, json};
use vocab::DomainName;

/// Key of the pause of blocking.
pub(super) const PAUSE: &str = "pause";

/// Purge that machines tell each other of.
#[derive(Clone, Debug)]
pub(super) enum FleetPurge {
    /// Of answers to DNS questions.
    Dns(DnsCachePurge),
    /// Of stored responses.
    Stores(TakeBackRequest),
    /// Of all that is kept.
    Everything,
}

/// The key of an override: `override NAME everyone`, `… client ADDRESS` or `… profile NAME`.
pub(super) fn override_key(host: Option<&DomainName>, clients: &OverrideClients) -> String {
    let host = host.map_or(EVERY_NAME, DomainName::as_str);
    match clients {
        OverrideClients::Everyone => format!("override {host} everyone"),
        OverrideClients::Address(address) => format!("override {host} client {address}"),
        OverrideClients::Profile(name) => format!("override {host} profile {name}"),
    }
}

/// Name (none for everything) and clients of an override's key; none of what is none.
pub(super) fn override_of(key: &str) -> Option<(Option<DomainName>, OverrideClients)> {
    let (host, clients) = key.strip_prefix("override ")?.split_once(' ')?;
    let host = if host == EVERY_NAME { None } else { Some(DomainName::parse(host).ok()?) };
    let clients = match clients.split_once(' ') {
        None if clients == "everyone" => OverrideClients::Everyone,
        Some(("client", address)) => OverrideClients::Address(address.parse().ok()?),
        Some(("profile", name)) => OverrideClients::Profile(name.to_owned()),
        _ => return None,
    };
    Some((host, clients))
}

impl FleetPurge {
    pub(super) fn written(&self) -> String {
        let dns = |what: &str, name: Option<&DomainName>| json!({ "cache": "dns", "what": what, "name": name.map(DomainName::as_str) });
        let purge = match self {
            Self::Everything => json!({ "cache": "all" }),
            Self::Dns(DnsCachePurge::All) => dns("all", None),
            Self::Dns(DnsCachePurge::Name(name)) => dns("name", Some(name)),
            Self::Dns(DnsCachePurge::Suffix(name)) => dns("suffix", Some(name)),
            Self::Stores(what) => json!({ "cache": "http", "what": what }),
        };
        purge.to_string()
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        let read: Json = serde_json::from_str(text).ok()?;
        let name = || DomainName::parse(read["name"].as_str()?).ok();
        match (read["cache"].as_str()?, read["what"].as_str()) {
            ("all", _) => Some(Self::Everything),
            ("dns", Some("all")) => Some(Self::Dns(DnsCachePurge::All)),
            ("dns", Some("name")) => name().map(DnsCachePurge::Name).map(Self::Dns),
            ("dns", Some("suffix")) => name().map(DnsCachePurge::Suffix).map(Self::Dns),
            ("http", _) => serde_json::from_value(read["what"].clone()).ok().map(Self::Stores),
            _ => None,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_as_they_were_written() {
        let name = DomainName::parse("shop.example").unwrap();
        for host in [Some(&name), None] {
            for clients in [
                OverrideClients::Everyone,
                OverrideClients::Address("2001:db8::7".parse().unwrap()),
                OverrideClients::Profile("the kids".into()),
            ] {
                let key = override_key(host, &clients);
                assert_eq!(override_of(&key), Some((host.cloned(), clients)), "{key}");
            }
        }
        for key in ["", "pause", "override", "override a.example", "override a.example client x"] {
            assert_eq!(override_of(key), None, "{key}");
        }
    }

    #[test]
    fn purges_are_read_as_they_were_written_and_nonsense_is_none() {
        let name = DomainName::parse("shop.example").unwrap();
        let stores = TakeBackRequest {
            what: "prefix".into(),
            value: Some("https://a.example/x".into()),
            soft: true,
            door: Some("gateway".into()),
        };
        for purge in [
            FleetPurge::Everything,
            FleetPurge::Dns(DnsCachePurge::All),
            FleetPurge::Dns(DnsCachePurge::Name(name.clone())),
            FleetPurge::Dns(DnsCachePurge::Suffix(name)),
            FleetPurge::Stores(stores),
        ] {
            let read = FleetPurge::parse(&purge.written()).unwrap();
            assert_eq!(read.written(), purge.written());
        }
        for text in ["", "{", "[]", "{\"cache\":\"dns\"}", "{\"cache\":\"http\",\"what\":1}"] {
            assert!(FleetPurge::parse(text).is_none(), "{text}");
        }
    }
}
