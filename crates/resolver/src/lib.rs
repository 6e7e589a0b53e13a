//! The resolver: whoever needs a name looked up, asks here.
//!
//! One thread speaks to all upstreams, over UDP, TCP, TLS, HTTPS or QUIC; everyone shares one cache
//! of answers. It believes nothing that does not come from the address asked, with the number and
//! the question asked; it decides nothing about who may ask what. Called by the DNS door for
//! clients and by every door that dials a name.

mod address;
mod bootstrap;
mod cache;
mod cache_settings;
mod caches;
mod choice;
mod cookies;
mod dice;
mod doh;
mod doq;
mod engine;
mod exchange;
mod failure_memory;
mod fair_shares;
mod fastest;
mod flights;
mod handle;
mod landing;
mod lasting;
mod letter_case;
mod line;
mod own_names;
mod persist;
mod pin;
mod place;
mod plan;
mod probe_settings;
mod probes;
mod proof;
mod query_source;
mod question;
mod race;
mod reach;
mod record;
mod settings;
mod snapshot;
mod socks;
mod streams;
mod trials;
mod udp;
mod upstream_check;
mod upstream_settings;
mod waitlist;
mod window;

pub use address::{AddressError, PlainServer, UpstreamAddress, UpstreamHost, UpstreamProtocol};
pub use cache::CacheStats;
pub use cache_settings::{CacheSettings, StaleMode};
pub use caches::{FlushIn, FlushScope};
pub use flights::QUESTIONS_MAX;
pub use handle::{HostAddresses, Resolver, ResolverStats, StartError, WAITING_MAX};
pub use lasting::{AddressFamily, LastingResult};
pub use own_names::{OwnNames, OwnWord};
pub use persist::{DumpFile, DumpReport, NotRestored, RestoreReport};
pub use pin::{BadPin, KeyPin};
pub use probe_settings::{PROBE_PORTS_MAX, ProbeAddresses, ProbeSettings};
pub use query_source::{CapReached, FairCap, QuerySource};
pub use question::{
    CacheId, CacheLook, CachedState, GroupId, NoAddresses, RenewAdvice, Resolution, ResolveError,
    ResolverOverloaded, ResolverQuestion,
};
pub use record::{UpstreamStanding, UpstreamStats};
pub use settings::{
    CACHES_MAX, CONCURRENT_DEFAULT, GROUPS_MAX, GroupSettings, ResolverSettings, SelectionStrategy,
    UPSTREAMS_MAX,
};
pub use snapshot::{BadSnapshot, SNAPSHOT_BYTES_MAX, check_snapshot};
pub use socks::{BadProxy, SocksCredentials, SocksProxy, connect as connect_through};
pub use upstream_settings::{
    CertificateCheck, DOMAINS_MAX, FamilyChoice, PipelineMode, QueryLetters, TrustAd,
    UpstreamCookieMode, UpstreamDetails, UpstreamSettings,
};
