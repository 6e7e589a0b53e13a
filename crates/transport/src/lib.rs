//! Bytes in and out: listeners, connections, TLS, and the signer of certificates on demand.
//!
//! It caps and counts connections, registers a socket with the reactor only when it must wait, and
//! has leaf certificates signed in the handshake for names that a [`signer::MintPolicy`] permits.
//! It knows no HTTP, no DNS and no policy. Called by every door, by `resolver`, `origins` and
//! `fetch`, and by the binary.

mod accept;
mod authority;
mod bucket;
pub mod clock;
mod cores;
mod dial_options;
mod drain;
mod listen;
mod mint;
pub mod near;
pub mod netlink;
mod own_addresses;
pub mod privileges;
pub mod proxy_protocol;
pub mod quic_client;
pub mod quic_server;
pub mod signer;
mod stream;
mod sys;
pub mod tls;
pub mod trust;
pub mod udp;

pub use accept::{
    CONNECTIONS_MAX_DEFAULT, CONNECTIONS_PER_CLIENT_MAX_DEFAULT, ConnectionCounts,
    ConnectionLimits, accept_loop, accept_until, client_of,
};
pub use bucket::{ClientBuckets, ClientRate, TokenTaken};
pub use cores::{CoreStuck, Cores, despite_panics};
pub use dial_options::{DialOptions, INTERFACE_BYTES_MAX, dial_udp};
pub use drain::{Drain, DrainGuard, StillOpen};
pub use listen::{
    BACKLOG, BindError, BindProtocol, BindReason, TcpListener, WaitForData, check_bind, listen_tcp,
    listen_tcp_on_each,
};
pub use own_addresses::{is_own_address, own_addresses};
pub use signer::{MintPolicy, Signer};
pub use stream::{DialError, DialReason, Stream, dial, dial_with, readable};
pub use tls::{ClientTls, HandshakeError, ServerTls, TlsStream};
