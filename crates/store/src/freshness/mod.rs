//! RFC 9111 as pure functions.

pub(crate) mod date;
