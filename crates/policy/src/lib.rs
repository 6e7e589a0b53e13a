//! The heart: lists of rules compiled into one policy, and what it says to a request.

mod ask;
mod compile;
mod decide;
mod profiles;
mod report;
mod rules;
mod settings;
mod verdict;

pub use ask::Ask;
pub use compile::{ListSource, compile};
pub use decide::Policy;
pub use profiles::Profiles;
pub use report::{
    EXCERPT_BYTES_MAX, ListKind, ListReport, SKIPPED_KEPT_MAX, SkipReason, SkippedLine, Syntax,
};
pub use rules::{Memory, Rules, SnapshotError};
pub use self::settings::{
    ClientSettings, DefaultSettings, LISTS_MAX, ListSettings, ScheduleSettings, Settings,
};
pub use verdict::{Considered, Effect, Explanation, Outcome, RuleText, Verdict};
