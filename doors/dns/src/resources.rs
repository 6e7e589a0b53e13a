//! What runs outlast: names remembered for addresses, families that names have, numbers of
//! collectors, lines for the operator, and effects.
//!
//! A plan holds it; what a reload leaves as it was goes over from the plan before. Nothing here
//! makes a question wait but [`PipelineResources::carry_out`], which is what it is for. Called by
//! `surroundings` and `branches`.

use crate::caller::DnsCaller;
use crate::foreign::ForeignConfig;
use crate::learned::LearnedSet;
use crate::lines::Lines;
use crate::selectors;
use address_selection::AddressSelector;
use dns_effects::{
    ADDRESSES_MAX, AskedFor, EffectEvent, EffectFailure, EffectId, Effects, EffectsEnv,
    EffectsPlan, GivenAnswer, ReverseMemory,
};
use dns_wire::reply;
use pipeline::env::{PipelineEvent, PipelineQuestion};
use quick_cache::sync::Cache;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use vocab::{Complaint, Name, NameBuffer, Now};

/// Names whose preferred family is remembered, at most, of all sequences together.
const PREFERRED_MAX: usize = 65_536;
/// Time that effects of a plan that is gone have to be carried out.
const CLOSING: Duration = Duration::from_secs(5);
/// For so long it is believed, in milliseconds: an hour, as OxiDNS does.
const PREFERRED_MS: u64 = 3_600_000;

/// State that outlives the runs of a pipeline.
#[derive(Clone)]
pub(crate) struct PipelineResources {
    pub(crate) effects: Option<Arc<RunningEffects>>,
    pub(crate) memories: Arc<[AddressMemory]>,
    pub(crate) collectors: Arc<[RunCollector]>,
    selectors: Arc<[Arc<AddressSelector>]>,
    learned: Arc<[LearnedSet]>,
    preferred: Arc<Cache<(u16, Box<str>), u64>>,
    lines: Arc<Lines>,
}

/// Effects, and what they were started with. What still waits when the last plan that knows them is
/// gone is carried out by a thread of its own, for at most [`CLOSING`].
pub(crate) struct RunningEffects {
    plan: EffectsPlan,
    /// There until it is dropped.
    effects: Option<Effects>,
}

/// A memory of names by address, and what it was set up with.
pub(crate) struct AddressMemory {
    pub(crate) size: usize,
    pub(crate) ttl: Duration,
    pub(crate) names: ReverseMemory,
}

/// Numbers of the runs that pass one place of a pipeline.
#[derive(Debug, Default)]
pub(crate) struct RunCollector {
    /// What it is called.
    pub(crate) name: Box<str>,
    /// Runs that passed.
    pub(crate) queries: AtomicU64,
    /// Those of them that ended with an answer.
    pub(crate) answered: AtomicU64,
}

/// The numbers of a collector at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectedRuns {
    /// What it is called.
    pub name: String,
    /// Runs that passed.
    pub queries: u64,
    /// Those of them that ended with an answer.
    pub answered: u64,
}

impl AddressMemory {
    fn new(size: usize, ttl: Duration) -> Self {
        Self { size, ttl, names: ReverseMemory::new(size, ttl) }
    }
}

impl RunCollector {
    fn new(name: &str) -> Self {
        Self { name: name.into(), ..Self::default() }
    }
}

impl Drop for RunningEffects {
    fn drop(&mut self) {
        // A plan that a reload replaces is dropped by whoever saw it last, who may be answering
        // questions and cannot wait.
        let Some(effects) = self.effects.take() else { return };
        let close = move || {
            // What is not done by then is stopped.
            let _ = effects.close(CLOSING);
        };
        // Without a thread they end where they are.
        let _ = std::thread::Builder::new().name("dns-effects-end".into()).spawn(close);
    }
}

impl PipelineResources {
    pub(crate) fn empty(lines: Arc<Lines>) -> Self {
        Self {
            effects: None,
            memories: [].into(),
            collectors: [].into(),
            selectors: [].into(),
            learned: [].into(),
            preferred: Arc::new(Cache::new(PREFERRED_MAX)),
            lines,
        }
    }

