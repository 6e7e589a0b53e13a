//! The door's counters as families of the metrics page.
//!
//! Read once, when the page is asked for. `docs/manual/reference/pixel.md` says which counter of
//! pixelserv-tls each stands for. Made by [`crate::PixelDoor::stats`].

use crate::counters::{Count, PixelCounters};
use crate::tunnels::OpenTunnels;
use ledger::Collector;
use ledger::prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use ledger::prometheus_client::metrics::MetricType;
use null_answers::BlankBody;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use transport::ConnectionCounts;

/// Name, help, label, and what is counted by the label's value.
type Family = (&'static str, &'static str, &'static str, &'static [(&'static str, Count)]);

const FAMILIES: &[Family] = &[
    (
        "tidegate_pixel_requests",
        "Requests by method",
        "method",
        &[
            ("get", Count::Get),
            ("head", Count::Head),
            ("post", Count::Post),
            ("options", Count::Options),
            ("other", Count::OtherMethod),
        ],
    ),
    (
        "tidegate_pixel_requests_over",
        "Requests by what carried them",
        "scheme",
        &[("http", Count::Plain), ("https", Count::Secure)],
    ),
    (
        "tidegate_pixel_pages",
        "Answers for people",
        "page",
        &[
            ("blocked", Count::BlockPage),
            ("redirected", Count::Redirected),
            ("not_blocked", Count::NotBlocked),
            ("not_covered", Count::NotCovered),
            ("setup", Count::Setup),
            ("certificate", Count::Certificate),
        ],
    ),
    (
        "tidegate_pixel_splices",
        "Connections to names that were let through, by whether they were carried to their server",
        "outcome",
        &[
            ("carried", Count::Spliced),
            ("full", Count::SpliceFull),
            ("circle", Count::SpliceCircle),
            ("forbidden", Count::SpliceForbidden),
            ("unreached", Count::SpliceUnreached),
        ],
    ),
    (
        "tidegate_pixel_connections",
        "Connections that came to speak HTTP",
        "scheme",
        &[("http", Count::ConnectionPlain), ("https", Count::ConnectionSecure)],
    ),
    (
        "tidegate_pixel_connections_silent",
        "Of these, those that ended without a request",
        "scheme",
        &[("http", Count::SilentPlain), ("https", Count::SilentSecure)],
    ),
    (
        "tidegate_pixel_handshakes",
        "TLS handshakes that succeeded, by version",
        "version",
        &[("1.2", Count::Tls12), ("1.3", Count::Tls13)],
    ),
    (
        "tidegate_pixel_sessions",
        "TLS handshakes that succeeded, by whether they took up a session of before",
        "session",
        &[("resumed", Count::Resumed), ("new", Count::Full)],
    ),
    (
        "tidegate_pixel_handshakes_failed",
        "TLS handshakes that failed",
        "reason",
        &[
            ("unknown_ca", Count::UnknownCa),
            ("bad_certificate", Count::BadCertificate),
            ("certificate_unknown", Count::CertificateUnknown),
            ("certificate_expired", Count::Expired),
            ("closed", Count::ClosedEarly),
            ("closed_at_certificate", Count::ClosedAtCertificate),
            ("unsigned", Count::Unsigned),
            ("slow", Count::Slow),
            ("busy", Count::Busy),
            ("not_tls", Count::NotTls),
            ("no_name", Count::NoName),
            ("bad_name", Count::BadName),
            ("name_not_blocked", Count::NameNotBlocked),
            ("rate_limited", Count::RateLimited),
            ("other", Count::OtherFailure),
        ],
    ),
];

/// Name, help, and what is counted.
const SINGLE: &[(&str, &str, Count)] = &[
    ("tidegate_pixel_quick", "Requests answered in the fast path", Count::Quick),
    (
        "tidegate_pixel_anew",
        "Requests sent back to ask on a new connection, since their name was let through",
        Count::Anew,
    ),
    ("tidegate_pixel_gone", "Clients that left before their answer", Count::Gone),
    ("tidegate_pixel_body_bytes", "Bytes of request bodies, thrown away", Count::BodyBytes),
    ("tidegate_pixel_bodies_cut", "Request bodies over the cap or too slow", Count::BodyCut),
];

/// Null answers that are not of fixed bytes.
const MADE: [(&str, Count); 4] = [
    ("stand_in", Count::StandIn),
    ("callback", Count::Callback),
    ("websocket", Count::Socket),
    ("preflight", Count::Preflight),
];

/// The figures, read when they are shown.
#[derive(Debug)]
pub(crate) struct PixelFigures {
    counters: Arc<PixelCounters>,
    limits: ConnectionCounts,
    tunnels: Arc<OpenTunnels>,
}

impl PixelFigures {
    pub(crate) fn new(
        counters: Arc<PixelCounters>,
        limits: ConnectionCounts,
        tunnels: Arc<OpenTunnels>,
    ) -> Self {
        Self { counters, limits, tunnels }
    }

    fn answers(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let made = MADE.iter().map(|(word, count)| (*word, self.counters.of(*count)));
        let blank = |it: BlankBody| (it.as_str(), self.counters.of_blank(it));
        let all: Vec<_> = BlankBody::ALL.into_iter().map(blank).chain(made).collect();
        family(encoder, "tidegate_pixel_answers", "Null answers by kind", "kind", &all)
    }
}

impl Collector for PixelFigures {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let (to, counters) = (&mut encoder, &*self.counters);
        self.answers(to)?;
        for (name, help, label, counts) in FAMILIES {
            let counts = counts.iter().map(|(word, count)| (*word, counters.of(*count)));
            family(to, name, help, label, &counts.collect::<Vec<_>>())?;
        }
        for (name, help, count) in SINGLE {
            single(to, name, help, MetricType::Counter, counters.of(*count))?;
        }
        let refused = [
            ("full", self.limits.refused_full),
            ("client", self.limits.refused_client),
            ("exhausted", self.limits.exhausted),
        ];
        family(
            to,
            "tidegate_pixel_connections_refused",
            "Connections closed at once for a cap, and pauses because descriptors had run out",
            "reason",
            &refused,
        )?;
        for (name, help, value) in [
            ("tidegate_pixel_connections_open", "Connections open now", &counters.open),
            ("tidegate_pixel_connections_open_max", "The most at once", &counters.open_max),
            (
                "tidegate_pixel_connection_requests_max",
                "The most requests that one connection carried",
                &counters.requests_max,
            ),
        ] {
            single(to, name, help, MetricType::Gauge, value.load(Relaxed))?;
        }
        let (name, help) =
            ("tidegate_pixel_tunnels_open", "Connections carried to their servers now");
        single(to, name, help, MetricType::Gauge, self.tunnels.count())
    }
}

fn family(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    label: &str,
    counts: &[(&str, u64)],
) -> fmt::Result {
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
    for (word, count) in counts {
        let labels = [(label, *word)];
        family.encode_family(&labels)?.encode_counter::<NoLabelSet, _, u64>(count, None)?;
    }
    Ok(())
}

fn single(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    kind: MetricType,
    value: u64,
) -> fmt::Result {
    let mut metric = encoder.encode_descriptor(name, help, None, kind)?;
    match kind {
        MetricType::Counter => metric.encode_counter::<NoLabelSet, _, u64>(&value, None),
        _ => metric.encode_gauge(&value.cast_signed()),
    }
}
