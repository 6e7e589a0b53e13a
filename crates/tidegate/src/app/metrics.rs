//! What the program adds to the metrics page: rules, resolver, cache, signer.
//!
//! Figures are read once, when the page is asked for.

use super::RunningApp;
use super::panics;
use super::pools::pool_row;
use super::reload::size;
use super::stores;
use ::signer::SignerCounts;
use door_gateway::{GuardCounts, PatternHits};
use fetch::FetchRecord;
use http_engine::UnfinishedCounts;
use ledger::Collector;
use ledger::prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, NoLabelSet};
use ledger::prometheus_client::metrics::MetricType;
use ledger::prometheus_client::metrics::counter::ConstCounter;
use ledger::prometheus_client::metrics::gauge::ConstGauge;
use metrics_page::{
    BuildFacts, CertificateEnds, ConnectionFigures, DoorConnections, ExportFigures, FetchedRow,
    FleetRowFigures, ListFigures, ListRow, LogFigures, PoolFigures, ProcessFigures,
    ServedCertificate, StoreFigures, UpstreamFigures,
};
use policy::UnfitList;
use resolver::{CacheStats, ResolverStats};
use scripting::ScriptCounts;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, PoisonError};
use transport::tls::CertificateFacts;
use vocab::ListId;

/// Rules of the gateway with counters of their own on the page.
const RULES_SHOWN_MAX: usize = 100;

type OfCache = (&'static str, &'static str, MetricType, fn(&CacheStats) -> u64);
type OfScript = (&'static str, &'static str, fn(&ScriptCounts) -> u64);

/// Figures of each cache.
const BY_CACHE: [OfCache; 5] = [
    ("tidegate_dns_cache_entries", "Answers held", MetricType::Gauge, |it| it.entries as u64),
    ("tidegate_dns_cache_bytes", "Memory of the answers held", MetricType::Gauge, |it| it.bytes),
    ("tidegate_dns_cache_hits", "Questions answered from it", MetricType::Counter, |it| it.hits),
    ("tidegate_dns_cache_misses", "Questions it had no answer to", MetricType::Counter, |it| {
        it.misses
    }),
    (
        "tidegate_dns_cache_stale",
        "Questions answered from it past an answer's time",
        MetricType::Counter,
        |it| it.stale,
    ),
];

/// Figures of each script of the gateway.
const BY_SCRIPT: [OfScript; 4] = [
    ("tidegate_script_calls", "Calls of its hooks", |it| it.calls),
    ("tidegate_script_errors", "Calls that ended with an error", |it| it.errors),
    ("tidegate_script_ended", "Calls ended because they took too long", |it| it.ended),
    ("tidegate_script_slow", "Calls that took more than 200 µs", |it| it.slow),
];

/// Everything that the program adds to the page, read now.
pub(super) fn collectors(app: &RunningApp) -> Vec<Arc<dyn Collector>> {
    let own = ProgramGauges::of(app);
    let upstreams = UpstreamFigures(own.resolver.upstreams.clone());
    let pools = app.pools().into_iter().map(pool_row).collect();
    let mut all: Vec<Arc<dyn Collector>> = vec![
        Arc::new(BuildFacts {
            version: env!("CARGO_PKG_VERSION"),
            newer: app.releases.newer().map(|it| it.version),
        }),
        Arc::new(ProcessFigures::read(app.started.unix_ms)),
        Arc::new(app.reloads.figures()),
        Arc::new(own),
        Arc::new(LogFigures(
            log_sink::lost_lines().map(|(kind, lost)| (kind.as_str(), lost)).into(),
        )),
        Arc::new(lists(app)),
        Arc::new(certificates(app)),
        Arc::new(connections(app)),
        Arc::new(upstreams),
        Arc::new(PoolFigures(pools)),
        Arc::new(StoreFigures(stores::stores(app))),
        Arc::new(ExportFigures(telemetry::counts())),
    ];
    all.extend(app.pixel_figures());
    all.extend(app.fleet.figures());
    let rows = app.row_figures();
    all.extend(rows.map(|it| Arc::new(FleetRowFigures(it)) as Arc<dyn Collector>));
    all
}

fn lists(app: &RunningApp) -> ListFigures {
    let policy = app.policy.load();
    let row = |(report, number): (&policy::ListReport, u8)| ListRow {
        name: report.name.clone(),
        rules: u64::from(report.rules_names) + u64::from(report.rules_urls),
        skipped: report.skipped_by_reason.iter().map(|(_, count)| u64::from(*count)).sum(),
        in_force: is_in_force(app, report),
        changed_s: policy.list_changed_ms(ListId(number)).map_or(0, |ms| ms / 1000),
        fetched: app.subscriptions.record(&report.name).map(|it| fetched(&it)),
    };
    ListFigures(policy.rules().lists().iter().zip(0..).map(row).collect())
}

