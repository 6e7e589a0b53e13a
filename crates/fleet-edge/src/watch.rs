//! Looks at the bundles, again and again, until the program ends: with jitter, so that a fleet does
//! not come all at once, and with a word in the log where something changed.

use crate::sync::{EdgeSync, RevisionTaker, ServedCounts};
use fleet_bundle::{EdgeState, EdgeStatus, RolloutStep};
use std::time::{Duration, Instant};

/// Looks after which a status is told again that has not changed.
const TELL_AGAIN: u32 = 10;
/// Pause between two looks at whether the program ends.
const LOOK_FOR_END: Duration = Duration::from_millis(200);
/// Longest time before the first look of an edge that has a revision: a fleet that gets its power
/// back does not come all at once.
const FIRST_LOOK_MAX: Duration = Duration::from_secs(3);

/// Program around an edge.
pub trait EdgeHost: RevisionTaker {
    /// Seconds of Unix time.
    fn now(&self) -> u64;
    /// Requests of the last hour.
    fn served(&self) -> ServedCounts;
    /// `true` once it ends.
    fn is_ending(&self) -> bool;
    /// Takes what a look has found, and the state that the fleet wants it to have.
    fn looked(&self, status: EdgeStatus, wanted: EdgeState);
}

/// Looks until the program ends; the thread is the caller's own.
pub fn watch_bundles(mut sync: EdgeSync, poll: Duration, host: &dyn EdgeHost) {
    if sync.has_revision() {
        wait_within(host, FIRST_LOOK_MAX.min(poll), 0.0);
    }
    let mut last = String::new();
    let mut quiet = 0;
    while !host.is_ending() {
        let (level, told) = look_once(&mut sync, host);
        let served = host.served();
        quiet = if told == last { quiet + 1 } else { TELL_AGAIN };
        if told != last {
            log::log!(target: "fleet", level, "{told}");
            last = told;
        }
        if quiet >= TELL_AGAIN {
            quiet = 0;
            // Whoever may only read gets bundles all the same.
            if let Err(why) = sync.tell(host.now(), served) {
                log::debug!(target: "fleet", "the status was not told: {why}");
            }
        }
        host.looked(sync.status(host.now(), served), sync.wanted_state());
        wait_within(host, poll.mul_f64(1.2), 2.0 / 3.0);
    }
}

/// One look, in a sentence.
fn look_once(sync: &mut EdgeSync, host: &dyn EdgeHost) -> (log::Level, String) {
    match sync.look(host.now(), host) {
        Ok((RolloutStep::TakeOver | RolloutStep::InForce, revision)) => {
            (log::Level::Info, format!("revision {revision} is in force"))
        }
        Ok((RolloutStep::WaitForCanary, revision)) => {
            let told = format!("revision {revision} waits for other machines to try it first");
            (log::Level::Info, told)
        }
        Err(why) => (log::Level::Warn, format!("no new revision: {why}")),
    }
}

/// Waits for a time from `share` of `most` to all of it, or until the program ends.
fn wait_within(host: &dyn EdgeHost, most: Duration, share: f64) {
    let span = most.mul_f64(share + (1.0 - share) * random_share());
    let until = Instant::now() + span;
    while !host.is_ending() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        std::thread::sleep(left.min(LOOK_FOR_END));
    }
}

/// A number from 0 to 1.
fn random_share() -> f64 {
    let mut bytes = [0; 4];
    // Without randomness machines come together, which is slow and not wrong.
    let _ = getrandom::fill(&mut bytes);
    f64::from(u32::from_le_bytes(bytes)) / f64::from(u32::MAX)
}
