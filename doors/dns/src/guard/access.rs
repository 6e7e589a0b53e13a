//! Who may ask at all: networks that may, and networks that may not.
//!
//! It looks at nothing but the address, so it holds before a message is read any further. Called by
//! the guard for every query.

use super::networks;
use pipeline::sets::IpSet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use std::net::IpAddr;
use vocab::{Complaint, Network};

/// Networks of one list, at most: a list of all that a country has, several times over.
pub(super) const NETWORKS_MAX: usize = 100_000;

/// Who may ask.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AccessSettings {
    /// Addresses and networks that may ask; nobody else may. At most 100,000. Default: everybody
    /// may.
    pub allow: Vec<Text<Network>>,
    /// Addresses and networks that may not ask, whatever `allow` says. At most 100,000. Default:
    /// none.
    pub deny: Vec<Text<Network>>,
    /// What they get: `refuse` (the response code REFUSED with the extended error "prohibited") or
    /// `drop` (nothing, over UDP; connections are refused all the same, so that nobody waits).
    /// Default `refuse`.
    pub action: AccessAction,
}

/// Tells what clients get that may not ask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AccessAction {
    /// REFUSED.
    #[default]
    Refuse,
    /// Nothing.
    Drop,
}

impl AccessSettings {
    /// Returns what is wrong, with paths relative to the section.
    pub(super) fn check(&self) -> Vec<Complaint> {
        [("allow", &self.allow), ("deny", &self.deny)]
            .into_iter()
            .filter_map(|(path, list)| too_many(path, list))
            .collect()
    }
}

/// The complaint about a list that is too long.
pub(super) fn too_many(path: &str, list: &[Text<Network>]) -> Option<Complaint> {
    (list.len() > NETWORKS_MAX).then(|| {
        let message = format!("{} networks are over the {NETWORKS_MAX} allowed", list.len());
        Complaint::new(path, message).remedy("write wider networks instead of many small ones")
    })
}

/// The lists, ready.
#[derive(Debug)]
pub(super) struct AccessLists {
    /// None: everybody.
    allow: Option<IpSet>,
    deny: IpSet,
    pub(super) action: AccessAction,
}

impl AccessLists {
    pub(super) fn new(settings: &AccessSettings) -> Self {
        Self {
            allow: (!settings.allow.is_empty()).then(|| networks(&settings.allow)),
            deny: networks(&settings.deny),
            action: settings.action,
        }
    }

    /// True if `client` may ask.
    pub(super) fn admits(&self, client: IpAddr) -> bool {
        self.allow.as_ref().is_none_or(|allow| allow.contains(client))
            && !self.deny.contains(client)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A test fails by panicking.
    use super::*;

    fn access(allow: &[&str], deny: &[&str]) -> AccessLists {
        let read = |list: &[&str]| list.iter().map(|it| Text(it.parse().unwrap())).collect();
        let settings =
            AccessSettings { allow: read(allow), deny: read(deny), action: AccessAction::Drop };
        assert_eq!(settings.check(), []);
        AccessLists::new(&settings)
    }

    fn check(access: &AccessLists, client: &str, expected: bool) {
        assert_eq!(access.admits(client.parse().unwrap()), expected, "{client}");
    }

    #[test]
    fn without_lists_everybody_may_ask() {
        check(&access(&[], &[]), "203.0.113.1", true);
        check(&access(&[], &[]), "2001:db8::1", true);
    }

    #[test]
    fn who_is_not_allowed_may_not_ask() {
        let home = access(&["192.168.0.0/16", "fd00::/8"], &[]);
        check(&home, "192.168.7.7", true);
        check(&home, "::ffff:192.168.7.7", true);
        check(&home, "fd00::1", true);
        check(&home, "192.169.0.1", false);
        check(&home, "2001:db8::1", false);
    }

    #[test]
    fn who_is_denied_may_not_ask_even_where_allowed() {
        let most = access(&["10.0.0.0/8"], &["10.1.0.0/16", "10.2.3.4"]);
        check(&most, "10.0.0.1", true);
        check(&most, "10.1.0.1", false);
        check(&most, "10.2.3.4", false);
        check(&most, "10.2.3.5", true);
    }

    #[test]
    fn a_list_without_end_is_refused() {
        let network: Text<Network> = Text("10.0.0.0/8".parse().unwrap());
        let settings =
            AccessSettings { deny: vec![network; NETWORKS_MAX + 1], ..AccessSettings::default() };
        assert_eq!(settings.check()[0].path, "deny");
    }
}
