//! The JSON of lists: what each holds, and how those with a URL are kept.
//!
//! Filled by `admin::ProgramControl`, described by utoipa. See the crate for what all of it
//! shares.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The lists in force.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ListsInfo {
    /// In the order of the configuration.
    pub lists: Vec<ListInfo>,
}

/// One list.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ListInfo {
    /// Name.
    pub name: String,
    /// `block` or `allow`.
    pub kind: String,
    /// Where it comes from: `builtin starter`, a path, a URL, `rules`.
    pub from: String,
    /// The syntax that was detected.
    pub syntax: String,
    /// Lines read.
    pub lines: u32,
    /// Rules about names.
    pub rules_names: u32,
    /// Rules about URLs.
    pub rules_urls: u32,
    /// Lines that were skipped.
    pub skipped: u32,
    /// The same by reason.
    pub skipped_by_reason: Vec<SkippedCount>,
    /// The first of them.
    pub skipped_lines: Vec<SkippedLine>,
    /// When the text in force was fetched; null if it was not.
    pub loaded_at: Option<String>,
    /// Since when it is unchanged: its file's time, when it was fetched, or the configuration's
    /// time for rules written there; null where that is unknown, and for built-in lists.
    pub changed_at: Option<String>,
    /// True if it was added in the dashboard, and can be removed there.
    #[serde(default)]
    pub made: bool,
    /// True if it is switched off, and holds for nobody.
    #[serde(default)]
    pub off: bool,
    /// Why nothing of it is in force, though there is a list; null if something is.
    pub unfit: Option<String>,
    /// How it is fetched; null for a list without URL.
    pub subscription: Option<SubscriptionInfo>,
    /// Requests of the last 7 days that a rule of it blocked, from the statistics; null where they
    /// cannot be read.
    #[serde(default)]
    pub blocked_7d: Option<u64>,
}

/// Overlaps of the lists in force.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ListOverlaps {
    /// When they were counted: once for each set of lists.
    pub counted_at: String,
    /// In the order of the configuration.
    pub lists: Vec<ListOverlap>,
}

/// Names of one list that others hold too.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ListOverlap {
    /// Name.
    pub name: String,
    /// Names that its rules about names are about, each counted once.
    pub names: u64,
    /// Lists that hold some of them to the same end, the largest share first. A name counts where
    /// the other list has it itself, not where that has a name above it.
    pub held_by: Vec<HeldBy>,
}

/// A list that holds names of another one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HeldBy {
    /// Name.
    pub name: String,
    /// Names that both hold.
    pub names: u64,
    /// Part of the other list's names that this is, 0 to 1.
    pub share: f64,
}

/// Number of lines that were skipped for one reason.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct SkippedCount {
    /// The reason.
    pub reason: String,
    /// Lines.
    pub count: u32,
}

/// A line that was skipped.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct SkippedLine {
    /// The file that it stands in; null if the list is no folder.
    pub file: Option<String>,
    /// Number there, from 1.
    pub line: u32,
    /// Why.
    pub reason: String,
    /// Text, cut if it is long.
    pub text: String,
}

/// Holds how a list with a URL is kept.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct SubscriptionInfo {
    /// Where it is fetched from.
    pub url: String,
    /// Length of the last good text; null before the first.
    pub bytes: Option<u64>,
    /// When that was fetched; null before the first.
    pub fetched_at: Option<String>,
    /// When its server was asked last; null if never.
    pub checked_at: Option<String>,
    /// When it is asked next; null if at once.
    pub next_at: Option<String>,
    /// True if it is being fetched.
    pub is_fetching: bool,
    /// Tries that failed since the last that did not.
    pub failures: u32,
    /// Why the last of them did; null if none did.
    pub failure: Option<String>,
}

/// Which lists to fetch now.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UpdateRequest {
    /// The name of a list with a URL; all of them if left out.
    pub list: Option<String>,
    /// True if a text is taken though it is under a tenth of the last good one.
    pub even_if_smaller: bool,
}

/// Outcome of fetching lists.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ListUpdateOutcome {
    /// Folders, which were read again; then those that were fetched, in the order in which that
    /// ended.
    pub lists: Vec<UpdatedList>,
    /// True if they are being fetched still: ask `/api/lists`.
    pub is_fetching: bool,
}

/// Outcome of fetching one list.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct UpdatedList {
    /// Name.
    pub name: String,
    /// `changed`, `same` or `failed`.
    pub outcome: String,
    /// Why it failed; null if it did not.
    pub failure: Option<String>,
}
