//! Sizes and times, in our words.

use std::time::Duration;
use vocab::{ByteSize, TimeSpan};

/// A size in our words.
pub fn written_size(bytes: u64) -> String {
    ByteSize(bytes).to_string()
}

/// A time in our words, within bounds.
pub fn written_time(time: Duration, least: Duration, most: Duration) -> String {
    TimeSpan(time.clamp(least, most)).to_string()
}
