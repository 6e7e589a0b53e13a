//! All engines of a resolver, and which of them has which question in flight.
//!
//! Equal questions share one exchange whichever engines they come to: the first claims the
//! question, and the others hand theirs to it. A claim is a keyed hash, so two questions that share
//! one by chance meet in one engine, which tells them apart. Called by the engines at the beginning
//! and the end of a question, and by the handle.

use super::command::{EngineCommand, EngineLookup, LookupRoute, WeakCommandSender};
use super::question_hash::{HashIsKey, QuestionHash};
use crate::question::ResolverQuestion;
use crate::settings::plan::ResolverPlan;
use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, RandomState};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

/// Locks that the claims are spread over.
const SHARDS: usize = 16;
/// Hooks that are called after each round, at most.
const HOOKS_MAX: usize = 16;

/// A callback for after each round of answers, on an engine's thread.
pub(crate) type RoundHook = Arc<dyn Fn() + Send + Sync>;

/// The number of an engine; each is given once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EngineId(u32);

impl EngineId {
    /// The first that joins: the one that serves every group.
    pub(crate) const GENERAL: Self = Self(0);
}

/// A claim among those of all engines, to be given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QuestionClaim(QuestionHash);

/// Outcome of a claim.
pub(crate) enum ClaimOutcome {
    /// The question is its own to ask. No claim: it is the only engine.
    Own(EngineLookup, Option<QuestionClaim>),
    /// Handed to another engine, with whoever waits for it.
    Forwarded,
}

/// All engines of a resolver.
pub(crate) struct EnginePeers {
    table: RwLock<PeerTable>,
    /// Engines at work. One alone claims nothing.
    count: AtomicUsize,
    claims: [Mutex<ClaimTable>; SHARDS],
    secret: RandomState,
    hooks: RwLock<Vec<RoundHook>>,
}

struct PeerTable {
    plan: Arc<ResolverPlan>,
    /// Weak: an engine ends when nobody else can tell it anything.
    engines: Vec<(EngineId, WeakCommandSender)>,
    next: u32,
}

type ClaimTable = HashMap<QuestionHash, EngineId, BuildHasherDefault<HashIsKey>>;

impl EnginePeers {
    /// No engine yet; those that join begin with `plan`.
    pub(crate) fn new(plan: Arc<ResolverPlan>) -> Self {
        Self {
            table: RwLock::new(PeerTable { plan, engines: Vec::new(), next: 0 }),
            count: AtomicUsize::new(0),
            claims: std::array::from_fn(|_| Mutex::default()),
            secret: RandomState::new(),
            hooks: RwLock::default(),
        }
    }

    /// An engine that takes commands through `commands` is one of them from now on, with this plan.
    pub(crate) fn join(&self, commands: WeakCommandSender) -> (EngineId, Arc<ResolverPlan>) {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        let id = EngineId(table.next);
        table.next += 1;
        table.engines.push((id, commands));
        self.count.store(table.engines.len(), Ordering::Relaxed);
        (id, Arc::clone(&table.plan))
    }

    /// Ends its commands and its claims; asked twice, nothing happens.
    pub(crate) fn leave(&self, id: EngineId) {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        table.engines.retain(|(other, _)| *other != id);
        self.count.store(table.engines.len(), Ordering::Relaxed);
        drop(table);
        for shard in &self.claims {
            shard.lock().unwrap_or_else(PoisonError::into_inner).retain(|_, owner| *owner != id);
        }
    }

    /// The plan of all engines.
    pub(crate) fn plan(&self) -> Arc<ResolverPlan> {
        Arc::clone(&self.table.read().unwrap_or_else(PoisonError::into_inner).plan)
    }

    /// All engines take `plan`.
    pub(crate) fn reload(&self, plan: Arc<ResolverPlan>) {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        table.plan = plan;
        for commands in table.engines.iter().filter_map(|(_, commands)| commands.upgrade()) {
            // One that has just ended needs no plan.
            drop(commands.send(EngineCommand::Reload(Arc::clone(&table.plan))));
        }
    }

    /// Claims a question that `own` is to ask; hands it to the engine that has it in flight where
    /// that is another.
    pub(crate) fn claim(
        &self,
        lookup: EngineLookup,
        hash: QuestionHash,
        own: EngineId,
    ) -> ClaimOutcome {
        if self.count.load(Ordering::Relaxed) < 2 {
            return ClaimOutcome::Own(lookup, None);
        }
        let mut shard = self.shard(hash);
        let owner = *shard.entry(hash).or_insert(own);
        // Handed over under the lock: an engine that has given back its last claim has got all that
        // was handed to it.
        let lookup = match lookup.route {
            LookupRoute::Fresh if owner != own => match self.forward(owner, lookup) {
                Ok(()) => return ClaimOutcome::Forwarded,
                Err(lookup) => lookup,
            },
            LookupRoute::Fresh | LookupRoute::Forwarded => lookup,
        };
        shard.insert(hash, own);
        ClaimOutcome::Own(lookup, Some(QuestionClaim(hash)))
    }

    /// The question is over.
    pub(crate) fn release(&self, claim: QuestionClaim, own: EngineId) {
        let mut shard = self.shard(claim.0);
        if shard.get(&claim.0) == Some(&own) {
            shard.remove(&claim.0);
        }
    }

    /// Hands `lookup` to the engine `owner`; gives it back where that is gone.
    pub(crate) fn forward(
        &self,
        owner: EngineId,
        lookup: EngineLookup,
    ) -> Result<(), EngineLookup> {
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        let known = table.engines.iter().find(|(id, _)| *id == owner);
        let Some(commands) = known.and_then(|(_, commands)| commands.upgrade()) else {
            return Err(lookup);
        };
        let forwarded = EngineLookup { route: LookupRoute::Forwarded, ..lookup };
        commands.send(EngineCommand::LookUp(forwarded)).map_err(|unsent| match unsent {
            EngineCommand::LookUp(lookup) => lookup,
            EngineCommand::Reload(_) => unreachable!("a lookup was sent one line above"),
        })
    }

    /// Has `hook` called after each round in which someone was told an outcome.
    pub(crate) fn after_batch(&self, hook: RoundHook) {
        let mut hooks = self.hooks.write().unwrap_or_else(PoisonError::into_inner);
        if hooks.len() < HOOKS_MAX {
            hooks.push(hook);
        }
    }

    /// Calls every hook, on the calling engine's thread.
    pub(crate) fn run_hooks(&self) {
        for hook in &*self.hooks.read().unwrap_or_else(PoisonError::into_inner) {
            hook();
        }
    }

    /// The hash of `question`: the same for all engines of this resolver, and nobody else's to
    /// foresee.
    pub(crate) fn hash(&self, question: &ResolverQuestion) -> QuestionHash {
        QuestionHash(self.secret.hash_one(question))
    }

    fn shard(&self, hash: QuestionHash) -> MutexGuard<'_, ClaimTable> {
        // Not the bits that the table itself takes its places from.
        let index = (hash.0 >> 32) as usize % SHARDS;
        self.claims[index].lock().unwrap_or_else(PoisonError::into_inner)
    }
}
