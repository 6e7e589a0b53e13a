//! The JSON of a question to all machines of a fleet: how each replied, and its verdict.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Verdicts of all machines about a name or URL.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FleetWhy {
    /// Name of the machine that was asked for it.
    pub own: String,
    /// The machines, by name.
    pub machines: Vec<MachineVerdict>,
}

/// Verdict of one machine about a name or URL.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MachineVerdict {
    /// Reply of the machine.
    #[serde(flatten)]
    pub reply: FleetReply,
    /// Verdict; null where it did not answer.
    pub verdict: Option<FleetVerdict>,
}

/// Reply of a machine to a question.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FleetReply {
    /// Name of the machine.
    pub edge: String,
    /// `answered`; `declined`: it answers nobody (`fleet.live.questions` is false there); `busy`:
    /// it has too many questions; `other_secret`: it has another secret, or what came in its name
    /// was sealed with another; `failed`: it could not answer; `late`: it is there and did not
    /// answer in time; `away`: it was not heard of lately.
    pub state: String,
    /// Reason in a sentence; null where it answered.
    pub reason: Option<String>,
    /// Release that it runs; null where it did not answer.
    pub version: Option<String>,
    /// Revision of the fleet that it has in force; null where it has none, or did not answer.
    pub revision: Option<u64>,
}

/// Verdict of one machine about a name or URL.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FleetVerdict {
    /// `pass` or `block`.
    pub action: String,
    /// `none`, `rule`, `paused`, `by_hand`, `not_asked`, `unlisted` or `other_blocker`, as
    /// `/api/why` says it.
    pub cause: String,
    /// The verdict in one sentence.
    pub summary: String,
    /// The client's profile there.
    pub profile: String,
    /// The rule that decided; null if none did.
    pub rule: Option<VerdictRule>,
    /// Time since which the list that it stands on is unchanged; null where that is unknown.
    pub list_changed_at: Option<String>,
    /// Deed of the door: `NODATA with SOA, EDE 15`.
    pub door_outcome: String,
}

/// A rule and where it stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct VerdictRule {
    /// The list's name.
    pub list: String,
    /// The line in it, from 1.
    pub line: u32,
    /// The rule as it is written there.
    pub text: String,
}
