//! Connections that leave HTTP: `CONNECT`, and protocols that an origin switches to.
//!
//! A tunnel is opened before the client is told so, and its ticket is closed when it ends. Names in its
//! first bytes are looked at by `sni`. Called by `request`.

use crate::request::Trip;
use crate::sni::{ACCESS_DENIED, Cut, Inspected, Judge};
use crate::ticket::Ticket;
use http::{Request, StatusCode};
use http_engine::{Incoming, upgrade};
use ledger::Subject;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;
use upstream::origins::{Connection, Origin, SendError, Way, carry_switched, tunnel};
use vocab::{Action, Kind, Source};

/// How long a client that is cut may take to hear of it.
const LAST_WORD: Duration = Duration::from_secs(1);

/// Opens a tunnel to `to` and has it carry what comes once the client was told so.
pub(crate) async fn open(
    trip: &Trip<'_>,
    way: &Way,
    to: &Origin,
    mut request: Request<Incoming>,
    mut ticket: Ticket,
) -> Result<(), (SendError, Ticket)> {
    let target = (&to.host, to.port);
    let dialled =
        trip.setup.origins.dialer().dial_by(way, target, request.headers(), &trip.within, trip.now);
    let server = match dialled.await {
        Ok(server) => server,
        Err(why) => return Err((why.into(), ticket)),
    };
    ticket.answered(Source::Tunnel, StatusCode::OK.as_u16());
    trip.caller.tunnel.now();
    let idle = trip.setup.settings.tunnel_idle.0.0;
    let judge = Judge {
        policy: Arc::clone(&trip.door.parts.policy),
        client: trip.caller.client,
        user: trip.within.asker.user.clone(),
        near: trip.near(),
        host: to.host.to_name(),
        mode: trip.setup.settings.connect_sni,
    };
    let held = request.extensions_mut().remove::<upgrade::Held>();
    let upgrading = upgrade::on(&mut request);
    tokio::task::spawn_local(async move {
        // The client may leave before it has heard that the tunnel stands.
        match upgrade::stream(upgrading).await {
            Ok(client) => carry(Inspected::new(client, judge), server, idle, ticket).await,
            Err(_) => ticket.close(0),
        }
        drop(held);
    });
    Ok(())
}

async fn carry<S: AsyncRead + AsyncWrite + Unpin>(
    mut client: Inspected<S>,
    server: Connection,
    idle: Duration,
    mut ticket: Ticket,
) {
    let carried = tunnel(&mut client, server, idle).await.down;
    let Some((why, mut client)) = client.cut() else { return ticket.close(carried) };
    let status = StatusCode::FORBIDDEN.as_u16();
    match &why {
        Cut::Blocked(verdict, name) => {
            ticket.asked(Kind::Tunnel, Subject::name(name.as_name()));
            ticket.decided(Action::Block, verdict.cause);
            ticket.answered(Source::Policy, status);
        }
        Cut::Malformed | Cut::Nameless => ticket.answered(Source::Refused, status),
    }
    // Whoever speaks TLS understands it, and whoever does not is cut all the same.
    let last_word = async {
        client.write_all(&ACCESS_DENIED).await?;
        client.shutdown().await
    };
    let _ = timeout(LAST_WORD, last_word).await;
    ticket.close(carried);
}

/// Has the two ends of a connection that switched protocols carry what comes.
pub(crate) fn switch(
    trip: &Trip<'_>,
    (client, server): (upgrade::OnUpgrade, upgrade::OnUpgrade),
    mut ticket: Ticket,
) {
    ticket.answered(Source::Tunnel, StatusCode::SWITCHING_PROTOCOLS.as_u16());
    trip.caller.tunnel.now();
    let idle = trip.setup.settings.tunnel_idle.0.0;
    tokio::task::spawn_local(async move {
        ticket.close(carry_switched(client, server, idle).await);
    });
}
