//! What is to be done with a request: the routes in their order, then the policy.
//!
//! It touches no socket. Called by `request`.

use crate::door::{Door, Setup};
use crate::pools::Pool;
use crate::request::{Led, Wish};
use crate::route::Route;
use policy::{Ask, Verdict};
use std::sync::Arc;
use transport::near;
use vocab::{Action, Cause, DomainName, Now, RuleRef};

/// What is to be done with a request.
pub(crate) enum Decision {
    Block(Verdict),
    /// To this pool, as this route has it.
    Pass(Verdict, Arc<Route>, Arc<Pool>),
    /// No route fits.
    Nowhere(Verdict),
}

/// The first route that fits decides; a route whose patterns do not hit and that has no pool leaves
/// it to those that follow. Patterns come before the policy: they are the nearer rule.
pub(crate) fn decide(door: &Door, setup: &Setup, wish: &Wish, now: Now) -> Decision {
    let path = wish.path.split('?').next().unwrap_or(&wish.path);
    let mut taken = None;
    for route in &setup.routes {
        let host_fits = route.host.as_ref().is_none_or(|host| host.fits(wish.host.as_name()));
        if !host_fits || !route.path.fits(path) {
            continue;
        }
        if route.internal && wish.led == Led::ByClient {
            continue;
        }
        if let Some(block) = &route.block
            && let Some(line) = block.patterns.hit(&wish.path)
        {
            let cause = Cause::Rule(RuleRef { list: block.list, line });
            return Decision::Block(Verdict::usual(Action::Block, cause));
        }
        if let Some(pool) = &route.pool {
            taken = Some((Arc::clone(route), Arc::clone(pool)));
            break;
        }
    }
    let policy = door.parts.policy.load();
    let who = near::of(policy.near_wanted(), wish.client, || wish.local, now).into();
    let ask = Ask {
        door: vocab::Door::Gateway,
        client: wish.client,
        who: Some(&who),
        host: wish.host.as_name(),
        kind: wish.kind,
        url: Some(&wish.url),
        page: wish.page.as_ref().map(DomainName::as_name),
    };
    let verdict = policy.decide(&ask, now);
    match (verdict.action, taken) {
        (Action::Block, _) => Decision::Block(verdict),
        (Action::Pass, Some((route, pool))) => Decision::Pass(verdict, route, pool),
        (Action::Pass, None) => Decision::Nowhere(verdict),
    }
}
