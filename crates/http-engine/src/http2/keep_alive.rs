//! Life of the other side of an HTTP/2 connection, asked for by `PING` (RFC 9113 §6.7).
//!
//! Whatever comes from it is a sign of life; a silent one is asked, and is gone if nothing comes
//! for so long either. It keeps no timer: the moment is handed in. Used by [`crate::http2`].

use h2::{Ping, PingPong};
use std::task::{Context, Waker};
use std::time::Duration;
use tokio::time::Instant;

/// Silence after which the other side is asked.
const PING_EVERY: Duration = Duration::from_secs(30);
/// Silence after that.
const PING_TIMEOUT: Duration = Duration::from_secs(10);

/// Signs of the other side's life so far.
pub(super) struct KeepAlive {
    /// Reads that brought something when it was last looked at.
    reads: u32,
    /// The last sign of life, as far as ticks tell.
    heard: Instant,
    asked: Option<Instant>,
    pings: Option<PingPong>,
}

/// Tells whether the other side is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PeerLife {
    Alive { look_again: Instant },
    Gone,
}

impl KeepAlive {
    pub(super) const fn new(now: Instant) -> Self {
        Self { reads: 0, heard: now, asked: None, pings: None }
    }

    /// Looks at a connection that has read something `reads` times. `pings` gives the way to ask,
    /// once, if there is one.
    pub(super) fn check(
        &mut self,
        reads: u32,
        now: Instant,
        pings: impl FnOnce() -> Option<PingPong>,
    ) -> PeerLife {
        if reads != self.reads {
            (self.reads, self.heard, self.asked) = (reads, now, None);
        }
        let look_again = match self.asked {
            Some(asked) if now >= asked + PING_TIMEOUT => return PeerLife::Gone,
            Some(asked) => asked + PING_TIMEOUT,
            None if now >= self.heard + PING_EVERY => {
                self.ask(pings);
                self.asked = Some(now);
                now + PING_TIMEOUT
            }
            None => self.heard + PING_EVERY,
        };
        PeerLife::Alive { look_again }
    }

    fn ask(&mut self, pings: impl FnOnce() -> Option<PingPong>) {
        if self.pings.is_none() {
            self.pings = pings();
        }
        if let Some(pings) = &mut self.pings {
            // The answer to the last one, which has shown itself by the read that brought it.
            let _ = pings.poll_pong(&mut Context::from_waker(Waker::noop()));
            // One that is still unanswered asks as well as another.
            let _ = pings.send_ping(Ping::opaque());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_says_anything_is_alive_and_whoever_says_nothing_is_asked_first() {
        let start = Instant::now();
        let at = |secs| start + Duration::from_secs(secs);
        let mut life = KeepAlive::new(start);
        let mut look = |reads, secs| life.check(reads, at(secs), || None);
        let alive = |secs| PeerLife::Alive { look_again: at(secs) };
        assert_eq!(look(1, 10), alive(40));
        assert_eq!(look(1, 20), alive(40));
        assert_eq!(look(1, 40), alive(50), "it is asked");
        assert_eq!(look(2, 49), alive(79), "it answers");
        assert_eq!(look(2, 79), alive(89), "it is asked again");
        assert_eq!(look(2, 88), alive(89));
        assert_eq!(look(2, 89), PeerLife::Gone);
    }
}
