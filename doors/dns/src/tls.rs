//! Connections over TLS: the handshake, and then what is spoken inside, DNS or HTTPS.
//!
//! A client that fails the handshake has asked for nothing and leaves no row. It reads no message.
//! Called by `listeners`, once per accepted connection, on the connection's core.

use crate::caller::QueryTransport;
use crate::listener_context::ListenerContext;
use crate::tcp::TcpPeer;
use crate::{doh, tcp};
use http_engine::HttpVersions;
use transport::tls::{Alpn, HANDSHAKE_DEADLINE, TlsStream};
use transport::{ServerTls, Stream};

/// DNS over TLS (RFC 7858).
pub(crate) async fn serve_dns(line: ListenerContext, with: ServerTls, stream: Stream) {
    if let Some(stream) = tls_handshake(&line, &with, stream).await {
        let peer = peer(&line, &stream, QueryTransport::Tls);
        tcp::serve(line, peer, stream).await;
    }
}

/// DNS over HTTPS (RFC 8484).
pub(crate) async fn serve_https(line: ListenerContext, with: ServerTls, stream: Stream) {
    if let Some(stream) = tls_handshake(&line, &with, stream).await {
        let versions = match stream.alpn() {
            Some(Alpn::Http2) => HttpVersions::Http2,
            Some(Alpn::Http1 | Alpn::Dot) | None => HttpVersions::Http1,
        };
        let peer = peer(&line, &stream, QueryTransport::Https);
        doh::serve(line, peer, stream, versions).await;
    }
}

async fn tls_handshake(
    line: &ListenerContext,
    with: &ServerTls,
    stream: Stream,
) -> Option<TlsStream> {
    tokio::select! {
        accepted = with.accept(stream, HANDSHAKE_DEADLINE) => accepted.ok(),
        // A handshake that is not through yet has asked for nothing.
        () = line.shared.drain.started() => None,
    }
}

fn peer(line: &ListenerContext, stream: &TlsStream, way: QueryTransport) -> TcpPeer {
    let server_name = stream.sni().unwrap_or_default().to_owned();
    let (peer, local) = (stream.peer(), line.local(stream.tcp()));
    TcpPeer {
        client: peer.ip().to_canonical(),
        port: peer.port(),
        local,
        transport: way,
        server_name,
    }
}
