//! Scripts in Luau that look at requests and change them: `script:` of a route, a site or the DNS
//! door.
//!
//! A [`LuauScript`] is read and compiled once, at `check` and at a reload. Each core has one
//! virtual machine, made when a request there first meets a script, and in it an environment a
//! script: what one keeps in its globals no other sees. A hook gets the request or the answer as an
//! object whose fields are read in place; it has a time limit, and all scripts of a core together a
//! memory limit, so that a faulty one fails its own requests and nothing else.
//!
//! Used by the doors, which say what an error means for the request. It opens no socket.

mod changes;
mod code;
mod deadline;
mod decision;
mod decision_script;
mod environment;
mod failure;
mod fetching;
mod field_rules;
mod fields;
mod fixtures;
mod hook;
mod log_budget;
mod log_entry;
mod machine;
mod query;
mod request;
mod response;
mod script;
mod settings;
mod shared;
#[cfg(test)]
mod tests;
mod timer;
mod variables;

pub use changes::ChangeRefusal;
pub use code::{ScriptCounters, ScriptCounts};
pub use decision_script::DecisionScript;
pub use failure::{FailureCause, ScriptFailure};
pub use fetching::{FetchTrouble, ScriptFetch, ScriptFetchAnswer, ScriptFetcher};
pub use field_rules::{FieldRefusal, changeable_field, checked_field_value};
pub use fixtures::{
    FixtureAnswer, FixtureCase, FixtureOutcome, FixtureQuery, FixtureQuestion, FixtureRequest,
    FixtureResponse, FixtureSent, ScriptFixtures,
};
pub use hook::{ScriptHook, ScriptPlace};
pub use log_budget::{LimitedLog, ScriptLog, unread_log};
pub use log_entry::ScriptedLogEntry;
pub use query::{QueryAnswer, ScriptedQuery};
pub use request::{ScriptAnswer, ScriptedRequest};
pub use response::ScriptedResponse;
pub use script::{LuauScript, QueryVerdict, RequestVerdict};
pub use settings::{LuauChoice, LuauSettings, OnScriptError};
pub use variables::ScriptVariables;

/// Types of everything that a script may use, for editors that check Luau.
pub const DEFINITIONS: &str = include_str!("definitions.d.luau");
