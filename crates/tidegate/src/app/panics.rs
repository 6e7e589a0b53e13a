//! Panics: counted by thread, and fatal only where what is left could not be trusted
//! (docs/adr/0027).
//!
//! A panic ends the task in which it happens, so a connection or a question, and nothing else. The
//! message with its place goes to the log, or to standard error while there is none. Installed
//! first of all, by `main`.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Kinds of threads that are told apart, at most; there are a dozen.
const KINDS_MAX: usize = 64;

/// The thread whose panic ends the program: all questions share one structure there, and no door
/// finds a name without it.
const FATAL: &str = "resolver";

/// Panics so far, by kind of thread.
static COUNTS: Mutex<BTreeMap<String, u64>> = Mutex::new(BTreeMap::new());

/// Has panics counted from now on.
pub(crate) fn count() {
    let tell = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let thread = std::thread::current();
        let kind = kind(thread.name().unwrap_or("unnamed"));
        note(kind);
        if program_log::is_started() {
            let (place, what) = (panic.location(), panic.payload_as_str());
            let place = place.map(ToString::to_string).unwrap_or_default();
            let what = what.unwrap_or_default();
            log::error!(target: "program", "thread {kind} panicked at {place}: {what}");
        } else {
            tell(panic);
        }
        if kind == FATAL {
            log::error!(target: "program", "the resolver's state is lost, so the program ends");
            program_log::finish(super::LOGS_MAX);
            std::process::abort();
        }
    }));
}

/// The kind of a thread: its name without a number.
fn kind(name: &str) -> &str {
    name.trim_end_matches(|letter: char| letter.is_ascii_digit()).trim_end_matches('-')
}

fn note(kind: &str) {
    let mut counts = COUNTS.lock().unwrap_or_else(PoisonError::into_inner);
    if counts.len() < KINDS_MAX || counts.contains_key(kind) {
        *counts.entry(kind.to_owned()).or_default() += 1;
    }
}

/// Panics since the start, by kind of thread.
pub(super) fn counts() -> BTreeMap<String, u64> {
    COUNTS.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_a_kind_are_counted_together() {
        for (name, expected) in
            [("core-0", "core"), ("dns-udp-12", "dns-udp"), ("ledger", "ledger"), ("7", "")]
        {
            assert_eq!(kind(name), expected);
        }
        note("test");
        note("test");
        assert_eq!(counts().get("test"), Some(&2));
    }
}
