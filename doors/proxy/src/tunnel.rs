//! Connections that leave HTTP: `CONNECT`, and protocols that an origin switches to.
//!
//! A tunnel is opened before the client is told so, and its ticket is closed when it ends. Names in
//! its first bytes are looked at by `sni`. One to a blocked host is handed over to whoever answers
//! in the host's place, and its ticket is closed at once: what is asked for inside has tickets of
//! its own. Called by `request`.

use crate::bandwidth::{PacedStream, TransferPace};
use crate::blocked_tunnels::TunnelClient;
use crate::context::ProxyContext;
use crate::sni::{ACCESS_DENIED, InspectedClient, SniJudge, TunnelCut};
use http::{Request, StatusCode};
use http_engine::{Incoming, upgrade};
use http_front::RequestTicket;
use ledger::EventSubject;
use origins::{Origin, OriginConnection, ProxyRoute, SendError, UrlHost, tunnel};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;
use vocab::{Action, RequestKind, Source};

/// Time that a client that is cut may take to hear of it.
const CLOSE_GRACE: Duration = Duration::from_secs(1);

/// Outcome of offering a blocked tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HandOver {
    Taken,
    Refused,
}

/// Opens a tunnel to `to` and has it carry what comes once the client was told so.
pub(crate) async fn open(
    trip: &ProxyContext<'_>,
    way: &ProxyRoute,
    to: &Origin,
    mut request: Request<Incoming>,
    mut ticket: RequestTicket,
) -> Result<(), (SendError, RequestTicket)> {
    let dialer = trip.setup.origins.dialer();
    let server = trip.server_of(to);
    let (host, port, guard) = (&server.host, server.port, &trip.destination);
    let dialled = dialer.dial_by(way, host, port, request.headers(), guard, trip.now);
    let server = match dialled.await {
        Ok(server) => server,
        Err(why) => return Err((why.into(), ticket)),
    };
    ticket.answered(Source::Tunnel, StatusCode::OK.as_u16());
    trip.caller.tunnel.now();
    let idle = trip.setup.settings.tunnel_idle.0.0;
    let judge = SniJudge {
        policy: Arc::clone(&trip.door.parts.policy),
        client: trip.caller.client(),
        user: trip.destination.asker.user.clone(),
        link_info: trip.link_info(),
        host: to.host.to_name(),
        mode: trip.setup.settings.connect_sni,
    };
    let held = request.extensions_mut().remove::<upgrade::BusyGuard>();
    let server = PacedStream::new(server, trip.pace(to, "/"));
    let upgrading = upgrade::on(&mut request);
    tokio::task::spawn_local(async move {
        // The client may leave before it has heard that the tunnel stands.
        match upgrade::stream(upgrading).await {
            Ok(client) => relay(InspectedClient::new(client, judge), server, idle, ticket).await,
            Err(_) => ticket.close(0),
        }
        drop(held);
    });
    Ok(())
}

/// Has whoever answers for blocked hosts take the tunnel to one of them, if it takes this client's.
pub(crate) fn hand_to_pixel(
    trip: &ProxyContext<'_>,
    to: &Origin,
    request: &mut Request<Incoming>,
    ticket: &mut RequestTicket,
) -> HandOver {
    let (UrlHost::Name(name), 443) = (&to.host, to.port) else { return HandOver::Refused };
    let caller = trip.caller;
    let Some(blocked) = trip.door.parts.blocked_tunnels.clone() else { return HandOver::Refused };
    if !blocked.answers(caller.client(), name.as_name(), trip.now) {
        return HandOver::Refused;
    }
    ticket.answered(Source::Policy, StatusCode::OK.as_u16());
    let client = TunnelClient { address: caller.client(), local_address: caller.context.local };
    let held = request.extensions_mut().remove::<upgrade::BusyGuard>();
    let upgrading = upgrade::on(request);
    tokio::task::spawn_local(async move {
        // The client may leave before it has heard that the tunnel stands.
        if let Ok(stream) = upgrade::stream(upgrading).await {
            blocked.serve(stream, client).await;
        }
        drop(held);
    });
    HandOver::Taken
}

async fn relay<S: AsyncRead + AsyncWrite + Unpin>(
    mut client: InspectedClient<S>,
    server: PacedStream<OriginConnection>,
    idle: Duration,
    mut ticket: RequestTicket,
) {
    let carried = tunnel(&mut client, server, idle).await.down;
    let Some((why, mut client)) = client.cut() else { return ticket.close(carried) };
    let status = StatusCode::FORBIDDEN.as_u16();
    match &why {
        TunnelCut::Blocked(verdict, name) => {
            ticket.asked(RequestKind::Tunnel, EventSubject::name(name.as_name()));
            ticket.decided(Action::Block, verdict.cause);
            ticket.answered(Source::Policy, status);
        }
        TunnelCut::Malformed | TunnelCut::NoServerName => ticket.answered(Source::Refused, status),
    }
    // Whoever speaks TLS understands it, and whoever does not is cut all the same.
    let last_word = async {
        client.write_all(&ACCESS_DENIED).await?;
        client.shutdown().await
    };
    let _ = timeout(CLOSE_GRACE, last_word).await;
    ticket.close(carried);
}

/// Has the two ends of a connection that switched protocols carry what comes.
pub(crate) fn switch(
    trip: &ProxyContext<'_>,
    client: upgrade::OnUpgrade,
    server: upgrade::OnUpgrade,
    pace: Option<TransferPace>,
    mut ticket: RequestTicket,
) {
    ticket.answered(Source::Tunnel, StatusCode::SWITCHING_PROTOCOLS.as_u16());
    trip.caller.tunnel.now();
    let idle = trip.setup.settings.tunnel_idle.0.0;
    tokio::task::spawn_local(async move {
        // Nothing is carried where one of them left before it had switched.
        let carried = match (upgrade::stream(client).await, upgrade::stream(server).await) {
            (Ok(client), Ok(server)) => {
                tunnel(client, PacedStream::new(server, pace), idle).await.down
            }
            (Ok(_) | Err(_), Ok(_) | Err(_)) => 0,
        };
        ticket.close(carried);
    });
}
