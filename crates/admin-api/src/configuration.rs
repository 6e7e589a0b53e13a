//! The JSON of the configuration's files: texts, what is wrong with them, and changes that are
//! kept.
//!
//! Filled by `admin::ConfigurationFiles`, described by utoipa. See the crate for what all of it
//! shares.

use crate::{ReloadOutcome, SettingEdit};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use utoipa::ToSchema;

/// The files of the running configuration, the one that was named first.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ConfigFileList {
    /// The files.
    pub files: Vec<ConfigFileInfo>,
    /// Reason why the configuration takes no changes at all; none where it does.
    pub fixed: Option<String>,
    /// Remedy.
    pub remedy: Option<String>,
}

/// One file of the running configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConfigFileInfo {
    /// The file, as an absolute path.
    pub path: String,
    /// Kind: `main`, `included`, or `dashboard` for what is set in the dashboard.
    pub kind: String,
    /// Text of it now, as the file has it; none where it cannot be read.
    pub text: Option<String>,
    /// A word for this text, to be sent with a change of it; another text has another.
    pub revision: String,
    /// True where the text is not the one in force.
    pub changed: bool,
    /// Reason why it cannot be written; none where it can.
    pub fixed: Option<String>,
    /// Remedy.
    pub remedy: Option<String>,
}

/// A text that a file is to have.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DraftFile {
    /// The file, as it was listed.
    pub path: String,
    /// The text.
    pub text: String,
    /// The revision that it was made from; needed to write it.
    #[serde(default)]
    pub revision: String,
}

/// Texts to be judged; files that are not sent count as they are.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckDraft {
    /// The files.
    pub files: Vec<DraftFile>,
}

/// Texts that are to be tried on recorded requests; files that are not sent count as they are.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplayDraft {
    /// The files.
    pub files: Vec<DraftFile>,
    /// Requests of the last so many seconds; a week if left out.
    #[serde(default)]
    pub since_s: Option<u64>,
}

/// Complaint about a place in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlacedProblem {
    /// The file, as an absolute path; empty where the complaint names none.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The setting, keys joined by dots; empty where the file as a whole is meant.
    pub path: String,
    /// The fault, in one sentence.
    pub message: String,
    /// Remedy, if one is known.
    pub remedy: Option<String>,
}

impl PlacedProblem {
    /// The complaint on a line, as `tidegate check` prints it.
    pub fn line_of_text(&self) -> String {
        let Self { file, line, column, path, message, remedy } = self;
        let place =
            if file.is_empty() { String::new() } else { format!("{file}:{line}:{column}: ") };
        let path = if path.is_empty() { String::new() } else { format!("{path}: ") };
        let remedy = remedy.as_ref().map_or_else(String::new, |remedy| format!("; {remedy}"));
        format!("{place}{path}{message}{remedy}")
    }
}

/// Verdict about texts as a configuration.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct CheckedDraft {
    /// Everything that is wrong, in the order of the files.
    pub complaints: Vec<PlacedProblem>,
    /// Remarks on what is allowed and may still be a mistake, as `tidegate check` prints them.
    pub warnings: Vec<String>,
    /// Settings that would change, with secrets hidden.
    pub differences: Vec<DraftDifference>,
    /// Effects that must be said yes to before it is applied: each in a sentence.
    pub asks: Vec<String>,
    /// True where the lists were read too, because what decides about them differs.
    pub lists_read: bool,
}

/// One setting that would change.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct DraftDifference {
    /// The setting: keys joined by dots, items of lists by name or number.
    pub path: String,
    /// Value in force; none where the setting is added.
    pub before: Option<Json>,
    /// Value in the texts; none where it is removed.
    pub after: Option<Json>,
    /// Time at which it takes effect: `reload` or `restart`.
    pub takes: String,
    /// The same in a sentence.
    pub text: String,
}

