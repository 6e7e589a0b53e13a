//! The crate's promises, over real sockets and simulated time.
#![allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "a test fails by panicking")]

mod answers;
mod asks_first;
mod both_sides;
mod breaking;
mod connections;
mod crowd;
mod fast_path;
mod handlers;
mod http2_abuse;
mod http2_pace;
mod http2_streams;
mod http2_turns;
mod interim;
mod no_answer;
mod patience;
mod rfc9112_framing;
mod strictness;
mod support;
mod trailers;
