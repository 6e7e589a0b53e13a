//! Faults of a request: in dav-server's words, and those that it has no status for.

use dav_server::fs::FsError;
use http::StatusCode;
use rustix::io::Errno;
use std::sync::{Arc, Mutex, PoisonError};

/// Why nothing was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DavFault {
    /// The body is not what its digest says.
    Digest,
    /// More than one file may have.
    TooLarge,
    /// No room: the quota, or the disk.
    NoRoom,
    /// Somebody else was first.
    Exists,
    /// A folder stands there, or something that is no file.
    NoFile,
}

impl DavFault {
    pub(crate) fn status(self) -> StatusCode {
        match self {
            Self::Digest => StatusCode::BAD_REQUEST,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::NoRoom => StatusCode::INSUFFICIENT_STORAGE,
            Self::Exists => StatusCode::PRECONDITION_FAILED,
            Self::NoFile => StatusCode::CONFLICT,
        }
    }

    /// One line for the client.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Digest => "What came is not what its digest says.\n",
            Self::TooLarge => "This is more than one file may have here.\n",
            Self::NoRoom => "There is no room for this.\n",
            Self::Exists => "There is such a file already.\n",
            Self::NoFile => "This is no file.\n",
        }
    }
}

/// The first fault of a request, told to whoever answers it.
#[derive(Clone, Debug, Default)]
pub(crate) struct FaultNote(Arc<Mutex<Option<DavFault>>>);

impl FaultNote {
    pub(crate) fn write(&self, fault: DavFault) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(fault);
    }

    pub(crate) fn read(&self) -> Option<DavFault> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Fault of the file system in dav-server's words.
pub(crate) fn fs_error(why: Errno) -> FsError {
    match why {
        // A file where a folder should be is none.
        Errno::NOENT | Errno::NOTDIR | Errno::ISDIR => FsError::NotFound,
        Errno::EXIST | Errno::NOTEMPTY => FsError::Exists,
        Errno::NOSPC | Errno::DQUOT | Errno::MLINK => FsError::InsufficientStorage,
        Errno::FBIG => FsError::TooLarge,
        Errno::NAMETOOLONG => FsError::PathTooLong,
        Errno::LOOP => FsError::LoopDetected,
        Errno::ACCESS | Errno::PERM | Errno::ROFS | Errno::XDEV | Errno::INVAL | Errno::BUSY => {
            FsError::Forbidden
        }
        _ => FsError::GeneralFailure,
    }
}
