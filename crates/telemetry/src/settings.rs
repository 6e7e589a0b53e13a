//! Settings of telemetry: the `telemetry` section of the configuration.

use http::{HeaderName, HeaderValue, Uri};
use ledger::AnonymiseMode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::{SecretText, Text};
use std::collections::BTreeMap;
use std::time::Duration;
use vocab::{Complaint, Network, TimeSpan};

/// The shortest and the longest time between two exports of metrics.
const INTERVAL_BOUNDS: [Duration; 2] = [Duration::from_secs(1), Duration::from_hours(1)];
/// The shortest and the longest time that an export may take.
const TIMEOUT_BOUNDS: [Duration; 2] = [Duration::from_millis(100), Duration::from_mins(1)];
/// Items that may wait, at most.
const QUEUE_MAX: usize = 65_536;
/// Attributes of the resource, and fields, at most.
const ENTRIES_MAX: usize = 64;
/// Fields that the exporter writes itself.
const OWN_FIELDS: [&str; 6] = [
    "content-type",
    "content-encoding",
    "content-length",
    "host",
    "connection",
    "transfer-encoding",
];

/// Traces, metrics and logs for others to keep. Without this section nothing is exported.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TelemetrySettings {
    /// A collector that speaks the OpenTelemetry protocol. Default none.
    pub otlp: Option<OtlpSettings>,
}

/// An OpenTelemetry collector, and what it is sent. Each signal is sent where it has a section.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct OtlpSettings {
    /// URL of the collector, `http://` or `https://`; `/v1/traces`, `/v1/metrics` and `/v1/logs`
    /// are put behind it. Default `http://127.0.0.1:4318`.
    pub endpoint: String,
    /// The protocol: `http/protobuf`. Default `http/protobuf`.
    pub protocol: OtlpProtocol,
    /// Fields of each request, as `authorization: "${file:/etc/tidegate/otlp}"`. Their values are
    /// shown nowhere. At most 64. Default none.
    pub headers: BTreeMap<String, SecretText>,
    /// Compression of what is sent: `none` or `gzip`. Default `none`.
    pub compression: OtlpCompression,
    /// Time that one export may take. Default 10s, from 100ms to 1m.
    pub timeout: Text<TimeSpan>,
    /// Attributes of the resource, as `deployment.environment.name: home`; they outrank ours, which
    /// are `service.name: tidegate`, `service.version` and `service.instance.id`. At most 64.
    /// Default none.
    pub resource: BTreeMap<String, String>,
    /// Part of a client's address that spans and rows have: all of it (`none`), or only its network
    /// (`network`). Default: as `ledger.anonymise` says.
    pub anonymise: Option<AnonymiseMode>,
    /// Spans of requests. Default: none are made.
    pub traces: Option<TraceSettings>,
    /// The figures of the metrics page. Default: none are sent.
    pub metrics: Option<MetricSettings>,
    /// The program's log, and rows of requests. Default: none are sent.
    pub logs: Option<LogSettings>,
}

/// Spans of requests at all doors, and of what they ask of others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TraceSettings {
    /// Share of the traces that begin here and are recorded, from 0 to 1. A request whose trusted
    /// `traceparent` says so is recorded in any case, and one whose says otherwise is not. Default
    /// 1.
    #[schemars(range(min = 0, max = 1))]
    pub sample: SampleRatio,
    /// Networks of clients whose `traceparent` is believed; of all others it is taken out, and a
    /// trace of our own begins. Default `[127.0.0.0/8, ::1/128]`.
    pub trusted_parents: Vec<Text<Network>>,
    /// Spans that may wait to be sent; more are dropped and counted. Default 2048, from 1 to 65536.
    pub queue: usize,
}

/// A share, from 0 to 1.
pub type SampleRatio = f64;

/// The figures of the metrics page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MetricSettings {
    /// Time between two exports. Default 60s, from 1s to 1h.
    pub interval: Text<TimeSpan>,
}

/// The program's log, and rows of requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LogSettings {
    /// Messages of the program's log are sent, those that `log.level` lets pass. Default true.
    pub program: bool,
    /// Requests of which a row is sent: `none`, `blocked` or `all`. Default `none`.
    pub requests: ExportedRows,
    /// Records that may wait to be sent; more are dropped and counted. Default 2048, from 1 to
    /// 65536.
    pub queue: usize,
}

/// The protocol of a collector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum OtlpProtocol {
    /// OTLP over HTTP, as protobuf.
    #[default]
    #[serde(rename = "http/protobuf")]
    HttpProtobuf,
    /// OTLP over gRPC, which is not spoken.
    #[serde(rename = "grpc")]
    Grpc,
}

/// Compression of what is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OtlpCompression {
    /// As it is.
    #[default]
    None,
    /// By gzip.
    Gzip,
}

