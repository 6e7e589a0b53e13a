//! The server side of QUIC (RFC 9000): listeners, connections under caps, and exchanges on them,
//! each a stream that the client opens: bytes in, bytes back.
//!
//! It knows no protocol on top, opens no stream itself and takes no early data. A flood of first
//! packets costs a bounded number of handshakes: beyond some, clients prove their address first
//! (Retry, RFC 9000 §8.1.2). Called by DNS over QUIC; its library is named in this crate alone.

use crate::connection_limits::{ConnectionLimits, ConnectionPermit};
use crate::drain::Drain;
use crate::listen::BindError;
use crate::socket_transfer;
use crate::tls::{HANDSHAKE_DEADLINE, ServerIdentity, server_config};
use quinn::crypto::rustls::{HandshakeData, QuicServerConfig};
use quinn::{
    Connection, Endpoint, EndpointConfig, IdleTimeout, Incoming, ReadToEndError, RecvStream,
    SendStream, ServerConfig, TokioRuntime, TransportConfig, VarInt,
};
use rustix::fd::OwnedFd;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with, sockopt};
use std::cell::Cell;
use std::fmt;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// Handshakes of one core at once, at most. Beyond it new connections are refused.
pub const HANDSHAKES_MAX: usize = 1024;
/// Handshakes of one core with clients that have not proved their address, at most. Beyond it new
/// clients must do so first, which costs them a round trip and us no memory.
pub const HANDSHAKES_UNPROVED_MAX: usize = 32;
/// First packets of one core that wait to be looked at, at most; beyond it they are dropped.
const INCOMING_MAX: usize = 1024;
/// Bytes that may wait in them, all together.
const INCOMING_BYTES_MAX: u64 = 4 << 20;
/// Bytes of answers that one connection may have on the way; then writing waits.
const SEND_BYTES_MAX: u64 = 1 << 20;

/// Holds what one protocol over QUIC allows its clients.
#[derive(Clone, Copy, Debug)]
pub struct QuicService {
    /// Name in ALPN, as in `doq`.
    pub alpn: &'static [u8],
    /// A connection on which nothing happens is gone after so long; up to a day.
    pub idle: Duration,
    /// Exchanges of one connection at once, at most. The client may not open more.
    pub exchanges_max: u32,
    /// Bytes of one exchange that may wait here unread.
    pub exchange_bytes_max: u32,
    /// The code for clients over a cap, as in `DOQ_EXCESSIVE_LOAD`.
    pub overloaded: u32,
    /// The code for an exchange that ends before its answer does, as in `DOQ_INTERNAL_ERROR`.
    pub broken_off: u32,
}

/// A bound socket; see [`accept_quic_loop`].
pub struct QuicListener {
    socket: UdpSocket,
    address: SocketAddr,
    server: ServerConfig,
    endpoint: EndpointConfig,
    overloaded: VarInt,
    broken_off: VarInt,
}

/// One connection that is through its handshake. Dropped, it is closed with code 0.
pub struct QuicPeer {
    connection: Connection,
    broken_off: VarInt,
    _permit: ConnectionPermit,
}

/// A stream that the client opened. Dropped before its answer's end, it is broken off.
pub struct QuicExchange {
    send: SendStream,
    recv: RecvStream,
    /// The code to break it off with; none once it has ended.
    broken_off: Option<VarInt>,
}

/// Why an exchange brought no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExchangeError {
    /// Is longer than it may be.
    TooLong,
    /// The client gave it up, or the connection is over.
    Gone,
}

/// The connection is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuicOver;

