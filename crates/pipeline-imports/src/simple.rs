//! A pipeline as settings, where these answer every question as it did.
//!
//! Settings do things in one order: clients that may not ask, other names, records, types, lists,
//! views, the cache, upstreams by names. Steps in another order are taken only where the order
//! makes no difference. Called by the crate's entry.

mod blocks;
mod defaults;
mod groups;
mod keeping;

use crate::PipelineDraft;
use crate::book::PluginBook;
use crate::flow::{PlainRule, walk};
use crate::kept_reason::{KeptReason, PlacedReason};
use crate::names::{self, NamedRule};
use crate::records::{self, OwnedLines};
use crate::steps::{FlowStep, PlacedStep};
use crate::upstreams::UpstreamTable;
use dns_wire::records::LocalRecords;
use mosdns_compat::language::{
    CachePlugin, Executor, ListedRules, PluginKind, RateLimit, SetWords, SourcePosition,
};
use pipeline::program::TestSense;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Settings in the making.
struct SimpleBuilder<'b, 'f> {
    book: &'b PluginBook<'f>,
    draft: PipelineDraft,
    reasons: Vec<PlacedReason>,
    local: Vec<String>,
    /// Names with records, names that are blocked, names that lead elsewhere.
    owned: Vec<NamedRule>,
    blocked: Vec<NamedRule>,
    routed: Vec<NamedRule>,
    upstreams: UpstreamTable,
    /// Upstreams of names, before any that are asked about everything.
    routes: Vec<(crate::steps::ForwardUse<'f>, Vec<String>)>,
    views: Vec<Value>,
    lists: Vec<Value>,
    style: Option<&'static str>,
    cache: Option<&'f CachePlugin>,
    made: BTreeSet<MadePart>,
}

/// Part of the settings that a step has made already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum MadePart {
    /// Something answers.
    Answers,
    Blocks,
    Ttl,
    Limit,
    Subnet,
}

/// Outcome of a step: what is not the same here, or why no setting does it.
type StepFate = Result<Option<&'static str>, KeptReason>;

/// The file of `book` as settings, with what `draft` has already; or the reasons why it is none.
pub(crate) fn settings(
    book: &PluginBook<'_>,
    draft: PipelineDraft,
) -> Result<PipelineDraft, Vec<PlacedReason>> {
    let Some((server, _)) = book.servers().next() else {
        let reason = KeptReason::Executor("a file without servers");
        return Err(vec![PlacedReason { position: SourcePosition::default(), reason }]);
    };
    let entry = book.entry().unwrap_or_default();
    let flow = walk(book, entry, &server.position);
    let mut builder = SimpleBuilder::new(book, draft);
    builder.reasons = flow.reasons;
    builder.look_at_clocks();
    for step in &flow.steps {
        builder.step(step);
    }
    builder.finish(&flow.plain)
}

impl<'b, 'f> SimpleBuilder<'b, 'f> {
    fn new(book: &'b PluginBook<'f>, draft: PipelineDraft) -> Self {
        Self {
            book,
            draft,
            reasons: Vec::new(),
            local: Vec::new(),
            owned: Vec::new(),
            blocked: Vec::new(),
            routed: Vec::new(),
            upstreams: UpstreamTable::default(),
            routes: Vec::new(),
            views: Vec::new(),
            lists: Vec::new(),
            style: None,
            cache: None,
            made: BTreeSet::new(),
        }
    }

    fn keep(&mut self, position: &SourcePosition, reason: KeptReason) {
        self.reasons.push(PlacedReason { position: position.clone(), reason });
    }

    /// Notes plugins that run by the clock: no setting does.
    fn look_at_clocks(&mut self) {
        for plugin in &self.book.foreign.plugins {
            if matches!(plugin.kind, PluginKind::Executor(Executor::Cron(_))) {
                self.keep(&plugin.position, KeptReason::Executor("cron"));
            }
        }
    }

