//! An HTTP cache in front of origins: one request through the store, and what is sent of what is
//! stored.
//!
//! The store says what is at hand and on which terms; this asks it, has the door fetch what is not,
//! hands in what comes, and judges the client's own conditions and ranges. It opens no connection.
//! Called by the doors that cache: proxy and gateway.

mod cache_request;
mod disk_reads;
mod exchange;
mod fast_path;
mod fetch;
mod filling;
mod freshness;
mod http_cache;
mod invalidate;
mod on_disk;
mod purge;
mod reading;
mod runs;
mod second_level;
mod served;
mod settings;
mod shape;
mod sharing;
mod stored_index;

pub use cache_request::CacheRequest;
pub use exchange::NoCachedAnswer;
pub use fast_path::WrittenAnswer;
pub use fetch::OriginFetcher;
pub use freshness::FreshnessRule;
pub use http_cache::{CacheEnvironment, HttpCache};
pub use purge::PurgeTarget;
pub use second_level::{
    FetchPlace, ResponseLook, SecondLevelSlot, SecondLevelStore, SharedResponse, SharedResponseKey,
    SharingScope,
};
pub use served::{AnswerSource, ServedAnswer};
pub use settings::{Settings, StalePolicy};
pub use store::{
    DiskSettings, PurgeError, PurgeReport, PurgeStrength, ResponseStanding, StoreFigures,
    WalkUnderWay,
};
pub use stored_index::{
    IndexExtent, IndexPage, IndexQuery, IndexRows, IndexScope, NamedRows, SiteStock, StoredVariant,
};
