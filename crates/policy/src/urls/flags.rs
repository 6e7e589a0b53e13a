//! The marks of a rule, bit by bit: what its text says of kind, anchors and types of requests.
//!
//! Readers of list lines set them, `compile` adds what it works out, and the index and the matcher
//! test them. It knows no rule.

use filter_patterns::{CaseMatching, MatchEnd, MatchStart};
use vocab::RequestKind;

/// Every kind of request.
pub(crate) const TYPES_ALL: u16 = u16::MAX;
/// What a rule without types is for: all but pages themselves, which only `$document`, or a rule
/// about a name, may block.
pub(crate) const TYPES_USUAL: u16 = TYPES_ALL & !DOCUMENT;
pub(crate) const DOCUMENT: u16 = 1;

/// Holds what a rule is, bit by bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RuleFlags(pub(crate) u16);

impl RuleFlags {
    pub(crate) const EXCEPTION: Self = Self(1);
    pub(crate) const IMPORTANT: Self = Self(1 << 1);
    pub(crate) const MATCH_CASE: Self = Self(1 << 2);
    pub(crate) const REGEX: Self = Self(1 << 3);
    /// `||`.
    pub(crate) const AT_LABEL: Self = Self(1 << 4);
    /// `|` in front.
    pub(crate) const AT_START: Self = Self(1 << 5);
    /// `|` behind.
    pub(crate) const AT_END: Self = Self(1 << 6);
    pub(crate) const THIRD_PARTY: Self = Self(1 << 7);
    pub(crate) const FIRST_PARTY: Self = Self(1 << 8);
    /// It counts for names, at every door.
    pub(crate) const FOR_NAMES: Self = Self(1 << 9);
    /// Whole pattern is `||name^`: the index has proved it.
    pub(crate) const HOST_ONLY: Self = Self(1 << 10);
    /// It is held against names alone, never against the rest of a URL.
    pub(crate) const NAMES_ONLY: Self = Self(1 << 11);
    /// `$dnsrewrite`.
    pub(crate) const REWRITE: Self = Self(1 << 12);
    /// `$removeparam`.
    pub(crate) const REMOVE_PARAMETERS: Self = Self(1 << 13);
    /// `$redirect`, `$redirect-rule`.
    pub(crate) const STAND_IN: Self = Self(1 << 14);
    /// `$redirect-rule`: it does not block.
    pub(crate) const STAND_IN_ONLY: Self = Self(1 << 15);

    #[inline]
    pub(crate) const fn contains(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    #[must_use]
    pub(crate) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) const fn start(self) -> MatchStart {
        if self.contains(Self::AT_LABEL) {
            MatchStart::Label
        } else if self.contains(Self::AT_START) {
            MatchStart::Text
        } else {
            MatchStart::Anywhere
        }
    }

    pub(crate) const fn end(self) -> MatchEnd {
        if self.contains(Self::AT_END) { MatchEnd::Text } else { MatchEnd::Anywhere }
    }

    pub(crate) const fn case(self) -> CaseMatching {
        if self.contains(Self::MATCH_CASE) { CaseMatching::Differs } else { CaseMatching::Same }
    }
}

/// The bit of a kind of request in `types`.
pub(crate) const fn type_bit(kind: RequestKind) -> u16 {
    match kind {
        RequestKind::Document => DOCUMENT,
        RequestKind::Subdocument => 1 << 1,
        RequestKind::Script => 1 << 2,
        RequestKind::Stylesheet => 1 << 3,
        RequestKind::Image => 1 << 4,
        RequestKind::Font => 1 << 5,
        RequestKind::Media => 1 << 6,
        RequestKind::Object => 1 << 7,
        RequestKind::Fetch => 1 << 8,
        RequestKind::Ping => 1 << 9,
        RequestKind::Websocket => 1 << 10,
        RequestKind::Other | RequestKind::Lookup(_) => 1 << 11,
        RequestKind::Tunnel => 1 << 12,
    }
}
