//! The gateway door: stands before web servers, spreads requests over them and turns attacks away.
//!
//! It routes by host and path, refuses URLs that a pattern or the policy blocks, and passes the
//! rest to a pool, both bodies streaming. It serves no file. The binary
//! makes a [`Door`] and hands it connections.

mod cached;
mod decide;
mod door;
mod forwarded;
mod guards;
mod pages;
mod passing;
mod patterns;
mod pool;
mod reproxy;
mod request;
mod route;
mod routes;
mod settings;
mod shape;
mod ticket;
mod uploads;

pub use crate::door::{Door, GuardCounts, Parts, PatternHits};
pub use crate::patterns::{
    BadPattern, PATTERN_BYTES_MAX, PATTERNS_FILE_BYTES_MAX, Patterns, PatternsError,
    REGEXES_BARE_MAX, REGEXES_MAX,
};
pub use crate::route::check_files;
pub use crate::settings::{
    AnswerSettings, AuthSettings, Balance, BlockSettings, Elsewhere, ForwardAuthSettings,
    HealthSettings, LimitSettings, PatternSource, PoolSettings, ReproxySettings, RequestsSettings,
    RouteSettings, Settings, Silence, UploadMode, UploadSettings, UploadThreshold,
};
pub use http_cache::Around;