    /// Returns what `foreign` wants of it: as far as that is what ran before, it goes on.
    pub(crate) fn next(
        &self,
        foreign: Option<&ForeignConfig>,
        around: &EffectsEnv,
    ) -> Result<Self, Vec<Complaint>> {
        let Some(foreign) = foreign else {
            let nothing = Self::empty(Arc::clone(&self.lines));
            return Ok(Self { preferred: Arc::clone(&self.preferred), ..nothing });
        };
        let same =
            |(ours, theirs): (&AddressMemory, &(usize, Duration))| (ours.size, ours.ttl) == *theirs;
        let kept = self.memories.len() == foreign.memories.len()
            && self.memories.iter().zip(&foreign.memories).all(same);
        let memories = if kept {
            Arc::clone(&self.memories)
        } else {
            foreign.memories.iter().map(|(size, ttl)| AddressMemory::new(*size, *ttl)).collect()
        };
        let named = self.collectors.iter().map(|it| &*it.name);
        let collectors = if named.eq(foreign.collectors.iter().map(String::as_str)) {
            Arc::clone(&self.collectors)
        } else {
            foreign.collectors.iter().map(|name| RunCollector::new(name)).collect()
        };
        Ok(Self {
            effects: self.effects_of(&foreign.effects, around)?,
            memories,
            collectors,
            selectors: selectors::selectors(&foreign.selectors, &self.selectors),
            learned: self.learned_of(foreign, around)?,
            preferred: Arc::clone(&self.preferred),
            lines: Arc::clone(&self.lines),
        })
    }

    fn learned_of(
        &self,
        foreign: &ForeignConfig,
        around: &EffectsEnv,
    ) -> Result<Arc<[LearnedSet]>, Vec<Complaint>> {
        let open = |wanted| LearnedSet::open(wanted, &self.learned, &around.log);
        let opened: Result<Vec<_>, _> = foreign.learned.iter().map(open).collect();
        opened.map(Into::into).map_err(|why| vec![why])
    }

    fn effects_of(
        &self,
        plan: &EffectsPlan,
        around: &EffectsEnv,
    ) -> Result<Option<Arc<RunningEffects>>, Vec<Complaint>> {
        if plan.effects.is_empty() {
            return Ok(None);
        }
        match &self.effects {
            Some(running) if running.plan == *plan => Ok(Some(Arc::clone(running))),
            Some(_) | None => {
                let effects = Effects::start(plan, around.clone())?;
                // Nobody waits for lists: their sets are empty until then. What fails is told where
                // it does.
                drop(effects.fetch_missing(Duration::ZERO));
                Ok(Some(Arc::new(RunningEffects { plan: plan.clone(), effects: Some(effects) })))
            }
        }
    }

    pub(crate) fn selector(&self, number: u16) -> Option<&Arc<AddressSelector>> {
        self.selectors.get(usize::from(number))
    }

    pub(crate) fn learned(&self, number: u16) -> Option<&LearnedSet> {
        self.learned.get(usize::from(number))
    }

    pub(crate) fn collected(&self) -> Vec<CollectedRuns> {
        let numbers = |it: &RunCollector| {
            // In this order, so that no more are answered than passed.
            let answered = it.answered.load(Ordering::Relaxed);
            let queries = it.queries.load(Ordering::Relaxed).max(answered);
            CollectedRuns { name: it.name.to_string(), queries, answered }
        };
        self.collectors.iter().map(numbers).collect()
    }

    pub(crate) fn running(&self) -> Option<&Effects> {
        self.effects.as_ref()?.effects.as_ref()
    }

    /// Writes the name that `memory` holds for `address`.
    pub(crate) fn remembered(
        &self,
        memory: u16,
        address: IpAddr,
        now: Now,
        name: &mut NameBuffer,
    ) -> bool {
        let memory = self.memories.get(usize::from(memory));
        let Some(found) = memory.and_then(|it| it.names.name_of(address, now)) else {
            return false;
        };
        name.clear();
        found.as_str().split('.').all(|label| name.push_label(label.as_bytes()).is_ok())
    }

    /// True if `name` is known to have addresses of `family`.
    pub(crate) fn is_preferred(&self, family: u16, name: Name<'_>, now: Now) -> bool {
        self.preferred.get(&(family, name.as_str().into())).is_some_and(|until| now.mono_ms < until)
    }

