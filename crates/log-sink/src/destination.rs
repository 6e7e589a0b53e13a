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

/// The socket of the journal (systemd-journald.service(8)).
const JOURNAL_SOCKET: &str = "/run/systemd/journal/socket";

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
    /// The journal, by the socket of its own protocol. Each line is a whole entry.
    Journal(PathBuf),
}

/// Kind of a destination, as the metrics page tells of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DestinationKind {
    /// A file.
    File,
    /// The standard output or error.
    Stream,
    /// A syslog server.
    Syslog,
    /// The journal.
    Journal,
}

impl DestinationKind {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::File, Self::Stream, Self::Syslog, Self::Journal];

    /// The name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Stream => "stream",
            Self::Syslog => "syslog",
            Self::Journal => "journal",
        }
    }
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

    /// The journal of this machine.
    pub fn of_journal() -> Self {
        Self::Journal(JOURNAL_SOCKET.into())
    }

    /// Kind of the destination.
    pub const fn kind(&self) -> DestinationKind {
        match self {
            Self::File(_) => DestinationKind::File,
            Self::Output | Self::Errors => DestinationKind::Stream,
            Self::Syslog(_) => DestinationKind::Syslog,
            Self::Journal(_) => DestinationKind::Journal,
        }
    }

    /// The file, if it is one.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Output | Self::Errors | Self::Syslog(_) | Self::Journal(_) => None,
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
            Self::Journal(_) => f.write_str("the journal"),
        }
    }
}