/// The download of a list.
fn fetched(record: &FetchRecord) -> FetchedRow {
    FetchedRow {
        fetched_s: record.version.as_ref().map_or(0, |version| version.fetched_s),
        checked_s: record.checked_s,
        failures: record.failures.into(),
    }
}

/// True for a list that does what it is meant to: its text is a list, or empty on purpose, and one
/// with a URL has been fetched.
pub(super) fn is_in_force(app: &RunningApp, report: &policy::ListReport) -> bool {
    let fetched = app.subscriptions.record(&report.name);
    report.unfit.is_none_or(|why| why == UnfitList::Empty)
        && fetched.is_none_or(|it| it.version.is_some_and(|it| it.fetched_s > 0))
}

fn certificates(app: &RunningApp) -> CertificateEnds {
    let running = app.running.lock().unwrap_or_else(PoisonError::into_inner);
    let of = |door, it: CertificateFacts| ServedCertificate {
        door,
        name: it.name,
        not_after: it.not_after,
    };
    let dns = running.doors.dns.as_ref().and_then(|door| door.certificate());
    let mut all: Vec<_> = dns.map(|it| of("dns", it)).into_iter().collect();
    for (door, http) in running.doors.http() {
        all.extend(http.certificates().into_iter().map(|it| of(door.as_str(), it)));
    }
    let authority = app.signer.ca();
    all.extend(authority.map(|ca| ServedCertificate {
        door: "authority",
        name: "Tidegate".into(),
        not_after: ca.valid_secs.end,
    }));
    CertificateEnds(all)
}

fn connections(app: &RunningApp) -> ConnectionFigures {
    let running = app.running.lock().unwrap_or_else(PoisonError::into_inner);
    let dns = running.doors.dns.as_ref();
    let dns = dns.map(|door| DoorConnections { door: "dns", counts: door.connections() });
    let http = running.doors.http().map(|(door, http)| DoorConnections {
        door: door.as_str(),
        counts: http.connection_limits().counts(),
    });
    ConnectionFigures(dns.into_iter().chain(http).collect())
}

/// Holds what the gateway's guards have done.
#[derive(Debug)]
struct OfGateway {
    counts: GuardCounts,
    /// Those that hit most, first.
    hits: Vec<PatternHits>,
}

impl OfGateway {
    fn of(gateway: &door_gateway::GatewayDoor) -> Self {
        let mut hits = gateway.pattern_hits();
        hits.sort_by_key(|it| std::cmp::Reverse(it.hits));
        hits.truncate(RULES_SHOWN_MAX);
        Self { counts: gateway.guard_counts(), hits }
    }
}

/// The figures at one moment.
#[derive(Debug)]
pub(super) struct ProgramGauges {
    rules: u64,
    rules_bytes: u64,
    resolver: ResolverStats,
    signer: SignerCounts,
    collected: Vec<door_dns::CollectedRuns>,
    gateway: Option<OfGateway>,
    /// By the names of their files, those of all doors.
    scripts: BTreeMap<String, ScriptCounts>,
    gateway_upgrades: Option<u32>,
    unfinished: Vec<(&'static str, UnfinishedCounts)>,
    panics: BTreeMap<String, u64>,
}

impl ProgramGauges {
    /// As they are now.
    pub(super) fn of(app: &RunningApp) -> Self {
        let policy = app.policy.load();
        Self {
            rules: size(&policy).1,
            rules_bytes: policy.rules().memory().total(),
            resolver: app.resolver.stats(),
            signer: app.signer.counts(),
            collected: app.collected(),
            gateway: app.gateway_door().as_deref().map(OfGateway::of),
            scripts: app.script_counts(),
            gateway_upgrades: app.gateway_upgrades(),
            unfinished: app.unfinished_requests(),
            panics: panics::counts(),
        }
    }
}

fn gauge(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, value: u64) -> fmt::Result {
    let metric = ConstGauge::new(value.cast_signed());
    let family = encoder.encode_descriptor(name, help, None, metric.metric_type())?;
    metric.encode(family)
}

fn counter(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, value: u64) -> fmt::Result {
    let metric = ConstCounter::new(value);
    let family = encoder.encode_descriptor(name, help, None, metric.metric_type())?;
    metric.encode(family)
}

impl Collector for ProgramGauges {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let to = &mut encoder;
        gauge(to, "tidegate_policy_rules", "Rules in force", self.rules)?;
        gauge(to, "tidegate_policy_bytes", "Memory of the compiled rules", self.rules_bytes)?;
        for (name, help, kind, of) in BY_CACHE {
            self.by_cache(to, name, help, kind, of)?;
        }
        gauge(
            to,
            "tidegate_dns_waiting",
            "Questions that wait for an upstream",
            self.resolver.waiting as u64,
        )?;
        let signer = self.signer;
        counter(to, "tidegate_leaves_minted", "Leaf certificates signed", signer.minted)?;
        counter(
            to,
            "tidegate_leaves_reused",
            "Handshakes with a leaf signed before",
            signer.cached,
        )?;
        counter(
            to,
            "tidegate_leaves_refused",
            "Names refused: not blocked",
            signer.refused_by_policy,
        )?;
        counter(
            to,
            "tidegate_leaves_limited",
            "Leaves not signed: too many for a client",
            signer.rate_limited,
        )?;
        self.of_gateway(to)?;
        by_script(&self.scripts, to)?;
        if let Some(open) = self.gateway_upgrades {
            let help = "Connections through the gateway that have left HTTP, as WebSockets do";
            gauge(to, "tidegate_gateway_upgrades_open", help, open.into())?;
        }
        self.by_door(to)?;
        self.by_collector(to)?;
        self.by_thread(to)
    }
}

