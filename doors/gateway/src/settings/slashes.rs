//! Settings about slashes in a path that some servers see and others do not.
//!
//! Plain data. Read as part of a route.

use super::RouteSettings;
use crate::path::{EmptySegments, SlashRule};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vocab::Complaint;

/// Treatment of `%2F`, `%5C` and `\` in a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EncodedSlash {
    /// 400: some servers take it for a slash before they decide, and some after.
    #[default]
    Refuse,
    /// Data that goes on as `%2F` or `%5C`.
    Keep,
    /// A slash, for rules and servers alike.
    Decode,
}

impl RouteSettings {
    /// The rule by which the route reads slashes.
    pub(crate) const fn slashes(&self) -> SlashRule {
        let empty = if self.merge_slashes { EmptySegments::Merge } else { EmptySegments::Keep };
        SlashRule { encoded: self.encoded_slash, empty }
    }

    /// Complaints about that rule.
    pub(super) fn check_slashes(&self) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        if self.encoded_slash == EncodedSlash::Keep && self.root.is_some() {
            complaints.push(
                Complaint::new("encoded_slash", "no file has a slash in its name")
                    .remedy("write encoded_slash: decode, or leave it out"),
            );
        }
        if self.encoded_slash != EncodedSlash::Refuse && self.destinations().next().is_none() {
            complaints.push(
                Complaint::new(
                    "encoded_slash",
                    "the route leads nowhere: it blocks in any spelling",
                )
                .remedy("write it at the route that leads to a server"),
            );
        }
        if !self.merge_slashes && self.pool.is_none() {
            complaints.push(
                Complaint::new("merge_slashes", "the route has no servers that could be asked")
                    .remedy("name a pool, or leave merge_slashes out"),
            );
        }
        complaints
    }
}
