//! An HTTP cache in front of origins: one request through the store, and what is sent of what is
//! stored.
//!
//! The store says what is at hand and on which terms; this asks it, has the door fetch what is not,
//! hands in what comes, and judges the client's own conditions and ranges. It opens no connection.
//! Called by the doors that cache: proxy and gateway.

mod asked;
mod at_once;
mod exchange;
mod fetch;
mod filling;
mod on_disk;
mod opening;
mod past;
mod reading;
mod settings;
mod shape;
mod taking_back;

pub use asked::CacheRequest;
pub use at_once::WrittenAnswer;
pub use exchange::{AnswerSource, NoCachedAnswer, ServedAnswer};
pub use fetch::OriginFetcher;
pub use opening::{CacheEnvironment, HttpCache};
pub use settings::{Settings, StalePolicy};
pub use store::{DiskSettings, PurgeError, PurgeReport, PurgeStrength, StoreFigures};
pub use taking_back::TakeBack;
