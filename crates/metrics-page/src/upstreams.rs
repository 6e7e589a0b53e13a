//! The upstream resolvers: questions, failures, times.

use crate::family::{FamilyHead, write_family, write_histogram};
use ledger::Collector;
use ledger::prometheus_client::encoding::DescriptorEncoder;
use resolver::{UpstreamStanding, UpstreamStats};
use std::fmt;

/// All upstreams. Names differ within a group, and one that groups share is listed once.
#[derive(Debug, Default)]
pub struct UpstreamFigures(pub Vec<UpstreamStats>);

type OfUpstream = (&'static str, &'static str, fn(&UpstreamStats) -> u64);

const BY_UPSTREAM: [OfUpstream; 4] = [
    ("tidegate_upstream_queries", "Questions sent to an upstream resolver", |it| it.sent),
    ("tidegate_upstream_failures", "Questions that it failed", |it| it.failed),
    ("tidegate_upstream_timeouts", "Questions it did not answer in time", |it| it.timeouts),
    (
        "tidegate_upstream_unproved",
        "Answers that lacked a proof which was asked for, so that TCP was used",
        |it| it.unverified,
    ),
];

fn labels(it: &UpstreamStats) -> [(&str, &str); 2] {
    [("group", &it.group), ("upstream", &it.name)]
}

impl Collector for UpstreamFigures {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        for (name, help, of) in BY_UPSTREAM {
            let rows = self.0.iter().map(|it| (labels(it), of(it)));
            write_family(&mut encoder, FamilyHead::counter(name, help), rows)?;
        }
        let help = "Whether it is asked (1), or put aside after failures (0)";
        let rows = self.0.iter().map(|it| (labels(it), it.status == UpstreamStanding::InUse));
        write_family(&mut encoder, FamilyHead::gauge("tidegate_upstream_up", help), rows)?;
        write_histogram(
            &mut encoder,
            "tidegate_upstream_answer_seconds",
            "Time from a question to its answer",
            self.0.iter().map(|it| (labels(it), it.times)),
        )
    }
}
