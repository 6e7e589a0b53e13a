//! What is to be done with a request: the routes in their order, then the policy.
//!
//! It touches no socket. Called by `request`.

use crate::door::{Door, Setup};
use crate::guards::{Block, Mode, decide_in_both_spellings};
use crate::pools::Pool;
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
    /// To this pool, as this route has it.
    Pass(Verdict, Arc<Route>, Arc<Pool>),
    /// No route fits.
    Nowhere(Verdict),
}

/// The first route that fits decides; a route whose patterns do not hit and that has no pool leaves
/// it to those that follow. Patterns come before the policy: they are the nearer rule.
pub(crate) fn decide(door: &Door, setup: &Setup, wish: &Wish, now: Now) -> Decision {
    let path = wish.path.split('?').next().unwrap_or(&wish.path);
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
    for route in &setup.routes {
        let host_fits = route.host.as_ref().is_none_or(|host| host.fits(wish.host.as_name()));
        if !host_fits || !route.path.fits(path) {
            continue;
        }
        if route.internal && wish.led == Led::ByClient {
            continue;
        }
        if let Some(blocked) = hit(&route.block) {
            return blocked;
        }
        if let Some(pool) = &route.pool {
            taken = Some((Arc::clone(route), Arc::clone(pool)));
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
        (Action::Pass, Some((route, pool))) => Decision::Pass(verdict, route, pool),
        (Action::Pass, None) => Decision::Nowhere(verdict),
    }
}
