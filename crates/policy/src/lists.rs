//! Readers of the syntaxes in which lists are written.

pub(crate) mod adblock;
pub(crate) mod detect;
pub(crate) mod dnsmasq;
pub(crate) mod hosts;
pub(crate) mod options;
