//! The span of a request at an HTTP door, by the semantic conventions for HTTP servers.
//!
//! It is begun where the request is read and ended by the request's ticket. The `traceparent` of
//! the request becomes our own on the way: what is sent on, by whichever way, has this span for a
//! parent. A `traceparent` that is not believed is taken out. Without `traces` a request is looked
//! at by one branch.

use crate::attributes::{number, text};
use crate::http_attributes::{cut, method, name, server, target, version_text};
use crate::propagation::{TRACEPARENT, TRACESTATE, tell, trace_state};
use crate::recorder::{self, SignalRecorder, is_tracing};
use crate::request_record::decision;
use crate::span::{EndedSpan, SpanOutcome, SpanParent};
use crate::trace_context::TraceContext;
use http::header::{HOST, USER_AGENT};
use http::{HeaderMap, Method, Request, Uri, Version};
use ledger::RequestEvent;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use std::net::IpAddr;
use std::time::{Duration, Instant};
use vocab::Door;

/// The status that the ledger has for a client that left.
const CLIENT_GONE: u16 = 499;
/// Where and by whom a request came.
#[derive(Clone, Copy, Debug)]
pub struct RequestArrival {
    /// The door.
    pub door: Door,
    /// The other end of the connection.
    pub peer: IpAddr,
    /// `http` or `https`.
    pub scheme: &'static str,
}

/// The span of a request that is recorded, until its last byte is sent.
pub struct ServerSpan {
    context: TraceContext,
    parent: SpanParent,
    trace_state: String,
    begun: Instant,
    arrival: RequestArrival,
    method: Method,
    uri: Uri,
    version: Version,
    host: String,
    user_agent: Option<String>,
}

/// A request that a fast path has answered: its span begins and ends at once.
#[derive(Clone, Copy, Debug)]
pub struct FastSpan<'r> {
    /// Where and by whom it came.
    pub arrival: RequestArrival,
    /// Method.
    pub method: &'static str,
    /// Host, with a port where one was sent.
    pub host: &'r str,
    /// Path and query.
    pub target: &'r str,
    /// The version of HTTP.
    pub version: Version,
    /// `User-Agent`.
    pub user_agent: Option<&'r str>,
}

/// A trace that a request joins or begins.
struct JoinedTrace {
    context: TraceContext,
    parent: SpanParent,
    trace_state: String,
}

impl ServerSpan {
    /// Begins the span of a request that came now, if it is recorded.
    #[inline]
    pub fn begin<B>(request: &mut Request<B>, arrival: RequestArrival) -> Option<Box<Self>> {
        if !is_tracing() {
            return None;
        }
        let recorder = recorder::current()?;
        let joined = join(&recorder, request.headers_mut(), arrival)?;
        let headers = request.headers();
        Some(Box::new(Self {
            context: joined.context,
            parent: joined.parent,
            trace_state: joined.trace_state,
            begun: Instant::now(),
            arrival,
            method: request.method().clone(),
            uri: request.uri().clone(),
            version: request.version(),
            host: host(request.uri(), headers),
            user_agent: headers.get(USER_AGENT).and_then(|it| it.to_str().ok()).map(cut),
        }))
    }

    /// The place of this span in its trace.
    pub fn context(&self) -> TraceContext {
        self.context
    }

    /// Ends the span: `event` tells what became of the request, of which `bytes` of body were sent.
    pub fn end(self: Box<Self>, event: &RequestEvent, bytes: u64) {
        let (ended, Some(recorder)) = (Instant::now(), recorder::current()) else { return };
        let Self { arrival, method, uri, host, version, user_agent, .. } = *self;
        let target = uri.path_and_query().map_or("", |it| it.as_str());
        let request = RequestText {
            method: method.as_str(),
            target,
            host: &host,
            version,
            user_agent: user_agent.as_deref(),
        };
        let attributes = attributes(&recorder, arrival, request, event, bytes);
        let ended = EndedSpan {
            context: self.context,
            parent: self.parent,
            trace_state: self.trace_state,
            name: name(method.as_str()).to_owned(),
            kind: SpanKind::Server,
            begun: self.begun,
            ended,
            attributes,
            outcome: status(event.status),
        };
        recorder.push_span(ended);
    }
}

