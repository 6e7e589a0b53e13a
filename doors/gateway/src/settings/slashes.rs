//! Settings about slashes in a path that some servers see and others do not.
//!
//! Plain data. Read as part of a route.

use super::RouteSettings;
use route_matching::{EmptySegments, EncodedSlash, SlashRule};
use vocab::Complaint;

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
