//! What the link that a client sits on tells of it.
//!
//! Words only: it asks no kernel. Filled by `transport::near`, wanted by the policy.

use crate::MacAddress;

/// Holds what is known of a client beside its address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkInfo {
    /// Hardware address: only of clients on a link of ours.
    pub mac: Option<MacAddress>,
    /// The interface of ours that it came in by, such as `br-lan`.
    pub interface: Option<&'static str>,
}

/// Which of it makes a difference to somebody: the rest is not looked up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkInfoNeeds {
    /// True if hardware addresses do.
    pub mac: bool,
    /// True if interfaces do.
    pub interface: bool,
}
