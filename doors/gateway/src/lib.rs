//! The gateway door: stands before web servers, spreads requests over them and turns attacks away.
//!
//! It routes by what a request asks for and who asks, refuses URLs that a pattern or the policy
//! blocks, and passes the rest to a pool, both bodies streaming, or answers by itself. Files and
//! scripts are served by what the binary hands in ([`OpenFolders`]). The binary makes a
//! [`GatewayDoor`] and hands it connections.

mod act;
mod allowed_targets;
mod cached;
mod caller;
mod context;
mod decide;
mod door;
mod exchange;
mod fields;
mod finish;
mod fixed_answer;
mod folders;
mod forward;
mod forwarded;
mod forwarding;
mod guards;
mod limit_key;
mod onward_fields;
mod outcome;
mod pages;
mod preview;
mod public;
mod read;
mod reproxy;
mod request;
mod reroute;
mod route;
mod route_table;
mod scripted;
mod secure;
mod sending;
mod serve;
mod settings;
mod setup;
mod shape;
mod ticket;
mod upgraded;
mod upload_status;
mod uploads;
mod websocket;

pub use crate::door::{GatewayDoor, GuardCounts, PatternHits, check_files};
pub use crate::folders::{FolderVisitor, OpenFolders, ServeFolder, Serving};
pub use crate::preview::{ForecastQuestion, GatewayForecast};
pub use crate::settings::{
    AnswerSettings, AuthSettings, BlockRedirect, BlockSettings, CertificateSettings,
    ClientCertificate, ClientSettings, CodingName, CompressChoice, CompressSettings, FieldRule,
    FieldSettings, FixedAnswerSettings, FolderSettings, ForwardAuthSettings, ForwardedStyle,
    LimitSettings, PatternSource, RedirectSettings, ReproxySettings, RequestsSettings,
    RouteSettings, ScriptChoice, ScriptSettings, Settings, SilentClose, TlsSettings, UploadMode,
    UploadSettings, UploadThreshold,
};
pub use crate::setup::GatewayParts;
pub use balancer::{
    BalanceMethod, HealthKind, HealthSettings, HttpChoice, KeepAliveSettings, NameState,
    PassiveSettings, PoolChange, PoolSettings, PoolState, PoolUnchanged, ProxyProtocolChoice,
    QueueSettings, ReliefSettings, RequestPriority, ResolveChoice, RetryCause, RetryOn,
    RetrySettings, ServerDetails, ServerSettings, ServerState, ServerTlsSettings, StickySettings,
    TimeoutSettings, VerifyChoice, VerifyConnection, WEIGHT_MAX,
};
pub use http_cache::{CacheEnvironment, SecondLevelSlot};
pub use route_matching::{EncodedSlash, RewriteSettings};
pub use scripting::{LuauChoice, LuauSettings, OnScriptError};
