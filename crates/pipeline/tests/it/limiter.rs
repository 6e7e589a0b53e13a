//! The limiter's promises: never more than burst and rate, by any number of threads, in fixed room.

use pipeline::limiter::{
    BUCKETS_MAX, BadRate, BucketRate, ClientPrefixes, LimiterBuckets, REFILL_MS_MAX, RateLimiter,
    TokenOutcome, WhenEmpty,
};
use std::hash::Hasher;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::atomic::{AtomicU64, Ordering};
use vocab::Now;

/// After so many milliseconds the moments in buckets begin again.
const ROUND_MS: u64 = 1 << 32;

const HOSTS: ClientPrefixes = ClientPrefixes { ipv4: 32, ipv6: 64 };

fn at(mono_ms: u64) -> Now {
    Now { unix_ms: 0, mono_ms }
}

fn client(number: u32) -> IpAddr {
    IpAddr::V4(Ipv4Addr::from_bits(number))
}

fn limiter(per_second: u32, burst: u32) -> RateLimiter {
    RateLimiter::new(BucketRate::per_second(per_second, burst).unwrap(), HOSTS, [7, 8])
}

/// How many of `tries` pass at `mono_ms`.
fn passes(limiter: &RateLimiter, client: IpAddr, mono_ms: u64, tries: u32) -> u32 {
    (0..tries).map(|_| u32::from(limiter.allows(client, at(mono_ms)))).sum()
}

#[test]
fn a_burst_passes_and_then_the_rate_holds() {
    let limiter = limiter(20, 40);
    assert_eq!(passes(&limiter, client(1), 1000, 100), 40);
    assert_eq!(passes(&limiter, client(2), 1000, 1), 1, "others are not concerned");
    assert_eq!(passes(&limiter, client(1), 1049, 9), 0);
    assert_eq!(passes(&limiter, client(1), 1050, 9), 1);
    assert_eq!(passes(&limiter, client(1), 2050, 99), 20);
    assert_eq!(passes(&limiter, client(1), 100_000, 99), 40, "a rest fills the bucket, no more");
}

#[test]
fn slow_and_fast_rates_are_kept_alike() {
    // 1000 in a minute, as Pi-hole counts.
    let rate = BucketRate::new(1000, 60_000, 1000).unwrap();
    let slow = RateLimiter::new(rate, HOSTS, [1, 2]);
    assert_eq!(passes(&slow, client(1), 0, 2000), 1000);
    assert_eq!(passes(&slow, client(1), 30_000, 2000), 500);
    let fast = limiter(300_000, 1);
    let passed: u32 = (0..1000).map(|ms| passes(&fast, client(1), ms, 1)).sum();
    assert_eq!(passed, 1000);
    let fast = limiter(1_000_000, 10_000);
    assert_eq!(passes(&fast, client(1), 5, 20_000), 10_000);
    let refilled = passes(&fast, client(1), 10, 20_000);
    assert!((4950..=5000).contains(&refilled), "{refilled}");
}

#[test]
fn clients_are_told_apart_by_their_prefixes() {
    let rate = BucketRate::per_second(1, 1).unwrap();
    let wide = RateLimiter::new(rate, ClientPrefixes { ipv4: 24, ipv6: 56 }, [1, 2]);
    let same = |one: &str, two: &str| {
        let now = at(0);
        let limiter = RateLimiter::new(rate, ClientPrefixes { ipv4: 24, ipv6: 56 }, [3, 4]);
        assert!(limiter.allows(one.parse().unwrap(), now));
        !limiter.allows(two.parse().unwrap(), now)
    };
    assert!(same("192.0.2.1", "192.0.2.200"));
    assert!(!same("192.0.2.1", "192.0.3.1"));
    assert!(same("192.0.2.1", "::ffff:192.0.2.7"));
    assert!(same("2001:db8::1", "2001:db8:0:ff::2"));
    assert!(!same("2001:db8::1", "2001:db8:0:100::1"));
    // No bits at all: all share one bucket, but a family each.
    let all = wide.renewed(rate, ClientPrefixes { ipv4: 0, ipv6: 0 });
    assert!(all.allows(client(1), at(0)) && !all.allows(client(2), at(0)));
    assert!(all.allows(IpAddr::V6(Ipv6Addr::LOCALHOST), at(0)));
}

