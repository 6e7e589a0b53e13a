//! Bounds of what is written, and the ways of writing.

use dav_server::{DavMethod, DavMethodSet};
use http::Method;

/// Ways of writing that a folder has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DavMethods {
    /// `PUT`, and `PATCH` of ranges.
    Put,
    /// `DELETE` of files.
    Delete,
    /// Both.
    PutAndDelete,
    /// All of `WebDAV`.
    All,
}

/// Bounds of what is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DavLimits {
    /// Bytes of one file.
    pub file_max: u64,
    /// Bytes of all files of the folder; none for as much as the disk has.
    pub quota: Option<u64>,
    /// Folders on the way to a new file are made, but for the first so many; none where none is
    /// made.
    pub min_put_directory: Option<u32>,
}

impl DavMethods {
    pub(crate) fn set(self) -> DavMethodSet {
        let mut set = DavMethodSet::HTTP_RO;
        match self {
            Self::Put => {
                set.add(DavMethod::Put);
                set.add(DavMethod::Patch);
            }
            Self::Delete => {
                set.add(DavMethod::Delete);
            }
            Self::PutAndDelete => {
                set.add(DavMethod::Put);
                set.add(DavMethod::Patch);
                set.add(DavMethod::Delete);
            }
            Self::All => {
                set = DavMethodSet::all();
                for calendar in [DavMethod::Report, DavMethod::MkCalendar, DavMethod::MkAddressbook]
                {
                    set.remove(calendar);
                }
            }
        }
        set
    }

    /// The methods, as `Allow` lists them.
    pub fn allow(self) -> &'static str {
        match self {
            Self::Put => "GET, HEAD, OPTIONS, PUT, PATCH",
            Self::Delete => "GET, HEAD, OPTIONS, DELETE",
            Self::PutAndDelete => "GET, HEAD, OPTIONS, PUT, PATCH, DELETE",
            Self::All => {
                "GET, HEAD, OPTIONS, PUT, PATCH, DELETE, MKCOL, COPY, MOVE, PROPFIND, PROPPATCH, \
                 LOCK, UNLOCK"
            }
        }
    }

    /// True for a method that the folder answers by itself; reading is the door's.
    pub fn include(self, method: &Method) -> bool {
        match DavMethod::try_from(method) {
            Ok(DavMethod::Get | DavMethod::Head) | Err(_) => false,
            Ok(method) => self.set().contains(method),
        }
    }
}
