//! The API of MikroTik's RouterOS, as a client over any byte stream.
//!
//! Sentences of length-prefixed words go one way, and come back as rows, the end, or a trap with
//! its reason. Every length and count of the other side is bounded. It dials nobody and knows no
//! command; `dns-effects` has both.

mod connection;
mod sentence;

pub use connection::{RouterConnection, RouterFailure, RouterRow};
pub use sentence::{BadSentence, SentenceReader, write_sentence};

/// Port of the API without TLS.
pub const API_PORT: u16 = 8728;
/// Port of the API over TLS.
pub const TLS_PORT: u16 = 8729;