/// Eight threads spend from one bucket while time goes on; what passes is counted against the
/// latest moment that any of them has seen.
#[test]
fn threads_together_never_spend_more_than_there_is() {
    const RATE: u64 = 1000;
    const BURST: u64 = 50;
    let limiter = limiter(RATE as u32, BURST as u32);
    let clock = AtomicU64::new(0);
    let passed = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..40_000 {
                    // Some moments are looked at late, as with real threads.
                    let now = clock.fetch_add(1, Ordering::Relaxed) / 100;
                    if limiter.allows(client(9), at(now)) {
                        passed.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let bound = BURST + RATE * (8 * 40_000 / 100) / 1000;
    let passed = passed.load(Ordering::Relaxed);
    assert!(passed <= bound, "{passed} passed where {bound} may");
    assert!(passed > bound / 2, "{passed} passed where {bound} may");
}

/// Newcomers race for their first bucket: still one each.
#[test]
fn threads_that_arrive_together_get_one_bucket() {
    let limiter = limiter(1, 3);
    let passed: Vec<AtomicU64> = (0..5000).map(|_| AtomicU64::new(0)).collect();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for (number, passed) in passed.iter().enumerate() {
                    let yes = limiter.allows(client(number as u32), at(0));
                    passed.fetch_add(u64::from(yes), Ordering::Relaxed);
                }
            });
        }
    });
    assert!(passed.iter().all(|it| it.load(Ordering::Relaxed) == 3));
}

#[test]
fn a_full_table_forgets_whoever_owes_least() {
    let limiter = limiter(1, 100);
    assert_eq!(passes(&limiter, client(0), 0, 200), 100);
    // As many others as there are buckets, twice, with a query each.
    for number in 1..=2 * BUCKETS_MAX as u32 {
        limiter.allows(client(number), at(0));
    }
    assert_eq!(passes(&limiter, client(0), 0, 5), 0, "the greatest debt is remembered");
}

#[test]
fn a_rested_bucket_is_full_even_after_its_clock_has_begun_again() {
    let limiter = limiter(20, 40);
    for start in
        [ROUND_MS - 1000, 2 * ROUND_MS + 60_000, 3 * ROUND_MS - 60_000, 50 * ROUND_MS + 20_000]
    {
        assert_eq!(passes(&limiter, client(1), start, 99), 40);
        assert_eq!(passes(&limiter, client(1), start + 1000, 99), 20);
    }
}

#[test]
fn a_late_moment_gives_nothing_back() {
    let limiter = limiter(10, 10);
    assert_eq!(passes(&limiter, client(1), 4000, 99), 10);
    assert_eq!(passes(&limiter, client(1), 3000, 99), 0);
    assert_eq!(passes(&limiter, client(1), 4100, 99), 1);
}

#[test]
fn who_goes_on_stays_refused_where_that_is_charged() {
    let buckets = LimiterBuckets::new([5, 6]);
    let rate = BucketRate::per_second(5, 5).unwrap();
    let hash = {
        let mut hasher = buckets.hasher();
        hasher.write_u8(1);
        hasher.finish()
    };
    let take = |ms| buckets.take(hash, &rate, WhenEmpty::Charged(15_000), at(ms));
    assert_eq!((0..1000).filter(|_| take(0) == TokenOutcome::Yes).count(), 5);
    assert_eq!(take(14_000), TokenOutcome::No);
    // The debt is capped: 15 s after the last try it is over.
    assert_eq!(take(14_000 + 15_000 + 400), TokenOutcome::Yes);
}

#[test]
fn numbers_that_make_no_rate_say_why() {
    assert_eq!(BucketRate::per_second(0, 1), Err(BadRate::Zero));
    assert_eq!(BucketRate::per_second(1, 0), Err(BadRate::Zero));
    assert_eq!(BucketRate::per_second(1_000_001, 1), Err(BadRate::TooFast));
    let day = (REFILL_MS_MAX / 1000) as u32;
    assert!(BucketRate::per_second(1, day).is_ok());
    assert_eq!(BucketRate::per_second(1, day + 1), Err(BadRate::TooSlow));
    assert_eq!(BucketRate::new(1, u32::MAX, u32::MAX), Err(BadRate::TooSlow));
}
