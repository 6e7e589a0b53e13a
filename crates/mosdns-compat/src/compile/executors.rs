//! Executors of the language as operations, and what they need of the rest of the program.
//!
//! A plugin that several rules run is one cache, one group, one effect. Called by
//! [`super::sequences`] and [`super`].

use super::plugins::PluginBook;
use super::sets::SetCompiler;
use super::specs::{
    CACHES_MAX, COLLECTORS_MAX, CacheSpec, EFFECTS_MAX, EffectSpec, GROUPS_MAX, GroupSpec,
    MEMORIES_MAX, MemorySpec, SELECTORS_MAX, SelectorSpec,
};
use crate::language::{
    CachePlugin, ErrorMode, ForwardPlugin, HandlePointers, IpSelectorPlugin, LearnDomainPlugin,
    ListedRules, OutwardEffect, PlacedWord, PluginPhase as Written, Provider, ReverseLookup,
    SourcePosition,
};
use pipeline::program::{EffectTiming, LearnRule, OnError, Op, PtrAnswering};
use pipeline::records::{HostsTable, RedirectTable, ZoneTable};
use pipeline::sets::without_comment;
use std::collections::HashMap;
use std::sync::Arc;

/// The TTL of addresses out of hosts entries, in seconds, as in both peers.
const HOSTS_TTL_S: u32 = 10;
/// The TTL of names out of a memory, in seconds, as in both peers.
const POINTER_TTL_S: u32 = 5;

/// Who runs an executor.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExecutorRunner<'r> {
    /// The plugin that it is; none for a quick form.
    pub(super) plugin: Option<usize>,
    /// The plugin's tag, or where the quick form stands.
    pub(super) name: &'r str,
    /// Where it stands.
    pub(super) position: &'r SourcePosition,
}

/// Holds what executors need, as far as it is known.
pub(super) struct ExecutorNeeds<'f> {
    book: &'f PluginBook<'f>,
    sets: &'f SetCompiler<'f>,
    pub(super) groups: Vec<GroupSpec>,
    pub(super) caches: Vec<CacheSpec>,
    pub(super) effects: Vec<EffectSpec>,
    pub(super) memories: Vec<MemorySpec>,
    pub(super) selectors: Vec<SelectorSpec>,
    pub(super) collectors: Vec<String>,
    /// Groups by their plugins and chosen upstreams, caches and so on by their plugins.
    groups_of: HashMap<(usize, Vec<String>), u16>,
    numbers: HashMap<usize, u16>,
    hosts: HashMap<usize, Arc<HostsTable>>,
    zones: HashMap<usize, Arc<ZoneTable>>,
    redirects: HashMap<usize, Arc<RedirectTable>>,
}

impl<'f> ExecutorNeeds<'f> {
    pub(super) fn new(book: &'f PluginBook<'f>, sets: &'f SetCompiler<'f>) -> Self {
        Self {
            book,
            sets,
            groups: Vec::new(),
            caches: Vec::new(),
            effects: Vec::new(),
            memories: Vec::new(),
            selectors: Vec::new(),
            collectors: Vec::new(),
            groups_of: HashMap::new(),
            numbers: HashMap::new(),
            hosts: HashMap::new(),
            zones: HashMap::new(),
            redirects: HashMap::new(),
        }
    }

    /// Where what `runner` runs is set up.
    fn definition(&self, runner: ExecutorRunner<'_>) -> SourcePosition {
        runner.plugin.map_or(runner.position, |at| &self.book.plugins[at].position).clone()
    }

    /// The next number of something of which there are `have`; a complaint at the cap.
    fn next(&self, have: usize, most: usize, what: &str, place: &SourcePosition) -> u16 {
        if have >= most {
            let message = format!("there are more than {most} {what}");
            self.book.notes.complain(place.complaint(message));
        }
        // Past the cap the file is refused.
        have as u16
    }

    /// Asks upstreams: all of the plugin, or those with the tags in `chosen`.
    pub(super) fn forward(
        &mut self,
        forward: &ForwardPlugin,
        chosen: &[String],
        runner: ExecutorRunner<'_>,
    ) -> Op {
        let (then, cache) = (forward.then, None);
        let key = runner.plugin.map(|at| (at, chosen.to_vec()));
        if let Some(group) = key.as_ref().and_then(|key| self.groups_of.get(key)) {
            return Op::Forward { group: *group, cache, then };
        }
        let mut spec = GroupSpec {
            name: runner.name.to_owned(),
            position: self.definition(runner),
            upstreams: forward.upstreams.clone(),
            concurrent: forward.concurrent,
            selection: forward.selection,
        };
        if !chosen.is_empty() {
            spec.name = format!("{} {}", runner.name, chosen.join(" "));
            spec.upstreams = Vec::new();
            for tag in chosen {
                let upstream = forward.upstreams.iter().find(|it| it.tag == *tag);
                if upstream.is_none() {
                    let message = format!("{} has no upstream called {tag:?}", runner.name);
                    self.book.notes.complain(runner.position.complaint(message));
                }
                spec.upstreams.extend(upstream.cloned());
            }
        }
        let group =
            self.next(self.groups.len(), GROUPS_MAX, "groups of upstreams", runner.position);
        self.groups.push(spec);
        if let Some(key) = key {
            self.groups_of.insert(key, group);
        }
        Op::Forward { group, cache, then }
    }

