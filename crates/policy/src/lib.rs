//! The heart: lists of rules compiled into one policy, and what it says to a request.
//!
//! A policy is made of three things. **Rules** are what lists say, compiled: plain names as a table
//! of fingerprints, patterns as an index over the tokens of URLs. **Profiles** say which lists hold
//! for which clients. A **pause** lets everything pass for a while. Together they answer an
//! [`Ask`] with a [`Verdict`]: pass or block, and the rule that says so, by list and line.
//!
//! How a verdict comes about:
//!
//! 1. A rule counts if its list is among those of the client, and everything it says holds: name or
//!    pattern, and each modifier.
//! 2. To a question about a name (a look-up, a tunnel) only rules count that a name alone can
//!    settle: `||ads.example^` does, `||ads.example^$script` does not. To a question about a URL
//!    both count, so the URLs of a blocked name are blocked.
//! 3. An important exception outranks an important block, that an exception, that a block.
//! 4. Of several rules of the rank that decides, any other is named before a line of a hosts file,
//!    then an earlier list before a later one, then an earlier line.
//! 5. An exception that nothing would have blocked is not worth a word: the cause is `NoRule`.
//!
//! ```text
//! lists ──► lists/detect ──► compile ──► Rules ──┬── names     (a walk up the labels)
//!           hosts dnsmasq                        ├── urls      (host, token, page, always)
//!           adblock options          snapshot ◄──┘
//! settings ──► Profiles ──┐
//!                         ├──► Policy ──► decide (hot, no allocation) · explain (for people)
//! Rules ──────────────────┘
//! ```
//!
//! It holds no socket, no clock, no log and no randomness: the time and the seed are arguments.
//! Every door, the signer's guard and `tidegate why` ask the same policy.

mod answers;
mod ask;
mod block_page;
mod buckets;
mod clients;
mod cname_cloaking;
mod compile;
mod decide;
mod explain;
mod fingerprint;
mod hook;
mod lists;
mod names;
mod places;
mod profiles;
mod report;
mod request;
mod rules;
mod settings;
mod snapshot;
mod special;
mod subdomain_blocks;
mod urls;
mod verdict;

pub use self::settings::{
    BlockStyle, ClientSettings, DefaultSettings, GroupSettings, LISTS_MAX, ListSettings,
    ScheduleSettings, Settings, UnlistedAction,
};
pub use ask::{Ask, ClientIdentity};
pub use block_page::BlockPage;
pub use clients::overrides::{
    NameOverride, OVERRIDES_MAX, OverrideClients, OverrideEnd, OverridesFull,
};
pub use compile::{ListFile, ListSource, compile, recompile};
pub use decide::Policy;
pub use filter_patterns::regexes::required_literals;
pub use fingerprint::{fold, split_mix};
pub use hook::{HookVerdict, VerdictHook};
pub use lists::fitness::{UnfitList, unfit};
pub use lists::rewrite::RewriteRecord;
pub use names::TablesDiffer;
pub use places::place_of;
pub use profiles::ClientProfiles;
pub use report::{
    EXCERPT_BYTES_MAX, FileLines, ListKind, ListReport, ListSyntax, SKIPPED_KEPT_MAX, SkipReason,
    SkippedLine,
};
pub use request::site_of;
pub use rules::{NameHolders, RuleMemory, RuleSet};
pub use snapshot::SnapshotError;
pub use verdict::{
    ConsideredRule, PolicyExplanation, RewriteAnswer, RewrittenAnswer, RuleEffect, RuleOutcome,
    RuleText, StandInId, TrimmedUrl, Verdict, VerdictManner,
};
