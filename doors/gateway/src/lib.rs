//! The gateway door: stands before web servers, spreads requests over them and turns attacks away.
//!
//! It routes by host and path, refuses URLs that a pattern or the policy blocks, and passes the
//! rest to a pool, both bodies streaming. It serves no file. The binary
//! makes a [`Door`] and hands it connections.

mod cached;
mod decide;
mod dice;
mod door;
mod forwarded;
mod pages;
mod passing;
mod patterns;
mod pools;
mod reproxy;
mod request;
mod route;
mod routes;
mod sending;
mod settings;
mod shape;
mod ticket;
mod uploads;

pub use crate::door::{Door, Parts, PatternHits};
pub use crate::patterns::{PATTERN_BYTES_MAX, PATTERNS_FILE_BYTES_MAX, Patterns};
pub use crate::pools::{PoolChange, PoolState, ServerState, Unchanged};
pub use crate::route::check_files;
pub use crate::settings::{
    Balance, BlockSettings, HealthKind, HealthSettings, PassiveSettings, PatternSource,
    PoolSettings, Priority, QueueSettings, ReliefSettings, ReproxySettings, RetryCause, RetryOn,
    RetrySettings, RouteSettings, ServerDetails, ServerSettings, Settings, StickySettings,
    UploadMode, UploadSettings, UploadThreshold, WEIGHT_MAX,
};
pub use http_cache::Around;
