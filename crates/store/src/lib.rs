//! The HTTP cache of every door that fetches: a private or shared cache after RFC 9111.
//!
//! It sends nothing and knows no server. A door asks it what is at hand for a request, is told to
//! serve, to ask the origin (and with which conditions), or to wait for a fetch that is under way,
//! and hands in what the origin answers. Time is handed in.

mod budget;
pub mod disk;
mod fill;
pub mod freshness;
mod head;
mod herd;
mod in_words;
mod key;
mod memory;
mod recent;
mod settings;
mod store;
mod unkept;

pub use budget::{Budget, Charge, Class};
pub use disk::{Purge, PurgeError, Strength};
pub use fill::{
    AHEAD_BYTES_MAX, Body, Broken, FINISH_BYTES_MAX, Fill, Mode, Purpose, READERS_MAX, Reader,
    Refused, Resume, Writer,
};
pub use head::{FIELDS_MAX, HEAD_BYTES_MAX, Head, TooLarge, Unreadable};
pub use herd::{FLIGHTS_A_KEY_MAX, WAITERS_MAX};
pub use key::{Key, KeyHash, Seed};
pub use memory::{Content, Entry, Filed, NotKept, Stock, VARIANTS_MAX};
pub use settings::{DiskSettings, Settings};
pub use store::{
    Answer, AtHand, Counters, Figures, Found, Join, Joined, Kept, Lead, Purged, Reading, Recall,
    Recalled, Store, Storing, Unfetched, Unstored,
};
