//! OpenTelemetry: traces, metrics and logs, sent to a collector by OTLP over HTTP.
//!
//! A request that is sampled becomes a span when it ends; batches of spans, log records and the
//! figures of the metrics page go out by threads of their own (docs/adr/0055). It opens no
//! connection itself: the binary hands it a way to post. It waits for nobody where a request
//! passes: a queue that is full drops and counts. Called by the doors, by `origins` for each
//! request that goes out, and by the binary.

mod answer;
mod attributes;
mod batch;
mod client_span;
mod clock;
mod counts;
mod dns_span;
mod export;
mod http_attributes;
mod metric_form;
mod openmetrics;
mod propagation;
mod queue;
mod random;
mod recorder;
mod request_record;
mod resource;
mod retry;
mod sampling;
mod server_span;
mod settings;
mod span;
mod trace_context;

pub use answer::{OtlpAnswer, OtlpPost, OtlpTransport, TransportFailure};
pub use client_span::ClientSpan;
pub use counts::{SignalCounts, counts};
pub use dns_span::{AnsweredQuestion, QueryTrace, TracedQuestion, UpstreamExchange};
pub use export::{TelemetryWiring, apply, finish};
pub use openmetrics::{MetricFamily, MetricSample};
pub use recorder::{is_observed, is_tracing, log_message};
pub use request_record::record_request;
pub use server_span::{FastSpan, RequestArrival, ServerSpan};
pub use settings::{
    ExportedRows, LogSettings, MetricSettings, OtlpCompression, OtlpProtocol, OtlpSettings,
    SampleRatio, TelemetrySettings, TraceSettings,
};
pub use trace_context::{SpanId, TraceContext, TraceId};

#[doc(hidden)]
pub use openmetrics::read_page;
