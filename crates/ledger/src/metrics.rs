//! The metrics page, in Prometheus' text format.
//!
//! Counters and histograms are read from the shards when the page is asked for; nothing is kept
//! twice. Other parts add families as collectors of their own. Called through
//! [`crate::Ledger::metrics_text`].

use crate::counters::{LedgerCounters, RCODES};
use crate::page;
use crate::queue::QUEUE_ROWS_MAX;
use crate::writer::WriterShared;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use vocab::Door;

/// Classes of HTTP status, in the order of the counters.
const CLASSES: [&str; 6] = ["other", "1xx", "2xx", "3xx", "4xx", "5xx"];

/// The page.
pub(crate) fn text(shared: &Arc<WriterShared>, extra: &[Arc<dyn Collector>]) -> String {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(LedgerMetrics(shared.clone())));
    for collector in extra {
        registry.register_collector(Box::new(OtherCollector(collector.clone())));
    }
    let mut page = String::new();
    match prometheus_client::encoding::text::encode(&mut page, &registry) {
        Ok(()) => page::in_form(&page),
        // A text grows in memory and cannot fail; a collector of another part might.
        Err(fmt::Error) => "# a collector failed\n# EOF\n".into(),
    }
}

/// A collector of another part.
#[derive(Debug)]
struct OtherCollector(Arc<dyn Collector>);

impl Collector for OtherCollector {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        self.0.encode(encoder)
    }
}

/// Holds what the ledger counts.
struct LedgerMetrics(Arc<WriterShared>);

impl fmt::Debug for LedgerMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ledger")
    }
}

impl Collector for LedgerMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        requests(&self.0.counters, &mut encoder)?;
        times(&self.0.counters, &mut encoder)?;
        latency(&self.0.counters, &mut encoder)?;
        answers(&self.0.counters, &mut encoder)?;
        let lost = [("queue_full", &self.0.dropped_queue), ("store_failed", &self.0.dropped_store)];
        let mut dropped = encoder.encode_descriptor(
            "tidegate_ledger_dropped",
            "Rows of the request log that were not stored",
            None,
            MetricType::Counter,
        )?;
        for (reason, count) in lost {
            counter(&mut dropped, &[("reason", reason)], count.load(Relaxed))?;
        }
        let mut waiting = encoder.encode_descriptor(
            "tidegate_ledger_queue_rows",
            "Rows of the request log that wait to be stored",
            None,
            MetricType::Gauge,
        )?;
        waiting.encode_gauge(&(self.0.queue.len() as u64).cast_signed())?;
        let mut room = encoder.encode_descriptor(
            "tidegate_ledger_queue_rows_max",
            "Rows that may wait; more are dropped",
            None,
            MetricType::Gauge,
        )?;
        room.encode_gauge(&(QUEUE_ROWS_MAX as u64).cast_signed())?;
        let mut notes = encoder.encode_descriptor(
            "tidegate_notes",
            "Lines that scripts have written to their standard error",
            None,
            MetricType::Counter,
        )?;
        notes.encode_counter::<NoLabelSet, _, u64>(&self.0.notes.seen(), None)?;
        let mut stored = encoder.encode_descriptor(
            "tidegate_ledger_stored",
            "Rows of the request log that were stored",
            None,
            MetricType::Counter,
        )?;
        stored.encode_counter::<NoLabelSet, _, u64>(&self.0.stored.load(Relaxed), None)
    }
}

fn requests(counters: &LedgerCounters, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let mut family = encoder.encode_descriptor(
        "tidegate_requests",
        "Requests by door, by what was done and by where the answer came from",
        None,
        MetricType::Counter,
    )?;
    for (door, action, source, count) in counters.sums().iter() {
        let labels =
            [("door", door.as_str()), ("action", action.as_str()), ("source", source.as_str())];
        counter(&mut family, &labels, count)?;
    }
    Ok(())
}

