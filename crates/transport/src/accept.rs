//! Taking connections in: caps, back-off, drain.
//!
//! One loop per listener, on the listener's core. A connection over a cap is closed at once and
//! counted, never queued; when the process runs out of descriptors the loop pauses instead of
//! spinning. It knows no protocol: each connection goes to the handler as a task of its own.

use crate::connection_limits::ConnectionLimits;
use crate::drain::Drain;
use crate::listen::{self, TcpListener};
use crate::socket_transfer;
use crate::stream::Stream;
use crate::sys::{self, internet};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{SocketFlags, acceptfrom_with};
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::unix::AsyncFd;

/// Time for which accepting pauses when descriptors or memory have run out.
const EXHAUSTED_PAUSE: Duration = Duration::from_millis(50);
/// Accepted in one go before other tasks of the core get their turn.
const BATCH: usize = 64;

/// Accepts from `listener` until `closing` begins, and once more what had come by then: a client
/// that the kernel has let in is answered although its listener closes. Otherwise as
/// [`accept_loop`].
pub async fn accept_until<H, F>(
    listener: TcpListener,
    limits: ConnectionLimits,
    drain: Drain,
    closing: &Drain,
    handle: H,
) -> io::Result<()>
where
    H: Fn(Stream) -> F + 'static,
    F: Future<Output = ()> + 'static,
{
    tokio::select! {
        biased;
        () = closing.started() => {}
        () = socket_transfer::start_allowed() => {}
    }
    let local = listener.common_local_addr();
    let waiting = Arc::clone(&listener.socket);
    let handle = Rc::new(handle);
    let accepting = {
        let handle = Rc::clone(&handle);
        accept_loop(listener, limits.clone(), drain.clone(), move |stream| handle(stream))
    };
    tokio::select! {
        biased;
        () = closing.started() => {}
        ended = accepting => return ended,
    }
    for _ in 0..listen::BACKLOG {
        let Ok((connection, peer)) = accept_one(&waiting) else { break };
        if let Some(permit) = limits.permit(peer.ip(), &drain) {
            let stream = Stream::accepted(connection, peer, local, permit);
            tokio::task::spawn_local(handle(stream));
        }
    }
    Ok(())
}

/// Accepts from `listener` until `drain` begins, and hands each connection to `handle` as a task
/// of this core. Then it returns; the connections still open are the drain's to wait for.
///
/// Must run within a `LocalSet` or local runtime. Fails only if the listener cannot be registered.
pub async fn accept_loop<H, F>(
    listener: TcpListener,
    limits: ConnectionLimits,
    drain: Drain,
    handle: H,
) -> io::Result<()>
where
    H: Fn(Stream) -> F + 'static,
    F: Future<Output = ()> + 'static,
{
    // A listener on one address has connections to no other: nobody need ask the kernel for it.
    let local = listener.common_local_addr();
    let socket = sys::register(listener.socket).map_err(|(_, why)| why)?;
    let listening = RegisteredListener { socket, local };
    let mut begun = drain.started();
    loop {
        tokio::select! {
            biased;
            () = &mut begun => return Ok(()),
            pause = accept_batch(&listening, &limits, &drain, &handle) => match pause? {
                AcceptPause::None => {}
                AcceptPause::Yield => tokio::task::yield_now().await,
                AcceptPause::Exhausted => tokio::time::sleep(EXHAUSTED_PAUSE).await,
            },
        }
    }
}

/// A listener that the reactor of this core knows, and its address where it has only one.
struct RegisteredListener {
    socket: AsyncFd<Arc<OwnedFd>>,
    local: Option<SocketAddr>,
}

enum AcceptPause {
    None,
    Yield,
    Exhausted,
}

async fn accept_batch<H, F>(
    listening: &RegisteredListener,
    limits: &ConnectionLimits,
    drain: &Drain,
    handle: &H,
) -> io::Result<AcceptPause>
where
    H: Fn(Stream) -> F,
    F: Future<Output = ()> + 'static,
{
    let mut waiting = listening.socket.readable().await?;
    for _ in 0..BATCH {
        match waiting.try_io(|socket| accept_one(socket.get_ref()).map_err(Into::into)) {
            Err(_none_left) => return Ok(AcceptPause::None),
            Ok(Ok((connection, peer))) => {
                // Over a cap, `connection` is dropped here, which closes it.
                if let Some(permit) = limits.permit(peer.ip(), drain) {
                    let stream = Stream::accepted(connection, peer, listening.local, permit);
                    tokio::task::spawn_local(handle(stream));
                }
            }
            Ok(Err(why)) if is_exhausted(&why) => {
                limits.count_exhausted();
                return Ok(AcceptPause::Exhausted);
            }
            // This one connection failed while it waited (accept(2): treat such errors like
            // EAGAIN); the next may be sound.
            Ok(Err(_)) => {}
        }
    }
    waiting.retain_ready();
    Ok(AcceptPause::Yield)
}

fn accept_one(listener: &OwnedFd) -> rustix::io::Result<(OwnedFd, SocketAddr)> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let (connection, peer) = acceptfrom_with(listener, flags)?;
    let peer = peer.and_then(internet).ok_or(Errno::CONNABORTED)?;
    Ok((connection, peer))
}

fn is_exhausted(why: &io::Error) -> bool {
    let number = why.raw_os_error();
    [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM]
        .iter()
        .any(|errno| number == Some(errno.raw_os_error()))
}