    fn step(&mut self, placed: &PlacedStep<'f>) {
        let (setting, fate) = match &placed.step {
            FlowStep::Refuse(sense, words) => ("dns.access", self.access(*sense, words)),
            FlowStep::Limit(limit) => ("dns.rate_limit", self.limit(limit)),
            FlowStep::Hosts(rules) => ("dns.local", self.hosts(rules)),
            FlowStep::Records(rules) => ("dns.local", self.records(rules)),
            FlowStep::Redirect(rules) => ("dns.rewrites", self.redirect(rules)),
            FlowStep::RefuseTypes(types, answer) => {
                ("dns.filter_types", self.refuse_types(types, answer))
            }
            FlowStep::Block(names, answer) => ("policy.lists", self.block(*names, answer)),
            FlowStep::Route(names, forward) => ("dns.upstreams", self.route(*names, forward)),
            FlowStep::View(clients, forward) => ("dns.views", self.view(clients, forward)),
            FlowStep::Cache(plugin) => ("dns.cache", self.cache(plugin)),
            FlowStep::Subnet(rule) => ("dns.client_subnet", self.subnet(rule)),
            FlowStep::Ttl(rule) => ("dns.cache", self.ttl(*rule)),
            FlowStep::Final(source) => ("dns.upstreams", Ok(self.last(source))),
        };
        let files = self.book.files;
        match fate {
            Ok(why) => {
                let (place, said) = (files.place(&placed.position), files.said(&placed.position));
                match why {
                    Some(why) => self.draft.report.changed(&place, &said, setting, why),
                    None => self.draft.report.carried(&place, &said, setting),
                }
            }
            Err(reason) => self.keep(&placed.position, reason),
        }
    }

    fn access(&mut self, sense: TestSense, words: &SetWords) -> StepFate {
        if self.made.contains(&MadePart::Answers) {
            return Err(KeptReason::Order("who may not ask is told before all else"));
        }
        let networks = names::networks(words, self.book)?;
        let key = match sense {
            TestSense::Is => "deny",
            TestSense::IsNot => "allow",
        };
        let known = self.draft.sections.get("dns", "access").and_then(|it| it.get(key)).cloned();
        match known {
            // Two sets outside of which nobody may ask would have to be cut with one another.
            Some(_) if sense == TestSense::IsNot => return Err(KeptReason::Several("allow")),
            Some(Value::Array(mut all)) => {
                all.extend(networks.into_iter().map(Value::from));
                self.draft.sections.set_below("dns", "access", key, all);
            }
            Some(_) | None => self.draft.sections.set_below("dns", "access", key, networks),
        }
        Ok(None)
    }

    #[expect(clippy::cast_sign_loss, reason = "a rate that is taken is 1 to 1,000,000")]
    fn limit(&mut self, limit: &RateLimit) -> StepFate {
        if self.made.contains(&MadePart::Answers) {
            return Err(KeptReason::Order("rates hold before all else"));
        }
        if self.made.contains(&MadePart::Limit)
            || limit.qps.fract() != 0.0
            || !(1.0..=1_000_000.0).contains(&limit.qps)
        {
            return Err(KeptReason::Value("rate"));
        }
        let value = json!({
            "queries_per_second": limit.qps as u32,
            "burst": limit.burst,
            "ipv4_prefix": limit.mask4,
            "ipv6_prefix": limit.mask6,
            "exempt": [],
        });
        self.draft.sections.set("dns", "rate_limit", value);
        self.made.insert(MadePart::Limit);
        Ok(Some("who asks more gets REFUSED"))
    }

