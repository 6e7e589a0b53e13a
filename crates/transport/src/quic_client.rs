//! The client side of QUIC (RFC 9000): a connection to one server, and exchanges on it, each a
//! stream of its own: bytes out, bytes back.
//!
//! It pools nothing, retries nothing but what the server refused to take early, and takes no stream
//! that a server opens. Certificates are checked as [`ClientTls`] says. Called by DNS over QUIC;
//! its library is named in this crate alone.

use crate::dial_options::{DialOptions, open_udp};
use crate::tls::ClientTls;
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{
    ClientConfig, Connection, ConnectionError, Endpoint, EndpointConfig, IdleTimeout, ReadError,
    ReadToEndError, RecvStream, SendStream, TokioRuntime, TransportConfig, VarInt, WriteError,
};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Bytes that may wait here unread on one stream: what it may bring is more than DNS needs.
const STREAM_BYTES_MAX: u32 = 128 << 10;
/// Bytes that may wait here unread on one connection, all streams together.
const CONNECTION_BYTES_MAX: u32 = 4 << 20;

/// Holds what one protocol over QUIC needs.
#[derive(Clone, Copy, Debug)]
pub struct QuicProtocol {
    /// Name in ALPN, as in `doq`.
    pub alpn: &'static [u8],
    /// The code by which an exchange is called off, as in `DOQ_REQUEST_CANCELLED`; below 2^32.
    pub cancelled: u32,
    /// A connection on which nothing happens is gone after so long; up to a day.
    pub idle: Duration,
}

/// Opens connections.
pub struct QuicClient {
    config: ClientConfig,
    cancelled: VarInt,
    options: DialOptions,
    /// A socket for each family of addresses, opened when it is needed first.
    sockets: Mutex<[Option<Endpoint>; 2]>,
}

/// An open connection; closed, with code 0, when dropped.
#[derive(Clone, Debug)]
pub struct QuicConnection {
    connection: Connection,
    cancelled: VarInt,
    handshake: QuicBegin,
}

/// Tells whether what is sent may leave before the server has answered at all (0-RTT). Anybody who
/// sees it can send it again, so it must do no harm twice (RFC 9250 §4.5: queries do none).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EarlyData {
    /// May, if a session with the server is remembered.
    Allowed,
    /// Waits for the handshake.
    Refused,
}

/// Tells how a connection was begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuicBegin {
    /// The server has proved who it is.
    Verified,
    /// Has not yet: the connection rests on a remembered session, and may turn out dead.
    Early,
}

/// Holds what is known of a message under way. A server that does not even acknowledge it is dead,
/// however slow its answers may be.
#[derive(Debug, Default)]
pub struct MessageDelivery(AtomicBool);

