//! Header fields that scripts and filters may change, and to what.
//!
//! Framing, the coding of the body, the connection's own fields and `Host` are not theirs to set:
//! two readers would disagree about where a message ends, what it says, or whom it is for. Called
//! by `fields` for Luau, and by the host of WebAssembly filters.

use http::header::{self, HeaderName, HeaderValue};
use std::fmt;

/// Changes that one hook may make to fields.
pub(crate) const FIELD_CHANGES_MAX: u32 = 128;
/// Bytes of the longest value that may be set.
pub(crate) const FIELD_VALUE_BYTES_MAX: usize = 16 * 1024;

/// Fields that no script changes, in requests and answers.
static FRAMING: [HeaderName; 11] = [
    header::CONNECTION,
    header::CONTENT_ENCODING,
    header::CONTENT_LENGTH,
    header::HOST,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    HeaderName::from_static("http2-settings"),
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// A change of a field that is refused, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldRefusal {
    /// No field can be called so.
    NoName(String),
    /// The field says where a message ends or whom it is for.
    Protected(HeaderName),
    /// The value is so many bytes long.
    LongValue(usize),
    /// The value has line breaks or control characters.
    BadValue,
    /// The hook has made all changes that it may.
    ManyChanges,
    /// The message has all fields that it may.
    ManyFields,
}

impl FieldRefusal {
    /// Counts a change, of which a hook may make so many.
    pub const fn count_change(made: &mut u32) -> Result<(), Self> {
        *made += 1;
        if *made > FIELD_CHANGES_MAX { Err(Self::ManyChanges) } else { Ok(()) }
    }
}

/// The name of a field that may be changed.
pub fn changeable_field(name: &[u8]) -> Result<HeaderName, FieldRefusal> {
    let name = HeaderName::from_bytes(name)
        .map_err(|_| FieldRefusal::NoName(String::from_utf8_lossy(name).into_owned()))?;
    if FRAMING.contains(&name) {
        return Err(FieldRefusal::Protected(name));
    }
    Ok(name)
}

/// The value, if a field may have it.
pub fn checked_field_value(value: &[u8]) -> Result<HeaderValue, FieldRefusal> {
    if value.len() > FIELD_VALUE_BYTES_MAX {
        return Err(FieldRefusal::LongValue(value.len()));
    }
    HeaderValue::from_bytes(value).map_err(|_| FieldRefusal::BadValue)
}

impl fmt::Display for FieldRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoName(name) => write!(f, "{name:?} is no name of a header field"),
            Self::Protected(name) => write!(f, "{name} cannot be changed by a script"),
            Self::LongValue(length) => write!(
                f,
                "a value of {length} bytes is longer than the {FIELD_VALUE_BYTES_MAX} that a \
                 field may have"
            ),
            Self::BadValue => f.write_str("a field cannot have line breaks or control characters"),
            Self::ManyChanges => {
                write!(f, "more than {FIELD_CHANGES_MAX} changes to fields in one call")
            }
            Self::ManyFields => f.write_str("there are too many header fields"),
        }
    }
}

impl std::error::Error for FieldRefusal {}
