//! Readers of the syntaxes in which lists are written.

pub(crate) mod adblock;
pub(crate) mod bare;
pub(crate) mod detect;
pub(crate) mod dnsmasq;
pub(crate) mod fitness;
pub(crate) mod geosite;
pub(crate) mod hosts;
pub(crate) mod line;
pub(crate) mod options;
pub(crate) mod parameter_removal;
pub(crate) mod pihole;
pub(crate) mod punycode;
pub(crate) mod rewrite;
pub(crate) mod rpz;
pub(crate) mod surge;
pub(crate) mod unbound;
