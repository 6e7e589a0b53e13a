//! Batches at a collector that answers as it is told.

use super::*;
use crate::answer::TransportFailure;
use crate::counts::SignalCounts;
use http::StatusCode;
use opentelemetry_proto::tonic::collector::logs::v1::{
    ExportLogsPartialSuccess, ExportLogsServiceResponse,
};
use opentelemetry_proto::tonic::logs::v1::LogRecord;
use prost::Message;
use std::collections::VecDeque;

/// A collector that answers as it is told.
#[derive(Default)]
struct ScriptedCollector {
    answers: VecDeque<OtlpAnswer>,
    posts: Vec<OtlpPost>,
}

impl OtlpTransport for ScriptedCollector {
    fn post(&mut self, post: OtlpPost) -> Result<OtlpAnswer, TransportFailure> {
        self.posts.push(post);
        self.answers.pop_front().ok_or_else(|| TransportFailure("it is gone".into()))
    }
}

fn answer(status: u16, retry_after: Option<&str>) -> OtlpAnswer {
    let status = StatusCode::from_u16(status).expect("a status");
    OtlpAnswer { status, retry_after: retry_after.map(Into::into), body: Bytes::new() }
}

/// Delivers a batch of two; the pauses between its attempts and what was counted.
fn delivered(
    answers: impl IntoIterator<Item = OtlpAnswer>,
    ends: PauseEnd,
) -> (ScriptedCollector, Vec<Duration>, SignalCounts) {
    let settings = OtlpSettings { endpoint: "http://c:4318/".into(), ..OtlpSettings::default() };
    let mut collector =
        ScriptedCollector { answers: answers.into_iter().collect(), ..Default::default() };
    let mut pauses = Vec::new();
    let before = LogRecord::counters().read();
    let target = ExportTarget::of(&settings);
    let batch = vec![LogRecord::default(); 2];
    deliver(batch, &target, &mut collector, &mut CollectorHealth::Well, &mut |pause| {
        pauses.push(pause);
        ends
    });
    let after = LogRecord::counters().read();
    let counts = SignalCounts {
        exported: after.exported - before.exported,
        failed: after.failed - before.failed,
        rejected: after.rejected - before.rejected,
        retries: after.retries - before.retries,
        ..SignalCounts::default()
    };
    (collector, pauses, counts)
}

// One test: the counters are the process's.
#[test]
fn a_batch_is_sent_again_where_that_may_help_and_counted_once() {
    let counts = |exported, failed, retries| SignalCounts {
        exported,
        failed,
        retries,
        ..SignalCounts::default()
    };
    let (collector, pauses, counted) = delivered([answer(200, None)], PauseEnd::Over);
    assert_eq!((collector.posts.len(), pauses.len(), counted), (1, 0, counts(2, 0, 0)));
    assert_eq!(collector.posts[0].url, "http://c:4318/v1/logs");
    assert_eq!(collector.posts[0].headers[CONTENT_TYPE], "application/x-protobuf");

    let busy = [answer(429, Some("7")), answer(503, None), answer(200, None)];
    let (collector, pauses, counted) = delivered(busy, PauseEnd::Over);
    assert_eq!((collector.posts.len(), counted), (3, counts(2, 0, 2)));
    assert_eq!(pauses[0], Duration::from_secs(7));
    assert!(pauses[1] <= Duration::from_secs(2));
    assert_eq!(collector.posts[0].body, collector.posts[2].body);

    let refused = ExportLogsPartialSuccess { rejected_log_records: 1, error_message: "no".into() };
    let body = ExportLogsServiceResponse { partial_success: Some(refused) }.encode_to_vec();
    let partial = OtlpAnswer { body: body.into(), ..answer(200, None) };
    let (collector, _, counted) = delivered([partial], PauseEnd::Over);
    assert_eq!(
        (collector.posts.len(), counted),
        (1, SignalCounts { rejected: 1, ..counts(1, 0, 0) })
    );

    let (collector, _, counted) = delivered([answer(400, None)], PauseEnd::Over);
    assert_eq!((collector.posts.len(), counted), (1, counts(0, 2, 0)));

    let (collector, _, counted) = delivered([], PauseEnd::Over);
    let repeats = REPEATS_MAX as usize;
    assert_eq!((collector.posts.len(), counted), (repeats + 1, counts(0, 2, repeats as u64)));

    let (collector, _, counted) = delivered([], PauseEnd::Closed);
    assert_eq!((collector.posts.len(), counted), (1, counts(0, 2, 0)), "at the end it is left");
}
