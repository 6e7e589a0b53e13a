//! Configurations of DNS forwarders and forward proxies, said in our words: AdGuard Home, Pi-hole,
//! dnsmasq, Unbound, blocky; Squid, Privoxy; and the options of pixelserv-tls.
//!
//! From text to text: what comes out is a configuration of Tidegate's with a note for every line
//! that was read. Who may ask is never wider than it was: where that cannot be said, it is
//! narrower, or nothing is written. It opens no file: those that a configuration names are handed
//! in. Called by `config-imports`, for `tidegate import`, and by fuzz targets.

#![allow(
    clippy::unused_self,
    clippy::similar_names,
    clippy::single_match_else,
    clippy::needless_for_each,
    clippy::case_sensitive_file_extension_comparisons,
    reason = "readers of one file share a type; a match reads as the table that it is; names of \
              files are these programs' own, which know but one case"
)]

mod adguard;
mod blocky;
mod dnsmasq;
mod draft;
mod hosts;
mod lists;
mod pihole;
mod pixelserv;
mod placed_yaml;
mod privoxy;
mod squid;
mod stamps;
#[cfg(test)]
mod testing;
mod unbound;
mod upstreams;
mod words;

pub use adguard::from_adguard_home;
pub use blocky::from_blocky;
pub use dnsmasq::from_dnsmasq;
pub use pihole::from_pihole;
pub use pixelserv::from_pixelserv;
pub use privoxy::from_privoxy;
pub use squid::from_squid;
pub use unbound::from_unbound;
