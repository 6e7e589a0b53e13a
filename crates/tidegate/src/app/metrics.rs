//! What the program adds to the metrics page: rules, resolver, cache, signer.
//!
//! Figures are read once, when the page is asked for.

use super::App;
use super::reload::size;
use ledger::Collector;
use ledger::prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, NoLabelSet};
use ledger::prometheus_client::metrics::counter::ConstCounter;
use ledger::prometheus_client::metrics::gauge::ConstGauge;
use std::collections::BTreeMap;
use std::fmt;
use transport::signer::SignerCounts;
use upstream::resolver::ResolverStats;

/// The figures at one moment.
#[derive(Debug)]
pub(super) struct Gauges {
    rules: u64,
    rules_bytes: u64,
    resolver: ResolverStats,
    signer: SignerCounts,
    collected: Vec<door_dns::Collected>,
}

impl Gauges {
    /// As they are now.
    pub(super) fn of(app: &App) -> Self {
        let policy = app.policy.load();
        Self {
            rules: size(&policy).1,
            rules_bytes: policy.rules().memory().total(),
            resolver: app.resolver.stats(),
            signer: app.signer.counts(),
            collected: app.collected(),
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

impl Collector for Gauges {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let to = &mut encoder;
        gauge(to, "tidegate_policy_rules", "Rules in force", self.rules)?;
        gauge(to, "tidegate_policy_bytes", "Memory of the compiled rules", self.rules_bytes)?;
        let cache = self.resolver.cache;
        gauge(to, "tidegate_dns_cache_entries", "Answers held", cache.entries as u64)?;
        gauge(to, "tidegate_dns_cache_bytes", "Memory of the answers held", cache.bytes)?;
        counter(to, "tidegate_dns_cache_hits", "Questions answered from the cache", cache.hits)?;
        counter(
            to,
            "tidegate_dns_cache_misses",
            "Questions the cache had no answer to",
            cache.misses,
        )?;
        counter(
            to,
            "tidegate_dns_cache_stale",
            "Questions answered past an answer's time",
            cache.stale,
        )?;
        gauge(
            to,
            "tidegate_dns_waiting",
            "Questions that wait for an upstream",
            self.resolver.waiting as u64,
        )?;
        let sent = "Questions sent to an upstream resolver";
        let failed = "Questions that an upstream resolver failed";
        self.by_upstream(to, "tidegate_upstream_queries", sent, |upstream| upstream.sent)?;
        self.by_upstream(to, "tidegate_upstream_failures", failed, |upstream| upstream.failed)?;
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
        self.by_collector(to)
    }
}

impl Gauges {
    fn by_upstream(
        &self,
        encoder: &mut DescriptorEncoder<'_>,
        name: &str,
        help: &str,
        of: impl Fn(&upstream::resolver::UpstreamStats) -> u64,
    ) -> fmt::Result {
        let kind = ConstCounter::new(0u64).metric_type();
        let mut family = encoder.encode_descriptor(name, help, None, kind)?;
        // Several views may ask the same one.
        let mut sums = BTreeMap::<&str, u64>::new();
        for upstream in &self.resolver.upstreams {
            *sums.entry(&upstream.name).or_default() += of(upstream);
        }
        for (name, sum) in sums {
            let labels = [("upstream", name)];
            family.encode_family(&labels)?.encode_counter::<NoLabelSet, _, u64>(&sum, None)?;
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
