//! Metrics that a filter defines: named numbers that its instances on all cores share.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Metrics of one filter.
const METRICS_MAX: usize = 256;
/// Bytes of a metric's name.
pub(crate) const NAME_BYTES_MAX: u32 = 256;

/// The metrics of one filter, by their number.
#[derive(Default)]
pub(crate) struct FilterMetrics(Mutex<Vec<FilterMetric>>);

struct FilterMetric {
    name: Box<[u8]>,
    kind: MetricKind,
    /// A counter's or gauge's value; the sum of what a histogram was given.
    value: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum MetricKind {
    Counter,
    Gauge,
    Histogram,
}

/// A wish that is refused, and why.
pub(crate) enum MetricRefusal {
    /// There is no such metric, or kind of it.
    Unknown,
    /// The metric's kind has no such change; or another has the name.
    Kind,
    /// There are as many as there may be.
    Many,
}

impl FilterMetrics {
    fn all(&self) -> MutexGuard<'_, Vec<FilterMetric>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of a metric, which is there from now on.
    pub(crate) fn define(&self, kind: u32, name: &[u8]) -> Result<u32, MetricRefusal> {
        let kind = match kind {
            0 => MetricKind::Counter,
            1 => MetricKind::Gauge,
            2 => MetricKind::Histogram,
            _ => return Err(MetricRefusal::Unknown),
        };
        let mut all = self.all();
        if let Some(number) = all.iter().position(|it| *it.name == *name) {
            return if all[number].kind == kind {
                Ok(number as u32)
            } else {
                Err(MetricRefusal::Kind)
            };
        }
        if all.len() == METRICS_MAX {
            return Err(MetricRefusal::Many);
        }
        all.push(FilterMetric { name: name.into(), kind, value: 0 });
        Ok((all.len() - 1) as u32)
    }

    /// Adds to a counter, or to a gauge, which may fall.
    pub(crate) fn increment(&self, number: u32, by: i64) -> Result<(), MetricRefusal> {
        self.change(number, |metric| match metric.kind {
            MetricKind::Counter if by >= 0 => {
                metric.value = metric.value.wrapping_add(by.unsigned_abs());
                Ok(())
            }
            MetricKind::Gauge => {
                metric.value = metric.value.wrapping_add_signed(by);
                Ok(())
            }
            MetricKind::Counter | MetricKind::Histogram => Err(MetricRefusal::Kind),
        })
    }

    /// Sets a gauge, or gives a histogram a value.
    pub(crate) fn record(&self, number: u32, value: u64) -> Result<(), MetricRefusal> {
        self.change(number, |metric| match metric.kind {
            MetricKind::Gauge => {
                metric.value = value;
                Ok(())
            }
            MetricKind::Histogram => {
                metric.value = metric.value.wrapping_add(value);
                Ok(())
            }
            MetricKind::Counter => Err(MetricRefusal::Kind),
        })
    }

    pub(crate) fn get(&self, number: u32) -> Result<u64, MetricRefusal> {
        let all = self.all();
        all.get(number as usize).map(|metric| metric.value).ok_or(MetricRefusal::Unknown)
    }

    fn change(
        &self,
        number: u32,
        change: impl FnOnce(&mut FilterMetric) -> Result<(), MetricRefusal>,
    ) -> Result<(), MetricRefusal> {
        let mut all = self.all();
        all.get_mut(number as usize).map_or(Err(MetricRefusal::Unknown), change)
    }
}
