//! What can be set for request bodies on their way to a server.
//!
//! Plain data. Read as part of the `gateway` section.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use std::time::Duration;
use vocab::{ByteSize, Complaint, TimeSpan};

const TIME_MAX: Duration = Duration::from_hours(1);
/// What one upload may keep in memory at most.
const MEMORY_MAX: u64 = 64 << 20;

/// Request bodies: streamed to a server at the client's pace, or collected first.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UploadSettings {
    /// `stream` passes bodies on as they come; `buffer` takes each as a whole before a server is
    /// asked; `auto` takes those as a whole that fit into memory or that a client is slow with. A
    /// route may say otherwise. Default `stream`.
    pub mode: UploadMode,
    /// Part of one body that is kept in memory; what is longer goes to disk. Default 256KiB, at
    /// most 64MiB.
    pub memory: Text<ByteSize>,
    /// The same for all bodies together. Beyond it they go to disk from their first byte. Default
    /// 64MiB.
    pub memory_max: Text<ByteSize>,
    /// The folder for what goes to disk; a relative one is below the state folder. Its files have
    /// no name, so they are gone with the process, however it ends. Default the state folder.
    pub disk_folder: Option<String>,
    /// Bytes that may be on disk, all bodies together. What no longer fits, or cannot be written,
    /// is passed on as it comes. Default 1GiB; 0 puts nothing on disk.
    pub disk_max: Text<ByteSize>,
    /// Criteria of `auto`, once a body has filled its memory.
    pub threshold: UploadThreshold,
}

/// Tells how request bodies reach a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum UploadMode {
    /// As they come: a server is busy for as long as the client sends.
    #[default]
    Stream,
    /// As a whole: a server is asked when the last byte is here.
    Buffer,
    /// As a whole where they are small or slow, else as they come.
    Auto,
}

/// Bodies that `auto` collects first. One reason is enough.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UploadThreshold {
    /// Bodies of this length or more. Default none: length does not matter.
    pub size: Option<Text<ByteSize>>,
    /// Bodies of which the rest will take longer than this, at the pace so far; if the length is
    /// not known, those that have taken so long. Default 5s, from 100ms to 1h.
    pub time: Text<TimeSpan>,
    /// Bodies that arrive with fewer bytes a second. Default none: pace alone does not matter.
    pub rate: Option<Text<ByteSize>>,
}

impl Default for UploadSettings {
    fn default() -> Self {
        Self {
            mode: UploadMode::Stream,
            memory: Text(ByteSize(256 << 10)),
            memory_max: Text(ByteSize(64 << 20)),
            disk_folder: None,
            disk_max: Text(ByteSize(1 << 30)),
            threshold: UploadThreshold::default(),
        }
    }
}

impl Default for UploadThreshold {
    fn default() -> Self {
        Self { size: None, time: Text(TimeSpan(Duration::from_secs(5))), rate: None }
    }
}

impl UploadSettings {
    pub(super) fn check(&self) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        let (each, all) = (self.memory.0, self.memory_max.0);
        if each.0 > MEMORY_MAX || each.0 > all.0 {
            let most = ByteSize(MEMORY_MAX.min(all.0));
            complaints.push(
                Complaint::new("memory", format!("{each} is out of bounds"))
                    .remedy(format!("write a size of at most {most}, or raise memory_max")),
            );
        }
        if self.disk_folder.as_ref().is_some_and(String::is_empty) {
            complaints.push(
                Complaint::new("disk_folder", "the folder has no name")
                    .remedy("leave it out: the state folder is taken"),
            );
        }
        let time = self.threshold.time.0;
        if time.0 < Duration::from_millis(100) || time.0 > TIME_MAX {
            complaints.push(
                Complaint::new("threshold.time", format!("{time} is out of bounds"))
                    .remedy("write a span from 100ms to 1h"),
            );
        }
        complaints
    }
}
