//! The admin API, the metrics page and the dashboard.
//!
//! Nobody gets in without a token or a session, under a foreign host name or, for a change, from a
//! foreign page, and nobody does more than the role allows; it names no door and reads no
//! configuration: it acts through [`ProgramControl`], which the binary implements. The binary
//! serves it on a listener of its own, on loopback unless told otherwise.

mod admin_scheme;
mod api;
mod api_request;
mod assets;
mod author;
mod caller;
mod change_author;
mod configuration;
mod console_settings;
mod control;
mod credentials;
mod failed_logins;
mod first_run;
mod gate;
mod guard;
mod https_settings;
mod one_time_tokens;
mod page;
mod permissions;
mod query;
pub mod question;
mod refused;
mod secret_file;
mod sender;
mod serve;
mod setup;
mod sign_on_desk;
mod table_export;
#[cfg(test)]
mod tests;
mod token;

pub use change_author::ChangeAuthor;
pub use configuration::{ConfigurationFiles, FilesRefusal};
pub use console_settings::{
    ConsoleChoice, ConsolePlace, ConsolePlaceError, ConsoleSettings, ConsoleTrust,
};
pub use control::{
    CacheIndexQuery, CacheIndexScope, ControlRefusal, DnsCachePurge, FleetAsker, ItemChange,
    ItemKind, ListChange, NotReady, OverrideKey, PoolChange, PoolServerChange, ProfileChange,
    ProgramControl, ReplayOrder, SettingsRefusal, TriedChange, WhyQuestion,
};
pub use first_run::FirstRunDesk;
pub use https_settings::HttpsSettings;
pub use serve::{Admin, AdminParts};
pub use setup::{ConfigEdits, Settings};
pub use token::{AdminToken, METRICS_TOKEN_FILE, TOKEN_FILE, TokenError};
