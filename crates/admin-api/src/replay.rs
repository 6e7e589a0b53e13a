//! The JSON of replays: a change tried on recorded requests.

use crate::{GroupUpdate, ListSwitch, NewList, ProfileUpdate};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Change that is to be tried on recorded requests, and not made: exactly one of them.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ReplayRequest {
    /// Requests of the last so many seconds; a week if left out.
    pub since_s: Option<u64>,
    /// Own rules as they would be; at most 1 MiB.
    pub own_rules: Option<String>,
    /// List that would be added, with `rules` or `builtin`.
    pub add_list: Option<NewList>,
    /// List that would be taken away.
    pub remove_list: Option<String>,
    /// List that would hold, or hold for nobody.
    pub switch_list: Option<ListSwitch>,
    /// Profile as it would be.
    pub profile: Option<ProfileUpdate>,
    /// Profile that would be taken away.
    pub remove_profile: Option<String>,
    /// Group as it would be.
    pub group: Option<GroupUpdate>,
    /// Group that would be taken away.
    pub remove_group: Option<String>,
}

/// Verdicts that a change would make others.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
pub struct ReplayOutcome {
    /// Requests that were judged again.
    pub requests: u64,
    /// Requests among them that passed and would be blocked.
    pub blocked: u64,
    /// Requests among them that were blocked and would pass.
    pub passed: u64,
    /// Requests whose name is none.
    pub skipped: u64,
    /// Names whose verdict would be another, those with most requests first; at most 200.
    pub names: Vec<ReplayedName>,
    /// Number of such names that are left out.
    pub more: usize,
    /// Rules that would decide, those with most requests first; at most 200.
    pub rules: Vec<ReplayedRule>,
    /// Time that it took, in milliseconds.
    pub took_ms: u64,
}

/// Name whose verdict would be another.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ReplayedName {
    /// The name.
    pub name: String,
    /// `block` or `pass`: what would be done.
    pub action: String,
    /// Requests whose verdict would be another.
    pub requests: u64,
    /// Clients that asked, at most 5.
    pub clients: Vec<String>,
    /// The rule that would block it, or that blocks it now; null if none does.
    pub rule: Option<String>,
}

/// Rule by which verdicts would be others.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ReplayedRule {
    /// The rule's list.
    pub list: String,
    /// Line there.
    pub line: u32,
    /// Text of the rule.
    pub text: String,
    /// `block` or `pass`: what it would do.
    pub action: String,
    /// Requests whose verdict would be another by it.
    pub requests: u64,
}
