//! Batches of each signal, as the bodies of requests.

use crate::counts::{self, SignalCounters};
use crate::resource::scope;
use crate::settings::OtlpCompression;
use flate2::Compression;
use flate2::write::GzEncoder;
use opentelemetry_proto::tonic::collector::logs::v1::{
    ExportLogsServiceRequest, ExportLogsServiceResponse,
};
use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsServiceRequest, ExportMetricsServiceResponse,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::{Metric, ResourceMetrics, ScopeMetrics};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message;
use std::io::Write;

/// An item of one signal.
pub(crate) trait SignalItem: Send + Sized + 'static {
    /// The signal's name.
    const SIGNAL: &'static str;
    /// Path behind the endpoint.
    const PATH: &'static str;

    /// The signal's counters.
    fn counters() -> &'static SignalCounters;
    /// A batch as the body of a request.
    fn encode(batch: Vec<Self>, resource: Resource) -> Vec<u8>;
    /// Items of a batch, as a collector counts them.
    fn count(batch: &[Self]) -> u64 {
        batch.len() as u64
    }
    /// The part that a collector's answer says it has refused; none where it cannot be read.
    fn partial_success(answer: &[u8]) -> Option<PartialSuccess>;
}

/// The part of a batch that a collector refused, and why; 0 items with a reason are a warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PartialSuccess {
    /// Items that it refused.
    pub(crate) rejected: u64,
    /// Reason, in the collector's own words.
    pub(crate) why: String,
}

impl PartialSuccess {
    fn new(rejected: i64, why: String) -> Self {
        Self { rejected: u64::try_from(rejected).unwrap_or(0), why }
    }
}

impl SignalItem for Span {
    const SIGNAL: &'static str = "traces";
    const PATH: &'static str = "/v1/traces";

    fn counters() -> &'static SignalCounters {
        &counts::TRACES
    }

    fn encode(spans: Vec<Self>, resource: Resource) -> Vec<u8> {
        let scope_spans = vec![ScopeSpans { scope: Some(scope()), spans, ..ScopeSpans::default() }];
        let of =
            ResourceSpans { resource: Some(resource), scope_spans, ..ResourceSpans::default() };
        ExportTraceServiceRequest { resource_spans: vec![of] }.encode_to_vec()
    }

    fn partial_success(answer: &[u8]) -> Option<PartialSuccess> {
        let said = ExportTraceServiceResponse::decode(answer).ok()?.partial_success?;
        Some(PartialSuccess::new(said.rejected_spans, said.error_message))
    }
}

impl SignalItem for LogRecord {
    const SIGNAL: &'static str = "logs";
    const PATH: &'static str = "/v1/logs";

    fn counters() -> &'static SignalCounters {
        &counts::LOGS
    }

    fn encode(log_records: Vec<Self>, resource: Resource) -> Vec<u8> {
        let scope_logs =
            vec![ScopeLogs { scope: Some(scope()), log_records, ..ScopeLogs::default() }];
        let of = ResourceLogs { resource: Some(resource), scope_logs, ..ResourceLogs::default() };
        ExportLogsServiceRequest { resource_logs: vec![of] }.encode_to_vec()
    }

    fn partial_success(answer: &[u8]) -> Option<PartialSuccess> {
        let said = ExportLogsServiceResponse::decode(answer).ok()?.partial_success?;
        Some(PartialSuccess::new(said.rejected_log_records, said.error_message))
    }
}

impl SignalItem for Metric {
    const SIGNAL: &'static str = "metrics";
    const PATH: &'static str = "/v1/metrics";

    fn counters() -> &'static SignalCounters {
        &counts::METRICS
    }

    fn encode(metrics: Vec<Self>, resource: Resource) -> Vec<u8> {
        let scope_metrics =
            vec![ScopeMetrics { scope: Some(scope()), metrics, ..ScopeMetrics::default() }];
        let of = ResourceMetrics {
            resource: Some(resource),
            scope_metrics,
            ..ResourceMetrics::default()
        };
        ExportMetricsServiceRequest { resource_metrics: vec![of] }.encode_to_vec()
    }

    fn count(batch: &[Self]) -> u64 {
        let points = |metric: &Self| match &metric.data {
            Some(Data::Gauge(it)) => it.data_points.len(),
            Some(Data::Sum(it)) => it.data_points.len(),
            Some(Data::Histogram(it)) => it.data_points.len(),
            Some(Data::ExponentialHistogram(_) | Data::Summary(_)) | None => 0,
        };
        batch.iter().map(points).sum::<usize>() as u64
    }

    fn partial_success(answer: &[u8]) -> Option<PartialSuccess> {
        let said = ExportMetricsServiceResponse::decode(answer).ok()?.partial_success?;
        Some(PartialSuccess::new(said.rejected_data_points, said.error_message))
    }
}

/// A body as it is sent.
pub(crate) fn compressed(body: Vec<u8>, compression: OtlpCompression) -> Vec<u8> {
    if compression == OtlpCompression::None {
        return body;
    }
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 4), Compression::fast());
    // Memory takes whatever is written.
    let written = encoder.write_all(&body).and_then(|()| encoder.finish());
    written.unwrap_or_default()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use opentelemetry_proto::tonic::collector::trace::v1::ExportTracePartialSuccess;
    use std::io::Read;

    #[test]
    fn an_answer_tells_what_was_refused_and_garbage_nothing() {
        let partial = ExportTracePartialSuccess { rejected_spans: 3, error_message: "no".into() };
        let answer = ExportTraceServiceResponse { partial_success: Some(partial) };
        let told = PartialSuccess { rejected: 3, why: "no".into() };
        assert_eq!(Span::partial_success(&answer.encode_to_vec()), Some(told));
        assert_eq!(Span::partial_success(b""), None);
        assert_eq!(Span::partial_success(b"<html>not found</html>"), None);
    }

    #[test]
    fn a_compressed_body_is_the_same_body() {
        let body = <Span as SignalItem>::encode(vec![Span::default(); 100], Resource::default());
        let packed = compressed(body.clone(), OtlpCompression::Gzip);
        assert!(packed.len() < body.len());
        let mut read = Vec::new();
        flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut read).unwrap();
        assert_eq!(read, body);
        assert_eq!(compressed(body.clone(), OtlpCompression::None), body);
    }
}
