//! The resolver as its callers hold it: cheap to clone, usable from any thread.

use crate::cache::answer_cache::CacheStats;
use crate::cache::caches::{FlushIn, FlushScope};
use crate::cache::persist::{DumpReport, RestoreReport};
use crate::cache::snapshot::BadSnapshot;
use crate::engine::command::{CommandSender, EngineCommand, EngineLookup, LookupKind, LookupRoute};
use crate::engine::flight_waiter::FlightWaiter;
use crate::engine::local_engine::{self, LocalEngine};
use crate::engine::peers::EnginePeers;
use crate::engine::{self, EngineParts};
use crate::local_overrides::LocalOverrides;
use crate::query_source::{CapReached, QuerySource};
use crate::question::{
    CacheId, CacheLook, CachedState, RenewAdvice, Resolution, ResolveError, ResolverOverloaded,
    ResolverQuestion,
};
use crate::second_level::SecondLevelCache;
use crate::settings::ResolverSettings;
use crate::settings::plan::ResolverPlan;
use crate::shared::ResolverShared;
use crate::upstream::record::UpstreamStats;
use dns_wire::WireAnswer;
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;
use tokio::sync::oneshot;
use transport::ClientTls;
use vocab::{Complaint, Now, Source};

/// Callers that wait at once, at most: several may wait for one question. No client has more of
/// these places than are left to the others.
pub const WAITING_MAX: usize = 16_384;

/// Looks names up, and remembers.
#[derive(Clone)]
pub struct Resolver {
    shared: Arc<ResolverShared>,
    peers: Arc<EnginePeers>,
    tls: ClientTls,
    /// To the general engine; closed with the last clone, which ends its thread.
    commands: CommandSender,
}

/// Why a resolver could not be started.
#[derive(Debug)]
pub enum StartError {
    /// The settings are wrong.
    Settings(Vec<Complaint>),
    /// The thread could not be made.
    Thread(io::Error),
}

/// The state of the resolver.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResolverStats {
    /// Each upstream, in the order of the settings, group by group.
    pub upstreams: Vec<UpstreamStats>,
    /// All caches together.
    pub cache: CacheStats,
    /// Each of them, in the order of the settings.
    pub caches: Vec<CacheStats>,
    /// What they are called, in the same order; no two alike.
    pub cache_names: Vec<String>,
    /// Callers waiting now.
    pub waiting: usize,
}

impl Resolver {
    /// Starts the general engine's thread.
    pub fn start(settings: &ResolverSettings, tls: ClientTls) -> Result<Self, StartError> {
        let plan = ResolverPlan::new(settings, None).map_err(StartError::Settings)?;
        let shared = Arc::new(ResolverShared::new(settings, WAITING_MAX));
        shared.upstreams.set(plan.listed());
        let peers = Arc::new(EnginePeers::new(Arc::new(plan)));
        let parts = EngineParts { tls, shared, peers };
        let commands = engine::spawn(parts.clone()).map_err(StartError::Thread)?;
        let EngineParts { tls, shared, peers } = parts;
        Ok(Self { shared, peers, tls, commands })
    }

    /// Starts an engine on the calling thread, which must be within a local runtime: what is
    /// submitted on this thread to a group of plain UDP upstreams alone goes there, and comes back
    /// there, without another thread. For threads that receive questions by the batch; one each.
    pub fn start_local_engine(&self) -> LocalEngine {
        LocalEngine::start(EngineParts {
            tls: self.tls.clone(),
            shared: Arc::clone(&self.shared),
            peers: Arc::clone(&self.peers),
        })
    }

    /// Returns what `cache` holds for `key` (see [`ResolverQuestion::cache_key`]). Allocates
    /// nothing. Whoever is told to renew it submits the question once more, with nobody waiting.
    pub fn cached(&self, cache: CacheId, key: &[u8], now: Now) -> CacheLook {
        match self.shared.caches.get(cache) {
            Some(cache) => cache.look(key, now),
            None => CacheLook { cached: CachedState::Miss, renew: RenewAdvice::No },
        }
    }

    /// Keeps `message`, a whole response, as the answer for `key` in `cache`; what is no answer to
    /// it, or must not be kept, is not.
    pub fn keep(&self, cache: CacheId, key: &[u8], message: &[u8], now: Now) {
        if let Some(cache) = self.shared.caches.get(cache)
            && let Ok(answer) = WireAnswer::from_response(message)
        {
            cache.keep(key, answer, now);
        }
    }

    /// Looks `question` up for `source` and runs `done` on an engine's thread, which it must not
    /// hold up.
    ///
    /// Equal questions share one exchange. Beyond [`WAITING_MAX`] callers it refuses at once.
    pub fn submit(
        &self,
        question: ResolverQuestion,
        source: QuerySource,
        done: Box<dyn FnOnce(Resolution) + Send>,
    ) -> Result<(), ResolverOverloaded> {
        self.shared.waiting.acquire(source).map_err(|CapReached| ResolverOverloaded)?;
        self.send(question, FlightWaiter::new(Some(done), source), LookupKind::Ask);
        Ok(())
    }

    /// Looks `question` up, whatever its cache holds, for the cache's sake: nobody waits.
    pub fn renew(&self, question: ResolverQuestion) {
        // Where too many wait, what is old stays old for a while.
        let source = QuerySource::INTERNAL;
        if self.shared.waiting.acquire(source).is_ok() {
            self.send(question, FlightWaiter::new(None, source), LookupKind::Renew);
        }
    }

    /// Has `hook` called on an engine's thread after each of its rounds in which someone was told
    /// an outcome: the place to send what the callbacks have gathered. It must not hold the thread
    /// up. At most 16, which stay as long as the resolver does.
    pub fn after_batch(&self, hook: Arc<dyn Fn() + Send + Sync>) {
        self.peers.after_batch(hook);
    }

