//! One event for each question, and for each message that is none.
//!
//! It waits for nobody: the ledger takes it or counts it as dropped. Called by `request` and
//! `finish`.

use crate::caller::DnsCaller;
use crate::dns_request::DnsRequest;
use crate::findings::{ReviewedAnswer, RunFindings};
use crate::view::RequestView;
use dns_wire::Rcode;
use ledger::{CountedRequest, EventSubject, RequestEvent};
use query_log::{BlockedBy, QueryLog, QueryLogEntry};
use telemetry::{AnsweredQuestion, record_request};
use vocab::{Action, Caching, Cause, Door, Name, RequestKind, Source};

/// Records a question that was answered.
pub(crate) fn answered(
    view: &RequestView<'_>,
    asked: &DnsRequest<'_>,
    reviewed: &ReviewedAnswer,
    reply: &[u8],
) {
    let (source, action) = (reviewed.source, action(reviewed));
    let ledger = &view.shared.ledger;
    let took_us = took_us(asked.caller);
    if let Some(log) = &view.plan.query_log {
        write_line(log, view, asked, reviewed, reply);
    }
    if telemetry::is_observed() {
        observe(asked, reviewed, reply);
    }
    if !ledger.wants_row(action) {
        let (status, bytes) = (rcode_of(reply), reply.len() as u32);
        let door = Door::Dns;
        return ledger.count(&CountedRequest { door, action, source, took_us, status, bytes });
    }
    ledger.record(event(asked, reviewed, reply, took_us));
}

/// The event of a question that was answered.
fn event(
    asked: &DnsRequest<'_>,
    reviewed: &ReviewedAnswer,
    reply: &[u8],
    took_us: u32,
) -> RequestEvent {
    RequestEvent {
        at: asked.caller.now,
        duration_us: took_us,
        door: Door::Dns,
        client: asked.caller.client,
        kind: RequestKind::Lookup(asked.query.qtype),
        subject: EventSubject::name(asked.name),
        action: action(reviewed),
        cause: reviewed.findings.cause,
        source: reviewed.source,
        caching: Caching::NONE,
        status: rcode_of(reply),
        bytes: reply.len() as u32,
    }
}

/// Makes the question's span and its exported row, where the settings want them.
#[cold]
fn observe(asked: &DnsRequest<'_>, reviewed: &ReviewedAnswer, reply: &[u8]) {
    let event = event(asked, reviewed, reply, took_us(asked.caller));
    let DnsCaller { transport, started, trace, .. } = asked.caller;
    let question =
        AnsweredQuestion { event: &event, transport: transport.as_str(), begun: started };
    record_request(&event, u64::from(event.bytes), trace.end(&question));
}

/// The action that an answer came of.
fn action(reviewed: &ReviewedAnswer) -> Action {
    if reviewed.source == Source::Policy { Action::Block } else { Action::Pass }
}

/// Writes a question's line in the query log.
fn write_line(
    log: &QueryLog,
    view: &RequestView<'_>,
    asked: &DnsRequest<'_>,
    reviewed: &ReviewedAnswer,
    reply: &[u8],
) {
    let (source, action) = (reviewed.source, action(reviewed));
    let rule = reviewed.findings.cause.rule().filter(|_| action == Action::Block);
    let rule = rule.and_then(|rule| view.policy.rule_text(rule, asked.name));
    log.write(&QueryLogEntry {
        unix_ms: asked.caller.now.unix_ms,
        client: asked.caller.client,
        protocol: asked.caller.transport.as_str(),
        name: asked.name.as_str(),
        kind: RequestKind::Lookup(asked.query.qtype),
        action,
        source,
        blocked_by: rule.as_ref().map(|it| BlockedBy { list: &it.list, rule: &it.text }),
        reply,
        took_us: took_us(asked.caller),
    });
}

/// Records a query that the guard turned away.
pub(crate) fn turned_away(view: &RequestView<'_>, asked: &DnsRequest<'_>, reply: &[u8]) {
    let reviewed = ReviewedAnswer { findings: RunFindings::NONE, source: Source::Refused };
    answered(view, asked, &reviewed, reply);
}

/// Records a message that is no question: what could be read of it was too little to name it.
pub(crate) fn refused(view: &RequestView<'_>, caller: DnsCaller<'_>, reply: &[u8]) {
    view.shared.ledger.record(RequestEvent {
        at: caller.now,
        duration_us: took_us(caller),
        door: Door::Dns,
        client: caller.client,
        kind: RequestKind::Other,
        subject: EventSubject::name(Name::ROOT),
        action: Action::Pass,
        cause: Cause::NotAsked,
        source: Source::Refused,
        caching: Caching::NONE,
        status: rcode_of(reply),
        bytes: reply.len() as u32,
    });
}

fn took_us(caller: DnsCaller<'_>) -> u32 {
    u32::try_from(caller.started.elapsed().as_micros()).unwrap_or(u32::MAX)
}

/// The response code in a reply's header; that of REFUSED where there is no reply, since to say
/// nothing is to refuse.
fn rcode_of(reply: &[u8]) -> u16 {
    reply.get(3).map_or(Rcode::Refused.code(), |flags| u16::from(flags & 15))
}