/// One socket per core on the same address; with port 0 they share the port that the kernel picks.
/// Fails if anybody else is bound there, our own sockets included.
///
/// The kernel sends a client's packets to one of them by its address; a client whose address
/// changes ends at another core, which knows nothing of it, says so (RFC 9000 §10.3), and the
/// client connects anew.
pub fn listen_quic_per_core(
    address: SocketAddr,
    identity: &ServerIdentity,
    service: &QuicService,
    cores: usize,
) -> Result<Vec<QuicListener>, BindError> {
    let fail = |why| BindError::new(address, why);
    let listener = |socket: UdpSocket, server: &ServerConfig| QuicListener {
        address: socket.local_addr().unwrap_or(address),
        socket,
        server: server.clone(),
        endpoint: EndpointConfig::default(),
        overloaded: VarInt::from_u32(service.overloaded),
        broken_off: VarInt::from_u32(service.broken_off),
    };
    let handed = socket_transfer::adopted(SocketType::DGRAM, address, cores.max(1));
    if !handed.is_empty() {
        let server = server(identity, service);
        return Ok(handed.into_iter().map(|it| listener(it.into(), &server)).collect());
    }
    // Without SO_REUSEPORT this fails where anybody is bound: see `listen_tcp_on_each`.
    drop(open(address, QuicShared::No).map_err(fail)?);
    let server = server(identity, service);
    let mut listeners: Vec<QuicListener> = Vec::with_capacity(cores);
    for _ in 0..cores.max(1) {
        let chosen = listeners.first().map_or(address, |first| first.address);
        let socket = open(chosen, QuicShared::Yes).map_err(fail)?;
        listeners.push(listener(socket, &server));
    }
    Ok(listeners)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum QuicShared {
    Yes,
    No,
}

fn open(address: SocketAddr, shared: QuicShared) -> rustix::io::Result<UdpSocket> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family, SocketType::DGRAM, flags, None)?;
    if address.is_ipv6() {
        sockopt::set_ipv6_v6only(&socket, true)?;
    }
    sockopt::set_socket_reuseport(&socket, shared == QuicShared::Yes)?;
    bind(&socket, &address)?;
    Ok(socket.into())
}

fn server(identity: &ServerIdentity, service: &QuicService) -> ServerConfig {
    let mut tls = server_config(Arc::new(identity.clone()));
    tls.alpn_protocols = vec![service.alpn.to_vec()];
    // No early data: `max_early_data_size` stays 0, and nothing that is asked can be replayed.
    let crypto = QuicServerConfig::try_from(Arc::new(tls))
        .expect("the provider has the suite of QUIC's first packets");
    let mut transport = TransportConfig::default();
    let idle = u32::try_from(service.idle.as_millis()).unwrap_or(u32::MAX);
    let exchange_bytes = service.exchange_bytes_max;
    transport
        .max_idle_timeout(Some(IdleTimeout::from(VarInt::from_u32(idle))))
        .max_concurrent_bidi_streams(VarInt::from_u32(service.exchanges_max))
        .max_concurrent_uni_streams(VarInt::from_u32(0))
        .stream_receive_window(VarInt::from_u32(exchange_bytes))
        .receive_window(VarInt::from_u32(exchange_bytes.saturating_mul(service.exchanges_max)))
        .send_window(SEND_BYTES_MAX)
        .datagram_receive_buffer_size(None);
    let mut config = ServerConfig::with_crypto(Arc::new(crypto));
    config
        .transport_config(Arc::new(transport))
        .max_incoming(INCOMING_MAX)
        .incoming_buffer_size_total(INCOMING_BYTES_MAX);
    config
}

impl QuicListener {
    /// Where it is bound, with the port that the kernel picked for port 0.
    pub const fn local_addr(&self) -> SocketAddr {
        self.address
    }
}

impl fmt::Debug for QuicListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QuicListener").field("address", &self.address).finish_non_exhaustive()
    }
}

