//! How many like answers go to one network over UDP: protection for others, whose addresses are
//! forged to flood them with what we send ("response rate limiting", as BIND and Knot do).
//!
//! Who has proven its address is never limited. It looks at finished answers and changes none.
//! Called by the guard for each answer over UDP.

use super::OutgoingFate;
use super::networks;
use crate::settings::response_rate_limit::ResponseRateLimitSettings;
use pipeline::limiter::{
    BucketRate, ClientPrefixes, LimiterBuckets, Seed, TokenOutcome, WhenEmpty,
};
use pipeline::sets::IpSet;
use std::fmt;
use std::hash::Hasher;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use vocab::Now;

/// Counters of limited answers, so that cores do not share one.
const COUNTERS: usize = 64;

/// The limit, ready.
pub(super) struct ResponseGuard {
    buckets: Arc<LimiterBuckets>,
    rate: BucketRate,
    prefixes: ClientPrefixes,
    empty: WhenEmpty,
    slip: u32,
    limited: [AtomicU32; COUNTERS],
    exempt: IpSet,
}

impl ResponseGuard {
    /// None where nothing is limited. With `before`, floods stay known.
    pub(super) fn new(
        settings: &ResponseRateLimitSettings,
        seed: Seed,
        before: Option<&Self>,
    ) -> Option<Self> {
        let buckets = || Arc::new(LimiterBuckets::new(seed));
        Some(Self {
            rate: settings.rate().ok()?,
            buckets: before.map_or_else(buckets, |before| Arc::clone(&before.buckets)),
            prefixes: ClientPrefixes { ipv4: settings.ipv4_prefix, ipv6: settings.ipv6_prefix },
            // An hour at most, as `check` sees to.
            empty: WhenEmpty::Charged(settings.window.0.0.as_millis() as u64),
            slip: settings.slip.into(),
            limited: [const { AtomicU32::new(0) }; COUNTERS],
            exempt: networks(&settings.exempt),
        })
    }

    /// Returns what becomes of `reply`, which is to go to `client`.
    pub(super) fn reply_fate(&self, client: IpAddr, reply: &[u8], now: Now) -> OutgoingFate {
        if self.exempt.contains(client) {
            return OutgoingFate::Send;
        }
        let mut hasher = self.buckets.hasher();
        self.prefixes.feed(client, &mut hasher);
        feed_kind(reply, &mut hasher);
        let hash = hasher.finish();
        if self.buckets.take(hash, &self.rate, self.empty, now) == TokenOutcome::Yes {
            return OutgoingFate::Send;
        }
        let count = self.limited[hash as usize % COUNTERS].fetch_add(1, Ordering::Relaxed);
        // A slip of 0 divides nothing: none slips.
        let slips = count.checked_rem(self.slip).is_some_and(|rest| rest == 0);
        if slips { OutgoingFate::Truncate } else { OutgoingFate::Drop }
    }
}

/// Feeds what makes two answers alike: for answers with records, name and type; for empty ones the
/// same; for names that do not exist, what these stand below, since a flood of made-up names is one
/// flood; for errors, the code alone.
fn feed_kind(reply: &[u8], hasher: &mut impl Hasher) {
    const HEADER_BYTES: usize = 12;
    const NXDOMAIN: u8 = 3;
    let rcode = reply.get(3).map_or(0, |flags| flags & 15);
    hasher.write_u8(rcode);
    let Some(question) = reply.get(HEADER_BYTES..) else { return };
    let first = match rcode {
        0 => 0,
        NXDOMAIN => question.first().map_or(0, |length| 1 + usize::from(*length)),
        _ => return,
    };
    let mut end = first;
    while let Some(length @ 1..=63) = question.get(end) {
        end += 1 + usize::from(*length);
    }
    // The root label, type and class.
    let tail = if rcode == NXDOMAIN { 1 } else { 5 };
    for byte in question.get(first..end + tail).unwrap_or(&[]) {
        // Length bytes are at most 63 and so never letters.
        hasher.write_u8(byte.to_ascii_lowercase());
    }
}

