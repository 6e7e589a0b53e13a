//! Delay pools: how fast answers come.

use super::access::is_everybody;
use super::acls::{AclMeaning, DestinationKind};
use super::{SquidLine, SquidReader};
use crate::draft::ImportDraft;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Rates of our classes, in bytes a second.
const RATE: std::ops::RangeInclusive<u64> = 4_096..=1 << 40;

/// Pools by number.
#[derive(Default)]
pub(super) struct DelayPools {
    pools: BTreeMap<u64, DelayPool>,
}

#[derive(Default)]
struct DelayPool {
    class: u64,
    /// Bytes a second and burst, of all clients and of each.
    buckets: Vec<Option<(u64, u64)>>,
}

impl DelayPools {
    pub(super) fn add(&mut self, line: &SquidLine<'_>, draft: &mut ImportDraft<'_>) {
        let pool = line.number(0).unwrap_or(0);
        match line.key {
            "delay_class" => {
                self.pools.entry(pool).or_default().class = line.number(1).unwrap_or(1);
                draft.report.carried(&line.place, line.said, "proxy.bandwidth");
            }
            "delay_parameters" => {
                let bucket = |word: &String| {
                    let (rate, burst) = word.split_once('/')?;
                    let (rate, burst) = (rate.parse::<i64>().ok()?, burst.parse::<i64>().ok()?);
                    // -1 is no bound.
                    Some((u64::try_from(rate).ok()?, u64::try_from(burst).ok()?))
                };
                let buckets = line.words.iter().skip(1).map(bucket).collect();
                self.pools.entry(pool).or_default().buckets = buckets;
                draft.report.carried(&line.place, line.said, "proxy.bandwidth");
            }
            _ => draft.report.carried(&line.place, line.said, "needless"),
        }
    }
}

impl SquidReader {
    pub(super) fn finish_bandwidth(&mut self, draft: &mut ImportDraft<'_>) {
        for line in self.later.iter().filter(|line| line.key == "delay_access") {
            let number = line.words.first().and_then(|it| it.parse::<u64>().ok()).unwrap_or(0);
            let is_allow = line.words.get(1).is_some_and(|it| it == "allow");
            let Some(pool) = self.bandwidth.pools.get(&number) else {
                draft.report.left_out(&line.place, &line.said, "there is no such pool");
                continue;
            };
            if !is_allow {
                draft.report.carried(&line.place, &line.said, "those who are in no class");
                continue;
            }
            let Some(mut class) = self.class_of(line.words.get(2..).unwrap_or_default()) else {
                let why = "a class is named by clients and hosts";
                draft.report.left_out(&line.place, &line.said, why);
                continue;
            };
            let last = pool.buckets.len().saturating_sub(1);
            let each =
                if pool.class > 1 { pool.buckets.get(last).copied().flatten() } else { None };
            let all = pool.buckets.first().copied().flatten();
            for (key, bucket) in [("rate", all), ("rate_per_client", each)] {
                if let Some((rate, burst)) = bucket {
                    class[key] = json!(rate.clamp(*RATE.start(), *RATE.end()));
                    if class.get("burst").is_none() {
                        class["burst"] = json!(burst);
                    }
                }
            }
            if class.get("rate").is_none() && class.get("rate_per_client").is_none() {
                draft.report.left_out(&line.place, &line.said, "the pool has no bound");
                continue;
            }
            draft.sections.push("proxy", "bandwidth", class);
            if pool.class > 2 {
                let why = "all clients together, and each of them, are bounded; networks are not";
                draft.report.changed(&line.place, &line.said, "proxy.bandwidth", why);
            } else {
                draft.report.carried(&line.place, &line.said, "proxy.bandwidth");
            }
        }
    }

    /// Clients and URLs of a class.
    fn class_of(&self, acls: &[String]) -> Option<Value> {
        let mut class = json!({});
        for acl in acls {
            match self.acls.meaning(acl) {
                AclMeaning::Sources(networks) if is_everybody(&networks) => {}
                AclMeaning::Sources(networks) => class["clients"] = json!(networks),
                AclMeaning::Destinations(DestinationKind::Domains) => {
                    let rules = self.acls.domains(acl).into_iter().map(|(rule, _)| {
                        if rule.starts_with("||") { rule } else { format!("||{rule}^") }
                    });
                    class["urls"] = rules.map(Value::from).collect();
                }
                AclMeaning::Destinations(
                    DestinationKind::UrlExpressions | DestinationKind::PathExpressions,
                ) => {
                    let values = &self.acls.get(acl)?.values;
                    let rule = |text: &str| format!("/{}/", text.replace('/', "\\/"));
                    class["urls"] = values.iter().map(|it| Value::from(rule(&it.text))).collect();
                }
                _ => return None,
            }
        }
        Some(class)
    }
}
