//! Where one client may be led by the name of one host.
//!
//! The owner of a public name may have it lead inside for a moment, so that a page of his talks to
//! what stands there ("DNS rebinding"). So a private address is for hosts that are given by it, for
//! names that only a network of its own knows, for those that the settings spare, and for those
//! that the operator himself gave that address (`dns.local`): nobody else has led them there. Of a
//! name that is looked up under another (`dns.rewrites`), that other one counts. It is asked with
//! the address about to be used, and looks at the name only where that is not a public one.
//!
//! What a name is an alias of counts as at the DNS door: where no rule lets the name itself pass,
//! it is blocked for an alias that is. Made by `request` and `cached`.

use crate::connection::ProxyConnection;
use crate::setup::ProxySetup;
use arc_swap::ArcSwap;
use origins::{ClientReach, DestinationScope, DialGuard, Dialer, UrlHost};
use policy::{Ask, ClientIdentity, Policy};
use settings::Text;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use vocab::{Cause, DomainName, Name, Now};

/// The bounds of one request.
pub(crate) struct DestinationGuard<'d> {
    pub(crate) reach: ClientReach<'d>,
    /// The host that it is for; none where it is for the proxy itself.
    pub(crate) host: Option<&'d UrlHost>,
    /// Knows what the operator says of names.
    pub(crate) dialer: &'d Dialer,
    /// Public names that may lead inside, with all below them.
    pub(crate) excepted: &'d [Text<DomainName>],
    pub(crate) asker: HostAsker<'d>,
}

/// The client that asks for a host, and what the policy says of that.
pub(crate) struct HostAsker<'d> {
    policy: &'d ArcSwap<Policy>,
    caller: &'d ProxyConnection,
    pub(crate) user: Option<Arc<str>>,
    pub(crate) cause: Cause,
    now: Now,
}

impl DialGuard for DestinationGuard<'_> {
    fn permits(&self, address: SocketAddr) -> bool {
        let is_public =
            ClientReach { destinations: DestinationScope::Public, ..self.reach }.permits(address);
        self.reach.permits(address)
            && (is_public
                || self.reach.destinations == DestinationScope::Any
                || self.may_reach(address.ip()))
    }

    fn permits_alias(&self, alias: Name<'_>) -> bool {
        self.blocks(alias).is_none()
    }
}

impl<'d> HostAsker<'d> {
    /// `cause` is why the request passes.
    pub(crate) fn of(
        policy: &'d ArcSwap<Policy>,
        caller: &'d ProxyConnection,
        user: Option<Arc<str>>,
        cause: Cause,
        now: Now,
    ) -> Self {
        Self { policy, caller, user, cause, now }
    }

    pub(crate) fn client(&self) -> IpAddr {
        self.caller.client()
    }
}

impl<'d> DestinationGuard<'d> {
    /// The bounds of whoever asks for `host`; `off_limits` are listeners that no request may reach.
    pub(crate) fn of(
        setup: &'d ProxySetup,
        off_limits: &'d [SocketAddr],
        asker: HostAsker<'d>,
        host: Option<&'d UrlHost>,
    ) -> Self {
        let destinations = setup.settings.destinations;
        let reach = ClientReach { client: asker.client(), destinations, off_limits };
        let (dialer, excepted) = (setup.origins.dialer(), &*setup.settings.rebinding_allow);
        Self { reach, host, dialer, excepted, asker }
    }
}

impl DestinationGuard<'_> {
    /// Why the host is blocked for being an alias of this one, if it is.
    pub(crate) fn blocks(&self, alias: Name<'_>) -> Option<Cause> {
        let HostAsker { policy, caller, user, cause, now } = &self.asker;
        // A rule that lets the name itself pass covers where it leads; a pause covers everything.
        let (Some(UrlHost::Name(name)), Cause::NoRule) = (self.host, cause) else { return None };
        let policy = policy.load();
        let who = ClientIdentity { user: user.as_deref(), ..caller.near(&policy, *now).into() };
        let ask = Ask::addresses(name.as_name(), caller.client()).by(&who);
        policy.check_cname(&ask, alias, *now)
    }

    fn may_reach(&self, inside: IpAddr) -> bool {
        let Some(UrlHost::Name(name)) = self.host else { return true };
        let word = self.dialer.local_override(name);
        let looked_up = word.rewrite_target.as_ref().unwrap_or(name);
        let is_spared = |name: &DomainName| {
            self.excepted.iter().any(|above| name.as_name().is_at_or_below(above.as_name()))
        };
        let is_same = |given: &IpAddr| given.to_canonical() == inside.to_canonical();
        !is_public(looked_up)
            || word.addresses.iter().any(is_same)
            || is_spared(name)
            || is_spared(looked_up)
    }
}

