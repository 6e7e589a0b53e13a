//! The proxy door: fetches what clients ask for, unless the policy says no.
//!
//! It passes on `http` requests and carries `CONNECT` tunnels, asks the policy by URL, host and the
//! name in a tunnel's first bytes before anything leaves, and takes no client where that client may
//! not go. It deciphers no tunnel; one to a blocked host is handed to whoever answers in its place.
//! The binary makes a [`ProxyDoor`] and hands it connections.

mod access;
mod bandwidth;
mod blocked;
mod blocked_tunnels;
mod cached;
mod connecting_client;
mod connection;
mod context;
mod decide;
mod destination_guard;
mod door;
mod fast_path;
mod headers;
mod host_check;
mod intercepted;
mod local_endpoints;
mod mirror;
mod pac;
mod pages;
mod parts;
mod preview;
mod proxy_request;
mod redirected;
mod refusal;
mod remove_params;
mod request;
mod routes;
mod scripted;
mod serve;
mod settings;
mod setup;
mod sni;
mod socks;
mod target;
mod tls;
mod transparent;
mod tunnel;
mod url_rules;

pub use crate::blocked_tunnels::{BlockedTunnels, TunnelClient};
pub use crate::connecting_client::ConnectingClient;
pub use crate::door::{ProxyDoor, check_files};
pub use crate::parts::ProxyParts;
pub use crate::preview::{BlockedTunnel, preview};
pub use crate::settings::{
    AuthSettings, BandwidthSettings, ConnectSni, FieldDisclosure, PacFallback, PacSettings,
    ParentHosts, ParentSettings, ParentsOf, RefererPolicy, Settings, TlsSettings, TokenDigest,
};
pub use crate::socks::{SocksLogin, accept_socks};
pub use crate::url_rules::check as check_urls;
pub use http_cache::{
    CacheEnvironment, HttpCache, IndexExtent, IndexPage, IndexQuery, IndexRows, IndexScope,
    PurgeStrength, PurgeTarget, SecondLevelSlot, SiteStock, StoredVariant,
};
pub use redirector::{FailureChoice, HelperProtocol, RedirectorSettings};
pub use scripting::{LuauChoice, LuauSettings, OnScriptError};
