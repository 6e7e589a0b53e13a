//! The span of a request that goes out to a server, by the semantic conventions for HTTP clients.
//!
//! Its parent is the span that the request's `traceparent` names, which a door has written there;
//! in its place the server is told of this one. A request without one, and one that is not
//! recorded, goes out as it is. Called by `origins` for everything that goes out.

use crate::attributes::{number, text};
use crate::http_attributes::{cut, method, name, server, version_text};
use crate::propagation::{TRACEPARENT, tell, trace_state};
use crate::recorder::{self, is_tracing};
use crate::span::{EndedSpan, SpanOutcome, SpanParent};
use crate::trace_context::TraceContext;
use http::{HeaderMap, Method, Request, StatusCode, Version};
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use std::time::Instant;

/// The span of a request on its way to a server; dropped before its end, it tells that nobody
/// waited for the answer.
pub struct ClientSpan {
    context: TraceContext,
    parent: TraceContext,
    trace_state: String,
    begun: Instant,
    method: Method,
    target: String,
    scheme: &'static str,
    /// Host and port of the server.
    authority: String,
    outcome: ClientOutcome,
}

/// The outcome of a request that went out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClientOutcome {
    Waited,
    Answered(StatusCode, Version),
    Failed(&'static str),
}

impl ClientSpan {
    /// Begins the span of a request that goes to `authority` by `scheme`, if its parent is
    /// recorded.
    #[inline]
    pub fn begin<B>(
        request: &mut Request<B>,
        scheme: &'static str,
        authority: impl FnOnce() -> String,
    ) -> Option<Box<Self>> {
        if !is_tracing() {
            return None;
        }
        let parent = TraceContext::parse(request.headers().get(TRACEPARENT)?.as_bytes())?;
        if !parent.is_sampled {
            return None;
        }
        let context = parent.child();
        tell(request.headers_mut(), context);
        let target = request.uri().path_and_query().map_or("", |it| it.as_str());
        Some(Box::new(Self {
            context,
            parent,
            trace_state: trace_state(request.headers()),
            begun: Instant::now(),
            method: request.method().clone(),
            target: cut(&access_log::redact(target)),
            scheme,
            authority: authority(),
            outcome: ClientOutcome::Waited,
        }))
    }

    /// Ends it with the head of an answer.
    pub fn answered(mut self: Box<Self>, status: StatusCode, version: Version) {
        self.outcome = ClientOutcome::Answered(status, version);
    }

    /// Ends it with a failure of this type.
    pub fn failed(mut self: Box<Self>, error_type: &'static str) {
        self.outcome = ClientOutcome::Failed(error_type);
    }

    /// Writes the parent back into the fields of a request that was not sent: it may go elsewhere,
    /// by another span.
    pub fn restore(&self, headers: &mut HeaderMap) {
        tell(headers, self.parent);
    }
}

impl Drop for ClientSpan {
    fn drop(&mut self) {
        let Some(recorder) = recorder::current() else { return };
        let mut all = Vec::with_capacity(8);
        method(&mut all, self.method.as_str());
        all.push(text("url.full", format!("{}://{}{}", self.scheme, self.authority, self.target)));
        server(&mut all, &self.authority, self.scheme);
        let mut outcome = SpanOutcome::Unset;
        match self.outcome {
            ClientOutcome::Answered(status, version) => {
                all.push(number("http.response.status_code", status.as_u16().into()));
                all.push(text("network.protocol.version", version_text(version)));
                if status.is_client_error() || status.is_server_error() {
                    all.push(text("error.type", status.as_str()));
                    outcome = SpanOutcome::Error;
                }
            }
            ClientOutcome::Failed(why) => {
                all.push(text("error.type", why));
                outcome = SpanOutcome::Error;
            }
            ClientOutcome::Waited => all.push(text("error.type", "cancelled")),
        }
        let span = EndedSpan {
            context: self.context,
            parent: SpanParent::Local(self.parent.span),
            trace_state: std::mem::take(&mut self.trace_state),
            name: name(self.method.as_str()).to_owned(),
            kind: SpanKind::Client,
            begun: self.begun,
            ended: Instant::now(),
            attributes: all,
            outcome,
        };
        recorder.push_span(span);
    }
}
