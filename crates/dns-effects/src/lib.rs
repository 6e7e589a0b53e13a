//! What an answer sets off outside: addresses into packet filter sets, hooks, scripts, and lists
//! that are fetched by the clock.
//!
//! All of it happens on threads of its own behind bounded queues: whoever answers a query never
//! waits for it unless the configuration says so ([`Effects::call`]). Nothing here changes an
//! answer. Started, fed and closed by the door.

mod build;
mod counts;
mod download;
mod event;
mod hook;
mod jobs;
mod memory;
mod orders;
mod proxy_route;
mod router;
mod router_settings;
mod schedule;
mod script;
mod sets;
mod settings;
mod targets;
mod template;
mod thread;

pub use counts::{EffectStats, Tell};
pub use event::{ADDRESSES_MAX, AskedFor, EffectEvent, GivenAnswer};
pub use jobs::JobStats;
pub use memory::{KnownName, PTR_TTL_S, ReverseMemory, SIZE_DEFAULT, SIZE_MAX, TTL_DEFAULT};
pub use router_settings::{RouteSpec, RouterPassword, RouterSpec, RouterTls};
pub use schedule::INTERVAL_MIN;
pub use sets::WAITING_MAX;
pub use settings::{
    DownloadItem, DownloadSpec, EFFECTS_MAX, EffectId, EffectPhase, EffectSettings, EffectSpec,
    EffectsPlan, ErrorMode, HttpSpec, IpsetSpec, JOBS_MAX, JobSettings, JobTime, NftFamily, NftSet,
    NftsetSpec, ReloadWhat, ScriptSpec,
};
pub use targets::BadShortForm;

use build::{BuiltEffect, EffectBuild, EffectDispatch, job_duty};
use counts::{EffectCounts, FailureReporter};
use download::AtStart;
use event::EffectOccurrence;
use fetch::CheckFile;
use jobs::{JobBook, JobCounts};
use origins::Dialer;
use schedule::JobTimetable;
use sets::SetWriter;
use std::fmt;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use thread::EffectCrew;
use tokio::sync::mpsc;
use transport::Drain;
use vocab::Complaint;

/// Is told what is to be read anew. It is called on the effects' thread and must return at once.
pub type OnReload = Arc<dyn Fn(ReloadWhat) + Send + Sync>;

/// Holds what effects need of the rest.
#[derive(Clone)]
pub struct EffectsEnv {
    /// Connects to web servers, over our own resolver.
    pub dialer: Dialer,
    /// Has lists read anew.
    pub reload: OnReload,
    /// Looks at fetched files before they are used.
    pub check: CheckFile,
    /// Writes a line for whoever runs the process.
    pub log: Tell,
}

/// The running effects. Dropped, it stops them where they are; [`Effects::close`] lets them finish.
pub struct Effects {
    entries: Vec<BuiltEffect>,
    jobs: Vec<(String, Arc<JobCounts>)>,
    writer: Option<SetWriter>,
    requests: mpsc::Sender<usize>,
    closing: Drain,
    stopping: Drain,
    ended: Mutex<Receiver<()>>,
}

/// Why an effect was not carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EffectFailure(String);

/// Effects that were still at work when the time for closing ran out; they were stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnfinishedEffects;

/// A job that cannot be run by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotRun {
    /// There is none of that name.
    Unknown,
    /// Too many runs are asked for.
    Busy,
}

impl EffectSpec {
    /// Everything that is wrong with it.
    pub fn check(&self) -> Vec<Complaint> {
        match self {
            Self::Ipset(spec) => spec.check(),
            Self::Nftset(spec) => spec.check(),
            Self::HttpRequest(spec) => spec.check(),
            Self::Script(spec) => spec.check(),
            Self::Download(spec) => spec.check(),
            Self::RosAddressList(spec) => spec.check(),
            Self::RosRoute(spec) => spec.check(),
            Self::Reload(_) => Vec::new(),
        }
    }
}

