//! The proxy door: fetches what clients ask for, unless the policy says no.
//!
//! It passes on `http` requests and carries `CONNECT` tunnels, asks the policy by URL, host and the
//! name in a tunnel's first bytes before anything leaves, and takes no client where that client may
//! not go. It deciphers no tunnel; one to a blocked host is handed to whoever answers in its place.
//! The binary makes a [`ProxyDoor`] and hands it connections.

mod access;
mod blocked;
mod cached;
mod decide;
mod door;
mod foretell;
mod headers;
mod never;
mod own;
mod pac;
mod pages;
mod quick;
mod request;
mod routes;
mod secure;
mod settings;
mod sni;
mod target;
mod ticket;
mod trims;
mod tunnel;
mod within;

pub use crate::door::{ProxyDoor, ProxyParts, check_files};
pub use crate::foretell::{BlockedTunnel, foretell};
pub use crate::never::check as check_never;
pub use crate::settings::{
    AuthSettings, ConnectSni, FieldDisclosure, PacFallback, PacSettings, ParentHosts,
    ParentSettings, ParentsOf, RefererPolicy, Settings, TlsSettings, TokenDigest,
};
pub use crate::tunnel::{BlockedTunnels, TunnelClient};
pub use http_cache::{CacheEnvironment, HttpCache, PurgeStrength, PurgeTarget};
