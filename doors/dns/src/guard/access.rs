//! Who may ask at all: networks that may, and networks that may not.
//!
//! It looks at nothing but the address, so it holds before a message is read any further. Called by
//! the guard for every query.

use super::networks;
use crate::settings::access::{AccessAction, AccessSettings};
use pipeline::sets::IpSet;
use std::net::IpAddr;

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
    use crate::settings::networks::NETWORKS_MAX;
    use settings::Text;
    use vocab::Network;

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