/// The time of requests, added up: over their count it is the mean time of each source.
fn times(counters: &LedgerCounters, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let mut family = encoder.encode_descriptor(
        "tidegate_request_time",
        "Time of all requests until their answers began, added up, by where the answer came from",
        Some(&Unit::Seconds),
        MetricType::Counter,
    )?;
    let mut sums: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for (door, _, source, us) in counters.times_us().iter() {
        *sums.entry((door.as_str(), source.as_str())).or_default() += us;
    }
    for ((door, source), us) in sums {
        let labels = [("door", door), ("source", source)];
        let seconds = us as f64 / 1e6;
        family.encode_family(&labels)?.encode_counter::<NoLabelSet, _, u64>(&seconds, None)?;
    }
    Ok(())
}

/// Response codes, classes of status, and bytes.
fn answers(counters: &LedgerCounters, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let help = "Answers to DNS questions by response code";
    let mut dns =
        encoder.encode_descriptor("tidegate_dns_responses", help, None, MetricType::Counter)?;
    let codes = counters.answers(Door::Dns);
    for (code, count) in codes.statuses.iter().enumerate().filter(|(_, count)| **count > 0) {
        counter(&mut dns, &[("rcode", rcode(code).as_str())], *count)?;
    }
    let help = "Answers of the HTTP doors by class of status; 499 is a client that left before";
    let mut http =
        encoder.encode_descriptor("tidegate_http_responses", help, None, MetricType::Counter)?;
    let mut bytes = Vec::new();
    for door in Door::ALL {
        let answers = counters.answers(door);
        bytes.push((door, answers.bytes));
        if door == Door::Dns {
            continue;
        }
        let classes = CLASSES.iter().zip(answers.statuses).filter(|(_, count)| *count > 0);
        for (class, count) in classes {
            counter(&mut http, &[("door", door.as_str()), ("class", class)], count)?;
        }
    }
    let mut family = encoder.encode_descriptor(
        "tidegate_response",
        "Bytes of answers: messages of DNS, bodies over HTTP",
        Some(&Unit::Bytes),
        MetricType::Counter,
    )?;
    for (door, count) in bytes.into_iter().filter(|(_, count)| *count > 0) {
        counter(&mut family, &[("door", door.as_str())], count)?;
    }
    Ok(())
}

/// The name of a response code (IANA DNS parameters); by number where it is rare.
fn rcode(code: usize) -> String {
    const NAMES: [&str; 12] = [
        "NOERROR",
        "FORMERR",
        "SERVFAIL",
        "NXDOMAIN",
        "NOTIMP",
        "REFUSED",
        "YXDOMAIN",
        "YXRRSET",
        "NXRRSET",
        "NOTAUTH",
        "NOTZONE",
        "DSOTYPENI",
    ];
    match code {
        RCODES => "other".into(),
        16 => "BADVERS".into(),
        23 => "BADCOOKIE".into(),
        code => NAMES.get(code).map_or_else(|| format!("RCODE{code}"), ToString::to_string),
    }
}

fn latency(counters: &LedgerCounters, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let mut family = encoder.encode_descriptor(
        "tidegate_request",
        "Time from a request's last byte in to its answer's first byte out",
        Some(&Unit::Seconds),
        MetricType::Histogram,
    )?;
    for door in Door::ALL {
        let sum = counters.latency(door);
        let count = sum.count();
        if count == 0 {
            continue;
        }
        // The encoder wants counts of each bucket and adds them up itself.
        let mut below = 0;
        let mut buckets: Vec<(f64, u64)> = sum
            .cumulative()
            .map(|(end_us, cumulative)| {
                let own = cumulative - below;
                below = cumulative;
                (end_us as f64 / 1e6, own)
            })
            .collect();
        buckets.push((f64::INFINITY, count - below));
        family.encode_family(&[("door", door.as_str())])?.encode_histogram::<NoLabelSet>(
            sum.sum_us as f64 / 1e6,
            count,
            &buckets,
            None,
        )?;
    }
    Ok(())
}

fn counter(
    family: &mut prometheus_client::encoding::MetricEncoder<'_>,
    labels: &impl EncodeLabelSet,
    count: u64,
) -> fmt::Result {
    family.encode_family(labels)?.encode_counter::<NoLabelSet, _, u64>(&count, None)
}