impl fmt::Debug for ResponseGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ResponseGuard({:?})", self.rate)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A test fails by panicking.
    use super::*;
    use settings::Text;
    use std::time::Duration;
    use vocab::TimeSpan;

    fn guard(slip: u8) -> ResponseGuard {
        let settings =
            ResponseRateLimitSettings { responses_per_second: 5, slip, ..Default::default() };
        assert_eq!(settings.check(), []);
        ResponseGuard::new(&settings, [1, 2], None).unwrap()
    }

    fn reply(rcode: u8, name: &[u8], qtype: u8) -> Vec<u8> {
        [&[0, 1, 0x81, 0x80 | rcode, 0, 1, 0, 0, 0, 0, 0, 0][..], name, &[0, 0, qtype, 0, 1]]
            .concat()
    }

    /// How many of `count` answers are sent, truncated and dropped.
    fn judged(guard: &ResponseGuard, client: &str, reply: &[u8], ms: u64, count: u32) -> [u32; 3] {
        let now = Now { unix_ms: 0, mono_ms: ms };
        let mut found = [0; 3];
        for _ in 0..count {
            let index = match guard.reply_fate(client.parse().unwrap(), reply, now) {
                OutgoingFate::Send => 0,
                OutgoingFate::Truncate => 1,
                OutgoingFate::Drop => 2,
            };
            found[index] += 1;
        }
        found
    }

    const NAME: &[u8] = b"\x03www\x07example";

    #[test]
    fn a_flood_of_one_answer_is_cut_and_every_second_slips() {
        let guard = guard(2);
        assert_eq!(judged(&guard, "192.0.2.1", &reply(0, NAME, 1), 0, 105), [5, 50, 50]);
        assert_eq!(judged(&guard, "192.0.2.9", &reply(0, NAME, 1), 0, 10), [0, 5, 5], "same /24");
        assert_eq!(judged(&guard, "192.0.3.1", &reply(0, NAME, 1), 0, 5), [5, 0, 0]);
        let other = reply(0, b"\x05other\x07example", 1);
        assert_eq!(judged(&guard, "192.0.2.1", &other, 0, 5), [5, 0, 0]);
        assert_eq!(judged(&guard, "192.0.2.1", &reply(0, NAME, 28), 0, 5), [5, 0, 0]);
        let upper = reply(0, b"\x03WwW\x07eXample", 1);
        assert_eq!(judged(&guard, "192.0.2.1", &upper, 0, 4), [0, 2, 2], "case is no difference");
    }

    #[test]
    fn slip_says_what_is_left_of_a_flood() {
        assert_eq!(judged(&guard(0), "192.0.2.1", &reply(0, NAME, 1), 0, 25), [5, 0, 20]);
        assert_eq!(judged(&guard(1), "192.0.2.1", &reply(0, NAME, 1), 0, 25), [5, 20, 0]);
        assert_eq!(judged(&guard(10), "192.0.2.1", &reply(0, NAME, 1), 0, 25), [5, 2, 18]);
    }

    #[test]
    fn a_flood_stays_limited_until_the_window_is_over() {
        let guard = guard(0);
        judged(&guard, "192.0.2.1", &reply(0, NAME, 1), 0, 1000);
        assert_eq!(judged(&guard, "192.0.2.1", &reply(0, NAME, 1), 14_000, 1), [0, 0, 1]);
        assert_eq!(judged(&guard, "192.0.2.1", &reply(0, NAME, 1), 40_000, 6), [5, 0, 1]);
    }

    #[test]
    fn made_up_names_below_one_are_one_flood() {
        let guard = guard(0);
        let mut sent = 0;
        for number in 0..100 {
            let name = [&[2, b'a' + number % 26, b'a' + number / 26][..], b"\x07example"].concat();
            sent += judged(&guard, "192.0.2.1", &reply(3, &name, 1), 0, 1)[0];
        }
        assert_eq!(sent, 5);
        let elsewhere = reply(3, b"\x01a\x05other", 1);
        assert_eq!(judged(&guard, "192.0.2.1", &elsewhere, 0, 1), [1, 0, 0]);
    }

    #[test]
    fn errors_are_one_kind_whatever_was_asked() {
        let guard = guard(0);
        assert_eq!(judged(&guard, "192.0.2.1", &reply(5, NAME, 1), 0, 3), [3, 0, 0]);
        assert_eq!(judged(&guard, "192.0.2.1", &reply(5, b"\x01x", 1), 0, 3), [2, 0, 1]);
        assert_eq!(judged(&guard, "192.0.2.1", &reply(2, NAME, 1), 0, 3), [3, 0, 0]);
        // What has no question is one kind too.
        assert_eq!(judged(&guard, "192.0.2.1", &[0; 12], 0, 6), [5, 0, 1]);
        assert_eq!(judged(&guard, "192.0.2.1", b"\x00", 0, 1), [0, 0, 1]);
    }

    #[test]
    fn settings_out_of_bounds_are_refused() {
        let path = |settings: ResponseRateLimitSettings| settings.check().remove(0).path;
        let usual = ResponseRateLimitSettings::default;
        assert_eq!(path(ResponseRateLimitSettings { slip: 101, ..usual() }), "slip");
        let window = Text(TimeSpan(Duration::ZERO));
        assert_eq!(path(ResponseRateLimitSettings { window, ..usual() }), "window");
        let responses_per_second = 2_000_000;
        assert_eq!(
            path(ResponseRateLimitSettings { responses_per_second, ..usual() }),
            "responses_per_second"
        );
    }
}
