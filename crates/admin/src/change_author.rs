//! The author of a change of the configuration, for its history.

use std::net::IpAddr;

/// Author of a change, and the reason that was given for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangeAuthor {
    /// Name of the user, or `token`, `console` and the like.
    pub who: String,
    /// Address that the change came from.
    pub from: Option<IpAddr>,
    /// Reason, as it was given; may be empty.
    pub why: String,
}
