//! The gateway's edge: how clients come in, and what is done to messages on their way.

#![allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
#![allow(missing_docs, reason = "tests are sentences")]

mod fields;
mod http2;
mod interim;
mod messages;
mod secure;
#[path = "../support/mod.rs"]
mod support;
mod websockets;
