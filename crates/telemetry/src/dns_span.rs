//! Spans of DNS questions, and of what their answers were asked of upstreams.
//!
//! A question is drawn at its end, where all is known, unless it waits for an upstream: then it is
//! drawn before that, so that the upstream's span has a parent. DNS messages carry no trace; a
//! question over HTTPS joins the trace that its request names.

use crate::attributes::{number, text};
use crate::recorder::{self, is_tracing};
use crate::request_record::{decision, question_type, rcode};
use crate::span::{EndedSpan, SpanOutcome, SpanParent};
use crate::trace_context::TraceContext;
use http::HeaderMap;
use ledger::RequestEvent;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use std::net::IpAddr;
use std::time::Instant;
use vocab::RequestKind;

/// The response code of an upstream that failed (RFC 1035 §4.1.1).
const SERVFAIL: u16 = 2;

/// The draw of whether a question is recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueryTrace {
    /// Nobody has drawn yet.
    #[default]
    Undecided,
    /// Not recorded.
    Unrecorded,
    /// Recorded.
    Recorded(TracedQuestion),
}

/// The place of a question's span in its trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracedQuestion {
    context: TraceContext,
    parent: Option<TraceContext>,
}

/// A question that was answered.
#[derive(Clone, Copy, Debug)]
pub struct AnsweredQuestion<'r> {
    /// The event.
    pub event: &'r RequestEvent,
    /// The way it came: `udp`, `tcp`, `tls`, `https`, `quic`.
    pub transport: &'static str,
    /// When it came.
    pub begun: Instant,
}

/// A question on its way to the upstreams of a group.
#[derive(Debug)]
pub struct UpstreamExchange {
    parent: TraceContext,
    name: String,
    kind: RequestKind,
    begun: Instant,
}

impl QueryTrace {
    /// The trace of a question over HTTPS from `peer`, by the fields of its request.
    pub fn of_request(headers: &HeaderMap, peer: IpAddr) -> Self {
        if !is_tracing() {
            return Self::Undecided;
        }
        let Some(recorder) = recorder::current() else { return Self::Undecided };
        let said = headers.get("traceparent").filter(|_| recorder.trusts(peer));
        match said.and_then(|it| TraceContext::parse(it.as_bytes())) {
            None => Self::Undecided,
            Some(parent) if !parent.is_sampled => Self::Unrecorded,
            Some(parent) => {
                Self::Recorded(TracedQuestion { context: parent.child(), parent: Some(parent) })
            }
        }
    }

    /// The same with the draw made.
    #[must_use]
    pub fn decided(self) -> Self {
        if self != Self::Undecided || !is_tracing() {
            return self;
        }
        let Some(recorder) = recorder::current() else { return self };
        let context = recorder.sampler.root();
        if context.is_sampled {
            Self::Recorded(TracedQuestion { context, parent: None })
        } else {
            Self::Unrecorded
        }
    }

    /// Begins the span of an exchange with upstreams, if the question is recorded; `name` tells
    /// what is asked of them.
    pub fn exchange(
        self,
        kind: RequestKind,
        name: impl FnOnce() -> String,
    ) -> Option<Box<UpstreamExchange>> {
        let Self::Recorded(traced) = self else { return None };
        let (parent, begun) = (traced.context, Instant::now());
        Some(Box::new(UpstreamExchange { parent, name: name(), kind, begun }))
    }

    /// Makes the span of a question that is answered now, if it is recorded, and gives its place.
    pub fn end(self, answered: &AnsweredQuestion<'_>) -> Option<TraceContext> {
        let Self::Recorded(traced) = self.decided() else { return None };
        let recorder = recorder::current()?;
        let AnsweredQuestion { event, transport, begun } = *answered;
        let qtype = question_type(event.kind);
        let name = format!("DNS {qtype}");
        let mut all = Vec::with_capacity(16);
        all.push(text("dns.question.name", event.subject.as_str()));
        all.push(text("dns.question.type", qtype));
        all.push(text("dns.response_code", rcode(event.status)));
        all.push(text("network.protocol.name", "dns"));
        all.push(text("network.transport", network_transport(transport)));
        all.push(text("tidegate.dns.transport", transport));
        all.push(recorder.address("client.address", event.client));
        all.push(number("tidegate.dns.response.size", event.bytes.into()));
        decision(&mut all, &recorder, event);
        let is_failed = event.status == SERVFAIL;
        if is_failed {
            all.push(text("error.type", rcode(event.status)));
        }
        let span = EndedSpan {
            context: traced.context,
            parent: traced.parent.map_or(SpanParent::Root, |it| SpanParent::Remote(it.span)),
            trace_state: String::new(),
            name,
            kind: SpanKind::Server,
            begun,
            ended: Instant::now(),
            attributes: all,
            outcome: if is_failed { SpanOutcome::Error } else { SpanOutcome::Unset },
        };
        recorder.push_span(span);
        Some(traced.context)
    }
}

impl UpstreamExchange {
    /// Ends the exchange: `upstream` answered, from where `source` tells, or it failed so.
    pub fn end(self, upstream: &str, source: &str, failure: Option<&'static str>) {
        let Some(recorder) = recorder::current() else { return };
        let qtype = question_type(self.kind);
        let name = format!("DNS {qtype}");
        let mut all = vec![
            text("dns.question.name", self.name),
            text("dns.question.type", qtype),
            text("network.protocol.name", "dns"),
            text("tidegate.source", source),
        ];
        if !upstream.is_empty() {
            all.push(text("server.address", upstream));
        }
        all.extend(failure.map(|why| text("error.type", why)));
        let span = EndedSpan {
            context: self.parent.child(),
            parent: SpanParent::Local(self.parent.span),
            trace_state: String::new(),
            name,
            kind: SpanKind::Client,
            begun: self.begun,
            ended: Instant::now(),
            attributes: all,
            outcome: if failure.is_some() { SpanOutcome::Error } else { SpanOutcome::Unset },
        };
        recorder.push_span(span);
    }
}

fn network_transport(transport: &str) -> &'static str {
    match transport {
        "udp" => "udp",
        "quic" => "quic",
        _ => "tcp",
    }
}
