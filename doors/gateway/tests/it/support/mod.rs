//! A scripted origin server and a client that shows every byte, on real sockets.

#![allow(dead_code, unused_imports, reason = "each test file uses its own share")]

mod door;
mod folders;

pub(crate) use door::{Gateway, closed_port, get, parts, scratch, simple, start};
use std::fmt::Write as _;
pub(crate) use test_support::{
    DEADLINE, OriginReply as Reply, ScriptedOrigin as Origin, ask, ok, read_message,
};

/// So many bytes, in lines that can be told from one another.
pub(crate) fn numbered(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 8);
    for number in 0..=bytes / 8 {
        writeln!(text, "{number:07}").unwrap();
    }
    text.truncate(bytes);
    text
}