/// Takes connections in until `stop` completes or `drain` begins, and hands each to `handle` as a
/// task of this core. Then it takes no more, and returns when those open are over; whoever handles
/// them ends them.
///
/// Must run within a local runtime. Fails only if the socket cannot be registered.
pub async fn accept_quic_loop<H, F>(
    listener: QuicListener,
    limits: ConnectionLimits,
    drain: Drain,
    stop: impl Future<Output = ()>,
    handle: H,
) -> io::Result<()>
where
    H: Fn(QuicPeer) -> F + 'static,
    F: Future<Output = ()> + 'static,
{
    let QuicListener { socket, server, endpoint, overloaded, broken_off, .. } = listener;
    // Packets of its connections would be lost to another process that reads here still.
    tokio::select! {
        biased;
        () = drain.started() => return Ok(()),
        () = socket_transfer::former_reader_gone() => {}
    }
    // Passed on as long as this runs; a copy, since the library wants the socket to itself.
    let passed_on = Arc::new(OwnedFd::from(socket.try_clone()?));
    socket_transfer::enlist(&passed_on);
    let endpoint = Endpoint::new(endpoint, Some(server), socket, Arc::new(TokioRuntime))?;
    let pending = Rc::new(PendingHandshakes {
        limits,
        drain,
        overloaded,
        broken_off,
        handle,
        waiting: Cell::default(),
    });
    let mut stop = std::pin::pin!(stop);
    let drain = pending.drain.clone();
    let mut begun = std::pin::pin!(drain.started());
    loop {
        tokio::select! {
            biased;
            () = &mut begun => break,
            () = &mut stop => break,
            incoming = endpoint.accept() => match incoming {
                Some(incoming) => pending.take_in(incoming),
                None => return Ok(()),
            },
        }
    }
    endpoint.set_server_config(None);
    endpoint.wait_idle().await;
    Ok(())
}

/// Where connections wait for the end of their handshake.
struct PendingHandshakes<H> {
    limits: ConnectionLimits,
    drain: Drain,
    overloaded: VarInt,
    broken_off: VarInt,
    handle: H,
    /// Number that wait, by [`AddressProof`].
    waiting: Cell<[usize; 2]>,
}

/// Tells whether a client has shown that packets sent to its address reach it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AddressProof {
    None,
    Given,
}

/// One slot among the pending handshakes, free again when dropped.
struct HandshakeSlot<H>(Rc<PendingHandshakes<H>>, AddressProof);

impl<H> HandshakeSlot<H> {
    fn take(pending: &Rc<PendingHandshakes<H>>, proof: AddressProof) -> Self {
        let mut waiting = pending.waiting.get();
        waiting[proof as usize] += 1;
        pending.waiting.set(waiting);
        Self(Rc::clone(pending), proof)
    }
}

impl<H> Drop for HandshakeSlot<H> {
    fn drop(&mut self) {
        let mut waiting = self.0.waiting.get();
        waiting[self.1 as usize] -= 1;
        self.0.waiting.set(waiting);
    }
}

impl<H, F> PendingHandshakes<H>
where
    H: Fn(QuicPeer) -> F + 'static,
    F: Future<Output = ()> + 'static,
{
    /// Begins a handshake, or has the client come back with a proof, or sends it away.
    fn take_in(self: &Rc<Self>, incoming: Incoming) {
        let peer = incoming.remote_address();
        let proof = if incoming.remote_address_validated() {
            AddressProof::Given
        } else {
            AddressProof::None
        };
        let [unproved, proved] = self.waiting.get();
        if proof == AddressProof::None && unproved >= HANDSHAKES_UNPROVED_MAX {
            if let Err(why) = incoming.retry() {
                why.into_incoming().refuse();
            }
            return;
        }
        if unproved + proved >= HANDSHAKES_MAX {
            return incoming.refuse();
        }
        // Who only claims an address takes no permit under its cap, or strangers could fill it.
        let permit = match proof {
            AddressProof::None => None,
            AddressProof::Given => match self.limits.permit(peer.ip(), &self.drain) {
                None => return incoming.refuse(),
                permit @ Some(_) => permit,
            },
        };
        let Ok(connecting) = incoming.accept() else { return };
        let slot = HandshakeSlot::take(self, proof);
        let pending = Rc::clone(self);
        tokio::task::spawn_local(async move {
            let shaken = tokio::select! {
                shaken = tokio::time::timeout(HANDSHAKE_DEADLINE, connecting) => shaken,
                // One that is not through yet has asked for nothing.
                () = pending.drain.started() => return,
            };
            drop(slot);
            let Ok(Ok(connection)) = shaken else { return };
            let permit = permit.or_else(|| pending.limits.permit(peer.ip(), &pending.drain));
            match permit {
                Some(permit) => {
                    let broken_off = pending.broken_off;
                    (pending.handle)(QuicPeer { connection, broken_off, _permit: permit }).await;
                }
                None => connection.close(pending.overloaded, b"too many connections"),
            }
        });
    }
}

