//! Downloads over HTTP and HTTPS, as `tidegate get` makes them.
//!
//! What breaks off is taken up again where it stopped, in this run or the next. A file has its name
//! only when it is whole: until then it is `NAME.part`. It keeps no cookies and runs no page.
//! Called by the command line, which shows how far it is; it parses no arguments and prints
//! nothing.

mod exchange;
mod save;
mod transfer;

pub use exchange::{UnusableAnswer, is_supported};
pub use save::{BadChecksum, ExistingFile, ExpectedChecksum};
pub use transfer::{
    DownloadDone, DownloadJob, DownloadProgress, DownloadStop, TransferContext, run,
};
