//! The bounds of one HTTP connection.

use std::time::Duration;

/// Holds what a client may do on one connection. Doors take the default unless their settings say
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
    /// Time for which a connection may stay open between requests. Default 60 s, known to within
    /// one `header_timeout`. Beyond it the connection is closed.
    pub idle_timeout: Duration,
    /// Time for which a client may take nothing of an answer, or send nothing of a body it
    /// announced. Default 60 s, known to within one `header_timeout`. Beyond it the connection is
    /// cut.
    pub stall_timeout: Duration,
    /// Bytes a second that a client must send of a body, or take of an answer, on average over the
    /// time for which it is waited. Default 500; 0: any rate will do. A client earns time by its
    /// bytes, up to `stall_timeout`, and uses it up while we wait: a large upload may last for
    /// days, a byte a second may not. What the kernel has taken of an answer counts as taken. (500
    /// and 20 s are what Apache's `mod_reqtimeout` recommends.)
    pub rate_bytes_min: u32,
    /// Time for which it may be slower than that to begin with, in each message. Default 20 s.
    pub rate_grace: Duration,
    /// HTTP/2: streams at once on a connection. Default 128; more are refused by the protocol.
    pub http2_streams_max: u32,
    /// HTTP/2: bytes of a header list by its own measure (RFC 9113 §6.5.2). Default 16 KiB.
    pub http2_header_list_bytes_max: u32,
    /// HTTP/2: whether a stream may leave HTTP for a protocol that it names. Default: refused.
    pub http2_extended_connect: ExtendedConnect,
}

/// Tells whether a stream of HTTP/2 may leave HTTP for a protocol that it names, as a WebSocket
/// does (RFC 8441 section 4). Whoever takes it finds a [`crate::upgrade::Protocol`] in the
/// extensions of a `CONNECT`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExtendedConnect {
    /// Clients are not told that they may.
    #[default]
    Refused,
    /// They are.
    Accepted,
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
            rate_bytes_min: 500,
            rate_grace: Duration::from_secs(20),
            http2_streams_max: 128,
            http2_header_list_bytes_max: 16 << 10,
            http2_extended_connect: ExtendedConnect::Refused,
        }
    }
}

/// HTTP/2 streams that the client reset before they were looked at. Beyond it the connection ends
/// (rapid reset, CVE-2023-44487). A page's worth of cancelled images is below it.
pub(crate) const HTTP2_RESETS_PENDING_MAX: usize = 20;
/// HTTP/2 streams that we had to reset for the client's errors. Beyond it the connection ends
/// (CVE-2025-8671).
pub(crate) const HTTP2_RESETS_OURS_MAX: usize = 128;
/// HTTP/2: bytes that a client sends while no request begins and nothing of a body moves: some
/// 250,000 pings, or as many frames that change nothing. Beyond it the connection ends. Four times
/// what it may send ahead of bodies that nobody reads.
pub(crate) const HTTP2_IDLE_BYTES_MAX: usize = 4 * HTTP2_CONNECTION_WINDOW_BYTES as usize;
/// HTTP/2: bytes of one answer that wait to be sent before more of its body is asked for; 400 KiB,
/// as hyper has it, times 128 streams would be 50 MiB a connection.
pub(crate) const HTTP2_SEND_BUFFER_BYTES: usize = 64 << 10;
/// HTTP/2: bytes of one body that the other side may send ahead.
pub(crate) const HTTP2_STREAM_WINDOW_BYTES: u32 = 256 << 10;
/// HTTP/2: bytes of request bodies that a client may send ahead, all streams together.
pub(crate) const HTTP2_CONNECTION_WINDOW_BYTES: u32 = 1 << 20;
/// HTTP/2: bytes of the largest frame that either side sends (RFC 9113 §4.2).
pub(crate) const HTTP2_FRAME_BYTES: usize = 16 << 10;
/// HTTP/2: bytes of a body that goes at once where its windows are open, without a task that
/// watches over its stream: one frame. A client that shuts its windows behind 128 such answers
/// holds 2 MiB until its connection stalls.
pub(crate) const HTTP2_AT_HAND_BYTES_MAX: usize = HTTP2_FRAME_BYTES;
/// HTTP/2: requests of one connection that are answered at once before others of its core have
/// their turn.
pub(crate) const HTTP2_TURN_REQUESTS_MAX: usize = 128;
