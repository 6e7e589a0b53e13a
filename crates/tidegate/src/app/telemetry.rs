//! The ways out that no request takes: to the OpenTelemetry collector, by our own client, and to
//! where releases are told.
//!
//! Called by `build` once doors are open, by `reload`, and at the end.

use super::{RunningApp, metrics};
use ::telemetry::{OtlpAnswer, OtlpPost, OtlpTransport, TelemetryWiring, TransportFailure};
use config::Plan;
use fetch::{RepeatableRequest, Url, WholeBounds, whole};
use http::Method;
use http::header::RETRY_AFTER;
use origins::{Dialer, OriginLimits, Origins};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::{Builder, LocalOptions, LocalRuntime};

/// Bytes of a collector's answer that are read.
const ANSWER_BYTES_MAX: usize = 1 << 20;

/// Time in which what waits is sent when the program stops.
const LAST_EXPORT_MAX: Duration = Duration::from_secs(2);

/// The way of one exporting thread to its collector.
struct CollectorTransport {
    runtime: LocalRuntime,
    origins: Origins,
}

impl CollectorTransport {
    fn open(dialer: Dialer) -> io::Result<Box<dyn OtlpTransport>> {
        let builder = &mut Builder::new_current_thread();
        let runtime = builder.enable_all().build_local(LocalOptions::default())?;
        let origins = Origins::new(dialer, OriginLimits::default());
        Ok(Box::new(Self { runtime, origins }))
    }
}

impl OtlpTransport for CollectorTransport {
    fn post(&mut self, post: OtlpPost) -> Result<OtlpAnswer, TransportFailure> {
        let OtlpPost { url, headers, body, timeout } = post;
        let failed = |why: &dyn std::fmt::Display| TransportFailure(why.to_string());
        let url = Url::parse(&url).map_err(|why| failed(&why))?;
        let request = RepeatableRequest { method: Method::POST, url, headers, body };
        let bounds = WholeBounds { redirects: 0, body: ANSWER_BYTES_MAX, time: timeout };
        let answer = self.runtime.block_on(whole(&self.origins, request, bounds));
        let answer = answer.map_err(|why| failed(&why))?;
        let retry_after = answer.headers.get(RETRY_AFTER).and_then(|it| it.to_str().ok());
        Ok(OtlpAnswer {
            status: answer.status,
            retry_after: retry_after.map(str::to_owned),
            body: answer.body,
        })
    }
}

impl RunningApp {
    /// Exports as this plan says from now on.
    pub(super) fn export(self: &Arc<Self>, plan: &Plan) {
        program_log::mirror(::telemetry::log_message);
        let (dialer, app) = (self.dialer(), Arc::downgrade(self));
        let wiring = TelemetryWiring {
            transport: Arc::new(move || CollectorTransport::open(dialer.clone())),
            page: Arc::new(move || {
                let app = app.upgrade()?;
                Some(app.ledger.metrics_text(&metrics::collectors(&app)))
            }),
            started_ms: self.started.unix_ms,
            anonymise: plan.file.ledger.anonymise,
            rules: Arc::clone(&self.texts) as _,
        };
        if let Err(why) = ::telemetry::apply(&plan.file.telemetry, &wiring) {
            self.note_problem(format!("nothing is exported by OTLP: {why}"));
        }
    }

    /// Has the latest release asked for as this plan says from now on.
    pub(super) fn follow_releases(&self, plan: &Plan) {
        let version = env!("CARGO_PKG_VERSION");
        if let Err(why) = self.releases.follow(&plan.file.updates, self.dialer(), version) {
            self.note_problem(format!("nobody asks for the latest release: {why}"));
        }
    }
}

/// Sends what waits, and ends. Blocks its thread.
pub(super) fn finish() {
    ::telemetry::finish(LAST_EXPORT_MAX);
}
