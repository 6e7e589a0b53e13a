//! The codes of a row: everything about a request that is one of few.
//!
//! Rows of one door mostly have the same, so a block of the store holds each once and its rows
//! name it by number. They stay numbers from the queue to the file, and become words again where a
//! row is shown. Made by the queue and by the store.

use crate::codes::{CauseCode, LedgerCode, kind_code, kind_from_code};
use crate::event::RequestEvent;
use vocab::{Action, Caching, Door, RequestKind, Source};

/// Bytes of packed codes.
pub(crate) const FACTS_BYTES: usize = 12;

/// The codes of one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RowFacts {
    pub(crate) door: u8,
    pub(crate) action: u8,
    pub(crate) cause: u8,
    pub(crate) source: u8,
    pub(crate) kind: u32,
    pub(crate) status: u16,
    pub(crate) caching: u16,
}

impl RowFacts {
    /// The codes of a request.
    pub(crate) fn of(event: &RequestEvent) -> Self {
        Self {
            door: event.door.code(),
            action: event.action.code(),
            cause: CauseCode::of(event.cause).code(),
            source: event.source.code(),
            kind: kind_code(event.kind),
            status: event.status,
            caching: event.caching.code(),
        }
    }

    /// The codes as bytes.
    pub(crate) fn to_bytes(self) -> [u8; FACTS_BYTES] {
        let mut bytes = [0; FACTS_BYTES];
        bytes[..4].copy_from_slice(&[self.door, self.action, self.cause, self.source]);
        bytes[4..8].copy_from_slice(&self.kind.to_le_bytes());
        bytes[8..10].copy_from_slice(&self.status.to_le_bytes());
        bytes[10..].copy_from_slice(&self.caching.to_le_bytes());
        bytes
    }

    /// The codes that [`RowFacts::to_bytes`] has packed.
    pub(crate) fn from_bytes(bytes: [u8; FACTS_BYTES]) -> Self {
        let [door, action, cause, source, k0, k1, k2, k3, s0, s1, c0, c1] = bytes;
        Self {
            door,
            action,
            cause,
            source,
            kind: u32::from_le_bytes([k0, k1, k2, k3]),
            status: u16::from_le_bytes([s0, s1]),
            caching: u16::from_le_bytes([c0, c1]),
        }
    }

    // A code that is unknown, of a damaged row or a newer release, reads as the plainest word: one
    // odd row must not hide all others.

    /// The door.
    pub(crate) fn door(self) -> Door {
        Door::from_code(self.door).unwrap_or(Door::Dns)
    }

    /// The action.
    pub(crate) fn action(self) -> Action {
        Action::from_code(self.action).unwrap_or(Action::Pass)
    }

    /// The cause, without its rule.
    pub(crate) fn cause(self) -> CauseCode {
        CauseCode::from_code(self.cause).unwrap_or(CauseCode::NoRule)
    }

    /// The source of the answer.
    pub(crate) fn source(self) -> Source {
        Source::from_code(self.source).unwrap_or(Source::Failed)
    }

    /// The kind of thing that was asked for.
    pub(crate) fn kind(self) -> RequestKind {
        kind_from_code(self.kind)
    }

    /// The outcome at the door's HTTP cache.
    pub(crate) fn caching(self) -> Caching {
        Caching::from_code(self.caching)
    }
}
