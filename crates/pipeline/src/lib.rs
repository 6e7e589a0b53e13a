//! What is done with a DNS question, as a program: a flat list of operations that a small machine
//! runs, stops at whatever takes time, and takes up again.
//!
//! The pipelines of mosdns v5 and OxiDNS 1.x (the crate `mosdns-compat`) and the DNS door's own
//! simple settings are compiled to the same [`program`]. Sets of names and addresses ([`sets`]) and
//! records of one's own ([`records`]) are its data. It is pure: no sockets, no files, no clock and
//! no chance; what it needs of these is handed in. Called by the DNS door for every question.

pub mod env;
pub mod guards;
pub mod limiter;
pub mod machine;
pub mod program;
pub mod records;
pub mod redirect_target;
pub mod sets;
pub mod state;
