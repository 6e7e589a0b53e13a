//! The threads that export: a batch at a time, again after a pause where a collector asks for it,
//! and never in anybody's way.
//!
//! A signal has a thread of its own, so that one that is refused holds none of the others up.
//! Another configuration is another set of threads: the old ones send what still waits, once, and
//! end. Started and ended by the binary.

use crate::answer::{OtlpAnswer, OtlpPost, OtlpTransport};
use crate::batch::{PartialSuccess, SignalItem, compressed};
use crate::clock;
use crate::counts;
use crate::http_attributes::cut;
use crate::metric_form::{PointTime, metrics};
use crate::openmetrics::read_page;
use crate::queue::{PauseEnd, SignalQueue};
use crate::recorder::{self, SignalRecorder};
use crate::resource::resource;
use crate::retry::{REPEATS_MAX, is_retryable, pause_before, retry_after};
use crate::settings::{OtlpCompression, OtlpSettings, TelemetrySettings};
use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue};
use ledger::{AnonymiseMode, RuleTexts};
use opentelemetry_proto::tonic::metrics::v1::Metric;
use opentelemetry_proto::tonic::resource::v1::Resource;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The binary's part of an export.
#[derive(Clone)]
pub struct TelemetryWiring {
    /// Opens a way to post, on the thread that posts.
    pub transport: Arc<dyn Fn() -> io::Result<Box<dyn OtlpTransport>> + Send + Sync>,
    /// Writes the metrics page; none while the program starts or ends.
    pub page: Arc<dyn Fn() -> Option<String> + Send + Sync>,
    /// When the process started, in milliseconds since 1970.
    pub started_ms: u64,
    /// The part of addresses that the ledger keeps.
    pub anonymise: AnonymiseMode,
    /// The texts of rules.
    pub rules: Arc<dyn RuleTexts>,
}

/// The work of one exporting thread.
type ExportWork = Box<dyn FnOnce(&mut dyn OtlpTransport) + Send>;

/// An export that runs.
struct RunningExport {
    settings: OtlpSettings,
    anonymise: AnonymiseMode,
    recorder: Arc<SignalRecorder>,
    ticks: Arc<SignalQueue<()>>,
    threads: Vec<JoinHandle<()>>,
}

static RUNNING: Mutex<Option<RunningExport>> = Mutex::new(None);

fn running() -> MutexGuard<'static, Option<RunningExport>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Exports by these settings from now on. What is as it was goes on; what waits for a collector
/// that is no longer named is sent there once.
pub fn apply(settings: &TelemetrySettings, wiring: &TelemetryWiring) -> io::Result<()> {
    let mut running = running();
    let wanted = settings.otlp.as_ref();
    let is_same = running
        .as_ref()
        .is_some_and(|it| Some(&it.settings) == wanted && it.anonymise == wiring.anonymise);
    if is_same || (running.is_none() && wanted.is_none()) {
        return Ok(());
    }
    let next = wanted.map(|settings| RunningExport::start(settings, wiring)).transpose()?;
    recorder::replace(next.as_ref().map(|it| Arc::clone(&it.recorder)));
    if let Some(before) = std::mem::replace(&mut *running, next) {
        before.close();
    }
    Ok(())
}

/// Sends what waits and ends, within `patience`. Blocks its thread.
pub fn finish(patience: Duration) {
    let Some(last) = running().take() else { return };
    recorder::replace(None);
    last.close();
    let due = Instant::now() + patience;
    while last.threads.iter().any(|it| !it.is_finished()) && Instant::now() < due {
        std::thread::sleep(Duration::from_millis(5));
    }
}

