//! The small integers that stand for words in the store and in the counters.
//!
//! They are written in files, so a code never changes its meaning; new words get new numbers. An
//! unknown number (from a newer store, or damage) reads as nothing. Used by the queue, the
//! counters and the store.

use vocab::{Action, Cause, Door, RequestKind, Source};

/// Number of doors, actions and sources there are.
pub(crate) const DOORS: usize = Door::ALL.len();
pub(crate) const ACTIONS: usize = 2;
pub(crate) const SOURCES: usize = Source::ALL.len();

/// Actions in the order of their codes.
pub(crate) const ALL_ACTIONS: [Action; ACTIONS] = [Action::Pass, Action::Block];

/// A word with a number that is its own for ever.
pub(crate) trait LedgerCode: Sized {
    fn code(self) -> u8;
    fn from_code(code: u8) -> Option<Self>;
}

impl LedgerCode for Door {
    fn code(self) -> u8 {
        self as u8
    }
    fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|door| door.code() == code)
    }
}

impl LedgerCode for Action {
    fn code(self) -> u8 {
        match self {
            Self::Pass => 0,
            Self::Block => 1,
        }
    }
    fn from_code(code: u8) -> Option<Self> {
        ALL_ACTIONS.into_iter().find(|action| action.code() == code)
    }
}

impl LedgerCode for Source {
    fn code(self) -> u8 {
        match self {
            Self::Policy => 0,
            Self::Local => 1,
            Self::Cache => 2,
            Self::Stale => 3,
            Self::Upstream => 4,
            Self::Origin => 5,
            Self::File => 6,
            Self::Tunnel => 7,
            Self::Refused => 8,
            Self::Failed => 9,
        }
    }
    fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|source| source.code() == code)
    }
}

macro_rules! cause_codes {
    ($($name:ident = $code:literal,)*) => {
        /// A cause without the rule that it may name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum CauseCode { $($name,)* }

        impl LedgerCode for CauseCode {
            fn code(self) -> u8 {
                match self { $(Self::$name => $code,)* }
            }
            fn from_code(code: u8) -> Option<Self> {
                match code { $($code => Some(Self::$name),)* _ => None }
            }
        }
    };
}

// Written once, so that no cause can be stored under a number that is not read.
cause_codes! {
    NoRule = 0,
    Rule = 1,
    Paused = 2,
    NotAsked = 3,
    Unlisted = 4,
    OtherBlocker = 5,
    ByHand = 6,
}

impl CauseCode {
    /// The number's word for a cause.
    pub(crate) const fn of(cause: Cause) -> Self {
        match cause {
            Cause::NoRule => Self::NoRule,
            Cause::Rule(_) => Self::Rule,
            Cause::Paused => Self::Paused,
            Cause::NotAsked => Self::NotAsked,
            Cause::Unlisted => Self::Unlisted,
            Cause::OtherBlocker => Self::OtherBlocker,
            Cause::ByHand => Self::ByHand,
        }
    }
}

/// Kinds that are one word stand below this; a look-up is this plus its record type.
const LOOKUP: u32 = 1 << 16;

macro_rules! kind_codes {
    ($($name:ident = $code:literal,)*) => {
        /// The number of a kind.
        pub(crate) fn kind_code(kind: RequestKind) -> u32 {
            match kind {
                $(RequestKind::$name => $code,)*
                RequestKind::Lookup(record_type) => LOOKUP + u32::from(record_type),
            }
        }

        /// The kind of a number; an unknown one is [`RequestKind::Other`].
        pub(crate) fn kind_from_code(code: u32) -> RequestKind {
            match code {
                $($code => RequestKind::$name,)*
                _ => {
                    let record_type = code.checked_sub(LOOKUP).and_then(|it| it.try_into().ok());
                    record_type.map_or(RequestKind::Other, RequestKind::Lookup)
                }
            }
        }
    };
}

kind_codes! {
    Document = 0,
    Subdocument = 1,
    Script = 2,
    Stylesheet = 3,
    Image = 4,
    Font = 5,
    Media = 6,
    Object = 7,
    Fetch = 8,
    Ping = 9,
    Websocket = 10,
    Tunnel = 11,
    Other = 12,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_read_back_from_its_number() {
        for door in Door::ALL {
            assert_eq!(Door::from_code(door.code()), Some(door));
        }
        for source in Source::ALL {
            assert_eq!(Source::from_code(source.code()), Some(source));
        }
        for action in ALL_ACTIONS {
            assert_eq!(Action::from_code(action.code()), Some(action));
        }
        for kind in ["document", "ping", "tunnel", "other", "AAAA", "TYPE65535"] {
            let kind: RequestKind = kind.parse().unwrap();
            assert_eq!(kind_from_code(kind_code(kind)), kind);
        }
        for code in 0..=u8::MAX {
            let cause = CauseCode::from_code(code);
            assert_eq!(cause.map_or(code, CauseCode::code), code);
        }
        assert_eq!(Door::from_code(200), None);
        assert_eq!(CauseCode::from_code(7), None);
        assert_eq!(kind_from_code(u32::MAX), RequestKind::Other);
    }
}
