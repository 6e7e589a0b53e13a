//! The DNS door: answers look-ups from the policy, local records, the cache, or upstreams.
//!
//! It refuses what is no plain question of class IN, and never waits for the ledger or a slow
//! client. A request reads from top to bottom in `request`, whether it came over UDP (`worker`) or
//! TCP (`tcp`). Made, reloaded and closed by the binary.

mod back;
mod blocked;
mod branches;
mod certificate;
mod chance;
mod doh;
mod door;
mod doq;
mod dumps;
mod exposure;
mod foreign;
mod foretell;
mod guard;
mod lines;
mod listeners;
mod local_names;
mod outside;
mod pending;
mod plan;
mod request;
mod rewrites;
mod settings;
mod shape;
mod simple;
mod special;
mod structured;
mod surroundings;
mod tcp;
mod tls;
mod worker;

pub use certificate::CertificateError;
pub use dns_effects::{EffectsEnv, OnReload, ReloadWhat, Tell};
pub use doh::doh_question;
pub use door::{DnsDoor, DnsParts, StartError};
pub use doq::doq_question;
pub use dumps::CacheDump;
pub use foreign::ForeignConfig;
pub use foretell::DnsForecast;
pub use listeners::{DOH_PATH_DEFAULT, ListenerSpec, listens};
pub use local_names::LocalNames;
pub use outside::CollectedRuns;
pub use settings::access::{AccessAction, AccessSettings};
pub use settings::canaries::CanaryAction;
pub use settings::certificate::CertificateSettings;
pub use settings::client_subnet::{ClientSubnetSettings, SubnetMode};
pub use settings::cookies::{CookieMode, CookieSettings};
pub use settings::ddr::DdrMode;
pub use settings::doh::DohSettings;
pub use settings::lookups::{FallbackSettings, StandbyRule, ViewSettings};
pub use settings::rate_limit::{RateAction, RateLimitSettings};
pub use settings::rebinding::RebindingSettings;
pub use settings::response_rate_limit::ResponseRateLimitSettings;
pub use settings::{AliasesAtPixel, Settings};
