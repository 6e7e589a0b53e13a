//! The resolver: whoever needs a name looked up, asks here.
//!
//! One thread speaks to all upstreams, over UDP, TCP, TLS, HTTPS or QUIC; everyone shares one cache
//! of answers. It believes nothing that does not come from the address asked, with the number and
//! the question asked; it decides nothing about who may ask what. Called by the DNS door for
//! clients and by every door that dials a name.

mod addresses;
mod cache;
mod engine;
mod handle;
mod lasting;
mod local_overrides;
mod query_source;
mod question;
mod second_level;
mod settings;
mod shared;
mod upstream;

pub use addresses::HostAddresses;
pub use cache::answer_cache::CacheStats;
pub use cache::caches::{FlushIn, FlushScope};
pub use cache::key::wire_of;
pub use cache::persist::{DumpFile, DumpReport, NotRestored, RestoreReport};
pub use cache::snapshot::{BadSnapshot, SNAPSHOT_BYTES_MAX, check_snapshot};
pub use engine::fair_shares::QUESTIONS_MAX;
pub use engine::local_engine::LocalEngine;
pub use handle::{Resolver, ResolverStats, StartError, WAITING_MAX};
pub use lasting::{AddressFamily, LastingResult};
pub use local_overrides::{LocalOverride, LocalOverrides};
pub use query_source::{CapReached, FairCap, QuerySource};
pub use question::{
    CacheId, CacheLook, CachedState, GroupId, NoAddresses, RenewAdvice, Resolution, ResolveError,
    ResolverOverloaded, ResolverQuestion,
};
pub use second_level::{
    SecondLevelAnswer, SecondLevelCache, SecondLevelKey, SecondLevelLook, UpstreamScope,
};
pub use settings::address::{
    AddressError, PlainServer, UpstreamAddress, UpstreamHost, UpstreamProtocol,
};
pub use settings::cache::{CacheSettings, StaleMode};
pub use settings::pin::{BadPin, KeyPin};
pub use settings::probe::{PROBE_PORTS_MAX, ProbeAddresses, ProbeSettings, is_public_address};
pub use settings::upstream::{
    CertificateCheck, DOMAINS_MAX, FamilyChoice, PipelineMode, QueryLetters, TrustAd,
    UpstreamCookieMode, UpstreamDetails, UpstreamSettings,
};
pub use settings::{
    CACHES_MAX, CONCURRENT_DEFAULT, GROUPS_MAX, GroupSettings, ResolverSettings, ResponseSelection,
    SelectionStrategy, UPSTREAMS_MAX,
};
pub use upstream::record::{UpstreamStanding, UpstreamStats};
pub use upstream::socks::{BadProxy, SocksCredentials, SocksProxy, connect as connect_through};
