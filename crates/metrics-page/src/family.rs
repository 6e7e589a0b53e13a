//! One family of the page: its head, and a row for each set of labels.
//!
//! A family has rows for so many sets of labels at most; those beyond are left out, so that a
//! configuration with thousands of servers does not fill the memory of whoever reads the page.

use latency_histogram::{BOUNDS_US, LatencyFigures};
use ledger::prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use ledger::prometheus_client::metrics::MetricType;
use std::fmt;

/// Rows of one family at most; histograms have sixteen lines a row.
const ROWS_MAX: usize = 2_000;

/// Head of a family.
#[derive(Clone, Copy, Debug)]
pub struct FamilyHead {
    /// Name, without the `_total` of counters.
    pub name: &'static str,
    /// Meaning, in one sentence.
    pub help: &'static str,
    /// Type.
    pub kind: MetricType,
}

/// A value of a counter or a gauge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MetricValue {
    /// A whole number.
    Whole(u64),
    /// Seconds, and parts of a whole.
    Real(f64),
}

impl From<u64> for MetricValue {
    fn from(value: u64) -> Self {
        Self::Whole(value)
    }
}

impl From<bool> for MetricValue {
    fn from(value: bool) -> Self {
        Self::Whole(value.into())
    }
}

impl From<f64> for MetricValue {
    fn from(value: f64) -> Self {
        Self::Real(value)
    }
}

impl FamilyHead {
    /// A family whose values only grow.
    pub const fn counter(name: &'static str, help: &'static str) -> Self {
        Self { name, help, kind: MetricType::Counter }
    }

    /// A family whose values go up and down.
    pub const fn gauge(name: &'static str, help: &'static str) -> Self {
        Self { name, help, kind: MetricType::Gauge }
    }
}

/// Writes a family of counters or gauges.
pub fn write_family<'r, const LABELS: usize, V: Into<MetricValue>>(
    encoder: &mut DescriptorEncoder<'_>,
    head: FamilyHead,
    rows: impl IntoIterator<Item = ([(&'r str, &'r str); LABELS], V)>,
) -> fmt::Result {
    let mut family = encoder.encode_descriptor(head.name, head.help, None, head.kind)?;
    for (labels, value) in rows.into_iter().take(ROWS_MAX) {
        if LABELS == 0 {
            write_value(&mut family, head.kind, value.into())?;
        } else {
            write_value(&mut family.encode_family(&labels)?, head.kind, value.into())?;
        }
    }
    Ok(())
}

fn write_value(
    encoder: &mut MetricEncoder<'_>,
    kind: MetricType,
    value: MetricValue,
) -> fmt::Result {
    match (kind, value) {
        (MetricType::Counter, MetricValue::Whole(value)) => {
            encoder.encode_counter::<NoLabelSet, _, u64>(&value, None)
        }
        (MetricType::Counter, MetricValue::Real(value)) => {
            encoder.encode_counter::<NoLabelSet, _, u64>(&value, None)
        }
        (_, MetricValue::Whole(value)) => encoder.encode_gauge(&value.cast_signed()),
        (_, MetricValue::Real(value)) => encoder.encode_gauge(&value),
    }
}

/// Writes a family of histograms of seconds.
pub fn write_histogram<'r, const LABELS: usize>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    rows: impl IntoIterator<Item = ([(&'r str, &'r str); LABELS], LatencyFigures)>,
) -> fmt::Result {
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Histogram)?;
    for (labels, figures) in rows.into_iter().take(ROWS_MAX) {
        let bounds = BOUNDS_US.iter().map(|us| *us as f64 / 1e6).chain([f64::INFINITY]);
        let buckets: Vec<(f64, u64)> = bounds.zip(figures.buckets).collect();
        family.encode_family(&labels)?.encode_histogram::<NoLabelSet>(
            figures.sum_us as f64 / 1e6,
            figures.count(),
            &buckets,
            None,
        )?;
    }
    Ok(())
}
