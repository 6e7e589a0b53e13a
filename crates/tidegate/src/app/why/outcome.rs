//! Outcome of a verdict at a door, in a few words.
//!
//! The pixel door tells by itself. Where the program runs, the DNS door and the gateway say more.

use crate::app::blocked_tunnels::are_taken;
use crate::app::effective::{effective_style, pixel_addresses};
use crate::app::mint::vouches_for;
use admin::WhyQuestion;
use config::Plan;
use door_proxy::BlockedTunnel;
use policy::{Ask, BlockStyle, Policy, Verdict};
use vocab::{Action, Door, Now, RequestKind};

/// The record types of addresses.
const A: u16 = 1;
const AAAA: u16 = 28;

/// True for a door that sends clients to URLs without the parameters that rules take off.
pub(super) fn trims(question: &WhyQuestion) -> bool {
    question.door == Door::Proxy
}

/// True for a door that the configuration names.
pub(super) fn is_configured(plan: &Plan, door: Door) -> bool {
    let file = &plan.file;
    match door {
        Door::Dns => file.dns.is_some(),
        Door::Pixel => file.pixel.is_some(),
        Door::Proxy => file.proxy.is_some(),
        Door::Web => !file.web.is_empty(),
        Door::Gateway => file.gateway.is_some(),
    }
}

/// Outcome at the door of a question.
pub(super) fn outcome(
    policy: &Policy,
    plan: &Plan,
    ask: &Ask<'_>,
    verdict: Verdict,
    now: Now,
) -> String {
    match (ask.door, verdict.action) {
        (Door::Dns, Action::Pass) => {
            "asks the upstream resolvers, or answers from the cache".into()
        }
        (Door::Dns, Action::Block) => dns_outcome(policy, plan, ask),
        (Door::Pixel, _) => String::new(),
        (Door::Proxy, Action::Pass) => "fetches it from its origin".into(),
        (Door::Proxy, Action::Block) => {
            let is_answered = are_taken(plan) && vouches_for(policy, ask.host.as_str(), now);
            let tunnel = if is_answered { BlockedTunnel::Answered } else { BlockedTunnel::Refused };
            door_proxy::foretell(policy, ask, verdict, tunnel)
        }
        (Door::Web, Action::Pass) => "serves the file".into(),
        (Door::Gateway, Action::Pass) => {
            "does what its route says, unless its own patterns block it".into()
        }
        (Door::Web | Door::Gateway, Action::Block) => "403 that names list and rule".into(),
    }
}

fn dns_outcome(policy: &Policy, plan: &Plan, ask: &Ask<'_>) -> String {
    let ttl_s = plan.file.dns.as_ref().map_or(0, |dns| dns.blocked_ttl.0.0.as_secs());
    let nodata = "NODATA with SOA and EDE 15";
    let has_address = |kind| {
        let mut addresses = pixel_addresses(plan).into_iter();
        addresses.any(|it| if kind == RequestKind::Lookup(A) { it.is_ipv4() } else { it.is_ipv6() })
    };
    let is_address = matches!(ask.kind, RequestKind::Lookup(A | AAAA));
    match policy.style_of(ask.client, ask.who).unwrap_or_else(|| effective_style(plan)) {
        BlockStyle::Pixel if is_address && has_address(ask.kind) => {
            format!("the pixel door's address, for {ttl_s} s")
        }
        BlockStyle::Null if is_address => "0.0.0.0 or ::".into(),
        BlockStyle::Nxdomain => "NXDOMAIN with SOA and EDE 15".into(),
        BlockStyle::Refused => "REFUSED with EDE 15".into(),
        BlockStyle::Pixel | BlockStyle::Null | BlockStyle::Nodata | BlockStyle::Auto => {
            nodata.into()
        }
    }
}