impl QuicPeer {
    /// The other end.
    pub fn peer(&self) -> SocketAddr {
        self.connection.remote_address()
    }

    /// The address of ours that the client speaks to, if the kernel told it.
    pub fn local(&self) -> Option<IpAddr> {
        self.connection.local_ip()
    }

    /// The name that the client asked for, lower-case.
    pub fn sni(&self) -> Option<String> {
        let data = self.connection.handshake_data()?.downcast::<HandshakeData>().ok()?;
        data.server_name
    }

    /// The next exchange that the client begins. Safe to drop and call again.
    pub async fn next(&self) -> Result<QuicExchange, QuicOver> {
        let (send, recv) = self.connection.accept_bi().await.map_err(|_| QuicOver)?;
        Ok(QuicExchange { send, recv, broken_off: Some(self.broken_off) })
    }

    /// Closes it, telling the client `code` and, in words, why.
    pub fn close(&self, code: u32, why: &str) {
        self.connection.close(VarInt::from_u32(code), why.as_bytes());
    }
}

impl fmt::Debug for QuicPeer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("QuicPeer").field(&self.peer()).finish()
    }
}

impl QuicExchange {
    /// All that the client sends on it, up to its end: at most `bytes_max`. Sets no deadline.
    pub async fn read(&mut self, bytes_max: usize) -> Result<Vec<u8>, ExchangeError> {
        self.recv.read_to_end(bytes_max).await.map_err(|why| match why {
            ReadToEndError::TooLong => ExchangeError::TooLong,
            ReadToEndError::Read(_) => ExchangeError::Gone,
        })
    }

    /// Sends `answer`, ends it, and waits until the client has it all, or wants no more of it. Sets
    /// no deadline.
    pub async fn answer(mut self, answer: &[u8]) -> Result<(), ExchangeError> {
        self.send.write_all(answer).await.map_err(|_| ExchangeError::Gone)?;
        self.send.finish().map_err(|_| ExchangeError::Gone)?;
        self.broken_off = None;
        // Whether it came or was not wanted: either way the exchange is over.
        self.send.stopped().await.map(drop).map_err(|_| ExchangeError::Gone)
    }

    /// Gives it up, telling the client `code`.
    pub fn refuse(mut self, code: u32) {
        // Dropping it does the rest.
        self.broken_off = Some(VarInt::from_u32(code));
    }

    /// Completes when the client wants no answer any more. Safe to drop and call again.
    pub async fn cancelled(&mut self) {
        // An error means the same: the connection is over.
        let _ = self.send.stopped().await;
    }
}

impl Drop for QuicExchange {
    fn drop(&mut self) {
        // Left to itself, the library would end the stream as if the answer were whole.
        if let Some(code) = self.broken_off {
            // Either fails where the stream is over already, which is as good.
            let _ = self.recv.stop(code);
            let _ = self.send.reset(code);
        }
    }
}

impl fmt::Debug for QuicExchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("QuicExchange")
    }
}

impl fmt::Display for ExchangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooLong => "the message is too long",
            Self::Gone => "the client has gone",
        })
    }
}

impl std::error::Error for ExchangeError {}
