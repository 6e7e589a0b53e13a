//! Conditions that modifiers set beside pattern and type: pages, hosts, record types, clients and
//! tags.
//!
//! Flat records that point into the arrays of the table of rules. Made by `compile`, tested by
//! `rule`; it tests nothing itself.

use crate::clients::tags::ClientTags;
use vocab::Network;

/// No conditions beyond flags and types.
pub(crate) const NO_CONDITIONS: u32 = u32::MAX;
/// Stands among fingerprints of hosts for all IP addresses.
pub(crate) const ADDRESSES: u64 = 0x1;

/// A part of an array of which the first `only` entries are asked for and the next `never` ones
/// refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EntryPart {
    pub(crate) start: u32,
    pub(crate) only: u16,
    pub(crate) never: u16,
}

/// Holds what else must hold.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RuleConditions {
    /// `domain=`: fingerprints of hosts of pages.
    pub(crate) pages: EntryPart,
    /// `to=` and `denyallow=`: fingerprints of wanted hosts.
    pub(crate) hosts: EntryPart,
    /// `dnstype=`.
    pub(crate) record_types: EntryPart,
    /// `client=`.
    pub(crate) clients: EntryPart,
    /// `ctag=`.
    pub(crate) tags: TagPart,
}

/// Tags of which one is asked for, if any is named, and tags that are refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TagPart {
    pub(crate) only: ClientTags,
    pub(crate) never: ClientTags,
}

/// One entry of `client=`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RuleClient {
    Network(Network),
    /// A profile.
    Name(String),
}
