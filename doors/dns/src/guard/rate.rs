//! How much one client may ask.
//!
//! Clients are told apart by the prefix of their address and hold a token bucket each; the table is
//! the pipeline's. It answers nothing itself. Called by the guard for every query.

use super::access::too_many;
use super::{GuardDefaults, networks};
use pipeline::limiter::{BadRate, BucketRate, ClientPrefixes, RateLimiter, Seed};
use pipeline::sets::IpSet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use std::net::IpAddr;
use vocab::{Complaint, Network, Now};

/// Queries in a second, unless another number is set.
const PER_SECOND_DEFAULT: u32 = 300;
/// Seconds of them that may come at once.
const BURST_SECONDS: u32 = 3;

/// Holds how much one client may ask.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RateLimitSettings {
    /// Queries that a client may send in a second, over all protocols together; 0: as many as it
    /// likes. Default 300, which no household reaches and a flood passes at once; with a
    /// `pipeline`,
    /// 0. At most 1,000,000.
    pub queries_per_second: Option<u32>,
    /// Queries that it may send at once after a rest. Default: three times `queries_per_second`,
    /// 900: a browser that comes back with all its tabs. It must come back within a day.
    pub burst: Option<u32>,
    /// Leading bits of an IPv4 address that make one client. Default 32, at most 32; AdGuard Home
    /// counts by 24.
    pub ipv4_prefix: u8,
    /// Leading bits of an IPv6 address that make one client. Default 56, at most 128: what a
    /// household is given; one host has as many addresses of it as it likes.
    pub ipv6_prefix: u8,
    /// Addresses and networks that are not limited. At most 100,000. Default: loopback,
    /// `127.0.0.0/8` and `::1`, where a forwarder on this machine asks for everybody; what is
    /// written takes their place.
    pub exempt: Vec<Text<Network>>,
    /// What a client gets that asks more: `refuse` (REFUSED), `drop` (nothing) or `truncate` (an
    /// empty answer that asks it to come again over TCP, which whoever forges addresses cannot).
    /// Over connections all three are `refuse`. Default `refuse`.
    pub action: RateAction,
}

/// Tells what a client gets that asks too much.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RateAction {
    /// REFUSED.
    #[default]
    Refuse,
    /// Nothing.
    Drop,
    /// An empty answer with TC set.
    Truncate,
}

fn loopback() -> [Network; 2] {
    ["127.0.0.0/8", "::1"].map(|it| it.parse().expect("both are written as networks"))
}

impl Default for RateLimitSettings {
    fn default() -> Self {
        Self {
            queries_per_second: None,
            burst: None,
            ipv4_prefix: 32,
            ipv6_prefix: 56,
            exempt: loopback().map(Text).into(),
            action: RateAction::default(),
        }
    }
}

impl RateLimitSettings {
    /// Returns what is wrong, with paths relative to the section.
    pub(super) fn check(&self) -> Vec<Complaint> {
        let mut complaints = check_prefixes(self.ipv4_prefix, self.ipv6_prefix);
        complaints.extend(too_many("exempt", &self.exempt));
        if self.queries_per_second != Some(0)
            && let Err(why) = self.rate(GuardDefaults::Guarded)
        {
            complaints.push(Complaint::new("queries_per_second", why.to_string()));
        }
        if self.queries_per_second == Some(0) && self.burst.is_some() {
            let message = "a burst without queries_per_second limits nothing";
            complaints.push(
                Complaint::new("burst", message).remedy("write queries_per_second: 20 beside it"),
            );
        }
        complaints
    }

    fn rate(&self, unless_said: GuardDefaults) -> Result<BucketRate, BadRate> {
        let per_second = self.queries_per_second.unwrap_or(match unless_said {
            GuardDefaults::Guarded => PER_SECOND_DEFAULT,
            GuardDefaults::Unguarded => 0,
        });
        let burst = self.burst.unwrap_or(per_second.saturating_mul(BURST_SECONDS));
        BucketRate::per_second(per_second, burst)
    }

    fn prefixes(&self) -> ClientPrefixes {
        ClientPrefixes { ipv4: self.ipv4_prefix, ipv6: self.ipv6_prefix }
    }
}

/// Complaints about prefixes that their families do not have.
pub(super) fn check_prefixes(ipv4: u8, ipv6: u8) -> Vec<Complaint> {
    [("ipv4_prefix", ipv4, 32), ("ipv6_prefix", ipv6, 128)]
        .into_iter()
        .filter(|(_, bits, most)| bits > most)
        .map(|(path, bits, most)| {
            Complaint::new(path, format!("{bits} bits are more than an address has"))
                .remedy(format!("write 0 to {most}"))
        })
        .collect()
}

