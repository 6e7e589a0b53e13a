//! The place that lines go to, as settings name it.
//!
//! Two logs that name the same place share its thread and its queue.

use crate::settings::SyslogSettings;
use crate::syslog::SyslogAddress;
use std::fmt;
use std::path::{Path, PathBuf};

/// The file that stands for the standard output.
const STANDARD_OUTPUT: &str = "stdout";
/// The file that stands for the standard error.
const STANDARD_ERROR: &str = "stderr";

/// A place that lines go to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogDestination {
    /// A file that is appended to.
    File(PathBuf),
    /// The standard output.
    Output,
    /// The standard error.
    Errors,
    /// A syslog server.
    Syslog(SyslogStamp),
}

/// A syslog server, and what its messages carry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyslogStamp {
    pub(crate) address: SyslogAddress,
    pub(crate) facility: u8,
    pub(crate) tag: String,
    /// The kind of its lines (MSGID of RFC 5424).
    pub(crate) kind: &'static str,
}

impl LogDestination {
    /// The file of this name, relative to `base`; `stdout` and `stderr` are no files.
    pub fn of_file(file: &str, base: &Path) -> Self {
        match file {
            STANDARD_OUTPUT => Self::Output,
            STANDARD_ERROR => Self::Errors,
            file => Self::File(base.join(file)),
        }
    }

    /// A syslog server; none where its address is not one. `kind` is what its lines are: `access`.
    pub fn of_syslog(settings: &SyslogSettings, kind: &'static str) -> Option<Self> {
        let address = settings.address.parse().ok()?;
        let facility = settings.facility.code();
        Some(Self::Syslog(SyslogStamp { address, facility, tag: settings.tag.clone(), kind }))
    }

    /// The file, if it is one.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Output | Self::Errors | Self::Syslog(_) => None,
        }
    }
}

impl fmt::Display for LogDestination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Output => f.write_str("the standard output"),
            Self::Errors => f.write_str("the standard error"),
            Self::Syslog(stamp) => stamp.address.fmt(f),
        }
    }
}