fn by_script(
    scripts: &BTreeMap<String, ScriptCounts>,
    encoder: &mut DescriptorEncoder<'_>,
) -> fmt::Result {
    for (name, help, count) in BY_SCRIPT {
        let kind = ConstCounter::new(0u64).metric_type();
        let mut family = encoder.encode_descriptor(name, help, None, kind)?;
        for (script, counts) in scripts {
            let labels = [("script", script.as_str())];
            let mut encoder = family.encode_family(&labels)?;
            encoder.encode_counter::<NoLabelSet, _, u64>(&count(counts), None)?;
        }
    }
    Ok(())
}

impl ProgramGauges {
    fn of_gateway(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let Some(gateway) = &self.gateway else { return Ok(()) };
        let GuardCounts { limited, log_only_matches: spared } = gateway.counts;
        counter(encoder, "tidegate_gateway_limited", "Requests refused by limits", limited)?;
        counter(encoder, "tidegate_gateway_log_only", "Requests that log_only let pass", spared)?;
        let kind = ConstCounter::new(0u64).metric_type();
        let help = "Requests that a rule of the gateway blocked; of those that hit most";
        let mut family =
            encoder.encode_descriptor("tidegate_gateway_rule_hits", help, None, kind)?;
        for hit in &gateway.hits {
            let labels = [("list", hit.list.clone()), ("line", hit.line.to_string())];
            family.encode_family(&labels)?.encode_counter::<NoLabelSet, _, u64>(&hit.hits, None)?;
        }
        Ok(())
    }

    fn by_door(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let (name, help) = ("tidegate_requests_unfinished", "Requests within their bodies");
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for (door, counts) in &self.unfinished {
            let open = ConstGauge::new((counts.open as u64).cast_signed());
            open.encode(family.encode_family(&[("door", *door)])?)?;
        }
        let name = "tidegate_requests_unfinished_refused";
        let help = "Requests refused because too many were within their bodies";
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        for (door, counts) in &self.unfinished {
            let labels = [("door", *door)];
            family
                .encode_family(&labels)?
                .encode_counter::<NoLabelSet, _, u64>(&counts.refused, None)?;
        }
        Ok(())
    }

    fn by_cache(
        &self,
        encoder: &mut DescriptorEncoder<'_>,
        name: &str,
        help: &str,
        kind: MetricType,
        of: fn(&CacheStats) -> u64,
    ) -> fmt::Result {
        let mut family = encoder.encode_descriptor(name, help, None, kind)?;
        for (cache, stats) in self.resolver.cache_names.iter().zip(&self.resolver.caches) {
            let (labels, value) = ([("cache", cache.as_str())], of(stats));
            let mut one = family.encode_family(&labels)?;
            match kind {
                MetricType::Counter => one.encode_counter::<NoLabelSet, _, u64>(&value, None)?,
                _ => one.encode_gauge(&value.cast_signed())?,
            }
        }
        Ok(())
    }

    /// Panics, which are faults of the program's.
    fn by_thread(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let kind = ConstCounter::new(0u64).metric_type();
        let help = "Tasks that ended by a fault of the program's, by thread";
        let mut family = encoder.encode_descriptor("tidegate_panics", help, None, kind)?;
        for (thread, count) in &self.panics {
            let labels = [("thread", thread.as_str())];
            family.encode_family(&labels)?.encode_counter::<NoLabelSet, _, u64>(count, None)?;
        }
        Ok(())
    }

    /// Numbers that a foreign pipeline's collectors have gathered.
    fn by_collector(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let kind = ConstCounter::new(0u64).metric_type();
        let mut family = encoder.encode_descriptor(
            "tidegate_pipeline_queries",
            "Questions that passed a metrics_collector",
            None,
            kind,
        )?;
        for collected in &self.collected {
            for (outcome, count) in [
                ("answered", collected.answered),
                ("unanswered", collected.queries - collected.answered),
            ] {
                let labels = [("collector", collected.name.as_str()), ("outcome", outcome)];
                family
                    .encode_family(&labels)?
                    .encode_counter::<NoLabelSet, _, u64>(&count, None)?;
            }
        }
        Ok(())
    }
}