/// Requests of which a row is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ExportedRows {
    /// No request.
    #[default]
    None,
    /// Blocked ones.
    Blocked,
    /// Every request.
    All,
}

impl Default for OtlpSettings {
    fn default() -> Self {
        Self {
            endpoint: "http://127.0.0.1:4318".into(),
            protocol: OtlpProtocol::default(),
            headers: BTreeMap::new(),
            compression: OtlpCompression::default(),
            timeout: Text(TimeSpan(Duration::from_secs(10))),
            resource: BTreeMap::new(),
            anonymise: None,
            traces: None,
            metrics: None,
            logs: None,
        }
    }
}

impl Default for TraceSettings {
    fn default() -> Self {
        let loopback = ["127.0.0.0/8", "::1/128"].iter().filter_map(|it| it.parse().ok());
        Self { sample: 1.0, trusted_parents: loopback.map(Text).collect(), queue: 2048 }
    }
}

impl Default for MetricSettings {
    fn default() -> Self {
        Self { interval: Text(TimeSpan(Duration::from_mins(1))) }
    }
}

impl Default for LogSettings {
    fn default() -> Self {
        Self { program: true, requests: ExportedRows::None, queue: 2048 }
    }
}

impl TelemetrySettings {
    /// Everything that is wrong.
    pub fn check(&self) -> Vec<Complaint> {
        let found = self.otlp.as_ref().map(OtlpSettings::check).unwrap_or_default();
        found.into_iter().map(|it| it.under("otlp")).collect()
    }

    /// Settings that are valid and likely a mistake.
    pub fn warnings(&self) -> Vec<Complaint> {
        let Some(otlp) = &self.otlp else { return Vec::new() };
        let port = otlp.endpoint.parse::<Uri>().ok().and_then(|uri| uri.port_u16());
        let complaint = || {
            Complaint::new("otlp.endpoint", "warning: 4317 is the port of OTLP over gRPC")
                .remedy("name the port for HTTP, which is 4318")
        };
        (port == Some(4317)).then(complaint).into_iter().collect()
    }
}

impl OtlpSettings {
    fn check(&self) -> Vec<Complaint> {
        let mut complaints: Vec<Complaint> = self.check_endpoint().into_iter().collect();
        if self.protocol == OtlpProtocol::Grpc {
            let complaint = Complaint::new("protocol", "OTLP over gRPC is not spoken");
            complaints.push(complaint.remedy(
                "write protocol: http/protobuf, and the collector's port for HTTP (4318) in \
                 endpoint",
            ));
        }
        complaints.extend(self.headers.iter().filter_map(|(name, value)| bad_field(name, value)));
        for (path, len) in [("headers", self.headers.len()), ("resource", self.resource.len())] {
            if len > ENTRIES_MAX {
                complaints.push(Complaint::new(path, format!("{len} are more than 64")));
            }
        }
        if self.resource.keys().any(String::is_empty) {
            complaints.push(Complaint::new("resource", "an attribute has no name"));
        }
        complaints.extend(out_of_bounds("timeout", *self.timeout, TIMEOUT_BOUNDS, "timeout: 10s"));
        if let Some(metrics) = &self.metrics {
            let (path, remedy) = ("metrics.interval", "interval: 60s");
            complaints.extend(out_of_bounds(path, *metrics.interval, INTERVAL_BOUNDS, remedy));
        }
        let queues = [
            ("traces.queue", self.traces.as_ref().map(|it| it.queue)),
            ("logs.queue", self.logs.as_ref().map(|it| it.queue)),
        ];
        for (path, queue) in queues {
            if queue.is_some_and(|queue| !(1..=QUEUE_MAX).contains(&queue)) {
                let complaint = Complaint::new(path, "from 1 to 65536");
                complaints.push(complaint.remedy("write queue: 2048"));
            }
        }
        if let Some(sample) = self.traces.as_ref().map(|it| it.sample)
            && !(0.0..=1.0).contains(&sample)
        {
            let complaint = Complaint::new("traces.sample", format!("{sample} is no share"));
            complaints.push(complaint.remedy("write a number from 0 to 1, as sample: 0.01"));
        }
        if self.traces.is_none() && self.metrics.is_none() && self.logs.is_none() {
            let complaint = Complaint::new("", "nothing is sent: no signal has a section");
            complaints.push(complaint.remedy("add traces: {}, metrics: {} or logs: {}"));
        }
        complaints
    }

