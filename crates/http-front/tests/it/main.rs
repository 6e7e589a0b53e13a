//! What doors leave in the ledger through their front.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod ticket;
