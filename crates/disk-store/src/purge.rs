//! One purge: which answers it concerns, how hard, and what may go wrong.
//!
//! Plain values; the table of purges and its log keep them. Handed in by whoever purges.

use crate::key::KeyHash;
use std::fmt;
use std::io;

/// Bytes of one pattern: the longest URL that servers commonly take.
pub const PATTERN_BYTES_MAX: usize = 8 << 10;

/// Selector of the answers that a purge concerns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Purge {
    /// All answers under a key.
    Key(KeyHash),
    /// Answers whose URL begins with this.
    Prefix(String),
    /// Answers of a host, without its port, in lower case.
    Host(String),
    /// Answers that carry a tag (`Surrogate-Key`, `Cache-Tag`), exactly.
    Tag(String),
    /// All.
    Everything,
}

impl Purge {
    pub(crate) fn text_len(&self) -> usize {
        match self {
            Self::Key(_) | Self::Everything => 0,
            Self::Prefix(text) | Self::Host(text) | Self::Tag(text) => text.len(),
        }
    }
}

/// Treatment of what is purged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PurgeStrength {
    /// Is kept, but is stale whatever its head says.
    Soft,
    /// Is gone.
    Hard,
}

/// Reason why a purge does not outlive a restart.
#[derive(Debug)]
pub enum PurgeError {
    /// The pattern is longer than [`PATTERN_BYTES_MAX`]: nothing was purged.
    PatternTooLong,
    /// Could not be written. It holds as long as the process lives.
    NotKept(io::Error),
    /// The folder is another process's by now: nothing was purged.
    Closed,
}

impl fmt::Display for PurgeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PatternTooLong => write!(
                f,
                "nothing was purged: the pattern has more than {PATTERN_BYTES_MAX} bytes; purge by a shorter prefix, or by host"
            ),
            Self::NotKept(why) => write!(
                f,
                "purged, but only until the next start: it could not be written ({why}); repair the disk and purge again"
            ),
            Self::Closed => f.write_str(
                "nothing was purged: this process ends, and the one after it has the cache; ask again over a new connection",
            ),
        }
    }
}

impl std::error::Error for PurgeError {}

/// Effect of the purges on a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PurgeEffect {
    /// Not at all.
    No,
    /// Is to be taken for stale.
    Soft,
    /// Is gone.
    Hard,
}

/// A purge with its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NumberedPurge {
    pub(crate) number: u64,
    pub(crate) strength: PurgeStrength,
    pub(crate) purge: Purge,
}
