//! HTTP/1.1 and HTTP/2 over any byte stream, both sides, and what every HTTP door shares.
//!
//! hyper and h2 frame messages; this crate bounds them and refuses what smuggles. The rules of RFC
//! 9110 that need no socket (preconditions, ranges, hop-by-hop fields, kinds, media types) are
//! `http-semantics`'s, and handed on here. It opens no connection, knows no TLS, keeps no log and
//! asks no policy. Called by the pixel, proxy, web and gateway doors, the admin, and by DNS over
//! HTTPS.

mod admit;
pub mod body;
mod body_error;
mod breaking;
pub mod client;
pub mod content;
pub mod date;
pub mod encoding;
pub mod fast_path;
mod field_line;
pub mod first_head;
pub mod html;
mod http2;
mod incoming;
pub mod interim;
pub mod internal;
pub mod last_answers;
pub mod limits;
pub mod multipart;
mod no_clock;
mod preface;
pub mod refuse;
pub mod reply;
mod rt;
pub mod scan;
pub mod serve;
mod serve_error;
mod timeouts;
mod trailers;
mod unfinished;
pub mod unprocessed;
pub mod upgrade;
mod watch;

pub use body::{Body, BodyError, BodyFeed};
pub use body_error::EngineError;
pub use http_semantics::{authority, claims, conditional, hop_by_hop, kind, mime, range};
pub use incoming::Incoming;
pub use limits::{ExtendedConnect, Limits};
pub use serve::{HttpVersions, serve, serve_with_fast_path};
pub use serve_error::ServeError;
pub use unfinished::{TooMany, UnfinishedCounts, UnfinishedRequests};