impl RunningExport {
    fn start(settings: &OtlpSettings, wiring: &TelemetryWiring) -> io::Result<Self> {
        let recorder =
            Arc::new(SignalRecorder::new(settings, wiring.anonymise, Arc::clone(&wiring.rules)));
        let ticks = Arc::new(SignalQueue::new(1, &counts::METRICS));
        let target = Arc::new(ExportTarget::of(settings));
        let started = wiring.started_ms.saturating_mul(1_000_000);
        let mut running = Self {
            settings: settings.clone(),
            anonymise: wiring.anonymise,
            recorder: Arc::clone(&recorder),
            ticks: Arc::clone(&ticks),
            threads: Vec::new(),
        };
        let mut spawn = |work: ExportWork| {
            let open = Arc::clone(&wiring.transport);
            let thread = std::thread::Builder::new().name("otlp".into());
            let thread = thread.spawn(move || match open() {
                Ok(mut transport) => work(&mut *transport),
                Err(why) => log::warn!(target: "logs", "nothing is sent by OTLP: {why}"),
            })?;
            running.threads.push(thread);
            io::Result::Ok(())
        };
        if settings.traces.is_some() {
            let (queue, target) = (Arc::clone(&recorder.spans), Arc::clone(&target));
            spawn(Box::new(move |transport| send_batches(&queue, &target, transport)))?;
        }
        if settings.logs.is_some() {
            let (queue, target) = (Arc::clone(&recorder.records), Arc::clone(&target));
            spawn(Box::new(move |transport| send_batches(&queue, &target, transport)))?;
        }
        if let Some(metrics) = &settings.metrics {
            let (interval, page) = (metrics.interval.0.0, Arc::clone(&wiring.page));
            spawn(Box::new(move |transport| {
                let source = PageSource { page: &*page, started };
                source.send_regularly(interval, &ticks, &target, transport);
            }))?;
        }
        Ok(running)
    }

    /// Has all threads send what waits, and end.
    fn close(&self) {
        self.recorder.spans.close();
        self.recorder.records.close();
        self.ticks.close();
    }
}

/// Where to and how requests are sent.
struct ExportTarget {
    endpoint: String,
    headers: HeaderMap,
    compression: OtlpCompression,
    timeout: Duration,
    resource: Resource,
}

impl ExportTarget {
    fn of(settings: &OtlpSettings) -> Self {
        let mut headers = HeaderMap::new();
        // The check has seen to it that names and values are right.
        for (name, value) in &settings.headers {
            if let (Ok(name), Ok(mut value)) = (
                HeaderName::from_bytes(name.to_ascii_lowercase().as_bytes()),
                HeaderValue::from_str(value.reveal()),
            ) {
                value.set_sensitive(true);
                headers.insert(name, value);
            }
        }
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-protobuf"));
        if settings.compression == OtlpCompression::Gzip {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        Self {
            endpoint: settings.endpoint.trim_end_matches('/').to_owned(),
            headers,
            compression: settings.compression,
            timeout: settings.timeout.0.0,
            resource: resource(&settings.resource),
        }
    }

    fn post(&self, path: &str, body: Bytes) -> OtlpPost {
        OtlpPost {
            url: [&self.endpoint, path].concat(),
            headers: self.headers.clone(),
            body,
            timeout: self.timeout,
        }
    }
}

/// Sends batches until the queue is closed and empty.
fn send_batches<T: SignalItem>(
    queue: &SignalQueue<T>,
    target: &ExportTarget,
    transport: &mut dyn OtlpTransport,
) {
    let mut health = CollectorHealth::Well;
    while let Some(batch) = queue.next_batch() {
        deliver(batch, target, transport, &mut health, &mut |pause| queue.pause(pause));
    }
}

/// The metrics page as a source of batches.
struct PageSource<'p> {
    page: &'p (dyn Fn() -> Option<String> + Send + Sync),
    started: u64,
}

