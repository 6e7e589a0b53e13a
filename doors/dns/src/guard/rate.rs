//! How much one client may ask.
//!
//! Clients are told apart by the prefix of their address and hold a token bucket each; the table is
//! the pipeline's. It answers nothing itself. Called by the guard for every query.

use super::networks;
use crate::settings::guard_defaults::GuardDefaults;
use crate::settings::rate_limit::{RateAction, RateLimitSettings};
use pipeline::limiter::{RateLimiter, Seed};
use pipeline::sets::IpSet;
use std::net::IpAddr;
use vocab::Now;

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
    use settings::Text;

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
