//! One bucket of a shared limit, as this machine sees it: tokens leased, credit, and what was spent
//! on it.

use super::{LEASE_MS, LeaseGrant};

/// Longest wait that a server is believed, in milliseconds: a day.
const WAIT_MS_MAX: u64 = 86_400_000;
/// Time in which requests are counted to foresee how many come, in milliseconds.
const COUNTED_MS: u64 = 1_000;

/// Rate of a limit that machines share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedRate {
    interval_us: u64,
    burst: u32,
}

/// Outcome of a request for a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseOutcome {
    /// True if there was one.
    pub is_taken: bool,
    /// Tokens that are left, as far as is known here.
    pub left: u32,
    /// Milliseconds until there is one, as far as is known.
    pub wait_ms: u64,
}

/// A bucket.
#[derive(Clone, Copy, Debug)]
pub(super) struct LeasedBucket {
    rate: SharedRate,
    /// Tokens leased, until when.
    tokens: u32,
    good_until_ms: u64,
    /// Tokens that may be spent before the next answer.
    credit: BucketCredit,
    /// Tokens spent on credit that the server does not know of.
    spent: u32,
    /// Losses of the server when it was asked; none if nothing is asked.
    asked: Option<u32>,
    /// Moment until which the server has none.
    empty_until_ms: u64,
    /// Tokens that it had left for others.
    left: u32,
    used_ms: u64,
    /// Requests in this span of counting and in the one before, and when it began.
    counted: u32,
    counted_before: u32,
    counting_since_ms: u64,
    /// Debt while the server is away, as the moment at which it is paid, in microseconds.
    alone_us: Option<u64>,
}

/// Credit before an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BucketCredit {
    /// This machine's share of the burst, less what was spent of it.
    Share { used: u32 },
    /// One token: the server had none when it was asked last.
    One { used: u32 },
}

impl SharedRate {
    /// A rate with so many microseconds between tokens, and a burst; each is at least 1.
    pub fn new(interval_us: u64, burst: u32) -> Self {
        Self { interval_us: interval_us.max(1), burst: burst.max(1) }
    }

    /// Microseconds between two tokens.
    pub fn interval_us(self) -> u64 {
        self.interval_us
    }

    /// Tokens at once.
    pub fn burst(self) -> u32 {
        self.burst
    }

    /// Tokens of one machine of so many: at least one.
    fn share(self, edges: u32) -> u32 {
        self.burst.div_ceil(edges.max(1))
    }
}

impl LeaseOutcome {
    pub(super) fn open(rate: SharedRate) -> Self {
        Self { is_taken: true, left: rate.burst, wait_ms: 0 }
    }

    pub(super) fn closed() -> Self {
        Self::refused(LEASE_MS)
    }

    fn refused(wait_ms: u64) -> Self {
        Self { is_taken: false, left: 0, wait_ms: wait_ms.max(1) }
    }
}

impl BucketCredit {
    fn has_more(self, share: u32) -> bool {
        match self {
            Self::Share { used } => used < share,
            Self::One { used } => used < 1,
        }
    }

    fn spend(&mut self) {
        let (Self::Share { used } | Self::One { used }) = self;
        *used += 1;
    }
}

impl LeasedBucket {
    pub(super) fn new(rate: SharedRate, mono_ms: u64) -> Self {
        Self {
            rate,
            tokens: 0,
            good_until_ms: 0,
            credit: BucketCredit::Share { used: 0 },
            spent: 0,
            asked: None,
            empty_until_ms: 0,
            left: rate.burst,
            used_ms: mono_ms,
            counted: 0,
            counted_before: 0,
            counting_since_ms: mono_ms,
            alone_us: None,
        }
    }

    pub(super) fn rate(&self) -> SharedRate {
        self.rate
    }

    pub(super) fn used_ms(&self) -> u64 {
        self.used_ms
    }

    /// Tokens spent and not charged yet, if there are any.
    pub(super) fn unpaid(&self) -> Option<u32> {
        (self.spent > 0).then_some(self.spent)
    }

    /// Begins anew where the configuration says another rate.
    pub(super) fn follow_rate(&mut self, rate: SharedRate, mono_ms: u64) {
        if self.rate != rate {
            *self = Self::new(rate, mono_ms);
        }
    }

