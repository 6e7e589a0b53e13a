//! The configuration's files as the admin API sees and changes them, as a trait that the binary
//! implements.
//!
//! Texts are judged and written by others: the API knows no configuration. Methods may block, like
//! those of [`crate::ProgramControl`].

use crate::change_author::ChangeAuthor;
use crate::control::SettingsRefusal;
use admin_api::{
    ApplyOutcome, ApplyRequest, ChangeDetails, ChangeList, CheckDraft, CheckedDraft,
    ConfigFileInfo, ConfigFileList, EditDraft, EditedDraft, PlacedProblem, ReplayDraft,
    ReplayOutcome, RestoreRequest,
};

/// Refusal of a change of files; nothing is changed then.
#[derive(Debug)]
pub enum FilesRefusal {
    /// These files were changed since they were read.
    Changed(Vec<ConfigFileInfo>),
    /// Complaints about what the files would say.
    Wrong(Vec<PlacedProblem>),
    /// Effects that must be said yes to, each in a sentence; the texts are right.
    Unconfirmed(Vec<String>),
    /// No file of the running configuration, by the name that was sent.
    NoSuchFile(String),
    /// No change of this number is kept.
    NoSuchChange(u64),
    /// Any other, as for single settings.
    Other(SettingsRefusal),
}

/// The files of the running configuration.
pub trait ConfigurationFiles: Send + Sync + 'static {
    /// Each file with its text.
    fn files(&self) -> ConfigFileList;

    /// The JSON Schema of a configuration.
    fn schema(&self) -> &'static serde_json::Value;

    /// Judges texts as `check` does, and compares them with what is in force. Touches nothing.
    fn check(&self, draft: &CheckDraft) -> Result<CheckedDraft, FilesRefusal>;

    /// Judges the requests since a moment as they would be with these texts. Touches nothing.
    fn replay(&self, draft: &ReplayDraft, since_ms: u64) -> Result<ReplayOutcome, FilesRefusal>;

    /// Changes settings in texts where they are written, and looks settings up. Touches nothing.
    fn edit(&self, draft: &EditDraft) -> Result<EditedDraft, FilesRefusal>;

    /// Writes the files, all or none, and takes them over as a reload does.
    fn apply(
        &self,
        wanted: &ApplyRequest,
        author: &ChangeAuthor,
    ) -> Result<ApplyOutcome, FilesRefusal>;

    /// Changes that are kept, the newest first.
    fn history(&self) -> ChangeList;

    /// One of them, with the texts before and after.
    fn change(&self, number: u64) -> Result<ChangeDetails, FilesRefusal>;

    /// Has the files be what they were before a change, as [`Self::apply`] does.
    fn restore(
        &self,
        number: u64,
        wanted: &RestoreRequest,
        author: &ChangeAuthor,
    ) -> Result<ApplyOutcome, FilesRefusal>;
}

impl From<SettingsRefusal> for FilesRefusal {
    fn from(why: SettingsRefusal) -> Self {
        Self::Other(why)
    }
}
