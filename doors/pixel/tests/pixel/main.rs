//! The pixel door from outside.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod answers;
mod browser;
mod fast_path;
mod pages;
mod sockets;
mod spared;
mod stubs;
mod support;
mod tls;
