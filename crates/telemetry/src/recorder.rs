//! The rules of what is recorded: one word that every request looks at, and the queues behind it.
//!
//! Of the whole process, as the facade `log` is: a span may begin at a door and have another below
//! it three crates away. Without a `telemetry` section the word is 0, and that is all that a
//! request sees of it.

use crate::attributes::{body, text};
use crate::clock;
use crate::counts;
use crate::queue::SignalQueue;
use crate::sampling::RatioSampler;
use crate::settings::{ExportedRows, OtlpSettings};
use crate::span::EndedSpan;
use crate::trace_context::TraceContext;
use arc_swap::ArcSwapOption;
use ledger::{AnonymiseMode, RuleTexts};
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::logs::v1::{LogRecord, SeverityNumber};
use opentelemetry_proto::tonic::trace::v1::Span;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use vocab::{Action, Network, RuleRef};

const TRACES: u8 = 1;
const BLOCKED_ROWS: u8 = 2;
const ALL_ROWS: u8 = 4;
const PROGRAM: u8 = 8;

static RECORDED: AtomicU8 = AtomicU8::new(0);
static RECORDER: ArcSwapOption<SignalRecorder> = ArcSwapOption::const_empty();

/// The rules and the queues of what is recorded.
pub(crate) struct SignalRecorder {
    pub(crate) sampler: RatioSampler,
    trusted: Vec<Network>,
    anonymise: AnonymiseMode,
    rules: Arc<dyn RuleTexts>,
    pub(crate) spans: Arc<SignalQueue<Span>>,
    pub(crate) records: Arc<SignalQueue<LogRecord>>,
    recorded: u8,
}

/// True where requests are traced, or rows of them exported.
#[inline]
pub fn is_observed() -> bool {
    RECORDED.load(Relaxed) & (TRACES | BLOCKED_ROWS | ALL_ROWS) != 0
}

/// True where requests are traced.
#[inline]
pub fn is_tracing() -> bool {
    RECORDED.load(Relaxed) & TRACES != 0
}

/// True where requests with this action become exported rows.
pub(crate) fn wants_row(action: Action) -> bool {
    let wanted = match action {
        Action::Pass => ALL_ROWS,
        Action::Block => ALL_ROWS | BLOCKED_ROWS,
    };
    RECORDED.load(Relaxed) & wanted != 0
}

/// The rules in force, where there are any.
pub(crate) fn current() -> Option<Arc<SignalRecorder>> {
    RECORDER.load_full()
}

/// Puts other rules in force.
pub(crate) fn replace(recorder: Option<Arc<SignalRecorder>>) {
    RECORDED.store(recorder.as_ref().map_or(0, |it| it.recorded), Relaxed);
    RECORDER.store(recorder);
}

/// A message of the program's log as a record, where those are exported. The text has no secrets:
/// who logs leaves them out.
pub fn log_message(level: log::Level, part: &str, message: &str) {
    if RECORDED.load(Relaxed) & PROGRAM == 0 {
        return;
    }
    let Some(recorder) = current() else { return };
    let (severity, word) = match level {
        log::Level::Error => (SeverityNumber::Error, "ERROR"),
        log::Level::Warn => (SeverityNumber::Warn, "WARN"),
        log::Level::Info => (SeverityNumber::Info, "INFO"),
        log::Level::Debug => (SeverityNumber::Debug, "DEBUG"),
        log::Level::Trace => (SeverityNumber::Trace, "TRACE"),
    };
    let record = LogRecord {
        severity_number: severity.into(),
        severity_text: word.into(),
        body: Some(body(message.to_owned())),
        attributes: vec![text("tidegate.part", part)],
        ..LogRecord::default()
    };
    recorder.push_record(record, None);
}

impl SignalRecorder {
    /// The recorder of these settings; where they are silent, addresses are kept as `ledger` says.
    pub(crate) fn new(
        settings: &OtlpSettings,
        ledger: AnonymiseMode,
        rules: Arc<dyn RuleTexts>,
    ) -> Self {
        let (traces, logs) = (settings.traces.as_ref(), settings.logs.as_ref());
        let rows = match logs.map(|it| it.requests) {
            None | Some(ExportedRows::None) => 0,
            Some(ExportedRows::Blocked) => BLOCKED_ROWS,
            Some(ExportedRows::All) => ALL_ROWS,
        };
        let program = if logs.is_some_and(|it| it.program) { PROGRAM } else { 0 };
        let trusted = traces.map(|it| it.trusted_parents.iter().map(|it| it.0).collect());
        let queue = |cap: Option<usize>| cap.unwrap_or(1);
        Self {
            sampler: RatioSampler::new(traces.map_or(0.0, |it| it.sample)),
            trusted: trusted.unwrap_or_default(),
            anonymise: settings.anonymise.unwrap_or(ledger),
            rules,
            spans: Arc::new(SignalQueue::new(queue(traces.map(|it| it.queue)), &counts::TRACES)),
            records: Arc::new(SignalQueue::new(queue(logs.map(|it| it.queue)), &counts::LOGS)),
            recorded: traces.map_or(0, |_| TRACES) | rows | program,
        }
    }

    /// True if the `traceparent` of this client is believed.
    pub(crate) fn trusts(&self, peer: IpAddr) -> bool {
        self.trusted.iter().any(|network| network.contains(peer))
    }

    /// List, line and text of a rule that held for `host`.
    pub(crate) fn rule(&self, rule: RuleRef, host: &str) -> Option<(String, u32, String)> {
        self.rules.text(rule, host)
    }

    /// An address as it is exported.
    pub(crate) fn address(&self, name: &str, client: IpAddr) -> KeyValue {
        text(name, self.anonymise.stored(client.to_canonical()).to_string())
    }

    /// Lets a span wait. One that was begun under other settings may find that none are made.
    pub(crate) fn push_span(&self, span: EndedSpan) {
        if self.recorded & TRACES != 0 {
            self.spans.push(span.into_span());
        }
    }

    /// Lets a record wait, with the span in which it came to be.
    pub(crate) fn push_record(&self, record: LogRecord, context: Option<TraceContext>) {
        let now = clock::unix_ns();
        self.records.push(LogRecord {
            time_unix_nano: if record.time_unix_nano == 0 { now } else { record.time_unix_nano },
            observed_time_unix_nano: now,
            flags: context.map_or(0, |it| it.flags().into()),
            trace_id: context.map_or_else(Vec::new, |it| it.trace.bytes().to_vec()),
            span_id: context.map_or_else(Vec::new, |it| it.span.bytes().to_vec()),
            ..record
        });
    }
}
