//! Warnings about a proxy that strangers can use. The settings are valid, so nothing is refused:
//! `check` and the start line print them.
//!
//! It resolves nothing and opens nothing. Called by `config` for `Plan::warnings`.

use super::{ParentSettings, Settings, private_networks};
use origins::{DestinationScope, ParentHop};
use vocab::{Complaint, Network};

impl Settings {
    /// Warnings, with paths relative to this section: an open proxy, and one that leads its clients
    /// to what only this machine should reach.
    pub fn warnings(&self) -> Vec<Complaint> {
        let exposed = self.listen.iter().find(|it| !it.address.ip().is_loopback());
        let Some(listen) = exposed else { return Vec::new() };
        let mut warnings = Vec::new();
        let stranger = self.clients.iter().position(|network| !is_private(network));
        if let (Some(index), None) = (stranger, &self.auth) {
            let network = &self.clients[index];
            let message = format!(
                "warning: anybody in {network} who reaches {} can use this proxy without a \
                 password, and whatever they do carries your address",
                listen.address
            );
            warnings.push(Complaint::new(format!("clients.{index}"), message).remedy(
                "name only your own networks under proxy.clients, or add proxy.auth, or listen on \
                 127.0.0.1",
            ));
        }
        if self.destinations == DestinationScope::Any {
            let message = format!(
                "warning: with any, clients of {} reach what listens on this machine's loopback \
                 addresses and on its private networks",
                listen.address
            );
            let remedy = "write destinations: guarded, which lets private clients reach private \
                          networks and nobody reach loopback";
            warnings.push(Complaint::new("destinations", message).remedy(remedy));
        }
        warnings
    }
}

impl Settings {
    /// True if a parent proxy is named with its password.
    pub fn has_passwords(&self) -> bool {
        let parents = self.parent.iter().chain(self.parents.iter().map(|rule| &rule.parent));
        let mut hops = parents.flat_map(ParentSettings::hops);
        hops.any(|hop| matches!(hop, ParentHop::Parent(parent) if parent.credentials.is_some()))
    }
}

/// True if all of `network` is this machine or a private network.
fn is_private(network: &Network) -> bool {
    private_networks()
        .iter()
        .any(|near| near.prefix() <= network.prefix() && near.contains(network.address()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use settings::Text;

    fn paths(listen: &str, clients: &[&str], destinations: DestinationScope) -> Vec<String> {
        let settings = Settings {
            listen: vec![Text(listen.parse().unwrap())],
            clients: clients.iter().map(|it| Text(it.parse().unwrap())).collect(),
            destinations,
            ..Settings::default()
        };
        settings.warnings().into_iter().map(|it| it.path).collect()
    }

    #[test]
    fn a_proxy_for_everybody_is_warned_of_where_others_can_reach_it() {
        let guarded = DestinationScope::Guarded;
        let everybody = &["192.168.0.0/16", "0.0.0.0/0"][..];
        assert_eq!(paths("http://0.0.0.0:3128", everybody, guarded), ["clients.1"]);
        assert_eq!(paths("http://[::]:3128", &["2000::/3"], guarded), ["clients.0"]);
        // Wider than the private network that it begins in.
        assert_eq!(paths("http://0.0.0.0:3128", &["10.0.0.0/7"], guarded), ["clients.0"]);
        assert!(paths("http://127.0.0.1:3128", everybody, DestinationScope::Any).is_empty());
        assert!(paths("http://192.168.1.2:3128", &["10.1.0.0/16"], guarded).is_empty());
        let any = paths("http://192.168.1.2:3128", &["10.1.0.0/16"], DestinationScope::Any);
        assert_eq!(any, ["destinations"]);
    }
}