/// The limit, ready.
#[derive(Debug)]
pub(super) struct RateGuard {
    limiter: RateLimiter,
    exempt: IpSet,
    pub(super) action: RateAction,
}

impl RateGuard {
    /// None where nothing is limited. With `before`, clients keep what they owe.
    pub(super) fn new(
        settings: &RateLimitSettings,
        unless_said: GuardDefaults,
        seed: Seed,
        before: Option<&Self>,
    ) -> Option<Self> {
        let rate = settings.rate(unless_said).ok()?;
        let prefixes = settings.prefixes();
        let limiter = match before {
            Some(before) => before.limiter.renewed(rate, prefixes),
            None => RateLimiter::new(rate, prefixes, seed),
        };
        let exempt = networks(&settings.exempt);
        Some(Self { limiter, exempt, action: settings.action })
    }

    /// True if `client` may ask once more; a yes is counted.
    pub(super) fn allows(&self, client: IpAddr, now: Now) -> bool {
        self.exempt.contains(client) || self.limiter.allows(client, now)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A test fails by panicking.
    use super::*;

    fn settings(queries_per_second: u32) -> RateLimitSettings {
        let queries_per_second = Some(queries_per_second);
        RateLimitSettings { queries_per_second, ..RateLimitSettings::default() }
    }

    fn guard(settings: &RateLimitSettings, before: Option<&RateGuard>) -> Option<RateGuard> {
        RateGuard::new(settings, GuardDefaults::Guarded, [1, 2], before)
    }

    fn passes(guard: &RateGuard, client: &str, mono_ms: u64, tries: usize) -> usize {
        let client = client.parse().unwrap();
        let now = Now { unix_ms: 0, mono_ms };
        (0..tries).filter(|_| guard.allows(client, now)).count()
    }

    #[test]
    fn a_client_asks_so_much_and_no_more() {
        let guard = guard(&settings(20), None).unwrap();
        assert_eq!(passes(&guard, "192.0.2.1", 0, 100), 60);
        assert_eq!(passes(&guard, "192.0.2.2", 0, 100), 60);
        assert_eq!(passes(&guard, "192.0.2.1", 500, 100), 10);
        assert_eq!(passes(&guard, "2001:db8::1", 0, 20), 20);
        assert_eq!(passes(&guard, "2001:db8:0:9::2", 0, 100), 40, "one /56 is one client");
    }

    #[test]
    fn a_flood_is_limited_unless_said_otherwise_and_this_machine_is_not() {
        let default = RateLimitSettings::default();
        let limited = guard(&default, None).unwrap();
        assert_eq!(passes(&limited, "192.0.2.1", 0, 2000), 900);
        let refilled = passes(&limited, "192.0.2.1", 1000, 2000);
        assert!(
            (299..=300).contains(&refilled),
            "a third of a millisecond is rounded up: {refilled}"
        );
        assert_eq!(passes(&limited, "127.0.0.53", 0, 2000), 2000);
        assert_eq!(passes(&limited, "::1", 0, 2000), 2000);
        assert!(guard(&settings(0), None).is_none());
        assert!(RateGuard::new(&default, GuardDefaults::Unguarded, [1, 2], None).is_none());
        assert_eq!((settings(0).check(), default.check()), (vec![], vec![]));
    }

    #[test]
    fn exempt_clients_are_not_counted() {
        let exempt = vec![Text("192.0.2.0/24".parse().unwrap())];
        let guard = guard(&RateLimitSettings { exempt, ..settings(1) }, None).unwrap();
        assert_eq!(passes(&guard, "192.0.2.1", 0, 100), 100);
        assert_eq!(passes(&guard, "192.0.3.1", 0, 100), 3);
        assert_eq!(passes(&guard, "127.0.0.1", 0, 100), 3);
    }

    #[test]
    fn a_reload_forgives_nothing() {
        let before = guard(&settings(10), None).unwrap();
        assert_eq!(passes(&before, "192.0.2.1", 0, 100), 30);
        let reloaded = guard(&settings(10), Some(&before)).unwrap();
        assert_eq!(passes(&reloaded, "192.0.2.1", 0, 100), 0);
    }

    #[test]
    fn numbers_that_cannot_be_kept_are_refused() {
        let path = |settings: RateLimitSettings| settings.check().remove(0).path;
        assert_eq!(path(settings(1_000_001)), "queries_per_second");
        let burst = Some(u32::MAX);
        assert_eq!(path(RateLimitSettings { burst, ..settings(1) }), "queries_per_second");
        assert_eq!(path(RateLimitSettings { burst: Some(5), ..settings(0) }), "burst");
        assert_eq!(path(RateLimitSettings { ipv4_prefix: 33, ..settings(1) }), "ipv4_prefix");
        assert_eq!(path(RateLimitSettings { ipv6_prefix: 129, ..settings(1) }), "ipv6_prefix");
    }
}
