//! The gateway door: stands before web servers, spreads requests over them and turns attacks away.
//!
//! It routes by what a request asks for and who asks, refuses URLs that a pattern or the policy blocks,
//! and passes the rest to a pool, both bodies streaming, or answers by itself. Files and scripts are served
//! by what the binary hands in ([`OpenFolders`]). The binary makes a [`Door`] and hands it connections.

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

pub use crate::door::{Door, GuardCounts, Parts, PatternHits, check_files};
pub use crate::folders::{OpenFolders, ServeFolder, Serving, Visitor};
pub use crate::foretell::Foretold;
pub use crate::path::{BadPath, EmptySegments, RequestPath, SlashRule};
pub use crate::patterns::{
    BadPattern, PATTERN_BYTES_MAX, PATTERNS_FILE_BYTES_MAX, Patterns, PatternsError,
    REGEXES_BARE_MAX, REGEXES_MAX,
};
pub use crate::pools::{NameState, PoolChange, PoolState, ServerState, Unchanged};
pub use crate::settings::{
    AnswerSettings, AuthSettings, Balance, BlockSettings, CertificateSettings, ClientCertificate,
    ClientSettings, CodingName, CompressChoice, CompressSettings, Elsewhere, EncodedSlash,
    FieldRule, FieldSettings, FixedAnswerSettings, FolderSettings, ForwardAuthSettings,
    ForwardedStyle, HealthKind, HealthSettings, HttpChoice, KeepAliveSettings, LimitSettings,
    PassiveSettings, PatternSource, PoolSettings, Priority, ProxyProtocolChoice, QueueSettings,
    RedirectSettings, ReliefSettings, ReproxySettings, RequestsSettings, ResolveChoice, RetryCause,
    RetryOn, RetrySettings, RewriteSettings, RouteSettings, ScriptChoice, ScriptSettings,
    ServerDetails, ServerSettings, ServerTlsSettings, Settings, Silence, StickySettings,
    TimeoutSettings, TlsSettings, UploadMode, UploadSettings, UploadThreshold, VerifyChoice,
    WEIGHT_MAX,
};
pub use http_cache::Around;
