//! Objects at the place of a fleet's bundles as they come, and why they do not.

use std::fmt;

/// An object that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlacedObject {
    /// As it was when it had the tag that was sent.
    Same,
    /// Not there.
    Missing,
    /// There.
    Found {
        /// Bytes of the object.
        bytes: Vec<u8>,
        /// Tag by which the next question is conditional.
        tag: Option<String>,
        /// Seconds of Unix time by the server's clock.
        server_time: Option<u64>,
    },
}

/// Reason why an object was neither read nor written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlaceFault {
    /// The place does not answer as it should.
    Unreachable(String),
    /// The object is larger than is believed.
    TooLarge(usize),
    /// Nobody may write there, or not this one.
    Refused(String),
}

impl PlaceFault {
    pub(crate) fn unreachable(why: impl fmt::Display) -> Self {
        Self::Unreachable(why.to_string())
    }
}

impl fmt::Display for PlaceFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(why) | Self::Refused(why) => f.write_str(why),
            Self::TooLarge(most) => write!(f, "it has more than {most} bytes"),
        }
    }
}

impl std::error::Error for PlaceFault {}
