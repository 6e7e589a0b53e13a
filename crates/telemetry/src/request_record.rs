//! A request's row as a log record: what the request log has, without what is secret in its URL.

use crate::attributes::{body, number, text};
use crate::http_attributes::cut;
use crate::recorder::{self, SignalRecorder};
use crate::trace_context::TraceContext;
use ledger::{EventSubject, RequestEvent};
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::logs::v1::{LogRecord, SeverityNumber};
use vocab::{CacheUse, Cause, RequestKind};

/// The event's name.
const EVENT: &str = "tidegate.request";

/// Exports a row of `event` where the settings want one, with the span in which it was served.
/// `bytes` of body were sent.
pub fn record_request(event: &RequestEvent, bytes: u64, context: Option<TraceContext>) {
    if !recorder::wants_row(event.action) {
        return;
    }
    let Some(recorder) = recorder::current() else { return };
    let mut attributes = vec![recorder.address("client.address", event.client)];
    let subject = match &event.subject {
        EventSubject::Name(name) => {
            attributes.push(text("dns.question.name", name.as_str()));
            attributes.push(text("dns.question.type", event.kind.to_string()));
            attributes.push(text("dns.response_code", rcode(event.status)));
            name.as_str().to_owned()
        }
        EventSubject::Url(url) => {
            let url = access_log::redact(url).into_owned();
            attributes.push(text("url.full", url.clone()));
            attributes.push(number("http.response.status_code", event.status.into()));
            attributes.push(text("tidegate.request.kind", event.kind.to_string()));
            attributes.push(number("http.response.body.size", bytes));
            url
        }
    };
    attributes.push(number("tidegate.duration_us", event.duration_us.into()));
    decision(&mut attributes, &recorder, event);
    let record = LogRecord {
        time_unix_nano: event.at.unix_ms.saturating_mul(1_000_000),
        severity_number: SeverityNumber::Info.into(),
        severity_text: "INFO".into(),
        body: Some(body(format!("{} {} {subject}", event.door, event.action))),
        attributes,
        event_name: EVENT.into(),
        ..LogRecord::default()
    };
    recorder.push_record(record, context);
}

/// Writes what the policy decided, by which rule, and where the answer came from.
pub(crate) fn decision(to: &mut Vec<KeyValue>, recorder: &SignalRecorder, event: &RequestEvent) {
    to.push(text("tidegate.door", event.door.as_str()));
    to.push(text("tidegate.policy.action", event.action.as_str()));
    to.push(text("tidegate.policy.cause", cause_word(event.cause)));
    let rule = event.cause.rule();
    if let Some((list, line, rule)) = rule.and_then(|it| recorder.rule(it, host(&event.subject))) {
        to.push(text("tidegate.policy.list", list));
        to.push(number("tidegate.policy.line", line.into()));
        to.push(text("tidegate.policy.rule", cut(&rule)));
    }
    to.push(text("tidegate.source", event.source.as_str()));
    if event.caching.outcome != CacheUse::NotAsked {
        to.push(text("tidegate.cache", event.caching.outcome.word()));
    }
}

/// The host that an event tells of.
fn host(subject: &EventSubject) -> &str {
    match subject {
        EventSubject::Name(name) => name.as_str(),
        EventSubject::Url(url) => {
            let rest = url.split_once("://").map_or(&**url, |(_, rest)| rest);
            let authority = rest.split(['/', '?']).next().unwrap_or_default();
            authority.split(':').next().unwrap_or_default()
        }
    }
}

const fn cause_word(cause: Cause) -> &'static str {
    match cause {
        Cause::NoRule => "no_rule",
        Cause::Rule(_) => "rule",
        Cause::Paused => "paused",
        Cause::Unlisted => "unlisted",
        Cause::ByHand => "by_hand",
        Cause::OtherBlocker => "other_blocker",
        Cause::NotAsked => "not_asked",
    }
}

/// A DNS response code in words (RFC 6895 §2.3).
pub(crate) fn rcode(code: u16) -> String {
    const WORDS: [&str; 6] = ["NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED"];
    WORDS.get(usize::from(code)).map_or_else(|| format!("RCODE{code}"), |it| (*it).to_owned())
}

/// A kind as the type of a DNS question.
pub(crate) fn question_type(kind: RequestKind) -> String {
    match kind {
        RequestKind::Lookup(_) => kind.to_string(),
        _ => "OTHER".to_owned(),
    }
}