    /// The number of something that `runner` has, made by `add` where it has none yet.
    fn number(&mut self, runner: ExecutorRunner<'_>, add: impl FnOnce(&mut Self) -> u16) -> u16 {
        if let Some(number) = runner.plugin.and_then(|at| self.numbers.get(&at)) {
            return *number;
        }
        let number = add(self);
        if let Some(at) = runner.plugin {
            self.numbers.insert(at, number);
        }
        number
    }

    pub(super) fn cache(&mut self, cache: &CachePlugin, runner: ExecutorRunner<'_>) -> u16 {
        self.number(runner, |needs| {
            let number = needs.next(needs.caches.len(), CACHES_MAX, "caches", runner.position);
            needs.caches.push(CacheSpec {
                name: runner.name.to_owned(),
                position: needs.definition(runner),
                entries: cache.entries,
                lazy: cache.lazy,
                dump_file: cache.dump_file.clone(),
                dump_interval: cache.dump_interval,
                negative: cache.negative,
                positive_max: cache.positive_max,
                positive_min: cache.positive_min,
            });
            number
        })
    }

    pub(super) fn reverse_lookup(&mut self, it: &ReverseLookup, runner: ExecutorRunner<'_>) -> Op {
        let memory = self.number(runner, |needs| {
            let what = "memories of names by address";
            let number = needs.next(needs.memories.len(), MEMORIES_MAX, what, runner.position);
            needs.memories.push(MemorySpec {
                name: runner.name.to_owned(),
                entries: it.entries,
                ttl: it.ttl,
                pointers: it.pointers,
            });
            number
        });
        let pointers = match it.pointers {
            HandlePointers::Yes => PtrAnswering::Answer(POINTER_TTL_S),
            HandlePointers::No => PtrAnswering::Pass,
        };
        Op::ReverseLookup { memory, pointers }
    }

    /// Names that are learnt; nothing where the set was complained about.
    pub(super) fn learn(&self, it: &LearnDomainPlugin) -> Option<Arc<LearnRule>> {
        let (at, provider) = self.book.provider(&it.provider)?;
        let Provider::DynamicDomainSet(_) = provider else {
            let message = format!("{:?} is no set that grows", it.provider.text);
            let complaint = it.provider.position.complaint(message);
            self.book.notes.complain(complaint.remedy("name a dynamic_domain_set"));
            return None;
        };
        Some(Arc::new(LearnRule {
            set: self.sets.learned_number(at, provider)?,
            kind: it.kind,
            types: it.types.as_slice().into(),
            timing: it.timing,
            success: it.wanted.success,
            records: it.wanted.records,
            wait: it.wait,
            on_error: it.on_error,
        }))
    }

    pub(super) fn selector(&mut self, it: &IpSelectorPlugin, runner: ExecutorRunner<'_>) -> u16 {
        self.number(runner, |needs| {
            let have = needs.selectors.len();
            let number = needs.next(have, SELECTORS_MAX, "choosers", runner.position);
            let (name, position) = (runner.name.to_owned(), needs.definition(runner));
            needs.selectors.push(SelectorSpec { name, position, plugin: it.clone() });
            number
        })
    }

    /// The collector called `name`; equal names are one.
    pub(super) fn collector(&mut self, name: &str, place: &SourcePosition) -> u16 {
        if let Some(at) = self.collectors.iter().position(|it| it == name) {
            return at as u16;
        }
        let number = self.next(self.collectors.len(), COLLECTORS_MAX, "collectors", place);
        self.collectors.push(name.to_owned());
        number
    }

    /// The number of an effect.
    pub(super) fn effect(&mut self, outward: &OutwardEffect, runner: ExecutorRunner<'_>) -> u16 {
        if let OutwardEffect::ReloadProvider(tags) = outward {
            for tag in tags {
                self.book.provider(tag);
            }
        }
        self.number(runner, |needs| {
            let number = needs.next(needs.effects.len(), EFFECTS_MAX, "effects", runner.position);
            let position = needs.definition(runner);
            let outward = needs.with_files(outward);
            needs.effects.push(EffectSpec { name: runner.name.to_owned(), position, outward });
            number
        })
    }

    /// The same with what its files hold.
    fn with_files(&self, outward: &OutwardEffect) -> OutwardEffect {
        let mut outward = outward.clone();
        let (files, persistent) = match &mut outward {
            OutwardEffect::RosAddressList(it) => (&mut it.persistent_files, &mut it.persistent),
            OutwardEffect::RosRoute(it) => (&mut it.persistent_files, &mut it.persistent),
            OutwardEffect::Ipset(_)
            | OutwardEffect::Nftset(_)
            | OutwardEffect::HttpRequest(_)
            | OutwardEffect::Script(_)
            | OutwardEffect::Download(_)
            | OutwardEffect::Reload
            | OutwardEffect::ReloadProvider(_) => return outward,
        };
        for file in std::mem::take(files) {
            self.sets.for_each_line(&file, |line| {
                let address = without_comment(line).trim();
                persistent.extend((!address.is_empty()).then(|| address.to_owned()));
                Ok::<(), std::convert::Infallible>(())
            });
        }
        outward
    }

