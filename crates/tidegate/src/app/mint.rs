//! For which names the signer may sign: those that the policy blocks now, and no other.

use arc_swap::ArcSwap;
use policy::{Ask, Policy};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use transport::MintPolicy;
use vocab::{Action, Cause, Door, Kind, Name};

/// The policy as the signer sees it.
pub(super) struct BlockedNames(pub(super) Arc<ArcSwap<Policy>>);

impl MintPolicy for BlockedNames {
    fn may_mint(&self, name: &str) -> bool {
        let Ok(host) = Name::from_lowercase(name) else { return false };
        // A document at the host, for a client of no special profile: rules for single types or
        // clients alone earn a name no certificate.
        let ask = Ask {
            door: Door::Pixel,
            client: IpAddr::V4(Ipv4Addr::LOCALHOST),
            who: None,
            host,
            kind: Kind::Other,
            url: None,
            page: None,
        };
        let verdict = self.0.load().decide(&ask, transport::clock::now());
        // What no rule names may be any name in the world.
        verdict.action == Action::Block && verdict.cause != Cause::Unlisted
    }
}
