//! Bytes in and out: listeners, connections, TLS.
//!
//! It caps and counts connections, registers a socket with the reactor only when it must wait, and
//! has the [`signer`] make leaf certificates in the handshake for names that are blocked.
//! It knows no HTTP, no DNS and no policy. Called by every door, by `resolver`, `origins` and
//! `fetch`, and by the binary.

mod accept;
pub mod clock;
mod connection_limits;
mod cores;
mod dial_options;
mod drain;
mod listen;
pub mod neighbours;
pub mod netlink;
mod outbox;
mod own_addresses;
pub mod proxy_protocol;
pub mod quic_client;
pub mod quic_server;
pub mod socket_transfer;
mod stream;
mod sys;
pub mod tls;
pub mod udp;

pub use accept::{accept_loop, accept_until};
pub use connection_limits::{
    CONNECTIONS_MAX_DEFAULT, CONNECTIONS_PER_CLIENT_MAX_DEFAULT, ConnectionCounts, ConnectionLimits,
};
pub use cores::{CoreStuck, Cores, restart_on_panic};
pub use dial_options::{DialOptions, INTERFACE_BYTES_MAX, dial_udp};
pub use drain::{Drain, DrainGuard, StillOpen};
pub use listen::{
    BACKLOG, BindError, BindProtocol, BindReason, ListenReach, TcpListener, WaitForData,
    check_bind, listen_tcp, listen_tcp_per_core, listen_within_per_core,
};
pub use own_addresses::{is_own_address, own_addresses};
pub use stream::{DialError, DialReason, Stream, dial, dial_with, readable};
pub use tls::{ClientTls, HandshakeError, ServerTls, TlsStream};