    /// Records that other steps have looked at before them.
    fn own(&mut self, made: OwnedLines) -> StepFate {
        let meets = |names: &[NamedRule]| {
            let own = names::NamedRules { names: made.names.clone(), ..Default::default() };
            own.may_meet(names)
        };
        if meets(&self.blocked) || !self.views.is_empty() || meets(&self.routed) {
            return Err(KeptReason::Order("records go before lists and upstreams"));
        }
        if self.made.contains(&MadePart::Blocks) && self.blocked.is_empty() {
            return Err(KeptReason::Order("records go before lists"));
        }
        self.local.extend(made.lines);
        self.owned.extend(made.names);
        self.made.insert(MadePart::Answers);
        Ok(made.is_of_files.then_some("the records of its files as they are now"))
    }

    fn hosts(&mut self, rules: &ListedRules) -> StepFate {
        let made = records::hosts(rules, self.book)?;
        let why = self.own(made)?;
        Ok(Some(why.unwrap_or("other types of these names are empty, and nobody is asked")))
    }

    fn records(&mut self, rules: &ListedRules) -> StepFate {
        let made = records::zone(rules, self.book)?;
        let why = self.own(made)?;
        Ok(Some(why.unwrap_or("other types of these names are empty, and nobody is asked")))
    }

    fn redirect(&mut self, rules: &ListedRules) -> StepFate {
        if self.made.contains(&MadePart::Answers) {
            return Err(KeptReason::Order("other names are taken before all else"));
        }
        let made = records::redirects(rules, self.book)?;
        for line in made.lines {
            self.draft.sections.push("dns", "rewrites", line);
        }
        Ok(made.is_of_files.then_some("the names of its files as they are now"))
    }

    /// The whole, or why there is none.
    fn finish(
        mut self,
        plain: &[(SourcePosition, PlainRule)],
    ) -> Result<PipelineDraft, Vec<PlacedReason>> {
        if LocalRecords::parse(&self.local).is_err() {
            self.keep(&SourcePosition::default(), KeptReason::Value("record"));
        }
        if !self.reasons.is_empty() {
            return Err(self.reasons);
        }
        self.note_plain(plain);
        self.note_plugins();
        self.write_all();
        Ok(self.draft)
    }

    fn note_plain(&mut self, plain: &[(SourcePosition, PlainRule)]) {
        let files = self.book.files;
        for (position, rule) in plain {
            let (place, said) = (files.place(position), files.said(position));
            let report = &mut self.draft.report;
            match rule {
                PlainRule::Understood => report.carried(&place, &said, "dns"),
                PlainRule::Logged => {
                    report.left_out(
                        &place,
                        &said,
                        "the request log and /metrics have every question",
                    );
                }
                PlainRule::Dead => report.left_out(&place, &said, "nothing comes to it"),
            }
        }
    }

    /// Each plugin: where it went, or that nothing used it.
    fn note_plugins(&mut self) {
        let files = self.book.files;
        for plugin in &self.book.foreign.plugins {
            let setting = match &plugin.kind {
                PluginKind::Server(_) => continue,
                PluginKind::Provider(_) | PluginKind::Matcher(_) => "policy.lists, dns.upstreams",
                PluginKind::Executor(executor) => setting_of(executor),
            };
            let is_written = self.book.written.iter().any(|it| it.position == plugin.position);
            if !is_written {
                continue;
            }
            let (place, said) = (files.place(&plugin.position), files.said(&plugin.position));
            if self.book.is_used(&plugin.tag) {
                self.draft.report.carried(&place, &said, setting);
            } else {
                self.draft.report.left_out(&place, &said, "nothing uses it");
            }
        }
    }
}

fn setting_of(executor: &Executor) -> &'static str {
    match executor {
        Executor::Forward(_) | Executor::Fallback(_) => "dns.upstreams",
        Executor::Cache(_) | Executor::Ttl(_) => "dns.cache",
        Executor::Hosts(_) | Executor::Arbitrary(_) => "dns.local",
        Executor::Redirect(_) => "dns.rewrites",
        Executor::EcsHandler(_) => "dns.client_subnet",
        Executor::BlackHole(_) => "dns.blocked",
        _ => "dns",
    }
}
