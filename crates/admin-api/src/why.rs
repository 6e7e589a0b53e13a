//! Why something is blocked or not, as JSON.

use crate::RuleInfo;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// A question why something is blocked or not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct WhyQuery {
    /// A domain name or an absolute URL.
    pub target: String,
    /// The client's address; 127.0.0.1 if left out.
    pub client: Option<String>,
    /// `script`, `image`, `A` and so on; guessed from the target if left out. At the DNS door a
    /// record type, elsewhere another word.
    pub kind: Option<String>,
    /// `dns`, `pixel`, `proxy`, `web` or `gateway`; `dns` for a name and `proxy` for a URL if left
    /// out.
    pub door: Option<String>,
    /// The host of the page that asks, for rules about third parties; unknown if left out.
    pub page: Option<String>,
}

/// Why something is blocked or not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WhyAnswer {
    /// What was asked about.
    pub target: String,
    /// For this client.
    pub client: String,
    /// The client's profile.
    pub profile: String,
    /// The host that it is about.
    #[serde(default)]
    pub host: String,
    /// The host's site: the name somebody registered, by the Public Suffix List; the host itself
    /// where there is none.
    #[serde(default)]
    pub site: String,
    /// At this door.
    pub door: String,
    /// As this kind.
    pub kind: String,
    /// From a page of this host; null if that is not known.
    #[serde(default)]
    pub page: Option<String>,
    /// `pass` or `block`.
    pub action: String,
    /// `none` (no rule matched), `rule`, `paused` (a pause, or let through by hand), `by_hand`
    /// (blocked by hand), `not_asked`, `unlisted` (no rule lets it pass, and the client's profile
    /// blocks all others), or `other_blocker` (no rule names it, and `pixel.any_name` answers what
    /// another blocker sends).
    pub cause: String,
    /// The rule that decided; null if none did.
    pub rule: Option<RuleInfo>,
    /// Since when the list that it stands on is unchanged: its file's time, or the configuration's
    /// for rules written there; null where that is unknown, and for built-in lists.
    pub list_changed_at: Option<String>,
    /// The verdict in one sentence.
    pub summary: String,
    /// Every rule that matched, with why it won or lost; the deciding one first.
    pub matches: Vec<RuleMatch>,
    /// The URL without the parameters that rules take off; null where they take none. The proxy
    /// alone leads clients to it.
    pub trimmed: Option<String>,
    /// What the door would do: `NODATA with SOA, EDE 15`.
    pub door_outcome: String,
    /// What this door has stored of the URL, a sentence for each variant, and why its last answer
    /// was not stored, if that is remembered; empty where it stores nothing, and where no running
    /// process is asked.
    pub stored: Vec<String>,
    /// What the gateway's routes and its own patterns make of a URL; null at other doors, where the
    /// policy blocks it, and where no running process is asked.
    pub gateway: Option<GatewayWhy>,
}

/// Holds what the gateway makes of a URL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GatewayWhy {
    /// The rule of its own that refuses it; null if none does.
    pub rule: Option<RuleInfo>,
    /// What it does: `passes it to the pool app (route 4 of the gateway)`.
    pub outcome: String,
}

/// A rule that matched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RuleMatch {
    /// The rule.
    #[serde(flatten)]
    pub rule: RuleInfo,
    /// True if it decided.
    pub decides: bool,
    /// Why it won or lost.
    pub note: String,
}