    /// Takes a token while the server is there: a leased one, or one on credit; with what is to be
    /// asked for now, as tokens spent and wanted.
    pub(super) fn take_leased(
        &mut self,
        edges: u32,
        losses: u32,
        mono_ms: u64,
    ) -> (LeaseOutcome, Option<(u32, u32)>) {
        self.alone_us = None;
        self.count(mono_ms);
        if mono_ms >= self.good_until_ms {
            self.tokens = 0;
        }
        if self.tokens == 0 && mono_ms < self.empty_until_ms {
            return (LeaseOutcome::refused(self.empty_until_ms - mono_ms), None);
        }
        let share = self.rate.share(edges);
        let is_taken = if self.tokens > 0 {
            self.tokens -= 1;
            true
        } else if self.credit.has_more(share) {
            self.credit.spend();
            self.spent += 1;
            true
        } else {
            false
        };
        let wants = self.spent > 0 || self.tokens <= self.foreseen(share) / 2;
        let ask = (wants && self.asked != Some(losses)).then(|| self.ask(share, losses));
        if is_taken {
            let left = self.tokens.saturating_add(self.left).min(self.rate.burst);
            (LeaseOutcome { is_taken, left, wait_ms: 0 }, ask)
        } else {
            (LeaseOutcome::refused(1), ask)
        }
    }

    /// Takes a token of this machine's part of the limit, while the server is away. What it knew of
    /// the bucket, it goes on from.
    pub(super) fn take_alone(&mut self, edges: u32, mono_ms: u64) -> LeaseOutcome {
        self.used_ms = mono_ms;
        let interval = self.rate.interval_us.saturating_mul(u64::from(edges.max(1)));
        let share = self.rate.share(edges);
        let now = mono_ms * 1000;
        let span = interval.saturating_mul(u64::from(share));
        let paid = self.alone_us.unwrap_or_else(|| {
            let is_known = self.good_until_ms > 0;
            let held = if mono_ms < self.good_until_ms { self.tokens.min(share) } else { 0 };
            let debt = if is_known { share - held } else { 0 };
            now + interval.saturating_mul(u64::from(debt))
        });
        let next = paid.max(now).saturating_add(interval);
        self.asked = None;
        self.spent = 0;
        self.empty_until_ms = 0;
        if next > now.saturating_add(span) {
            self.alone_us = Some(paid);
            return LeaseOutcome::refused((next - now - span).div_ceil(1000));
        }
        self.alone_us = Some(next);
        self.tokens = 0;
        let left = (now + span - next) / interval;
        LeaseOutcome { is_taken: true, left: left as u32, wait_ms: 0 }
    }

    /// Takes in what the server granted; with what is to be asked for at once.
    pub(super) fn take_grant(
        &mut self,
        grant: LeaseGrant,
        edges: u32,
        losses: u32,
        mono_ms: u64,
    ) -> Option<(u32, u32)> {
        if mono_ms >= self.good_until_ms {
            self.tokens = 0;
        }
        self.asked = None;
        self.tokens = self.tokens.saturating_add(grant.granted).min(self.rate.burst);
        self.good_until_ms = mono_ms + LEASE_MS;
        self.left = grant.left;
        if grant.wait_us > 0 {
            let wait = grant.wait_us.div_ceil(1000).min(WAIT_MS_MAX);
            self.empty_until_ms = mono_ms + wait;
            self.credit = BucketCredit::One { used: 0 };
        } else {
            self.empty_until_ms = 0;
            self.credit = BucketCredit::Share { used: 0 };
        }
        // What was spent meanwhile is charged though nobody comes again.
        (self.spent > 0).then(|| self.ask(self.rate.share(edges), losses))
    }

    fn ask(&mut self, share: u32, losses: u32) -> (u32, u32) {
        self.asked = Some(losses);
        let wanted = self.foreseen(share).saturating_sub(self.tokens);
        (std::mem::take(&mut self.spent), wanted)
    }

    /// Requests that are foreseen within a second: as many as came in the last, and none where
    /// there was but one, so that whoever comes seldom leaves no token unused.
    fn foreseen(&self, share: u32) -> u32 {
        match self.counted.max(self.counted_before) {
            0 | 1 => 0,
            more => more.min(share),
        }
    }

    fn count(&mut self, mono_ms: u64) {
        self.used_ms = mono_ms;
        let past = mono_ms.saturating_sub(self.counting_since_ms);
        if past >= COUNTED_MS {
            self.counted_before = if past < 2 * COUNTED_MS { self.counted } else { 0 };
            self.counted = 0;
            self.counting_since_ms = mono_ms;
        }
        self.counted = self.counted.saturating_add(1);
    }
}
