//! The logs: lines that were lost.

use crate::family::{FamilyHead, write_family};
use ledger::Collector;
use ledger::prometheus_client::encoding::DescriptorEncoder;
use std::fmt;

/// Lines of logs that were lost since the start, by the kind of their destination.
#[derive(Debug, Default)]
pub struct LogFigures(pub Vec<(&'static str, u64)>);

impl Collector for LogFigures {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Lines of all logs that were lost: their destination was slow, full or away";
        let head = FamilyHead::counter("tidegate_log_lines_lost", help);
        let rows = self.0.iter().map(|(kind, lost)| ([("destination", *kind)], *lost));
        write_family(&mut encoder, head, rows)
    }
}
