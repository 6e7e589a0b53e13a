//! HTTP over a connection that was just opened, in the version that was agreed.

use super::error::SendError;
use super::giving_way;
use super::origin_connection::OriginConnection;
use super::places::OriginPlace;
use super::pool::OpenConnection;
use http::Version;
use http_engine::client::{AnswerLimits, connect_http1_with_limits, connect_http2_with_limits};
use std::net::SocketAddr;
use transport::tls::Alpn;

/// A connection that was opened for a request.
pub(super) type Opened = Result<OpenConnection, SendError>;

/// Speaks what was agreed on within TLS, else HTTP/1.1. The connection has `place` as long as it
/// is there.
pub(super) async fn speak_as_agreed(
    connection: OriginConnection,
    peer: SocketAddr,
    answer: AnswerLimits,
    place: Option<OriginPlace>,
) -> Opened {
    let version = match connection.alpn() {
        Some(Alpn::Http2) => Version::HTTP_2,
        Some(Alpn::Http1 | Alpn::Dot) | None => Version::HTTP_11,
    };
    let queue = place.as_ref().map(|place| {
        giving_way::begin(place);
        place.queue()
    });
    let opened = speak(connection.at(place), Some(peer), version, answer).await?;
    Ok(OpenConnection { queue, ..opened })
}

pub(super) async fn speak(
    connection: OriginConnection,
    peer: Option<SocketAddr>,
    version: Version,
    answer: AnswerLimits,
) -> Opened {
    let sender = match version {
        Version::HTTP_2 => connect_http2_with_limits(answer, connection)
            .await
            .map_err(|why| SendError::BadResponse(why.to_string()))?,
        _ => connect_http1_with_limits(answer, connection),
    };
    Ok(OpenConnection::new(sender, peer))
}
