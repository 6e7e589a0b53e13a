//! The files of the running configuration, changed together, and what was changed before.
//!
//! [`FilesInForce`] knows which files there are and refuses every other, and one that leads
//! elsewhere than it did; [`WrittenFiles`] writes several all or none, over a kill too;
//! [`ConfirmedCommit`] has a change wait for the word that it works; [`ChangeHistory`] keeps who
//! changed what, and why, in the state folder. It judges no text. Called by the program for the
//! admin API, at its start and after each reload.

mod confirmed_commit;
mod edited;
mod files_in_force;
mod history;
mod revision;
mod stored;
mod written_files;

pub use confirmed_commit::{ConfirmTimeout, ConfirmedCommit, NotConfirmed};
pub use edited::edit_drafts;
pub use files_in_force::{EditRule, FileInForce, FileKind, FilesInForce, absolute};
pub use history::{ChangeHistory, EarlierText, outside};
pub use revision::revision;
pub use written_files::{FileChange, WriteRefusal, WrittenFiles, undo_mark, undo_unfinished};
