//! A listener as it is wanted.

use vocab::Listen;

/// A listener as it is wanted: where, and at which of the plan's entries its questions begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenerSpec {
    /// Protocol, address, and for DNS over HTTPS the path.
    pub listen: Listen,
    /// The number of the entry; 0 is the first.
    pub entry: u16,
}
