//! Outcome of a verdict at a door, in a few words.
//!
//! The pixel door tells by itself. Where the program runs, the DNS door and the gateway say more.

use crate::app::doors::DoorEntry;
use crate::app::effective::{effective_style, pixel_addresses};
use admin::WhyQuestion;
use config::{Plan, door_section};
use policy::{Ask, BlockStyle, Policy, Verdict};
use vocab::{Action, Door, Now, RequestKind};

/// The record types of addresses.
const A: u16 = 1;
const AAAA: u16 = 28;

/// True for a door that sends clients to URLs without the parameters that rules take off.
pub(super) fn sends_redirects(question: &WhyQuestion) -> bool {
    question.door == Door::Proxy
}

/// True for a door that the configuration names.
pub(super) fn is_configured(plan: &Plan, door: Door) -> bool {
    (door_section(door).is_set)(&plan.file)
}

/// Outcome at the door of a question.
pub(super) fn outcome(
    policy: &Policy,
    plan: &Plan,
    ask: &Ask<'_>,
    verdict: Verdict,
    now: Now,
) -> String {
    match (DoorEntry::at(ask.door), verdict.action) {
        (Some(entry), _) => (entry.outcome)(policy, plan, ask, verdict, now),
        (None, Action::Pass) => "asks the upstream resolvers, or answers from the cache".into(),
        (None, Action::Block) => dns_outcome(policy, plan, ask),
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
    match policy.style_of(ask.client, ask.identity).unwrap_or_else(|| effective_style(plan)) {
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