impl MessageDelivery {
    /// True if the server has acknowledged all of it.
    pub fn is_acknowledged(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Why there is no connection, or no answer on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuicError {
    /// No socket, or no way leads there.
    Unreachable(io::ErrorKind),
    /// The server's name is no host name and no IP address.
    BadName(String),
    /// TLS could not be agreed on, or the certificate is not trusted.
    Tls(String),
    /// The connection is over: closed by the server, broken, or silent for too long.
    Closed(String),
    /// The server gave up this exchange, with its reason's number.
    Reset(u64),
    /// The answer is longer than it may be.
    TooLong,
    /// The server did not take what was sent early; the connection goes on.
    EarlyRefused,
}

impl QuicClient {
    /// A client for one protocol. Opens nothing yet.
    pub fn new(tls: &ClientTls, protocol: &QuicProtocol, options: &DialOptions) -> Self {
        let crypto = QuicClientConfig::try_from(tls.for_quic(protocol.alpn))
            .expect("the provider has the suite of QUIC's first packets");
        let mut transport = TransportConfig::default();
        let idle = u32::try_from(protocol.idle.as_millis()).unwrap_or(u32::MAX);
        transport
            .max_idle_timeout(Some(IdleTimeout::from(VarInt::from_u32(idle))))
            // Servers open no streams towards us.
            .max_concurrent_bidi_streams(VarInt::from_u32(0))
            .max_concurrent_uni_streams(VarInt::from_u32(0))
            .stream_receive_window(VarInt::from_u32(STREAM_BYTES_MAX))
            .receive_window(VarInt::from_u32(CONNECTION_BYTES_MAX))
            .datagram_receive_buffer_size(None);
        let mut config = ClientConfig::new(Arc::new(crypto));
        config.transport_config(Arc::new(transport));
        Self {
            config,
            cancelled: VarInt::from_u32(protocol.cancelled),
            options: options.clone(),
            sockets: Mutex::default(),
        }
    }

    /// Connects to `address`, where `server` (a name or an IP address) is. Sets no deadline.
    ///
    /// Must be called within a tokio runtime, whose task the connection becomes.
    pub async fn connect(
        &self,
        address: SocketAddr,
        server: &str,
        early: EarlyData,
    ) -> Result<QuicConnection, QuicError> {
        let endpoint = self.endpoint(address).map_err(|why| QuicError::Unreachable(why.kind()))?;
        let connecting = endpoint
            .connect_with(self.config.clone(), address, server)
            .map_err(QuicError::from_connect)?;
        let made = |connection, begun| QuicConnection {
            connection,
            cancelled: self.cancelled,
            handshake: begun,
        };
        let connecting = match early {
            EarlyData::Refused => connecting,
            EarlyData::Allowed => match connecting.into_0rtt() {
                Ok((connection, _)) => return Ok(made(connection, QuicBegin::Early)),
                Err(connecting) => connecting,
            },
        };
        let connection = connecting.await.map_err(|why| QuicError::from_connection(&why))?;
        Ok(made(connection, QuicBegin::Verified))
    }

    fn endpoint(&self, peer: SocketAddr) -> io::Result<Endpoint> {
        let mut sockets = self.sockets.lock().unwrap_or_else(PoisonError::into_inner);
        let place = &mut sockets[usize::from(peer.is_ipv6())];
        if let Some(endpoint) = place {
            return Ok(endpoint.clone());
        }
        let socket = open_udp(peer, &self.options)?;
        let runtime = Arc::new(TokioRuntime);
        let endpoint = Endpoint::new(EndpointConfig::default(), None, socket, runtime)?;
        Ok(place.insert(endpoint).clone())
    }
}

impl fmt::Debug for QuicClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QuicClient").field("options", &self.options).finish_non_exhaustive()
    }
}

impl QuicConnection {
    /// Returns how it was begun.
    pub const fn handshake(&self) -> QuicBegin {
        self.handshake
    }

    /// True if it is over.
    pub fn is_closed(&self) -> bool {
        self.connection.close_reason().is_some()
    }

    /// Closes it for all who hold it, telling the server `code`.
    pub fn close(&self, code: u32) {
        self.connection.close(VarInt::from_u32(code), &[]);
    }

    /// Sends `message` on a stream of its own, ends it, and waits for what comes back until the
    /// server ends it too: at most `answer_bytes_max`. Dropped before that, the exchange is called
    /// off. Waits, too, while the server allows no further stream. `delivery` tells whoever gets
    /// impatient whether the server is alive.
    pub async fn exchange(
        &self,
        message: &[u8],
        answer_bytes_max: usize,
        delivery: &MessageDelivery,
    ) -> Result<Vec<u8>, QuicError> {
        match self.exchange_once(message, answer_bytes_max, delivery).await {
            // Once more, now that the handshake is through.
            Err(QuicError::EarlyRefused) => {
                self.exchange_once(message, answer_bytes_max, delivery).await
            }
            outcome => outcome,
        }
    }

