//! Settings of the store, and what is wrong with them.

use disk_store::QUEUE_BYTES_USUAL;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use std::path::PathBuf;
use vocab::{ByteSize, Complaint};

const MEMORY_MIN: u64 = 256 << 10;
const MEMORY_MAX: u64 = 1 << 40;
const OBJECT_MAX: u64 = 1 << 40;
const DISK_MIN: u64 = 16 << 20;
const DISK_MAX: u64 = 4 << 40;

/// The store of responses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Memory for stored responses and for bodies on their way, together. What is stored gives way
    /// to what is on its way; the size of each window follows from this. Default 256MiB, from
    /// 256KiB to 1TiB.
    pub memory: Text<ByteSize>,
    /// The longest body that is kept in memory, as far as `memory` allows: a body is never more
    /// than half of one of the parts that `memory` is divided into. Default 32MiB, from 0 (none) to
    /// 1TiB.
    pub memory_object: Text<ByteSize>,
    /// A fetch whose last client has left is finished, so that its answer can be stored, if at
    /// least this share of the body is there, in percent, or if the body is at most 1 MiB long.
    /// Default 50, from 0 (always) to 100 (never, unless small).
    pub finish_percent: u8,
    /// A folder in which answers outlive a restart, and find room that memory has not. Default:
    /// none.
    pub disk: Option<DiskSettings>,
}

/// The disk tier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiskSettings {
    /// Folder, made where there is none; for this cache alone. A relative path begins at the
    /// state folder.
    pub path: PathBuf,
    /// Bytes that it may take. The index takes some 20 bytes of memory for each object, beside
    /// `memory`, and what waits to be written up to a quarter of `memory`, from 8 to 16 MiB.
    /// Default 10GiB, from 16MiB to 4TiB.
    #[serde(default = "disk_size")]
    pub size: Text<ByteSize>,
}

const fn disk_size() -> Text<ByteSize> {
    Text(ByteSize(10 << 30))
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            memory: Text(ByteSize(256 << 20)),
            memory_object: Text(ByteSize(32 << 20)),
            finish_percent: 50,
            disk: None,
        }
    }
}

impl Settings {
    /// Bytes of memory for what waits to be written to disk, beside `memory`.
    pub(crate) fn disk_queue_bytes(&self) -> usize {
        (self.memory.bytes() / 4).clamp(8 << 20, QUEUE_BYTES_USUAL as u64) as usize
    }

    /// Every complaint about it; paths are relative to the store.
    pub fn check(&self) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        for (key, given, least, most, remedy) in [
            ("memory", self.memory, MEMORY_MIN, MEMORY_MAX, "from 256KiB to 1TiB"),
            ("memory_object", self.memory_object, 0, OBJECT_MAX, "at most 1TiB"),
        ] {
            if !(least..=most).contains(&given.bytes()) {
                let message = format!("{given} is out of bounds");
                complaints.push(Complaint::new(key, message).remedy(remedy));
            }
        }
        if self.finish_percent > 100 {
            let message = format!("{} is more than all of it", self.finish_percent);
            complaints.push(Complaint::new("finish_percent", message).remedy("from 0 to 100"));
        }
        if let Some(disk) = &self.disk {
            if disk.path.as_os_str().is_empty() {
                let complaint = Complaint::new("disk.path", "is empty");
                complaints.push(complaint.remedy("the folder's path"));
            }
            if !(DISK_MIN..=DISK_MAX).contains(&disk.size.bytes()) {
                let message = format!("{} is out of bounds", disk.size);
                complaints.push(Complaint::new("disk.size", message).remedy("from 16MiB to 4TiB"));
            }
        }
        complaints
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_out_of_bounds_is_said_with_its_bounds() {
        let settings = Settings {
            memory: Text(ByteSize(100 << 10)),
            memory_object: Text(ByteSize(2 << 40)),
            finish_percent: 101,
            disk: Some(DiskSettings { path: PathBuf::new(), size: Text(ByteSize(1)) }),
        };
        let complaints = settings.check();
        let found: Vec<_> = complaints.iter().map(|it| it.path.as_str()).collect();
        assert_eq!(found, ["memory", "memory_object", "finish_percent", "disk.path", "disk.size"]);
        assert!(complaints.iter().all(|it| it.remedy.is_some()));
        assert_eq!(Settings::default().check(), []);
        let written: Settings =
            serde_json::from_str(r#"{"memory": "400KiB", "disk": {"path": "d"}}"#).unwrap();
        assert_eq!((written.memory.bytes(), written.check()), (400 << 10, vec![]));
        assert_eq!(written.disk.unwrap().size.bytes(), 10 << 30);
    }
}