    /// Passes tidings on.
    pub(crate) fn emit(
        &self,
        caller: &DnsCaller<'_>,
        asked: PipelineQuestion<'_>,
        tidings: &PipelineEvent<'_>,
    ) {
        match *tidings {
            PipelineEvent::Line(line) => self.line(caller, asked, line, None),
            PipelineEvent::Summary { title, message } => {
                self.line(caller, asked, title, Some((message, caller.started.elapsed())));
            }
            PipelineEvent::Collected { collector, message } => {
                let Some(it) = self.collectors.get(usize::from(collector)) else { return };
                it.queries.fetch_add(1, Ordering::Relaxed);
                it.answered.fetch_add(u64::from(message.is_some()), Ordering::Relaxed);
            }
            PipelineEvent::Learn { memory, message } => {
                let Some(it) = self.memories.get(usize::from(memory)) else { return };
                it.names.learn(asked.name, reply::addresses(message), caller.now);
            }
            PipelineEvent::Effect { effect, marks, message } => {
                let Some(effects) = self.running() else { return };
                let given = ShownAnswer::of(message);
                effects.emit(EffectId(effect), &event(caller, asked, &given, marks));
            }
            PipelineEvent::LearnName(rule) => {
                if let Some(set) = self.learned(rule.set) {
                    set.learn(rule, asked.name, caller.now);
                }
            }
            PipelineEvent::Preferred(family) => {
                let key = (family, asked.name.as_str().into());
                self.preferred.insert(key, caller.now.mono_ms + PREFERRED_MS);
            }
        }
    }

    fn line(
        &self,
        caller: &DnsCaller<'_>,
        asked: PipelineQuestion<'_>,
        title: &str,
        ended: Option<(Option<&[u8]>, std::time::Duration)>,
    ) {
        let (name, qtype, client) = (asked.name, asked.query.qtype, caller.client);
        self.lines.write(|| match ended {
            None => format!("{title}: {name} type {qtype} from {client}"),
            Some((None, took)) => {
                format!("{title}: {name} type {qtype} from {client}: no answer after {took:?}")
            }
            Some((Some(message), took)) => {
                let rcode = reply::rcode(message);
                format!("{title}: {name} type {qtype} from {client}: code {rcode} after {took:?}")
            }
        });
    }

    /// Sets `effect` off for an answer, if there is one, and waits until it was carried out.
    /// Without effects there is nothing to wait for.
    pub(crate) async fn carry_out(
        &self,
        effect: u16,
        caller: DnsCaller<'_>,
        asked: PipelineQuestion<'_>,
        message: Option<&[u8]>,
        marks: &[u32],
    ) -> Result<(), EffectFailure> {
        let Some(effects) = self.running() else { return Ok(()) };
        let given = ShownAnswer::of(message);
        let carried_out = effects.call(EffectId(effect), &event(&caller, asked, &given, marks));
        carried_out.await
    }
}

/// Holds what effects get to see of an answer.
struct ShownAnswer {
    rcode: u16,
    addresses: [IpAddr; ADDRESSES_MAX],
    count: usize,
    ttl_s: u32,
    is_answer: bool,
}

impl ShownAnswer {
    fn of(message: Option<&[u8]>) -> Self {
        let mut addresses = [IpAddr::V4(Ipv4Addr::UNSPECIFIED); ADDRESSES_MAX];
        let mut count = 0;
        for (place, address) in
            addresses.iter_mut().zip(message.into_iter().flat_map(reply::addresses))
        {
            *place = address;
            count += 1;
        }
        Self {
            rcode: message.map_or(0, reply::rcode),
            addresses,
            count,
            ttl_s: message.map_or(0, reply::address_ttl),
            is_answer: message.is_some(),
        }
    }
}

fn event<'e>(
    caller: &DnsCaller<'e>,
    asked: PipelineQuestion<'e>,
    given: &'e ShownAnswer,
    marks: &'e [u32],
) -> EffectEvent<'e> {
    EffectEvent {
        now: caller.now,
        question: Some(AskedFor {
            name: asked.name,
            qtype: asked.query.qtype,
            qclass: asked.query.qclass,
            client: caller.client,
            client_port: caller.client_port,
            server_name: caller.server_name,
            url_path: caller.url_path,
            marks,
        }),
        answer: given.is_answer.then(|| GivenAnswer {
            rcode: given.rcode,
            addresses: &given.addresses[..given.count],
            ttl_s: given.ttl_s,
        }),
    }
}
