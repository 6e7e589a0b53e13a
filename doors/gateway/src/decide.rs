//! The decision about a request: the routes in their order, then the policy.
//!
//! It touches no socket. Called by `request`, by `reroute` for a path that a server names, and by
//! `foretell`.

use crate::guards::{BlockMode, BlockOccasion, BlockRules, decide_in_both_spellings};
use crate::route::GatewayRoute;
use crate::route_table::RouteTable;
use arc_swap::ArcSwap;
use http::Request;
use policy::{Policy, RuleText, Verdict};
use route_matching::{BadPath, MatchInput, ParsedRequest, PathReadings, PathSource, RouteFit};
use std::sync::Arc;
use transport::neighbours::{self, ArrivedAt};
use vocab::{Action, Cause, Name, Now};

/// Tells what is to be done with a request.
pub(crate) enum RouteDecision {
    /// By the policy, or by this block.
    Block(Verdict, Option<Arc<BlockRules>>),
    /// Where this route leads.
    Pass(Verdict, Arc<GatewayRoute>),
    /// No route fits.
    Nowhere(Verdict),
    /// Path leads elsewhere for some servers.
    Refuse(BadPath),
}

/// The rules that decide about requests: the routes with their blocks, and the policy.
#[derive(Clone, Copy)]
pub(crate) struct RequestRules<'r> {
    pub(crate) table: &'r RouteTable,
    pub(crate) policy: &'r ArcSwap<Policy>,
}

impl RequestRules<'_> {
    /// The text of the rule that a verdict names: of a block, or else of the policy.
    pub(crate) fn text(self, verdict: Verdict, host: Name<'_>) -> Option<RuleText> {
        let rule = verdict.cause.rule()?;
        self.table.rule_text(rule).or_else(|| self.policy.load().rule_text(rule, host))
    }
}

/// A request, and why its route is sought.
#[derive(Clone, Copy)]
pub(crate) struct RouteQuestion<'q> {
    pub(crate) parsed: &'q ParsedRequest,
    pub(crate) input: MatchInput<'q>,
    pub(crate) occasion: BlockOccasion,
    /// The place where it came in, if the policy wants to know the interface.
    pub(crate) local: Option<ArrivedAt>,
    pub(crate) now: Now,
}

impl RouteDecision {
    /// Returns what patterns and policy say, if they were asked.
    pub(crate) const fn verdict(&self) -> Option<&Verdict> {
        match self {
            Self::Block(verdict, _) | Self::Pass(verdict, _) | Self::Nowhere(verdict) => {
                Some(verdict)
            }
            Self::Refuse(_) => None,
        }
    }

    /// The route that it takes, if any.
    pub(crate) const fn route(&self) -> Option<&Arc<GatewayRoute>> {
        match self {
            Self::Pass(_, route) => Some(route),
            Self::Block(..) | Self::Nowhere(_) | Self::Refuse(_) => None,
        }
    }
}

/// The first route that fits decides; a route whose patterns do not hit and that leads nowhere
/// leaves it to those that follow. Patterns come before the policy: they are the nearer rule.
///
/// Servers do not all read a path alike: rules are held against every
/// [reading](PathReadings), and where routes would differ, it is refused.
pub(crate) fn decide(rules: RequestRules<'_>, question: &RouteQuestion<'_>) -> RouteDecision {
    let RequestRules { table, policy } = rules;
    let RouteQuestion { parsed, input, occasion, local, now } = *question;
    let (mut taken, mut would) = (None, None);
    let readings = PathReadings::of(parsed);
    // A hit of what only logs is noted, and the search goes on.
    let mut hit = |block: &Option<Arc<BlockRules>>| {
        let block = block.as_ref()?;
        let rule = readings.all().find_map(|parsed| block.hit(parsed, occasion, now))?;
        match block.mode {
            BlockMode::LogOnly => {
                would.get_or_insert(rule);
                None
            }
            BlockMode::Refuse => {
                let verdict = Verdict::usual(Action::Block, Cause::Rule(rule));
                Some(RouteDecision::Block(verdict, Some(Arc::clone(block))))
            }
        }
    };
    if let Some(blocked) = hit(&table.block) {
        return blocked;
    }
    for route in table.candidates(parsed.host.as_name()) {
        if route.internal && parsed.path_source == PathSource::Client {
            continue;
        }
        match readings.matches(&route.rule, input) {
            RouteFit::Matches => {}
            RouteFit::NoMatch => continue,
            RouteFit::Refused(why) => return RouteDecision::Refuse(why),
        }
        if let Some(blocked) = hit(&route.block) {
            return blocked;
        }
        if route.to.is_some() {
            taken = Some(Arc::clone(route));
            break;
        }
    }
    let policy = policy.load();
    let who = neighbours::of(policy.link_info_needs(), parsed.client, || local, now).into();
    let own = taken.as_ref().map_or(parsed, |route| readings.of_route(&route.rule));
    let mut verdict = decide_in_both_spellings(&policy, own, Some(&who), now);
    for other in readings.all().filter(|other| !std::ptr::eq(*other, own)) {
        if verdict.action != Action::Pass || verdict.cause == Cause::Paused {
            break;
        }
        let again = decide_in_both_spellings(&policy, other, Some(&who), now);
        verdict = if again.action == Action::Block { again } else { verdict };
    }
    if let (Action::Pass, Some(rule)) = (verdict.action, would) {
        // Recorded with the rule that would have refused it.
        verdict.cause = Cause::Rule(rule);
    }
    match (verdict.action, taken) {
        (Action::Block, _) => RouteDecision::Block(verdict, None),
        (Action::Pass, Some(route)) => RouteDecision::Pass(verdict, route),
        (Action::Pass, None) => RouteDecision::Nowhere(verdict),
    }
}

/// The request as the route that it takes reads its path.
pub(crate) fn as_taken<B>(
    parsed: ParsedRequest,
    decision: &RouteDecision,
    request: &mut Request<B>,
) -> ParsedRequest {
    let (Some(raw), Some(route)) = (&parsed.raw, decision.route()) else { return parsed };
    // It was read so before, or the route would not have taken it.
    let Ok(taken) = parsed.reread(raw, route.rule.slashes) else { return parsed };
    if let Ok(uri) = taken.path.parse() {
        *request.uri_mut() = uri;
    }
    taken
}
