//! What is to be done with a request: the routes in their order, then the policy.
//!
//! It touches no socket. Called by `request`, and by `reproxy` for a path that a server names.

use crate::door::{Door, Setup};
use crate::guards::{Block, Mode, decide_in_both_spellings};
use crate::matching::Asked;
use crate::request::{Led, Wish};
use crate::route::Route;
use policy::Verdict;
use std::sync::Arc;
use transport::near;
use vocab::{Action, Cause, Now};

/// What is to be done with a request.
pub(crate) enum Decision {
    /// By the policy, or by this block.
    Block(Verdict, Option<Arc<Block>>),
    /// Where this route leads.
    Pass(Verdict, Arc<Route>),
    /// No route fits.
    Nowhere(Verdict),
}

/// The first route that fits decides; a route whose patterns do not hit and that leads nowhere leaves
/// it to those that follow. Patterns come before the policy: they are the nearer rule.
pub(crate) fn decide(
    (door, setup): (&Door, &Setup),
    wish: &Wish,
    asked: Asked<'_>,
    now: Now,
) -> Decision {
    let (mut taken, mut would) = (None, None);
    // A hit of what only logs is noted, and the search goes on.
    let mut hit = |block: &Option<Arc<Block>>| {
        let block = block.as_ref()?;
        let rule = block.hit(wish, now)?;
        match block.mode {
            Mode::LogOnly => {
                would.get_or_insert(rule);
                None
            }
            Mode::Refuse => {
                let verdict = Verdict::usual(Action::Block, Cause::Rule(rule));
                Some(Decision::Block(verdict, Some(Arc::clone(block))))
            }
        }
    };
    if let Some(blocked) = hit(&setup.block) {
        return blocked;
    }
    for number in setup.table.candidates(wish.host.as_name()) {
        let route = &setup.routes[usize::from(*number)];
        if route.internal && wish.led == Led::ByClient || !route.takes.fits(wish, asked) {
            continue;
        }
        if let Some(blocked) = hit(&route.block) {
            return blocked;
        }
        if route.to.is_some() {
            taken = Some(Arc::clone(route));
            break;
        }
    }
    let policy = door.parts.policy.load();
    let who = near::of(policy.near_wanted(), wish.client, || wish.local, now).into();
    let mut verdict = decide_in_both_spellings(&policy, wish, Some(&who), now);
    if let (Action::Pass, Some(rule)) = (verdict.action, would) {
        // Recorded with the rule that would have refused it.
        verdict.cause = Cause::Rule(rule);
    }
    match (verdict.action, taken) {
        (Action::Block, _) => Decision::Block(verdict, None),
        (Action::Pass, Some(route)) => Decision::Pass(verdict, route),
        (Action::Pass, None) => Decision::Nowhere(verdict),
    }
}
