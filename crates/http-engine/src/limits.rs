//! The bounds of one HTTP connection.

use std::time::Duration;

/// What a client may do on one connection. Doors take the default unless their settings say
/// otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a request head, and of what is buffered while reading or writing. Default 64 KiB,
    /// at least 8 KiB (hyper's own minimum). Beyond it: 431.
    pub header_bytes_max: usize,
    /// Fields in a request head. Default 100. Beyond it: 431.
    pub headers_max: usize,
    /// From the first byte of a request head (for the first one: from the start of the
    /// connection) to its last. Default 10 s. Beyond it the connection is cut.
    pub header_timeout: Duration,
    /// How long a connection may stay open between requests. Default 60 s, known to within one
    /// `header_timeout`. Beyond it the connection is closed.
    pub idle_timeout: Duration,
    /// How long a client may take nothing of an answer, or send nothing of a body it announced.
    /// Default 60 s, known to within one `header_timeout`. Beyond it the connection is cut.
    pub stall_timeout: Duration,
    /// HTTP/2: streams at once on a connection. Default 128; more are refused by the protocol.
    pub http2_streams_max: u32,
    /// HTTP/2: bytes of a header list by its own measure (RFC 9113 §6.5.2). Default 16 KiB.
    pub http2_header_list_bytes_max: u32,
}

/// hyper refuses a smaller buffer.
pub(crate) const HEADER_BYTES_MIN: usize = 8 << 10;
/// Fields for which hyper has room on the stack.
pub(crate) const HEADERS_DEFAULT: usize = 100;

impl Default for Limits {
    fn default() -> Self {
        Self {
            header_bytes_max: 64 << 10,
            headers_max: HEADERS_DEFAULT,
            header_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_mins(1),
            stall_timeout: Duration::from_mins(1),
            http2_streams_max: 128,
            http2_header_list_bytes_max: 16 << 10,
        }
    }
}
