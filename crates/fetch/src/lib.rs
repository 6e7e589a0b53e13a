//! Files that are kept as a URL has them: lists, most of the time.
//!
//! One request with its redirects ([`fetch()`]), and on top of it a file that is fetched when it
//! changed, looked at, and swapped in with one rename ([`keep()`]); beside it stands a note of
//! where it came from ([`FetchRecord`]). What is read whole is [`whole()`]'s. It has no timetable
//! and retries nothing: whoever calls it has. Called by the effects of the DNS door, and by the
//! binary for list subscriptions and scripts.

mod exchange;
mod keep;
mod record;
mod url;
mod whole;

pub use exchange::{FetchError, RepeatableRequest, fetch};
pub use keep::{CheckFile, FetchFailure, FileCandidate, FileOutcome, FileRequest, keep};
pub use record::{FetchRecord, FileVersion};
pub use url::{BadUrl, Url, printable};
pub use whole::{WholeAnswer, WholeBounds, WholeFailure, whole};