/// Changes to settings, made in texts where the settings are written, and settings looked up in
/// what comes of it.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EditDraft {
    /// Texts that differ from those of the files.
    #[serde(default)]
    pub files: Vec<DraftFile>,
    /// Changes, at most 64, made one after the other.
    #[serde(default)]
    pub changes: Vec<SettingEdit>,
    /// Settings to be looked up afterwards, at most 64.
    #[serde(default)]
    pub read: Vec<String>,
}

/// Outcome of such changes.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct EditedDraft {
    /// Texts that were sent or that changed, as they are now.
    pub files: Vec<DraftFile>,
    /// Place of each change, in their order.
    pub changed: Vec<WrittenValueInfo>,
    /// The settings that were looked up, in their order.
    pub read: Vec<WrittenValueInfo>,
}

/// A setting as the files have it.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct WrittenValueInfo {
    /// The setting.
    pub path: String,
    /// The file that has it, or where it belongs.
    pub file: String,
    /// Line of it, or of the nearest thing above it, from 1.
    pub line: usize,
    /// The value as it is written; none where it is not set.
    pub value: Option<Json>,
}

/// Texts to be written, all or none, and taken over.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ApplyRequest {
    /// The files, each with the revision that its text was made from.
    pub files: Vec<DraftFile>,
    /// Reason for the history, at most 400 characters.
    #[serde(default)]
    pub why: String,
    /// Yes to all that the check asks.
    #[serde(default)]
    pub confirm: bool,
    /// Seconds for which a change of where the dashboard is reached waits for confirmation, 1 to
    /// 600; 60 if left out.
    #[serde(default)]
    pub confirm_within_s: Option<u64>,
}

/// Outcome of a change of files.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ApplyOutcome {
    /// The reload's own outcome.
    pub reload: ReloadOutcome,
    /// Number of the change in the history; none where no text differed.
    pub number: Option<u64>,
    /// Settings that take effect at the next start alone: each in a sentence.
    pub at_restart: Vec<String>,
    /// Seconds until it is taken back unless `POST /api/first-run/confirm` comes, from the new
    /// address: it changes where the dashboard is reached. Null for any other change.
    pub confirm_within_s: Option<u64>,
    /// Address of the dashboard from now on, where it changes.
    pub dashboard: Option<String>,
}

/// Refusal of a change of files: nothing is changed.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct FilesProblem {
    /// The fault, in one sentence.
    pub error: String,
    /// Remedy.
    pub remedy: String,
    /// Every complaint, as `tidegate check` prints it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub complaints: Vec<String>,
    /// The same with their places.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<PlacedProblem>,
    /// Files that were changed meanwhile, as they are now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<ConfigFileInfo>,
    /// Effects that must be said yes to, with `confirm`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<String>,
}

/// Changes of the configuration that are kept: at most 100, and 16 MiB of texts.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ChangeList {
    /// The newest first.
    pub changes: Vec<ChangeInfo>,
    /// Reason why changes are not kept; none where they are.
    pub trouble: Option<String>,
}

/// One change of the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChangeInfo {
    /// Number, which no other change has had.
    pub number: u64,
    /// Moment at which it was taken over.
    pub at: String,
    /// The user, `token`, `console`, or `outside` for a change that was found in a file.
    pub who: String,
    /// Address that it came from.
    pub from: Option<String>,
    /// Reason that was given; may be empty.
    pub why: String,
    /// Files that it changed.
    pub files: Vec<String>,
}

/// One change with its texts.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ChangeDetails {
    /// The change.
    #[serde(flatten)]
    pub change: ChangeInfo,
    /// Files of it with their texts.
    pub texts: Vec<ChangedText>,
}

/// A file of a change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChangedText {
    /// The file.
    pub path: String,
    /// Text before it; none where the file was no part of the configuration, or too large.
    pub before: Option<String>,
    /// Text after it; none where the file is no part of it any more.
    pub after: Option<String>,
}

/// Reason for going back.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RestoreRequest {
    /// Reason for the history, at most 400 characters.
    #[serde(default)]
    pub why: String,
    /// Yes to all that the check asks.
    #[serde(default)]
    pub confirm: bool,
}
