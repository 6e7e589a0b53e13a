//! Rows that are sent to the fleet's database.

use crate::family::{FamilyHead, write_family};
use fleet_rows::{DatabaseLink, RowFigures};
use ledger::Collector;
use ledger::prometheus_client::encoding::DescriptorEncoder;
use std::fmt;

/// Figures of the rows that are sent.
#[derive(Debug)]
pub struct FleetRowFigures(pub RowFigures);

impl Collector for FleetRowFigures {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let figures = &self.0;
        let mut counter = |name, help, value: u64| {
            write_family(&mut encoder, FamilyHead::counter(name, help), [([], value)])
        };
        counter("tidegate_fleet_rows_sent", "Rows that the fleet's database took", figures.sent)?;
        counter(
            "tidegate_fleet_minutes_sent",
            "Counts by the minute that it took, each time anew",
            figures.minutes_sent,
        )?;
        counter(
            "tidegate_fleet_rows_failures",
            "Times that the way to the fleet's database failed",
            figures.failures,
        )?;
        let dropped = [
            ("backlog", figures.dropped_backlog),
            ("moment", figures.dropped_moment),
            ("unfit", figures.dropped_unfit),
        ];
        let head = FamilyHead::counter(
            "tidegate_fleet_rows_dropped",
            "Rows that the fleet's database will never have",
        );
        let rows = dropped.map(|(reason, count)| ([("reason", reason)], count));
        write_family(&mut encoder, head, rows)?;
        let mut gauge = |name, help, value: f64| {
            write_family(&mut encoder, FamilyHead::gauge(name, help), [([], value)])
        };
        gauge(
            "tidegate_fleet_rows_waiting",
            "Rows of the request log that were not looked at yet",
            figures.waiting as f64,
        )?;
        gauge(
            "tidegate_fleet_rows_lag_seconds",
            "Age of the last row that was looked at, while others wait behind it",
            figures.lag_ms as f64 / 1e3,
        )?;
        let is_up = f64::from(u8::from(figures.link == DatabaseLink::Up));
        gauge("tidegate_fleet_rows_up", "1 while the fleet's database takes rows", is_up)
    }
}
