//! What the tests of several modules share.

use crate::{Event, Subject};
use vocab::{Action, Cause, Door, Kind, Name, Now, Source};

/// 2026-11-21T12:00:00Z.
pub(crate) const NOON: u64 = 1_795_262_400_000;

/// A look-up of `name` at noon.
pub(crate) fn event(name: &str, action: Action) -> Event {
    Event {
        at: Now { unix_ms: NOON, mono_ms: 0 },
        took_us: 41,
        door: Door::Dns,
        client: "192.168.1.77".parse().unwrap(),
        kind: Kind::Lookup(1),
        subject: Subject::name(Name::from_lowercase(name).unwrap()),
        action,
        cause: Cause::NoRule,
        source: match action {
            Action::Pass => Source::Cache,
            Action::Block => Source::Policy,
        },
        status: 0,
        bytes: 120,
    }
}
