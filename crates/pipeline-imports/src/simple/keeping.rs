//! Answers that are kept, for how long, and what upstreams are told of clients.

use super::{MadePart, SimpleBuilder, StepFate};
use crate::kept_reason::KeptReason;
use mosdns_compat::compile::bytes_of_answers;
use mosdns_compat::language::{CachePlugin, NegativeCaching};
use pipeline::program::{PassOn, SubnetRule, TtlRule};
use serde_json::json;
use std::time::Duration;
use vocab::{ByteSize, TimeSpan};

/// Shortest life that may be given to records, at most.
const MIN_TTL_MAX_S: u32 = 3600;
/// Longest life of records.
const MAX_TTL_MAX_S: u32 = 86_400;
/// Longest time for which it is kept that there is no such name.
const NEGATIVE_MAX: Duration = Duration::from_hours(3);

impl<'f> SimpleBuilder<'_, 'f> {
    pub(super) fn cache(&mut self, plugin: &'f CachePlugin) -> StepFate {
        match self.cache {
            Some(known) if std::ptr::eq(known, plugin) => return Ok(None),
            Some(_) => return Err(KeptReason::Several("a cache for everybody")),
            None => self.cache = Some(plugin),
        }
        Ok(Some("a size in bytes, and the answers of this cache alone are kept over a restart"))
    }

    /// The cache; none where the file has none.
    pub(super) fn write_cache(&mut self) {
        let sections = &mut self.draft.sections;
        let mut set = |key: &str, value: serde_json::Value| {
            sections.set_below("dns", "cache", key, value);
        };
        let Some(plugin) = self.cache else { return set("size", json!("0B")) };
        set("size", ByteSize(bytes_of_answers(plugin.entries)).to_string().into());
        let stale = plugin.lazy.unwrap_or_default().min(Duration::from_hours(7 * 24));
        set("stale", span(stale));
        if !stale.is_zero() {
            set("stale_mode", json!("at-once"));
        }
        set("prefetch", json!(false));
        if let Some(least) = plugin.positive_min {
            set("kept_ttl_min", span(least));
        }
        if let Some(most) = plugin.positive_max
            && !self.made.contains(&MadePart::Ttl)
        {
            set("max_ttl", span(within(most, Duration::from_secs(MAX_TTL_MAX_S.into()))));
        }
        let negative = match plugin.negative {
            NegativeCaching::AtMost(long) => within(long, NEGATIVE_MAX),
            // A second is as good as not at all, and spares upstreams a storm.
            NegativeCaching::Off => Duration::from_secs(1),
        };
        set("max_negative_ttl", span(negative));
    }

    pub(super) fn ttl(&mut self, rule: TtlRule) -> StepFate {
        if self.cache.is_none() {
            return Err(KeptReason::Value("life of answers without a cache"));
        }
        if self.made.contains(&MadePart::Ttl) {
            return Err(KeptReason::Several("bounds of lives"));
        }
        if !self.routed.is_empty() || !self.views.is_empty() {
            return Err(KeptReason::Order("lives are changed of the answers of all upstreams"));
        }
        let (least, most) = match rule {
            TtlRule::Fixed(life) => (life, life),
            TtlRule::Within(least, most) => (least, most),
        };
        if least > MIN_TTL_MAX_S || most > MAX_TTL_MAX_S || (most > 0 && least > most) {
            return Err(KeptReason::Value("life of records"));
        }
        if matches!(rule, TtlRule::Fixed(0)) {
            return Err(KeptReason::Value("life of records"));
        }
        let mut set = |key: &str, seconds: u32| {
            let long = Duration::from_secs(seconds.into());
            self.draft.sections.set_below("dns", "cache", key, span(long));
        };
        if least > 0 {
            set("min_ttl", least);
        }
        if most > 0 {
            set("max_ttl", most);
        }
        self.made.insert(MadePart::Ttl);
        Ok(Some("lives of answers with records, as they are kept"))
    }

    pub(super) fn subnet(&mut self, rule: &SubnetRule) -> StepFate {
        if self.made.contains(&MadePart::Subnet)
            || !self.routed.is_empty()
            || !self.views.is_empty()
        {
            return Err(KeptReason::Several("what upstreams are told of clients"));
        }
        self.made.insert(MadePart::Subnet);
        let mode = match (rule.forward, rule.send, rule.preset) {
            (PassOn::Keep, PassOn::Keep, None) => return Ok(None),
            (PassOn::Pass, PassOn::Keep, None) => "forward",
            (PassOn::Pass, PassOn::Pass, None) => "client",
            (PassOn::Keep, _, Some(address)) => {
                let sections = &mut self.draft.sections;
                sections.set_below("dns", "client_subnet", "address", address.to_string());
                "fixed"
            }
            (PassOn::Keep, PassOn::Pass, None) | (PassOn::Pass, _, Some(_)) => {
                return Err(KeptReason::Executor("ecs_handler with these arguments"));
            }
        };
        let sections = &mut self.draft.sections;
        sections.set_below("dns", "client_subnet", "mode", mode);
        sections.set_below("dns", "client_subnet", "ipv4_prefix", rule.mask4);
        sections.set_below("dns", "client_subnet", "ipv6_prefix", rule.mask6);
        Ok(None)
    }
}

fn within(long: Duration, most: Duration) -> Duration {
    long.clamp(Duration::from_secs(1), most)
}

fn span(long: Duration) -> serde_json::Value {
    TimeSpan(long).to_string().into()
}