/// True if a name stands below a suffix of the public DNS. One without a dot, or below `.lan`,
/// `.internal` or `home.arpa` (RFC 8375), does not: only a network of its own knows it.
fn is_public(name: &DomainName) -> bool {
    let name = name.as_str();
    let is_of_a_home = name == "home.arpa" || name.ends_with(".home.arpa");
    !is_of_a_home && psl::suffix(name.as_bytes()).is_some_and(|suffix| suffix.is_known())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;
    use dns_wire::WireAnswer;
    use http_front::{ConnectionContext, ConnectionSecurity};
    use origins::BecomesTunnel;
    use policy::ClientProfiles;
    use resolver::{LocalOverrides, Resolver, ResolverSettings};
    use transport::ClientTls;

    /// `nas.com` is at 192.168.1.1, `old.com` is looked up as `nas.lan`, `new.lan` as
    /// `www.rebound.com`.
    struct House;

    impl LocalOverrides for House {
        fn digest(&self) -> u64 {
            1
        }

        fn rewrite_target(&self, name: Name<'_>) -> Option<DomainName> {
            let other = match name.as_str() {
                "old.com" => "nas.lan",
                "new.lan" => "www.rebound.com",
                _ => return None,
            };
            Some(DomainName::parse(other).unwrap())
        }

        fn answer(&self, name: Name<'_>, qtype: u16) -> Option<Arc<WireAnswer>> {
            // A query for nas.com turned into its answer, with one record.
            let record = [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 168, 1, 1];
            let mut message = vec![0, 0, 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0];
            message.extend(b"\x03nas\x03com\0\0\x01\0\x01");
            message.extend(record);
            let is_its = name.as_str() == "nas.com" && qtype == 1;
            is_its.then(|| Arc::new(WireAnswer::from_response(&message).unwrap()))
        }
    }

    fn permits(destinations: DestinationScope, client: &str, host: &str, to: &str) -> bool {
        let reach = ClientReach { client: client.parse().unwrap(), destinations, off_limits: &[] };
        let spared = ["home.com".parse().map(Text).unwrap()];
        let host: UrlHost = host.parse().unwrap();
        let resolver = Resolver::start(&ResolverSettings::default(), ClientTls::new()).unwrap();
        resolver.answer_from(Some(Arc::new(House)));
        let dialer = &Dialer::new(resolver, ClientTls::new());
        let rules = Arc::new(policy::compile(&[], 1));
        let policy = ArcSwap::from_pointee(Policy::new(rules, ClientProfiles::everyone()));
        let client = SocketAddr::new(reach.client, 0);
        let context =
            ConnectionContext { client, local: None, security: ConnectionSecurity::Plain };
        let tunnel = BecomesTunnel::default();
        let caller = ProxyConnection { context, tunnel, intercepted: None };
        let (cause, now) = (Cause::NoRule, transport::clock::now());
        let asker = HostAsker { policy: &policy, caller: &caller, user: None, cause, now };
        let within =
            DestinationGuard { reach, host: Some(&host), dialer, excepted: &spared, asker };
        within.permits(to.parse().unwrap())
    }

    #[test]
    fn a_public_name_leads_nobody_inside() {
        for client in ["127.0.0.1", "192.168.1.5"] {
            let permits = |destinations, to| permits(destinations, client, "www.rebound.com", to);
            assert!(permits(DestinationScope::Guarded, "8.8.8.8:80"));
            for to in ["192.168.1.1:80", "127.0.0.1:80", "[fd00::1]:80", "[::ffff:10.0.0.1]:80"] {
                assert!(!permits(DestinationScope::Guarded, to), "{client} {to}");
                assert!(permits(DestinationScope::Any, to), "{client} {to}");
            }
        }
    }

    #[test]
    fn literals_names_of_a_home_and_spared_ones_do() {
        let permits = |host: &str, to| permits(DestinationScope::Guarded, "192.168.1.5", host, to);
        for host in ["192.168.1.1", "nas", "nas.lan", "nas.home.arpa", "home.com", "app.home.com"] {
            assert!(permits(host, "192.168.1.1:80"), "{host}");
            assert!(!permits(host, "127.0.0.1:80"), "no nearer than the client is: {host}");
        }
        assert!(!permits("nothome.com", "192.168.1.1:80"));
    }

    #[test]
    fn the_operator_may_give_a_public_name_an_address_inside() {
        let permits = |host: &str, to| permits(DestinationScope::Guarded, "192.168.1.5", host, to);
        assert!(permits("nas.com", "192.168.1.1:80"));
        assert!(!permits("nas.com", "192.168.1.2:80"), "this is not the one he gave it");
        assert!(permits("old.com", "192.168.1.1:80"), "he says that it is nas.lan");
        assert!(!permits("new.lan", "192.168.1.1:80"), "a stranger says where that leads");
    }

    #[test]
    fn his_word_takes_no_client_nearer_than_it_is() {
        assert!(!permits(DestinationScope::Guarded, "9.9.9.9", "nas.com", "192.168.1.1:80"));
        assert!(!permits(DestinationScope::Public, "192.168.1.5", "nas.com", "192.168.1.1:80"));
    }
}
