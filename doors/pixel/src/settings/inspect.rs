//! Settings of the inspection of posted bodies.
//!
//! Plain data. Read as part of the pixel door's settings.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use std::ops::RangeInclusive;
use std::time::Duration;
use vocab::{ByteSize, Complaint, Network, TimeSpan};

const BYTES: RangeInclusive<u64> = 1..=64 << 10;
const COUNT: RangeInclusive<u32> = 1..=1000;
const AGE: RangeInclusive<Duration> = Duration::from_mins(1)..=Duration::from_hours(24);
/// Networks, and words for keys, at most.
const ENTRIES_MAX: usize = 64;

/// Inspection of what pages post to blocked hosts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct InspectSettings {
    /// The clients whose posted bodies are kept for a while: addresses and networks. Whoever uses
    /// these devices should know of it. Default none, and nothing is kept; at most 64.
    pub clients: Vec<Text<Network>>,
    /// Bytes of each body that are kept. Default 4KiB, at most 64KiB.
    pub bytes: Text<ByteSize>,
    /// Number of bodies that are kept, of all clients together, up to 4 MiB; the oldest go first.
    /// Default 100, at most 1000.
    pub count: u32,
    /// Time for which they are kept. Default 1h, from 1m to 24h.
    pub age: Text<TimeSpan>,
    /// Words in keys whose values are not kept, beside those that never are (`password`, `token`,
    /// `card` and the like). At most 64. Default none.
    pub redact: Vec<String>,
}

impl Default for InspectSettings {
    fn default() -> Self {
        Self {
            clients: Vec::new(),
            bytes: Text(ByteSize(4 << 10)),
            count: 100,
            age: Text(TimeSpan(Duration::from_hours(1))),
            redact: Vec::new(),
        }
    }
}

impl InspectSettings {
    /// Every complaint, with paths relative to this section.
    pub(super) fn check(&self) -> Vec<Complaint> {
        let wrong = |path: &str, remedy: &str| {
            Complaint::new(path, "it is out of bounds").remedy(remedy.to_owned())
        };
        let is_word = |word: &String| word.chars().any(char::is_alphanumeric);
        let checks = [
            (self.clients.len() <= ENTRIES_MAX, "clients", "name 64 networks at most"),
            (BYTES.contains(&self.bytes.0.0), "bytes", "write 1 to 64KiB"),
            (COUNT.contains(&self.count), "count", "write a number from 1 to 1000"),
            (AGE.contains(&self.age.0.0), "age", "write 1m to 24h"),
            (self.redact.len() <= ENTRIES_MAX, "redact", "name 64 words at most"),
            (self.redact.iter().all(is_word), "redact", "write words of letters or digits"),
        ];
        checks.into_iter().filter(|it| !it.0).map(|(_, path, remedy)| wrong(path, remedy)).collect()
    }
}