impl FastSpan<'_> {
    /// Makes the span of a request that took so long and ends now, if it is recorded. Requests with
    /// a `traceparent` are none of the fast path's: this one begins its trace.
    pub fn record(&self, event: &RequestEvent) -> Option<TraceContext> {
        if !is_tracing() {
            return None;
        }
        let recorder = recorder::current()?;
        let context = recorder.sampler.root();
        if !context.is_sampled {
            return None;
        }
        let ended = Instant::now();
        let took = Duration::from_micros(event.duration_us.into());
        let Self { arrival, method, host, target, version, user_agent } = *self;
        let request = RequestText { method, target, host, version, user_agent };
        let span = EndedSpan {
            context,
            parent: SpanParent::Root,
            trace_state: String::new(),
            name: name(method).to_owned(),
            kind: SpanKind::Server,
            begun: ended.checked_sub(took).unwrap_or(ended),
            ended,
            attributes: attributes(&recorder, arrival, request, event, event.bytes.into()),
            outcome: status(event.status),
        };
        recorder.push_span(span);
        Some(context)
    }
}

/// The trace that a request belongs to, if it is recorded; its fields tell of it from then on.
fn join(
    recorder: &SignalRecorder,
    headers: &mut HeaderMap,
    arrival: RequestArrival,
) -> Option<JoinedTrace> {
    // More than one is none (Trace Context §3.2.1).
    let mut sent = headers.get_all(&TRACEPARENT).iter();
    let (first, second) = (sent.next(), sent.next());
    let said = first.filter(|_| second.is_none() && recorder.trusts(arrival.peer));
    let parent = said.and_then(|it| TraceContext::parse(it.as_bytes()));
    let Some(parent) = parent else {
        headers.remove(&TRACEPARENT);
        headers.remove(&TRACESTATE);
        let context = recorder.sampler.root();
        // The servers of the gateway's owner are told as well what is not recorded, so that they
        // do not begin traces of their own. Strangers' servers are told nothing without need.
        if context.is_sampled || arrival.door == Door::Gateway {
            tell(headers, context);
        }
        let trace_state = String::new();
        return context.is_sampled.then_some(JoinedTrace {
            context,
            parent: SpanParent::Root,
            trace_state,
        });
    };
    if !parent.is_sampled {
        return None;
    }
    let context = parent.child();
    tell(headers, context);
    let trace_state = trace_state(headers);
    Some(JoinedTrace { context, parent: SpanParent::Remote(parent.span), trace_state })
}

/// The words of a request.
#[derive(Clone, Copy)]
struct RequestText<'r> {
    method: &'r str,
    target: &'r str,
    host: &'r str,
    version: Version,
    user_agent: Option<&'r str>,
}

fn attributes(
    recorder: &SignalRecorder,
    arrival: RequestArrival,
    request: RequestText<'_>,
    event: &RequestEvent,
    bytes: u64,
) -> Vec<KeyValue> {
    let mut all = Vec::with_capacity(24);
    method(&mut all, request.method);
    all.push(text("url.scheme", arrival.scheme));
    target(&mut all, request.target);
    server(&mut all, request.host, arrival.scheme);
    all.push(text("network.protocol.version", version_text(request.version)));
    all.push(recorder.address("client.address", event.client));
    all.push(recorder.address("network.peer.address", arrival.peer));
    all.extend(request.user_agent.map(|it| text("user_agent.original", it)));
    if event.status == CLIENT_GONE {
        all.push(text("error.type", "client_gone"));
    } else {
        all.push(number("http.response.status_code", event.status.into()));
        if event.status >= 500 {
            all.push(text("error.type", event.status.to_string()));
        }
    }
    all.push(number("http.response.body.size", bytes));
    decision(&mut all, recorder, event);
    all.push(text("tidegate.request.kind", event.kind.to_string()));
    all
}

/// The host that a request is for, as it was sent.
fn host(uri: &Uri, headers: &HeaderMap) -> String {
    let sent = uri.authority().map(|it| it.as_str().rsplit('@').next().unwrap_or_default());
    let sent = sent.or_else(|| headers.get(HOST).and_then(|it| it.to_str().ok()));
    cut(sent.unwrap_or_default())
}

/// An error is what the server could not do; what a client did wrong is none.
const fn status(status: u16) -> SpanOutcome {
    if status >= 500 { SpanOutcome::Error } else { SpanOutcome::Unset }
}

#[cfg(test)]
#[path = "server_span/tests.rs"]
mod tests;
