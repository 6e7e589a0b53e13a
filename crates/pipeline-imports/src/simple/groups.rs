//! Upstreams that are asked: names that lead elsewhere, views, everything else.

use super::{MadePart, SimpleBuilder, StepFate};
use crate::kept_reason::KeptReason;
use crate::names;
use crate::steps::{FinalSource, ForwardUse, NameTest};
use crate::upstreams::{self, GroupManner, UpstreamTable};
use mosdns_compat::language::SetWords;
use pipeline::program::StandbyMode;
use pipeline::sets::DomainKind;
use serde_json::{Value, json};
use std::collections::HashSet;
use vocab::TimeSpan;

/// Views, at most.
const VIEWS_MAX: usize = 32;

impl<'f> SimpleBuilder<'_, 'f> {
    /// A view that stands before it does not matter: its clients come no further, there and here.
    pub(super) fn route(&mut self, test: NameTest<'f>, forward: &ForwardUse<'f>) -> StepFate {
        let found = names::names(test, self.book)?;
        if !found.files.is_empty() || !found.filters.is_empty() {
            return Err(KeptReason::NamesInFile);
        }
        let mut domains = Vec::new();
        for rule in found.names {
            match rule.kind {
                DomainKind::Domain => {}
                DomainKind::Full => return Err(KeptReason::NameKind("names without those below")),
                DomainKind::Keyword => return Err(KeptReason::NameKind("keywords")),
                DomainKind::Regexp => return Err(KeptReason::NameKind("expressions")),
            }
            // The first rule counts there, the longest name here.
            if !self.routed.iter().any(|earlier| earlier.covers(&rule)) {
                domains.push(rule.text.clone());
                self.routed.push(rule);
            }
        }
        if !domains.is_empty() {
            self.routes.push((forward.clone(), domains));
        }
        self.made.insert(MadePart::Answers);
        let is_cached = self.cache.is_some();
        Ok((!is_cached).then_some("their answers are kept in the cache too, if there is one"))
    }

    pub(super) fn view(&mut self, clients: &SetWords, forward: &ForwardUse<'f>) -> StepFate {
        if self.views.len() >= VIEWS_MAX {
            return Err(KeptReason::TooLong);
        }
        let clients = names::networks(clients, self.book)?;
        let mut table = UpstreamTable::default();
        for (earlier, domains) in &self.routes {
            table.add_for(earlier, domains);
        }
        table.add(forward);
        self.upstreams.join(&table);
        let name = format!("view {}", self.views.len() + 1);
        let strategy = GroupManner::of(forward).strategy();
        self.views.push(json!({
            "name": name, "clients": clients, "upstreams": table.upstreams, "strategy": strategy,
        }));
        self.made.insert(MadePart::Answers);
        Ok(Some("with a cache of its own, and as many at once as for all others"))
    }

    pub(super) fn last(&mut self, source: &FinalSource<'f>) -> Option<&'static str> {
        let (forward, fallback) = match source {
            FinalSource::Forward(forward) => (forward, None),
            FinalSource::Fallback(plugin, first, second) => (first, Some((*plugin, second))),
        };
        self.manner(forward);
        self.upstreams.add(forward);
        for (route, domains) in std::mem::take(&mut self.routes) {
            self.upstreams.add_for(&route, &domains);
        }
        let near = upstreams::near(forward);
        if !near.is_empty() {
            self.draft.sections.set("dns", "private_reverse", near);
        }
        let (plugin, second) = fallback?;
        let mut table = UpstreamTable::default();
        table.add(second);
        self.upstreams.join(&table);
        let standby = match plugin.standby {
            StandbyMode::Always => "always",
            StandbyMode::WhenNeeded => "when-needed",
        };
        let after = plugin.threshold.min(std::time::Duration::from_secs(10));
        let value = json!({
            "upstreams": table.upstreams, "after": TimeSpan(after).to_string(), "standby": standby,
        });
        self.draft.sections.set("dns", "fallback", value);
        let has_names = !self.routed.is_empty();
        has_names.then_some("dns.fallback, which stands in for upstreams of names too")
    }

    /// Manner in which upstreams are asked: settings have this once.
    fn manner(&mut self, forward: &ForwardUse<'f>) {
        let manner = GroupManner::of(forward);
        let sections = &mut self.draft.sections;
        if forward.chosen.len() > 1 {
            sections.set("dns", "strategy", manner.strategy());
            if manner.concurrent > 1 {
                sections.set("dns", "concurrent", manner.concurrent);
            }
        }
        if forward.chosen.len() > 1 && manner.selection() != "first" {
            sections.set("dns", "response_selection", manner.selection());
        }
    }

    /// Everything that was gathered.
    pub(super) fn write_all(&mut self) {
        let sections = &mut self.draft.sections;
        if !self.lists.is_empty() {
            sections.set("policy", "lists", std::mem::take(&mut self.lists));
        }
        sections.set("dns", "upstreams", std::mem::take(&mut self.upstreams.upstreams));
        if !self.views.is_empty() {
            sections.set("dns", "views", std::mem::take(&mut self.views));
        }
        let bootstrap = self.upstreams.bootstrap();
        if !bootstrap.is_empty() {
            sections.set("dns", "bootstrap", bootstrap);
        }
        if let Some(timeout) = self.upstreams.timeout() {
            sections.set("dns", "timeout", timeout);
        }
        if let Some(style) = self.style {
            sections.set("dns", "blocked", style);
        }
        if !self.local.is_empty() {
            let mut known = HashSet::new();
            let local = std::mem::take(&mut self.local).into_iter();
            let local = local.filter(|line| known.insert(line.clone())).map(Value::from);
            sections.set("dns", "local", local.collect::<Vec<_>>());
        }
        self.write_cache();
        self.write_defaults();
    }
}
