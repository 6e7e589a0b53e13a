//! The DNS door: answers look-ups from the policy, local records, the cache, or upstreams.
//!
//! It refuses what is no plain question of class IN, and never waits for the ledger or a slow
//! client. A request reads from top to bottom in `request`, whether it came over UDP (`worker`) or
//! TCP (`tcp`). Made, reloaded and closed by the binary.

mod blocked;
mod branches;
mod caller;
mod certificate;
mod chance;
mod dns_request;
mod doh;
mod door;
mod doq;
mod dumps;
mod exchange;
mod exposure;
mod findings;
mod finish;
mod foreign;
mod guard;
mod learned;
mod lines;
mod listener_context;
mod listener_spec;
mod listeners;
mod local_names;
mod pending;
mod pending_request;
mod plan;
mod preview;
mod record;
mod reply_sink;
mod request;
mod request_env;
mod resources;
mod rewrites;
mod selectors;
mod settings;
mod shape;
mod shared;
mod simple;
mod sockets;
mod special;
mod start_error;
mod stream_limits;
mod structured;
mod tcp;
mod tls;
mod view;
mod worker;

pub use certificate::CertificateError;
pub use dns_effects::{EffectsEnv, OnReload, ReloadWhat, Tell};
pub use doh::doh_question;
pub use door::{DnsDoor, DnsParts};
pub use doq::doq_question;
pub use dumps::CacheDump;
pub use foreign::ForeignConfig;
pub use listener_spec::ListenerSpec;
pub use local_names::LocalNames;
pub use plan::check_files;
pub use preview::DnsForecast;
pub use resources::CollectedRuns;
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
pub use sockets::{DOH_PATH_DEFAULT, listens};
pub use start_error::StartError;