impl EffectsPlan {
    /// Everything that is wrong with it. Paths begin with `effects.N` and `jobs.N`.
    pub fn check(&self) -> Vec<Complaint> {
        let mut wrong = Vec::new();
        bounds(&mut wrong, "effects", &self.effects.len(), &(0..=EFFECTS_MAX), "at most 1024");
        bounds(&mut wrong, "jobs", &self.jobs.len(), &(0..=JOBS_MAX), "at most 256");
        for (index, effect) in self.effects.iter().enumerate() {
            let under = format!("effects.{index}");
            wrong.extend(effect.spec.check().into_iter().map(|it| it.under(&under)));
        }
        for (index, job) in self.jobs.iter().enumerate() {
            let under = format!("jobs.{index}");
            wrong.extend(job.check().into_iter().map(|it| it.under(&under)));
            for effect in &job.effects {
                if usize::from(effect.0) >= self.effects.len() {
                    let message = format!("there is no effect {}", effect.0);
                    wrong.push(Complaint::new(&under, message).remedy("name one that there is"));
                }
            }
        }
        wrong
    }
}

impl Effects {
    /// Starts what `plan` says. Sets are those of the network namespace of the calling thread.
    pub fn start(plan: &EffectsPlan, around: EffectsEnv) -> Result<Self, Vec<Complaint>> {
        let wrong = plan.check();
        if !wrong.is_empty() {
            return Err(wrong);
        }
        let teller = FailureReporter(around.log);
        let mut build = EffectBuild::default();
        for effect in &plan.effects {
            build.add(effect)?;
        }
        let EffectBuild { entries, workers, targets } = build;
        let timetable = JobTimetable::new(&plan.jobs, transport::clock::now())?;
        let jobs: Vec<_> = plan.jobs.iter().map(|job| job_duty(job, &entries)).collect();
        let names = jobs.iter().map(|it| (it.job.name.clone(), Arc::clone(&it.counts))).collect();
        let (asked, asking) = mpsc::channel(jobs::ASKED_MAX);
        let (closing, stopping) = (Drain::new(), Drain::new());
        let (end, ended) = sync_channel(1);
        let no_thread = |why: std::io::Error| {
            let message = format!("the system gives no thread: {why}");
            vec![Complaint::new("", message).remedy("raise the limit of processes")]
        };
        if !workers.is_empty() {
            let crew = EffectCrew {
                workers,
                jobs: JobBook { timetable, jobs, requested: asking },
                dialer: around.dialer,
                check: around.check,
                reload: around.reload,
                reporter: teller.clone(),
                closing: closing.clone(),
                stopping: stopping.clone(),
            };
            thread::start(crew, end).map_err(no_thread)?;
        }
        let writer = (!targets.is_empty()).then(|| SetWriter::start(targets, teller));
        let writer = writer.transpose().map_err(no_thread)?;
        let ended = Mutex::new(ended);
        Ok(Self { entries, jobs: names, writer, requests: asked, closing, stopping, ended })
    }

    /// Sets `effect` off. Never waits, and allocates only where the effect takes it up.
    pub fn emit(&self, effect: EffectId, event: &EffectEvent<'_>) {
        let Some(entry) = self.entries.get(usize::from(effect.0)) else { return };
        match &entry.dispatch {
            EffectDispatch::Sets { v4, v6 } => self.add(&entry.counts, *v4, *v6, event),
            // A router is told of an address once in a while.
            EffectDispatch::Queue { recent: Some(recent), .. } if !recent.is_news(event) => {
                let known = event.addresses().len() as u64;
                entry.counts.suppressed.fetch_add(known, Relaxed);
            }
            // Nobody waits for what comes of it.
            EffectDispatch::Queue { trigger: lever, .. } => drop(lever.pull(|| event.keep())),
        }
    }

    /// Sets `effect` off and completes when it was carried out. Sets are never waited for.
    pub fn call(
        &self,
        effect: EffectId,
        event: &EffectEvent<'_>,
    ) -> impl Future<Output = Result<(), EffectFailure>> + Send + use<> {
        let pulled = match self.entries.get(usize::from(effect.0)) {
            Some(BuiltEffect {
                dispatch: EffectDispatch::Queue { trigger: lever, .. }, ..
            }) => Some(lever.pull(|| event.keep())),
            Some(BuiltEffect { counts, dispatch: EffectDispatch::Sets { v4, v6 } }) => {
                self.add(counts, *v4, *v6, event);
                None
            }
            None => None,
        };
        async move {
            match pulled {
                Some(pulled) => pulled.outcome().await,
                None => Ok(()),
            }
        }
    }

    fn add(
        &self,
        counts: &EffectCounts,
        v4: Option<u16>,
        v6: Option<u16>,
        event: &EffectEvent<'_>,
    ) {
        let Some(writer) = &self.writer else { return };
        for address in event.addresses() {
            let target = match address.to_canonical() {
                IpAddr::V4(_) => v4,
                IpAddr::V6(_) => v6,
            };
            if let Some(target) = target {
                writer.add(target, *address, counts, event.now);
            }
        }
    }