    /// Sets off an effect where it stands, or at the end of the run.
    pub(super) fn outward(&mut self, outward: &OutwardEffect, runner: ExecutorRunner<'_>) -> Op {
        let effect = self.effect(outward, runner);
        let on_error = |mode| match mode {
            ErrorMode::Continue => OnError::Continue,
            ErrorMode::Stop => OnError::Stop,
            ErrorMode::Fail => OnError::Fail,
        };
        match outward {
            OutwardEffect::Script(it) => Op::Await { effect, on_error: on_error(it.error_mode) },
            OutwardEffect::HttpRequest(it) => match (it.is_async, it.phase) {
                (true, Written::Before) => Op::Effect { effect, phase: EffectTiming::Now },
                (true, Written::After) => Op::Effect { effect, phase: EffectTiming::End },
                (false, Written::Before) => Op::Await { effect, on_error: on_error(it.error_mode) },
                (false, Written::After) => {
                    let message = "an answer that is there does not wait for a request";
                    let complaint = runner.position.complaint(message);
                    self.book.notes.warn(complaint.remedy("set `async: true`, or `phase: before`"));
                    Op::Effect { effect, phase: EffectTiming::End }
                }
            },
            // What the rest answers is what it is told of.
            OutwardEffect::RosAddressList(_) | OutwardEffect::RosRoute(_) => {
                Op::Effect { effect, phase: EffectTiming::End }
            }
            OutwardEffect::Ipset(_)
            | OutwardEffect::Nftset(_)
            | OutwardEffect::Download(_)
            | OutwardEffect::Reload
            | OutwardEffect::ReloadProvider(_) => Op::Effect { effect, phase: EffectTiming::Now },
        }
    }

    pub(super) fn hosts(&mut self, listed: &ListedRules, runner: ExecutorRunner<'_>) -> Op {
        let known = runner.plugin.and_then(|at| self.hosts.get(&at)).cloned();
        let hosts = known.unwrap_or_else(|| {
            let mut builder = HostsTable::builder(HOSTS_TTL_S).regexp_case(self.sets.case());
            self.sets.for_each_rule(listed, |line| builder.add_line(line));
            Arc::new(builder.build())
        });
        if let Some(at) = runner.plugin {
            self.hosts.insert(at, Arc::clone(&hosts));
        }
        Op::Hosts { hosts, then: listed.then }
    }

    pub(super) fn redirect(&mut self, listed: &ListedRules, runner: ExecutorRunner<'_>) -> Op {
        let known = runner.plugin.and_then(|at| self.redirects.get(&at)).cloned();
        let redirect = known.unwrap_or_else(|| {
            let mut builder = RedirectTable::builder().regexp_case(self.sets.case());
            self.sets.for_each_rule(listed, |line| builder.add_line(line));
            Arc::new(builder.build())
        });
        if let Some(at) = runner.plugin {
            self.redirects.insert(at, Arc::clone(&redirect));
        }
        Op::Redirect(redirect)
    }

    pub(super) fn arbitrary(&mut self, listed: &ListedRules, runner: ExecutorRunner<'_>) -> Op {
        let known = runner.plugin.and_then(|at| self.zones.get(&at)).cloned();
        let zone = known.unwrap_or_else(|| Arc::new(self.zone(listed)));
        if let Some(at) = runner.plugin {
            self.zones.insert(at, Arc::clone(&zone));
        }
        Op::Records { zone, then: listed.then }
    }

    fn zone(&self, listed: &ListedRules) -> ZoneTable {
        let (sets, notes) = (self.sets, self.book.notes);
        let mut builder = ZoneTable::builder();
        for item in &listed.rules {
            let mut include = |path: &str, _: &str| included(sets, path, &item.position);
            if let Err(bad) = builder.add("", &item.text, &mut include) {
                for it in bad {
                    notes.complain(item.position.complaint(it.fault));
                }
            }
        }
        for file in &listed.files {
            let Some(bytes) = sets.read(file) else { continue };
            let Ok(text) = std::str::from_utf8(&bytes) else {
                notes.complain(file.position.complaint(format!("{} is not UTF-8", file.text)));
                continue;
            };
            let mut include = |path: &str, _: &str| included(sets, path, &file.position);
            if let Err(bad) = builder.add(&file.text, text, &mut include) {
                for it in bad {
                    notes.complain(file.position.complaint(it));
                }
            }
        }
        builder.build()
    }
}

/// The text of a file that a zone includes.
fn included(sets: &SetCompiler<'_>, path: &str, place: &SourcePosition) -> Result<String, String> {
    let bytes =
        sets.read(&PlacedWord::new(path, place)).ok_or_else(|| format!("{path} is not there"))?;
    String::from_utf8(bytes).map_err(|_| format!("{path} is not UTF-8"))
}
