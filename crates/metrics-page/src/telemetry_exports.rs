//! Spans, figures and log records that were to be exported, by what became of them.

use crate::family::{FamilyHead, write_family};
use ledger::Collector;
use ledger::prometheus_client::encoding::DescriptorEncoder;
use std::fmt;
use telemetry::SignalCounts;

/// Counts of each signal by its name.
#[derive(Debug)]
pub struct ExportFigures(pub [(&'static str, SignalCounts); 3]);

impl Collector for ExportFigures {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let rows = |of: fn(&SignalCounts) -> u64| {
            self.0.iter().map(move |(signal, counts)| ([("signal", *signal)], of(counts)))
        };
        let help = "Spans, points and log records that a collector took";
        let head = FamilyHead::counter("tidegate_otlp_exported", help);
        write_family(&mut encoder, head, rows(|it| it.exported))?;
        let dropped = self.0.iter().flat_map(|(signal, counts)| {
            let reasons = [
                ("queue_full", counts.dropped_full),
                ("rejected", counts.rejected),
                ("failed", counts.failed),
            ];
            reasons.map(|(reason, count)| ([("signal", *signal), ("reason", reason)], count))
        });
        let help = "Spans, points and log records that no collector took";
        write_family(&mut encoder, FamilyHead::counter("tidegate_otlp_dropped", help), dropped)?;
        let help = "Requests to the collector that were sent again";
        let head = FamilyHead::counter("tidegate_otlp_retries", help);
        write_family(&mut encoder, head, rows(|it| it.retries))?;
        let head = FamilyHead::gauge("tidegate_otlp_queue", "Spans and log records that wait");
        write_family(&mut encoder, head, rows(|it| it.waiting))
    }
}
