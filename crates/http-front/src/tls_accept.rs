//! A connection's TLS handshake, and the HTTP version that it agrees on.
//!
//! A handshake that fails becomes an event in the ledger. It reads no request and chooses no
//! certificate. Called by the doors, once a connection to an `https` listener.

use http_engine::HttpVersions;
use ledger::Ledger;
use std::time::Instant;
use transport::tls::{Alpn, HANDSHAKE_DEADLINE, record_failure};
use transport::{Drain, ServerTls, Stream, TlsStream};
use vocab::Door;

/// Speaks TLS with a client of `door`. None where the handshake fails, which is recorded, or where
/// the program ends.
pub async fn accept_tls(
    tls: &ServerTls,
    stream: Stream,
    drain: &Drain,
    door: Door,
    ledger: &Ledger,
) -> Option<TlsStream> {
    let (client, started) = (stream.peer().ip().to_canonical(), Instant::now());
    let accepted = tokio::select! {
        accepted = tls.accept(stream, HANDSHAKE_DEADLINE) => accepted,
        // A handshake that is not through yet has asked for nothing.
        () = drain.started() => return None,
    };
    accepted.map_err(|why| record_failure(ledger, door, client, started, &why)).ok()
}

/// The HTTP version that the handshake agreed on (RFC 7301); 1 where it named none.
pub fn http_versions<S>(stream: &TlsStream<S>) -> HttpVersions {
    match stream.alpn() {
        Some(Alpn::Http2) => HttpVersions::Http2,
        Some(Alpn::Http1 | Alpn::Dot) | None => HttpVersions::Http1,
    }
}
