//! What was decided about a request, why, and where its answer came from.

use std::fmt;

/// A list of rules, by its place in the policy. A policy holds at most 64 lists, so that the lists
/// of a client profile are one word of bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ListId(pub u8);

impl ListId {
    /// The first list that is not the policy's: from here on, a door numbers the pattern lists of
    /// its own routes, so that their rules are recorded and explained like any other.
    pub const DOOR_FIRST: Self = Self(64);
    /// The script of the policy, whose lines give verdicts as those of lists do.
    pub const SCRIPT: Self = Self(u8::MAX);
}

/// One rule: a list and the line it stands on, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleRef {
    /// The list.
    pub list: ListId,
    /// Line, from 1.
    pub line: u32,
}

/// Tells what the policy says is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Go on.
    Pass,
    /// Do not: the door answers in its own block style.
    Block,
}

/// Why the policy says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// No rule matched: everything passes that nothing forbids.
    NoRule,
    /// This rule decided: a blocking one, or an exception to one.
    Rule(RuleRef),
    /// Protection is paused by the owner.
    Paused,
    /// No rule names it, and the client's profile blocks everything that no rule lets pass.
    Unlisted,
    /// Somebody has blocked the name by hand.
    ByHand,
    /// Another blocker of the network sent it to the pixel door (`pixel.any_name`), and no rule
    /// names it.
    OtherBlocker,
    /// The policy was not asked: the request was malformed, or refused before it came to that.
    NotAsked,
}

/// Where the answer came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// Made here because the policy blocks.
    Policy,
    /// Made here from configuration: a local record, a special name.
    Local,
    /// A fresh entry of a cache.
    Cache,
    /// An entry past its time, served because that beats waiting or failing.
    Stale,
    /// A resolver or parent.
    Upstream,
    /// A web origin or a server of a pool.
    Origin,
    /// A file.
    File,
    /// A tunnel: bytes that were carried, not read.
    Tunnel,
    /// Nowhere: the request was refused as malformed, or over a limit.
    Refused,
    /// Nowhere: whoever was asked did not answer.
    Failed,
}

impl Action {
    /// Returns its name in metrics, logs and the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Block => "block",
        }
    }

    /// The other one.
    #[must_use]
    pub const fn opposite(self) -> Self {
        match self {
            Self::Pass => Self::Block,
            Self::Block => Self::Pass,
        }
    }
}

impl Source {
    /// All of them, in the order in which they are counted.
    pub const ALL: [Self; 10] = [
        Self::Policy,
        Self::Local,
        Self::Cache,
        Self::Stale,
        Self::Upstream,
        Self::Origin,
        Self::File,
        Self::Tunnel,
        Self::Refused,
        Self::Failed,
    ];

    /// Returns its name in metrics, logs and the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Policy => "policy",
            Self::Local => "local",
            Self::Cache => "cache",
            Self::Stale => "stale",
            Self::Upstream => "upstream",
            Self::Origin => "origin",
            Self::File => "file",
            Self::Tunnel => "tunnel",
            Self::Refused => "refused",
            Self::Failed => "failed",
        }
    }
}

impl Cause {
    /// The rule that decided, if one did.
    pub const fn rule(self) -> Option<RuleRef> {
        match self {
            Self::Rule(rule) => Some(rule),
            Self::NoRule
            | Self::Paused
            | Self::NotAsked
            | Self::Unlisted
            | Self::ByHand
            | Self::OtherBlocker => None,
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
