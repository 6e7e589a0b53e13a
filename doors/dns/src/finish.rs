//! The second half of a request, the same for what was at hand and for what was waited for: review,
//! shape, record.
//!
//! It asks no upstream. An answer may be emptied or refused for what it says; it is cut to the
//! client's size, and recorded. Called by `request` and `pending`.

use crate::dns_request::{DnsRequest, bare};
use crate::findings::{ReviewedAnswer, RunFindings, is_foreign};
use crate::guard;
use crate::record;
use crate::shape;
use crate::view::RequestView;
use dns_wire::{EdeCode, reply, synthesize};
use pipeline::state::{RunResponse, RunState};
use policy::Ask;
use vocab::{Cause, Name, Source};

/// Time for which clients may keep that an answer was emptied.
const EMPTIED_TTL_S: u32 = 60;

/// Reviews, shapes and records the answer of `state`.
pub(crate) fn finish(
    view: &RequestView<'_>,
    asked: &DnsRequest<'_>,
    findings: RunFindings,
    state: &mut RunState,
    out: &mut Vec<u8>,
) {
    let mut reviewed = review(view, asked, findings, state, out);
    if let Some(error) = keep_outside(view, asked, state, out) {
        reviewed.findings.error = Some(error);
        reviewed.findings.text = Some(guard::REBINDING_WORDS);
    }
    shape::shape(view, asked, &reviewed, state, out);
    if out.is_empty() {
        // The flood that it belongs to is refused, whatever would have been answered.
        reviewed.source = Source::Refused;
    }
    record::answered(view, asked, &reviewed, out);
}

/// Answers may lead to blocked names by their aliases; then they are as blocked as those, unless an
/// exception names what was asked for.
pub(crate) fn review(
    view: &RequestView<'_>,
    asked: &DnsRequest<'_>,
    findings: RunFindings,
    state: &mut RunState,
    out: &mut Vec<u8>,
) -> ReviewedAnswer {
    let source = state.source();
    let passed = ReviewedAnswer { findings, source };
    // A rule that lets the name itself pass covers where it leads; a pause covers everything.
    if !is_foreign(source) || !matches!(findings.cause, Cause::NoRule) {
        return passed;
    }
    let Some(cause) = blocked_alias(view, asked, state.response(), out) else { return passed };
    out.clear();
    view.block_alias(&bare(asked.query), &asked.caller, out);
    state.mark_rewritten();
    let findings = RunFindings { cause, error: Some(EdeCode::Blocked), text: None };
    ReviewedAnswer { findings, source: Source::Policy }
}

/// Answers of public upstreams that point inside are empty: they would lead browsers around their
/// same-origin rule. Zones that an upstream of ours is responsible for may point where they like.
pub(crate) fn keep_outside(
    view: &RequestView<'_>,
    asked: &DnsRequest<'_>,
    state: &mut RunState,
    out: &mut Vec<u8>,
) -> Option<EdeCode> {
    if !is_foreign(state.source()) {
        return None;
    }
    let message = match state.response() {
        RunResponse::Nothing => return None,
        RunResponse::Made => &out[..],
        RunResponse::Kept(answer, _) => answer.message(),
    };
    if !view.plan.guard.forbids(asked.name, message) || view.plan.special.is_delegated(asked.name) {
        return None;
    }
    out.clear();
    synthesize::nodata(&bare(asked.query), EMPTIED_TTL_S, None, out);
    state.mark_rewritten();
    Some(guard::REBINDING_ERROR)
}

fn blocked_alias(
    view: &RequestView<'_>,
    asked: &DnsRequest<'_>,
    response: &RunResponse,
    out: &[u8],
) -> Option<Cause> {
    let mut found = None;
    let mut look = |alias: Name<'_>| {
        let who = view.identity(&asked.caller);
        let ask = Ask::lookup(asked.name, asked.query.qtype, asked.caller.client).by(&who);
        found = view.policy.check_cname(&ask, alias, asked.caller.now);
        found.is_some()
    };
    match response {
        RunResponse::Nothing => {}
        RunResponse::Made => drop(reply::any_alias(out, look)),
        RunResponse::Kept(answer, _) => {
            answer.aliases().iter().any(|alias| look(alias.as_name()));
        }
    }
    found
}
