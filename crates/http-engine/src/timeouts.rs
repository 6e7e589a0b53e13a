//! How long a client is waited for, judged at the ticks of one lazy timer per connection.
//!
//! Heads have a deadline, idle connections an end, and whoever takes an answer or sends a body a
//! least rate: never a deadline that would kill a large upload. [`ConnectionStanding`] is what a
//! connection tells, [`ConnectionPatience`] what is remembered of it between two ticks. No socket,
//! no clock: the moment is handed in. Called by the server side for hyper's connections and for
//! those in the fast path.

use crate::limits::Limits;
use std::time::Duration;
use tokio::time::Instant;

/// Holds how a connection stands at a tick.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectionStanding {
    /// Changes with every sign of life.
    pub(crate) progress: u32,
    pub(crate) waiting_for: AwaitedEvent,
    /// Requests begun so far; wraps.
    pub(crate) messages: u32,
    /// Bytes of bodies and answers moved so far; wraps.
    pub(crate) bytes: u32,
    /// Time for which the client was waited for so far, in milliseconds; wraps.
    pub(crate) waited_ms: u32,
}

/// Tells what a connection waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AwaitedEvent {
    /// The end of a head, since then.
    Head { since: Instant },
    /// That the client takes what is written, or sends what it owes.
    Client,
    /// The next request.
    Request,
    /// An act of ours in the middle of a body of which the client owes more. It may have come to
    /// this a moment ago: whoever drips in time with our ticks is found here.
    ServerMidBody,
    /// An answer of ours.
    Response,
}

/// Tells what to do at a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TickAction {
    /// Look again then.
    Wait(Instant),
    /// Nothing has happened for long: close when nothing is going on.
    Close,
    /// The head of a request does not end.
    HeadTooSlow,
    /// The client neither takes what is written nor sends what it owes.
    Stalled,
    /// Does, but too slowly.
    TooSlow,
}

/// Holds what is remembered of a connection between two ticks.
#[derive(Debug)]
pub(crate) struct ConnectionPatience {
    progress: u32,
    idle_since: Instant,
    messages: u32,
    bytes: u32,
    waited_ms: u32,
    /// Time for which the client may still keep us waiting. It is filled by bytes at the least
    /// rate, up to the stall time, and drained by waiting.
    credit: Duration,
}

impl ConnectionPatience {
    pub(crate) fn new(limits: &Limits, now: Instant) -> Self {
        let credit = limits.rate_grace;
        Self { progress: 0, idle_since: now, messages: 0, bytes: 0, waited_ms: 0, credit }
    }

    /// Judges the connection. Quiet time is known to within one tick, which is the head timeout.
    pub(crate) fn check(
        &mut self,
        standing: ConnectionStanding,
        limits: &Limits,
        now: Instant,
    ) -> TickAction {
        if standing.progress != self.progress {
            self.progress = standing.progress;
            self.idle_since = now;
        }
        let quiet = now.duration_since(self.idle_since);
        let overdrawn = self.update_credit(standing, limits);
        match standing.waiting_for {
            AwaitedEvent::Head { since } => {
                let due = since + limits.header_timeout;
                if now >= due { TickAction::HeadTooSlow } else { TickAction::Wait(due) }
            }
            AwaitedEvent::Client if quiet >= limits.stall_timeout => TickAction::Stalled,
            AwaitedEvent::Client if limits.rate_bytes_min == 0 => {
                TickAction::Wait(now + limits.header_timeout)
            }
            AwaitedEvent::Client | AwaitedEvent::ServerMidBody
                if overdrawn && limits.rate_bytes_min > 0 =>
            {
                TickAction::TooSlow
            }
            AwaitedEvent::Client => {
                let soon = self.credit.clamp(TICK_MIN, limits.header_timeout.max(TICK_MIN));
                TickAction::Wait(now + soon)
            }
            AwaitedEvent::Request if quiet >= limits.idle_timeout => TickAction::Close,
            AwaitedEvent::Request | AwaitedEvent::Response | AwaitedEvent::ServerMidBody => {
                TickAction::Wait(now + limits.header_timeout)
            }
        }
    }

    /// Brings the credit up to date; whether it does not cover the waiting.
    fn update_credit(&mut self, standing: ConnectionStanding, limits: &Limits) -> bool {
        let bytes = standing.bytes.wrapping_sub(self.bytes);
        let waited = Duration::from_millis(standing.waited_ms.wrapping_sub(self.waited_ms).into());
        if standing.messages != self.messages {
            // Another message: what the last one used up is forgiven.
            self.credit = self.credit.max(limits.rate_grace);
        }
        (self.messages, self.bytes, self.waited_ms) =
            (standing.messages, standing.bytes, standing.waited_ms);
        let earned_ms = u64::from(bytes) * 1000 / u64::from(limits.rate_bytes_min.max(1));
        let credit = self.credit + Duration::from_millis(earned_ms);
        let left = credit.checked_sub(waited).filter(|left| !left.is_zero());
        self.credit = left.unwrap_or_default().min(limits.stall_timeout.max(limits.rate_grace));
        left.is_none()
    }
}

/// No more ticks than this a second, however thin the credit.
const TICK_MIN: Duration = Duration::from_millis(250);

#[cfg(test)]
mod tests {
    use super::*;

    /// A client that is waited for all the time and moves `per_sec` bytes: when it is cut, in
    /// seconds, if within an hour.
    fn cut_after(per_sec: impl Fn(u64) -> u32) -> Option<u64> {
        let (limits, start) = (Limits::default(), Instant::now());
        let mut patience = ConnectionPatience::new(&limits, start);
        let (mut due, mut bytes) = (start, 0_u32);
        for second in 0..3600 {
            let now = start + Duration::from_secs(second);
            bytes += per_sec(second);
            while due <= now {
                let standing = ConnectionStanding {
                    progress: bytes,
                    waiting_for: AwaitedEvent::Client,
                    messages: 1,
                    bytes,
                    waited_ms: second as u32 * 1000,
                };
                match patience.check(standing, &limits, now) {
                    TickAction::Wait(until) => due = until,
                    TickAction::TooSlow | TickAction::Stalled => return Some(second),
                    other => panic!("{other:?}"),
                }
            }
        }
        None
    }

    #[test]
    fn the_least_rate_is_enough_and_less_is_not() {
        assert_eq!(cut_after(|_| 500), None);
        assert_eq!(cut_after(|_| 0), Some(20));
        // Each second at half the rate uses up half a second of the grace.
        assert!((38..=44).contains(&cut_after(|_| 250).unwrap_or(0)));
        assert!((20..=22).contains(&cut_after(|_| 1).unwrap_or(0)));
    }

    #[test]
    fn a_fast_start_buys_no_more_than_the_stall_time() {
        let cut = cut_after(|second| if second < 100 { 1 << 20 } else { 1 });
        assert!((155..=172).contains(&cut.unwrap_or(0)), "{cut:?}");
    }

    #[test]
    fn bursts_are_averaged() {
        assert_eq!(cut_after(|second| if second % 30 == 0 { 15_000 } else { 0 }), None);
    }
}
