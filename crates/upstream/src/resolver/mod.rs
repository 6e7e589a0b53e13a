//! The resolver: whoever needs a name looked up, asks here.
//!
//! One thread speaks to all upstreams, over UDP, TCP, TLS or HTTPS, and everyone shares one cache
//! of answers. It believes nothing that does not come from the address asked, with the number and
//! the question asked; it decides nothing about who may ask what. Called by the DNS door for
//! clients and by every door that dials a name.

mod address;
mod bootstrap;
mod cache;
mod choice;
mod dice;
mod doh;
mod engine;
mod exchange;
mod handle;
mod plan;
mod question;
mod record;
mod settings;
mod streams;
mod udp;
mod waitlist;

pub use address::{AddressError, Host, PlainServer, Protocol, UpstreamAddress};
pub use cache::CacheStats;
pub use engine::QUESTIONS_MAX;
pub use handle::{Resolver, ResolverStats, StartError, WAITING_MAX};
pub use question::{Cached, NoAddresses, Overloaded, Question, Resolution, ResolveError};
pub use record::{Standing, UpstreamStats};
pub use settings::{
    CacheSettings, DOMAINS_MAX, ResolverSettings, Strategy, UPSTREAMS_MAX, UpstreamDetails,
    UpstreamSettings,
};