impl PageSource<'_> {
    /// Sends the figures at each interval, and once more at the end.
    fn send_regularly(
        &self,
        interval: Duration,
        ticks: &SignalQueue<()>,
        target: &ExportTarget,
        transport: &mut dyn OtlpTransport,
    ) {
        let mut health = CollectorHealth::Well;
        loop {
            let end = ticks.pause(interval);
            if let Some(page) = (self.page)() {
                let time = PointTime { start: self.started, now: clock::unix_ns() };
                let batch: Vec<Metric> = metrics(read_page(&page), time);
                deliver(batch, target, transport, &mut health, &mut |pause| ticks.pause(pause));
            }
            if end == PauseEnd::Closed {
                return;
            }
        }
    }
}

/// Outcome of the last request, so that the log tells of changes alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CollectorHealth {
    Well,
    /// Taken in part alone, or with a warning.
    Partial,
    Failing,
}

impl CollectorHealth {
    fn failed(&mut self, signal: &str, why: &str) {
        if std::mem::replace(self, Self::Failing) != Self::Failing {
            log::warn!(target: "logs", "{signal} do not reach the collector: {why}");
        }
    }

    /// Notes a batch that was taken, or the part of it that `told` leaves.
    fn taken(&mut self, signal: &str, told: Option<&PartialSuccess>) {
        let now = if told.is_some() { Self::Partial } else { Self::Well };
        let before = std::mem::replace(self, now);
        match told {
            Some(told) if before != Self::Partial => {
                let (rejected, why) = (told.rejected, cut(&told.why));
                log::warn!(target: "logs", "the collector takes {signal} but for {rejected}: {why:?}");
            }
            None if before == Self::Failing => {
                log::info!(target: "logs", "{signal} reach the collector again");
            }
            Some(_) | None => {}
        }
    }
}

/// The verdict of one attempt.
enum AttemptVerdict {
    Taken { but: Option<PartialSuccess> },
    Again { why: String, asked: Option<Duration> },
    Refused { why: String },
}

/// Sends one batch, again after pauses where that may help, and counts what became of it.
fn deliver<T: SignalItem>(
    batch: Vec<T>,
    target: &ExportTarget,
    transport: &mut dyn OtlpTransport,
    health: &mut CollectorHealth,
    pause: &mut dyn FnMut(Duration) -> PauseEnd,
) {
    let (counters, items) = (T::counters(), T::count(&batch));
    let body = T::encode(batch, target.resource.clone());
    let body = Bytes::from(compressed(body, target.compression));
    for repeat in 0.. {
        let answer = transport.post(target.post(T::PATH, body.clone()));
        let verdict = answer.map_or_else(
            |why| AttemptVerdict::Again { why: why.to_string(), asked: None },
            |answer| judge::<T>(&answer),
        );
        let (why, asked) = match verdict {
            AttemptVerdict::Taken { but } => {
                health.taken(T::SIGNAL, but.as_ref());
                return counters.taken(items, but.map_or(0, |it| it.rejected));
            }
            AttemptVerdict::Refused { why } => {
                health.failed(T::SIGNAL, &why);
                return counters.failed(items);
            }
            AttemptVerdict::Again { why, asked } => (why, asked),
        };
        health.failed(T::SIGNAL, &why);
        let is_last = repeat == REPEATS_MAX;
        if is_last || pause(pause_before(repeat, asked)) == PauseEnd::Closed {
            return counters.failed(items);
        }
        counters.retried();
    }
}

fn judge<T: SignalItem>(answer: &OtlpAnswer) -> AttemptVerdict {
    let why = || format!("it answers {}", answer.status);
    if answer.status.is_success() {
        // A collector that cannot be understood has taken it all the same.
        let told = T::partial_success(&answer.body);
        let but = told.filter(|it| it.rejected > 0 || !it.why.is_empty());
        return AttemptVerdict::Taken { but };
    }
    if !is_retryable(answer.status) {
        return AttemptVerdict::Refused { why: why() };
    }
    let asked = answer.retry_after.as_deref();
    let asked = asked.and_then(|it| retry_after(it, clock::system_now()));
    AttemptVerdict::Again { why: why(), asked }
}

#[cfg(test)]
#[path = "export/tests.rs"]
mod tests;