    /// Looks `question` up, in its cache first.
    pub async fn resolve(&self, question: ResolverQuestion) -> Resolution {
        if let Some(cache) = question.cache() {
            let looked = self.cached(cache, &question.cache_key(), transport::clock::now());
            if looked.renew == RenewAdvice::Now {
                self.renew(question.clone());
            }
            let (answer, age_s, source) = match looked.cached {
                CachedState::Fresh { answer, age_s } => (Some(answer), age_s, Source::Cache),
                CachedState::Stale { answer, age_s } => (Some(answer), age_s, Source::Stale),
                CachedState::Miss => (None, 0, Source::Failed),
            };
            if let Some(answer) = answer {
                return Resolution { result: Ok((answer, age_s)), source, upstream: Arc::from("") };
            }
        }
        let (sender, receiver) = oneshot::channel();
        // Whoever waited may be gone by then; the answer is in the cache all the same.
        let done = Box::new(move |resolution| drop(sender.send(resolution)));
        match self.submit(question, QuerySource::INTERNAL, done) {
            Ok(()) => receiver.await.unwrap_or_else(|_| Resolution::failed(ResolveError::Stopped)),
            Err(ResolverOverloaded) => Resolution::failed(ResolveError::Overloaded),
        }
    }

    /// Has `names` asked first wherever a name is dialled, in place of those before; none: nobody
    /// is.
    pub fn answer_from(&self, names: Option<Arc<dyn LocalOverrides>>) {
        self.shared.answer_from(names);
    }

    /// Has a cache asked that other machines share, where this one has no answer in its time, and
    /// told of each answer; none: nobody is.
    pub fn share_answers(&self, cache: Option<Arc<dyn SecondLevelCache>>) {
        self.shared.second_level.use_cache(cache);
    }

    /// Digest of what the configuration says of names.
    pub fn local_overrides_digest(&self) -> u64 {
        self.shared.own_digest()
    }

    pub(crate) fn local_overrides(&self) -> Option<Arc<dyn LocalOverrides>> {
        self.shared.own_names()
    }

    /// Takes other settings; caches are kept by their place, and so are the connections of
    /// upstreams that stay.
    pub fn reload(&self, settings: &ResolverSettings) -> Result<(), Vec<Complaint>> {
        let plan = ResolverPlan::new(settings, Some(&self.peers.plan()))?;
        self.shared.caches.configure(&settings.caches);
        self.shared.second_level.configure(settings);
        self.shared.upstreams.set(plan.listed());
        self.peers.reload(Arc::new(plan));
        Ok(())
    }

    /// Where things stand.
    pub fn stats(&self) -> ResolverStats {
        let caches = self.shared.caches.stats();
        ResolverStats {
            upstreams: self.shared.upstreams.stats(transport::clock::now()),
            cache: caches.iter().fold(CacheStats::default(), |all, it| all.and(*it)),
            caches,
            cache_names: self.shared.caches.names(),
            waiting: self.shared.waiting.in_use(),
        }
    }

    /// Forgets answers; says how many.
    pub fn flush(&self, which: FlushIn, what: &FlushScope) -> usize {
        self.shared.caches.flush(which, what)
    }

    /// Writes every cache to a file of its own in `dir`, `answers-0` and so on, readable by its
    /// owner alone; a crash leaves the old ones. Blocks while the disk does.
    pub fn dump(&self, dir: &Path) -> io::Result<DumpReport> {
        self.shared.caches.dump(dir, transport::clock::now())
    }

    /// Writes one cache to `file` in the same way.
    pub fn dump_to(&self, cache: CacheId, file: &Path) -> io::Result<DumpReport> {
        self.shared.caches.dump_to(cache, file, transport::clock::now())
    }

    /// Takes the answers in `dir` back that [`Self::dump`] wrote there. They have aged meanwhile by
    /// the clock on the wall. What is damaged is refused, and said so; it does no harm.
    pub fn restore(&self, dir: &Path) -> RestoreReport {
        self.shared.caches.restore(dir, transport::clock::now())
    }

    /// Takes the answers in `file` back into one cache in the same way.
    pub fn restore_from(&self, cache: CacheId, file: &Path) -> RestoreReport {
        let mut report = RestoreReport::default();
        self.shared.caches.restore_file(cache, file, transport::clock::now(), &mut report);
        report
    }

    /// Takes the answers of a snapshot in memory into one cache: how many were taken, and how many
    /// dropped because of their age.
    pub fn restore_bytes(
        &self,
        cache: CacheId,
        bytes: &[u8],
        now: Now,
    ) -> Result<(usize, usize), BadSnapshot> {
        self.shared.caches.restore_bytes(cache, bytes, now)
    }

    /// Sends a question that somebody was counted for. The general engine's thread outlives every
    /// sender, so this fails only if it died; dropping the question then tells its caller so.
    fn send(&self, question: ResolverQuestion, waiter: FlightWaiter, kind: LookupKind) {
        let source = waiter.source;
        let lookup = EngineLookup { question, waiter, kind, route: LookupRoute::Fresh };
        if let Err(lookup) = local_engine::put(&self.peers, lookup)
            && let Err(unsent) = self.commands.send(EngineCommand::LookUp(lookup))
        {
            self.shared.waiting.release(source);
            drop(unsent);
        }
    }
}

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resolver").finish_non_exhaustive()
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Settings(complaints) => match complaints.first() {
                Some(first) => write!(f, "the resolver's settings are wrong: {first}"),
                None => f.write_str("the resolver's settings are wrong"),
            },
            Self::Thread(why) => write!(f, "the resolver's thread could not be started: {why}"),
        }
    }
}

impl std::error::Error for StartError {}
