//! Reasons why an answer is not stored on disk.

use std::fmt;

/// Reason why an answer is not stored on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotStored {
    /// URL and tags are too long.
    LabelsTooLarge,
    /// The head is too long.
    HeadTooLarge,
    /// The body is longer than an eighth of the store.
    BodyTooLarge,
    /// As many large bodies are being written as may be at once.
    TooManyLargeWrites,
    /// The disk does not keep up.
    QueueFull,
    /// Nothing is written for now: see the figures for the trouble.
    DiskFailure,
    /// A purge came since its moment, or may have.
    Purged,
    /// The store is closed.
    Closed,
}

impl fmt::Display for NotStored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LabelsTooLarge => "its URL and tags are too long",
            Self::HeadTooLarge => "its head is too long",
            Self::BodyTooLarge => {
                "its body is longer than an eighth of the store; give it more space"
            }
            Self::TooManyLargeWrites => "too many large bodies are being written at once",
            Self::QueueFull => "the disk does not keep up",
            Self::DiskFailure => "the disk has trouble and is tried again later",
            Self::Purged => "it was purged while it was fetched",
            Self::Closed => "the store is closed",
        })
    }
}