    async fn exchange_once(
        &self,
        message: &[u8],
        most: usize,
        delivery: &MessageDelivery,
    ) -> Result<Vec<u8>, QuicError> {
        let opened = self.connection.open_bi().await;
        let (send, recv) = opened.map_err(|why| QuicError::from_connection(&why))?;
        let mut running =
            QuicRequest { send, recv, stage: ExchangeStage::Sending, code: self.cancelled };
        running.send.write_all(message).await.map_err(QuicError::from_write)?;
        // Fails only if the server wants no more of it, which reading will tell.
        let _ = running.send.finish();
        running.stage = ExchangeStage::Receiving;
        let delivered = running.send.stopped();
        let received = running.recv.read_to_end(most);
        tokio::pin!(delivered, received);
        let answer = tokio::select! {
            answer = &mut received => answer,
            outcome = &mut delivered => {
                if outcome.is_ok() {
                    delivery.0.store(true, Ordering::Relaxed);
                }
                received.await
            }
        };
        running.stage = ExchangeStage::Over;
        answer.map_err(|why| match why {
            ReadToEndError::TooLong => QuicError::TooLong,
            ReadToEndError::Read(why) => QuicError::from_read(why),
        })
    }
}

/// An exchange, called off when dropped before its end.
struct QuicRequest {
    send: SendStream,
    recv: RecvStream,
    stage: ExchangeStage,
    code: VarInt,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ExchangeStage {
    Sending,
    Receiving,
    Over,
}

impl Drop for QuicRequest {
    fn drop(&mut self) {
        // Either fails where the stream is over already, which is as good.
        if self.stage == ExchangeStage::Sending {
            let _ = self.send.reset(self.code);
        }
        if self.stage != ExchangeStage::Over {
            let _ = self.recv.stop(self.code);
        }
    }
}

impl QuicError {
    fn from_connect(why: quinn::ConnectError) -> Self {
        match why {
            quinn::ConnectError::InvalidServerName(name) => Self::BadName(name),
            quinn::ConnectError::InvalidRemoteAddress(_) => {
                Self::Unreachable(io::ErrorKind::AddrNotAvailable)
            }
            other => Self::Closed(other.to_string()),
        }
    }

    fn from_connection(why: &ConnectionError) -> Self {
        // RFC 9001 §4.8: codes 0x100 to 0x1ff are alerts of TLS.
        let is_alert = |code: u64| (0x100..0x200).contains(&code);
        match why {
            ConnectionError::TransportError(error) if is_alert(error.code.into()) => {
                Self::Tls(error.to_string())
            }
            ConnectionError::ConnectionClosed(close) if is_alert(close.error_code.into()) => {
                Self::Tls(close.to_string())
            }
            other => Self::Closed(other.to_string()),
        }
    }

    fn from_read(why: ReadError) -> Self {
        match why {
            ReadError::Reset(code) => Self::Reset(code.into_inner()),
            ReadError::ConnectionLost(why) => Self::from_connection(&why),
            ReadError::ZeroRttRejected => Self::EarlyRefused,
            other @ (ReadError::ClosedStream | ReadError::IllegalOrderedRead) => {
                Self::Closed(other.to_string())
            }
        }
    }

    fn from_write(why: WriteError) -> Self {
        match why {
            WriteError::Stopped(code) => Self::Reset(code.into_inner()),
            WriteError::ConnectionLost(why) => Self::from_connection(&why),
            WriteError::ZeroRttRejected => Self::EarlyRefused,
            WriteError::ClosedStream => Self::Closed(why.to_string()),
        }
    }
}

impl fmt::Display for QuicError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(why) => write!(f, "no way leads to the server: {why}"),
            Self::BadName(name) => write!(f, "{name:?} is no server name"),
            Self::Tls(why) => write!(f, "no TLS with the server: {why}"),
            Self::Closed(why) => write!(f, "the connection is over: {why}"),
            Self::Reset(code) => write!(f, "the server gave up the exchange with code {code}"),
            Self::TooLong => f.write_str("the answer is too long"),
            Self::EarlyRefused => f.write_str("the server did not take what was sent early"),
        }
    }
}

impl std::error::Error for QuicError {}
