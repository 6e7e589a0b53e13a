//! The JSON of profiles and groups of clients, and of changes of them.
//!
//! What a profile or group has are the keys of the configuration (`policy.clients[]`,
//! `policy.groups[]`), where each is described. Read by `admin`, carried out by
//! `admin::ProgramControl`.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// Profiles and groups, with the lists that they may name.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ProfileTable {
    /// A word for what the dashboard has set; once that changes, the word is another.
    pub revision: String,
    /// Time zone in which the hours of schedules are read: `policy.time_zone`.
    pub time_zone: String,
    /// The lists, in the order of the configuration.
    pub lists: Vec<ListChoice>,
    /// Settings of clients that no profile names: `policy.default`.
    #[schema(value_type = Object)]
    pub default: Value,
    /// The profiles. The first that matches a client holds.
    pub profiles: Vec<MadeItem>,
    /// The groups.
    pub groups: Vec<MadeItem>,
}

/// List that a profile may name.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ListChoice {
    /// Name of the list.
    pub name: String,
    /// `block` or `allow`.
    pub kind: String,
    /// True if it is switched off, and holds for nobody.
    pub off: bool,
}

/// Profile or group, with all its keys of the configuration.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct MadeItem {
    /// The keys of `policy.clients[]` or `policy.groups[]`.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub settings: Value,
    /// True if it was made in the dashboard, and can be changed there.
    pub made_here: bool,
}

/// Profile as it is to be.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ProfileUpdate {
    /// The revision that the change was made in: another one is refused.
    pub revision: String,
    /// The name of the profile that it takes the place of; a new one if left out.
    pub was: Option<String>,
    /// The keys of `policy.clients[]`; what is empty or null is left out.
    #[schema(value_type = Object)]
    pub profile: Value,
}

/// Group as it is to be.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GroupUpdate {
    /// The revision that the change was made in: another one is refused.
    pub revision: String,
    /// The name of the group that it takes the place of; a new one if left out.
    pub was: Option<String>,
    /// The keys of `policy.groups[]`; what is empty or null is left out.
    #[schema(value_type = Object)]
    pub group: Value,
}

/// Profile or group that is to be taken away.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ItemRemoval {
    /// The revision that the change was made in: another one is refused.
    pub revision: String,
    /// Name of the profile or group.
    pub name: String,
}
