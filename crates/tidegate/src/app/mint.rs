//! For which names the signer may sign: those that the policy blocks now, and no other.

use ::signer::{MintPolicy, SignedNames};
use arc_swap::ArcSwap;
use policy::{Ask, Policy};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use vocab::{Action, Cause, Door, Name, Now, RequestKind};

/// The policy as the signer sees it.
pub(super) struct BlockedNames {
    policy: Arc<ArcSwap<Policy>>,
    names: ArcSwap<SignedNames>,
}

impl BlockedNames {
    pub(super) fn new(policy: Arc<ArcSwap<Policy>>, names: SignedNames) -> Self {
        Self { policy, names: ArcSwap::from_pointee(names) }
    }

    /// Takes the setting of a new configuration.
    pub(super) fn sign_for(&self, names: SignedNames) {
        self.names.store(Arc::new(names));
    }
}

impl MintPolicy for BlockedNames {
    fn may_mint(&self, name: &str) -> bool {
        vouches_for(&self.policy.load(), name, transport::clock::now())
    }

    fn may_mint_alone(&self, name: &str) -> bool {
        match **self.names.load() {
            SignedNames::Blocked => self.may_mint(name),
            SignedNames::Any => ask(name).is_some_and(|ask| {
                let verdict = self.policy.load().decide_any_name(&ask, transport::clock::now());
                verdict.action == Action::Block
            }),
        }
    }

    fn may_mint_below(&self, base: &str) -> bool {
        let now = transport::clock::now();
        ask(base).is_some_and(|ask| self.policy.load().blocks_all_subdomains(&ask, now))
    }
}

/// True for a name that gets a certificate under this policy.
pub(super) fn vouches_for(policy: &Policy, name: &str, now: Now) -> bool {
    ask(name).is_some_and(|ask| {
        let verdict = policy.decide(&ask, now);
        // What no rule names may be any name in the world, and the signer, which asks its own copy
        // of the rules, knows nothing of what is done by hand.
        let by_no_rule = matches!(verdict.cause, Cause::Unlisted | Cause::ByHand);
        verdict.action == Action::Block && !by_no_rule
    })
}

/// A document at the host, for a client of no special profile: rules for single types or clients
/// alone earn a name no certificate.
fn ask(name: &str) -> Option<Ask<'_>> {
    Some(Ask {
        door: Door::Pixel,
        // An address that no client has, this machine neither: profiles of networks are not asked.
        client: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        identity: None,
        host: Name::from_lowercase(name).ok()?,
        kind: RequestKind::Other,
        url: None,
        page: None,
    })
}
