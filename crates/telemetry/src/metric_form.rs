//! Families of the metrics page as metrics of OpenTelemetry.
//!
//! Pure. The first `_` of a name becomes a dot, and the unit at its end becomes the metric's unit:
//! a collector that writes Prometheus' names again writes the page's own. Counters are cumulative
//! monotonic sums, histograms cumulative with explicit bounds, all others gauges.

use crate::attributes::text;
use crate::openmetrics::{MetricFamily, MetricSample};
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Gauge, Histogram, HistogramDataPoint, Metric, NumberDataPoint, Sum,
};
use std::collections::BTreeMap;

/// Base units at the end of names, and what OpenTelemetry calls them (UCUM).
const UNITS: [(&str, &str); 2] = [("_seconds", "s"), ("_bytes", "By")];

/// The time that points tell of, in nanoseconds since 1970.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PointTime {
    /// From when on it is counted.
    pub(crate) start: u64,
    /// Now.
    pub(crate) now: u64,
}

/// Families as metrics.
pub(crate) fn metrics(families: Vec<MetricFamily>, time: PointTime) -> Vec<Metric> {
    let with_points = families.into_iter().filter(|it| !it.samples.is_empty());
    with_points.map(|family| metric(family, time)).collect()
}

fn metric(family: MetricFamily, time: PointTime) -> Metric {
    let (name, unit) = named(&family.name);
    let temporality = AggregationTemporality::Cumulative.into();
    let data = match family.kind.as_str() {
        "counter" => Data::Sum(Sum {
            data_points: points(&family.samples, time.start, time.now),
            aggregation_temporality: temporality,
            is_monotonic: true,
        }),
        "histogram" => Data::Histogram(Histogram {
            data_points: histogram_points(&family.samples, time),
            aggregation_temporality: temporality,
        }),
        _ => Data::Gauge(Gauge { data_points: points(&family.samples, 0, time.now) }),
    };
    let (description, data) = (family.help, Some(data));
    Metric { name, description, unit: unit.into(), data, ..Metric::default() }
}

/// A name with its unit taken off.
fn named(family: &str) -> (String, &'static str) {
    let found = UNITS.iter().find_map(|(ending, unit)| Some((family.strip_suffix(ending)?, *unit)));
    let (name, unit) = found.unwrap_or((family, ""));
    (name.replacen('_', ".", 1), unit)
}

fn points(samples: &[MetricSample], start: u64, now: u64) -> Vec<NumberDataPoint> {
    let point = |sample: &MetricSample| NumberDataPoint {
        attributes: attributes(&sample.labels),
        start_time_unix_nano: start,
        time_unix_nano: now,
        value: Some(value(sample.value)),
        ..NumberDataPoint::default()
    };
    samples.iter().map(point).collect()
}

/// Whole numbers stay whole.
fn value(value: f64) -> Value {
    // Within what a double holds exactly.
    if value.fract() == 0.0 && value.abs() < 9e15 {
        Value::AsInt(value as i64)
    } else {
        Value::AsDouble(value)
    }
}

fn attributes(labels: &BTreeMap<String, String>) -> Vec<KeyValue> {
    labels.iter().map(|(name, value)| text(name, value)).collect()
}

fn histogram_points(samples: &[MetricSample], time: PointTime) -> Vec<HistogramDataPoint> {
    let mut of: BTreeMap<BTreeMap<String, String>, HistogramDataPoint> = BTreeMap::new();
    for sample in samples {
        let mut labels = sample.labels.clone();
        let bound = labels.remove("le");
        let point = of.entry(labels).or_insert_with_key(|labels| HistogramDataPoint {
            attributes: attributes(labels),
            start_time_unix_nano: time.start,
            time_unix_nano: time.now,
            ..HistogramDataPoint::default()
        });
        match sample.ending.as_str() {
            "_sum" => point.sum = Some(sample.value),
            "_count" => point.count = whole(sample.value),
            _ => add_bucket(point, bound.as_deref(), whole(sample.value)),
        }
    }
    of.into_values().collect()
}

/// Adds a bucket: the page counts all that is below a bound, OTLP what is between two.
fn add_bucket(point: &mut HistogramDataPoint, bound: Option<&str>, below: u64) {
    let before: u64 = point.bucket_counts.iter().sum();
    point.bucket_counts.push(below.saturating_sub(before));
    // The last has no bound.
    let bound = bound.and_then(|it| it.parse::<f64>().ok()).filter(|it| it.is_finite());
    point.explicit_bounds.extend(bound);
}

#[allow(clippy::cast_sign_loss, reason = "what is counted is not negative")]
fn whole(value: f64) -> u64 {
    value.max(0.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::openmetrics::read_page;

    const TIME: PointTime = PointTime { start: 1, now: 2 };

    #[test]
    fn names_and_units_are_opentelemetrys() {
        assert_eq!(named("tidegate_requests"), ("tidegate.requests".into(), ""));
        let named_bytes = ("tidegate.connection_sent".into(), "By");
        assert_eq!(named("tidegate_connection_sent_bytes"), named_bytes);
        assert_eq!(named("process_cpu_seconds"), ("process.cpu".into(), "s"));
    }

    #[test]
    fn counters_are_sums_and_gauges_gauges() {
        let page = "# TYPE tidegate_a counter\ntidegate_a_total{d=\"x\"} 3\n# TYPE b gauge\nb 1.5\n\
                    # TYPE c gauge\n";
        let made = metrics(read_page(page), TIME);
        let [sum, gauge] = made.as_slice() else { panic!("{made:?}") };
        let Some(Data::Sum(sum)) = &sum.data else { panic!("{sum:?}") };
        assert!(sum.is_monotonic);
        assert_eq!(sum.data_points[0].value, Some(Value::AsInt(3)));
        let Some(Data::Gauge(gauge)) = &gauge.data else { panic!("{gauge:?}") };
        assert_eq!(gauge.data_points[0].value, Some(Value::AsDouble(1.5)));
    }

    #[test]
    fn buckets_count_what_is_between_two_bounds() {
        let page = "# TYPE h_seconds histogram\nh_seconds_sum{d=\"x\"} 1.5\n\
                    h_seconds_count{d=\"x\"} 6\nh_seconds_bucket{le=\"0.1\",d=\"x\"} 2\n\
                    h_seconds_bucket{le=\"1.0\",d=\"x\"} 5\n\
                    h_seconds_bucket{le=\"+Inf\",d=\"x\"} 6\n";
        let made = metrics(read_page(page), TIME);
        let Some(Data::Histogram(histogram)) = &made[0].data else { panic!("{made:?}") };
        let point = &histogram.data_points[0];
        assert_eq!((point.count, point.sum), (6, Some(1.5)));
        assert_eq!(point.bucket_counts, [2, 3, 1]);
        assert_eq!(point.explicit_bounds, [0.1, 1.0]);
    }
}
