//! The DNS door: answers look-ups from the policy, local records, the cache, or upstreams.
//!
//! It refuses what is no plain question of class IN, and never waits for the ledger or a slow
//! client. A request reads from top to bottom in `request`, whether it came over UDP (`worker`) or
//! TCP (`tcp`). Made, reloaded and closed by the binary.

mod blocked;
mod door;
mod request;
mod settings;
mod special;
mod tcp;
mod worker;

pub use blocked::Style;
pub use door::{Door, Parts, StartError};
pub use settings::{Canaries, Settings};
