//! The first bytes of a connection, by which HTTP/2 is told from HTTP/1 without TLS.

/// The first bytes of HTTP/2 (RFC 9113 §3.4).
pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The protocol that a connection goes on in after the fast path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpokenProtocol {
    Http1,
    Http2,
}

/// Says if a connection may turn out to speak HTTP/2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PrefaceExpectation {
    Expected,
    No,
}
