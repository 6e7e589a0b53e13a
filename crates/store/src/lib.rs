//! The HTTP cache of every door that fetches: a private or shared cache after RFC 9111.
//!
//! It sends nothing and knows no server. A door asks it what is at hand for a request, is told to
//! serve, to ask the origin (and with which conditions), or to wait for a fetch that is under way,
//! and hands in what the origin answers. Time is handed in.

mod budget;
mod fill;
mod memory;
mod recent;
mod request_collapser;
mod settings;
mod size_text;
mod store;
mod uncacheable;

pub use budget::{Budget, ByteCharge, ByteClass};
pub use disk_store::{
    CacheKey, KeyHash, KeySeed, PRIVATE_FOLDER, Purge, PurgeError, PurgeStrength,
};
pub use fill::{
    AHEAD_BYTES_MAX, FINISH_BYTES_MAX, Fill, FillBody, FillBroken, FillMode, FillPurpose,
    FillReader, FillWriter, READERS_MAX, ReadRefused, ResumeSupport,
};
pub use memory::{EntryContent, FiledHead, MemoryStock, NotKept, StoredEntry, VARIANTS_MAX};
pub use request_collapser::{FLIGHTS_A_KEY_MAX, WAITERS_MAX};
pub use settings::{DiskSettings, Settings};
pub use store::{
    AnswerPlan, AtHand, CacheLookup, Counters, DiskRead, DiskReadResult, FetchPermit, JoinOutcome,
    JoinedFetch, PurgeReport, ResponseStanding, SharedReading, Store, StoreFigures, StoreOutcome,
    StoredPlace, StoringAnswer, UnfetchedReason, UnstoredReason, WalkUnderWay, WalkedResponse,
    host_of,
};