    /// Fetches, for at most `patience`, the files of downloads that are not there and are wanted at
    /// start; what takes longer goes on by itself. Lists are read anew when one has come. To be
    /// called from a thread that may wait so long. Returns what failed, or is not done.
    pub fn fetch_missing(&self, patience: Duration) -> Vec<EffectFailure> {
        let deadline = Instant::now() + patience;
        let mut waiting = Vec::new();
        for entry in &self.entries {
            if let EffectDispatch::Queue { trigger: lever, at_start: AtStart::Missing, .. } =
                &entry.dispatch
            {
                let occurrence =
                    || EffectOccurrence { only_missing: true, ..EffectOccurrence::default() };
                waiting.push(lever.pull(occurrence).outcome());
            }
        }
        let failures = waiting.into_iter().filter_map(|pulled| wait_for(pulled, deadline).err());
        failures.collect()
    }

    /// Runs the job called `name` now, beside its schedule.
    pub fn run_job(&self, name: &str) -> Result<(), NotRun> {
        let job = self.jobs.iter().position(|(known, _)| known == name).ok_or(NotRun::Unknown)?;
        self.requests.try_send(job).map_err(|_| NotRun::Busy)
    }

    /// The state of every effect, in the order of the plan.
    pub fn stats(&self) -> Vec<EffectStats> {
        self.entries.iter().map(|entry| entry.counts.stats()).collect()
    }

    /// The state of every job.
    pub fn job_stats(&self) -> Vec<JobStats> {
        self.jobs.iter().map(|(name, counts)| counts.stats(name)).collect()
    }

    /// Takes nothing more, carries out what waits, and ends. Waits for at most `patience`; what is
    /// not done by then is stopped. To be called from a thread that may wait.
    pub fn close(&self, patience: Duration) -> Result<(), UnfinishedEffects> {
        let deadline = Instant::now() + patience;
        self.closing.start();
        let written = self.writer.as_ref().map_or(Ok(()), |writer| writer.close(patience));
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let left = deadline.saturating_duration_since(Instant::now());
        let done = match ended.recv_timeout(left) {
            // Disconnected: there was no thread, or it has ended before.
            Ok(()) | Err(RecvTimeoutError::Disconnected) => Ok(()),
            Err(RecvTimeoutError::Timeout) => Err(UnfinishedEffects),
        };
        self.stopping.start();
        written.map_err(|_| UnfinishedEffects).and(done)
    }
}

impl Drop for Effects {
    fn drop(&mut self) {
        self.closing.start();
        self.stopping.start();
    }
}

/// Waits on this thread. The future is a message from another thread, so it needs no runtime.
fn wait_for(
    pulled: impl Future<Output = Result<(), EffectFailure>>,
    deadline: Instant,
) -> Result<(), EffectFailure> {
    use std::task::{Context, Poll, Wake, Waker};
    struct Unpark(std::thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut pulled = std::pin::pin!(pulled);
    loop {
        if let Poll::Ready(outcome) = pulled.as_mut().poll(&mut Context::from_waker(&waker)) {
            return outcome;
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(EffectFailure::new("it was not fetched in time for the start"));
        }
        std::thread::park_timeout(left);
    }
}

/// Complains unless `value` is within `range`.
fn bounds<T: PartialOrd + fmt::Debug>(
    wrong: &mut Vec<Complaint>,
    path: &str,
    value: &T,
    range: &RangeInclusive<T>,
    remedy: &str,
) {
    if !range.contains(value) {
        let message = format!("{value:?} is out of bounds");
        wrong.push(Complaint::new(path, message).remedy(remedy));
    }
}

/// A random span up to `most`, so that many of us do not act at the same moment.
fn up_to(most: Duration) -> Duration {
    let mut random = [0; 4];
    // Without randomness the longest wait is as good as any.
    let share = getrandom::fill(&mut random).map_or(u32::MAX, |()| u32::from_ne_bytes(random));
    most.mul_f64(f64::from(share) / f64::from(u32::MAX))
}

impl EffectFailure {
    fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

impl fmt::Display for EffectFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for EffectFailure {}

impl fmt::Display for NotRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown => "there is no job of this name",
            Self::Busy => "too many jobs wait to be run; try again in a moment",
        })
    }
}

impl std::error::Error for NotRun {}