    fn check_endpoint(&self) -> Option<Complaint> {
        let wrong = |why: &str, remedy: &str| {
            Some(Complaint::new("endpoint", why).remedy(remedy.to_owned()))
        };
        let example = "write http://HOST:4318 or https://HOST";
        if self.endpoint.starts_with("grpc") {
            return wrong("OTLP over gRPC is not spoken", "write http://HOST:4318");
        }
        let Ok(uri) = self.endpoint.parse::<Uri>() else { return wrong("this is no URL", example) };
        let is_http = matches!(uri.scheme_str(), Some("http" | "https"));
        let Some(authority) = uri.authority().filter(|_| is_http) else {
            return wrong("a collector has an http:// or https:// URL", example);
        };
        if authority.as_str().contains('@') {
            return wrong(
                "a URL with a password is shown in too many places",
                "write headers: { authorization: … }",
            );
        }
        if uri.query().is_some() {
            return wrong("paths are put behind it, so it ends before a query", example);
        }
        None
    }
}

/// The complaint about a field that cannot be sent; without its value.
fn bad_field(name: &str, value: &SecretText) -> Option<Complaint> {
    let path = format!("headers.{name}");
    let lower = name.to_ascii_lowercase();
    if HeaderName::from_bytes(lower.as_bytes()).is_err() {
        return Some(Complaint::new(path, "this is no name of a field"));
    }
    if OWN_FIELDS.contains(&lower.as_str()) {
        return Some(Complaint::new(path, "the exporter writes this field itself"));
    }
    let is_right = HeaderValue::from_str(value.reveal()).is_ok();
    (!is_right).then(|| Complaint::new(path, "its value cannot stand in a field"))
}

fn out_of_bounds(
    path: &str,
    span: TimeSpan,
    [least, most]: [Duration; 2],
    remedy: &str,
) -> Option<Complaint> {
    let complaint = || {
        let bounds = format!("from {} to {}", TimeSpan(least), TimeSpan(most));
        Complaint::new(path, bounds).remedy(format!("write {remedy}"))
    };
    (!(least..=most).contains(&span.0)).then(complaint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(otlp: OtlpSettings) -> Vec<String> {
        let settings = TelemetrySettings { otlp: Some(otlp) };
        settings.check().into_iter().map(|it| it.path).collect()
    }

    fn right() -> OtlpSettings {
        OtlpSettings { traces: Some(TraceSettings::default()), ..OtlpSettings::default() }
    }

    #[test]
    fn the_defaults_are_right_once_a_signal_is_chosen() {
        assert_eq!(TelemetrySettings::default().check(), []);
        assert_eq!(paths(right()), [""; 0]);
        assert_eq!(paths(OtlpSettings::default()), ["otlp"]);
        assert_eq!(TraceSettings::default().trusted_parents.len(), 2);
    }

    #[test]
    fn grpc_is_refused_with_the_port_that_works() {
        let settings = OtlpSettings { protocol: OtlpProtocol::Grpc, ..right() };
        let told = TelemetrySettings { otlp: Some(settings) }.check();
        assert_eq!(told[0].path, "otlp.protocol");
        assert!(told[0].to_string().contains("4318"), "{}", told[0]);
        for endpoint in ["grpc://h:4317", "h:4318", "", "unix:///x", "http://u:p@h:4318"] {
            let settings = OtlpSettings { endpoint: endpoint.into(), ..right() };
            assert_eq!(paths(settings), ["otlp.endpoint"], "{endpoint}");
        }
        let grpc = OtlpSettings { endpoint: "http://h:4317".into(), ..right() };
        assert_eq!(TelemetrySettings { otlp: Some(grpc) }.warnings().len(), 1);
    }

    #[test]
    fn a_value_of_a_field_is_in_no_complaint_and_no_debug_form() {
        let secret = || SecretText::from("s3cret\n");
        let headers = BTreeMap::from([("authorization".to_owned(), secret())]);
        let settings = TelemetrySettings { otlp: Some(OtlpSettings { headers, ..right() }) };
        let told = format!("{settings:?} {:?}", settings.check());
        assert!(told.contains("otlp.headers.authorization") && !told.contains("s3cret"), "{told}");
        let headers = BTreeMap::from([("Content-Type".to_owned(), SecretText::from("x"))]);
        assert_eq!(paths(OtlpSettings { headers, ..right() }), ["otlp.headers.Content-Type"]);
    }

    #[test]
    fn what_is_out_of_bounds_is_a_complaint() {
        let traces = TraceSettings { sample: 1.5, queue: 0, ..TraceSettings::default() };
        let metrics = MetricSettings { interval: Text(TimeSpan(Duration::ZERO)) };
        let timeout = Text(TimeSpan(Duration::from_hours(1)));
        let settings =
            OtlpSettings { timeout, traces: Some(traces), metrics: Some(metrics), ..right() };
        let due = ["timeout", "metrics.interval", "traces.queue", "traces.sample"];
        assert_eq!(paths(settings), due.map(|it| format!("otlp.{it}")));
    }
}
