//! Names and passwords that people prove themselves with, for every door that asks for them.
//!
//! [`UserTable`] are names with hashed passwords, [`basic`] reads what a client shows (RFC 7617),
//! and a [`PasswordChecker`] checks it: off the core's thread, a few at a time. It stores no
//! password, knows no HTTP and decides nothing about who may do what. Called by the web door and
//! the proxy door.

mod basic;
mod checker;
mod hashes;
mod users;

pub use crate::basic::{BasicCredentials, FIELD_BYTES_MAX, basic};
pub use crate::checker::{LoginAttempt, LoginOutcome, PasswordChecker};
pub use crate::hashes::{BadHash, PasswordHash};
pub use crate::users::{USERS_FILE_BYTES_MAX, UserTable};
