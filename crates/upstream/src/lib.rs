//! What Tidegate asks in its turn: resolvers for names, origins for pages, URLs for files.
//!
//! It dials, pools, races and retries within bounds, and keeps the DNS answers for every door. It
//! knows no policy: whoever calls it has asked that already. Called by the doors and by the binary.

pub mod fetch;
pub mod origins;
pub mod resolver;
