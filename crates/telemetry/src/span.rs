//! A span that is over, in the form in which it waits and goes out.

use crate::clock;
use crate::trace_context::{SpanId, TraceContext};
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{Span, Status, span::SpanKind};
use std::time::Instant;

/// The bit that says that the next one tells anything (`SpanFlags` of OTLP).
const HAS_IS_REMOTE: u32 = 0x100;
/// The bit of a parent in another process.
const IS_REMOTE: u32 = 0x200;

/// The parent of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpanParent {
    /// The span begins its trace.
    Root,
    /// Ours.
    Local(SpanId),
    /// Another process's.
    Remote(SpanId),
}

/// A span that is over.
pub(crate) struct EndedSpan {
    pub(crate) context: TraceContext,
    pub(crate) parent: SpanParent,
    pub(crate) trace_state: String,
    pub(crate) name: String,
    pub(crate) kind: SpanKind,
    pub(crate) begun: Instant,
    pub(crate) ended: Instant,
    pub(crate) attributes: Vec<KeyValue>,
    pub(crate) outcome: SpanOutcome,
}

/// The status of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpanOutcome {
    Unset,
    Error,
}

impl EndedSpan {
    /// The span as OTLP has it.
    pub(crate) fn into_span(self) -> Span {
        let (parent, remote) = match self.parent {
            SpanParent::Root => (Vec::new(), HAS_IS_REMOTE),
            SpanParent::Local(span) => (span.bytes().to_vec(), HAS_IS_REMOTE),
            SpanParent::Remote(span) => (span.bytes().to_vec(), HAS_IS_REMOTE | IS_REMOTE),
        };
        let begun = clock::unix_ns_of(self.begun);
        let status = match self.outcome {
            SpanOutcome::Unset => None,
            SpanOutcome::Error => {
                Some(Status { message: String::new(), code: StatusCode::Error.into() })
            }
        };
        Span {
            trace_id: self.context.trace.bytes().to_vec(),
            span_id: self.context.span.bytes().to_vec(),
            trace_state: self.trace_state,
            parent_span_id: parent,
            flags: u32::from(self.context.flags()) | remote,
            name: self.name,
            kind: self.kind.into(),
            start_time_unix_nano: begun,
            end_time_unix_nano: clock::unix_ns_of(self.ended).max(begun),
            attributes: self.attributes,
            status,
            ..Span::default()
        }
    }
}
