//! The gateway door: stands before web servers, spreads requests over them and turns attacks away.
//!
//! It routes by what a request asks for and who asks, refuses URLs that a pattern or the policy
//! blocks, and passes the rest to a pool, both bodies streaming, or answers by itself. Files and
//! scripts are served by what the binary hands in ([`OpenFolders`]). The binary makes a
//! [`GatewayDoor`] and hands it connections.

mod cached;
mod caller;
mod decide;
mod dice;
mod door;
mod fields;
mod finish;
mod folders;
mod foretell;
mod forwarded;
mod guards;
mod leaving;
mod matching;
mod onward;
mod own;
mod pages;
mod passing;
mod path;
mod patterns;
mod pools;
mod public;
mod readings;
mod reproxy;
mod request;
mod route;
mod secure;
mod sending;
mod settings;
mod shape;
mod ticket;
mod uploads;
mod ways;
mod websocket;

pub use crate::door::{GatewayDoor, GatewayParts, GuardCounts, PatternHits, check_files};
pub use crate::folders::{FolderVisitor, OpenFolders, ServeFolder, Serving};
pub use crate::foretell::GatewayForecast;
pub use crate::path::{BadPath, EmptySegments, RequestPath, SlashRule};
pub use crate::patterns::{
    BadPattern, PATTERN_BYTES_MAX, PATTERNS_FILE_BYTES_MAX, PatternSet, PatternsError,
    REGEXES_BARE_MAX, REGEXES_MAX,
};
pub use crate::pools::{NameState, PoolChange, PoolState, PoolUnchanged, ServerState};
pub use crate::settings::{
    AnswerSettings, AuthSettings, BalanceMethod, BlockRedirect, BlockSettings, CertificateSettings,
    ClientCertificate, ClientSettings, CodingName, CompressChoice, CompressSettings, EncodedSlash,
    FieldRule, FieldSettings, FixedAnswerSettings, FolderSettings, ForwardAuthSettings,
    ForwardedStyle, HealthKind, HealthSettings, HttpChoice, KeepAliveSettings, LimitSettings,
    PassiveSettings, PatternSource, PoolSettings, ProxyProtocolChoice, QueueSettings,
    RedirectSettings, ReliefSettings, ReproxySettings, RequestPriority, RequestsSettings,
    ResolveChoice, RetryCause, RetryOn, RetrySettings, RewriteSettings, RouteSettings,
    ScriptChoice, ScriptSettings, ServerDetails, ServerSettings, ServerTlsSettings, Settings,
    SilentClose, StickySettings, TimeoutSettings, TlsSettings, UploadMode, UploadSettings,
    UploadThreshold, VerifyChoice, WEIGHT_MAX,
};
pub use http_cache::CacheEnvironment;
