//! The thread on which hooks, scripts, downloads and schedules run.
//!
//! Every effect has a queue of its own, so that one that hangs holds up no other; a full queue
//! drops what is newest. At the end what waits is still carried out, within a deadline. Started by
//! [`Effects`](super::Effects).

use super::counts::{EffectCounts, FailureReporter};
use super::download::{DownloadEffect, WantedFiles};
use super::event::EffectOccurrence;
use super::hook::HookEffect;
use super::jobs::{self, JobBook};
use super::orders::EffectOrder;
use super::proxy_route::Detour;
use super::router::{self, RouteEffect, RouterEffect};
use super::script::ScriptEffect;
use super::settings::ReloadWhat;
use super::{EffectFailure, OnReload};
use fetch::CheckFile;
use origins::{Dialer, OriginLimits, Origins};
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::SyncSender;
use tokio::runtime::{Builder, LocalOptions};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use transport::Drain;

/// Tells what an effect does, read.
#[derive(Debug)]
pub(super) enum EffectAction {
    Hook(HookEffect),
    Script(ScriptEffect),
    Download(DownloadEffect),
    Reload(ReloadWhat),
    Router(Box<RouterEffect>),
    Routes(Box<RouteEffect>),
}

/// An effect with its queue.
pub(super) struct EffectWorker {
    pub(super) action: EffectAction,
    pub(super) counts: Arc<EffectCounts>,
    pub(super) queue: mpsc::Receiver<EffectOrder>,
    /// Number that run at once.
    pub(super) concurrent: usize,
}

/// Everything that the thread takes with it.
pub(super) struct EffectCrew {
    pub(super) workers: Vec<EffectWorker>,
    pub(super) jobs: JobBook,
    pub(super) dialer: Dialer,
    pub(super) check: CheckFile,
    pub(super) reload: OnReload,
    pub(super) reporter: FailureReporter,
    /// Begun: take nothing more, finish what waits.
    pub(super) closing: Drain,
    /// Begun: stop where you are.
    pub(super) stopping: Drain,
}

/// Holds what deeds need.
pub(super) struct EffectMeans {
    pub(super) origins: Rc<Origins>,
    check: CheckFile,
    reload: OnReload,
    reporter: FailureReporter,
}

/// Starts the thread; `ended` hears of its end.
pub(super) fn start(crew: EffectCrew, ended: SyncSender<()>) -> io::Result<()> {
    let (built, outcome) = std::sync::mpsc::sync_channel(1);
    std::thread::Builder::new().name("effects".into()).spawn(move || {
        // A local runtime cannot leave its thread, so it is built here.
        let runtime =
            match Builder::new_current_thread().enable_all().build_local(LocalOptions::default()) {
                Ok(runtime) => runtime,
                Err(why) => return drop(built.send(Err(why))),
            };
        let _ = built.send(Ok(()));
        runtime.block_on(run(crew));
        drop(runtime);
        // Nobody may wait for the end.
        let _ = ended.send(());
    })?;
    outcome.recv().unwrap_or_else(|_| Err(io::Error::other("the effects' thread ended at once")))
}

async fn run(crew: EffectCrew) {
    let usual = Rc::new(Origins::new(crew.dialer.clone(), OriginLimits::default()));
    let mut all = JoinSet::new();
    for worker in crew.workers {
        let worker = match worker.action {
            // It has one connection, and a task of its own.
            EffectAction::Router(effect) => {
                let (counts, queue) = (worker.counts, worker.queue);
                let (reporter, closing) = (crew.reporter.clone(), crew.closing.clone());
                all.spawn_local(router::serve(*effect, counts, queue, reporter, closing));
                continue;
            }
            EffectAction::Routes(effect) => {
                let (counts, queue) = (worker.counts, worker.queue);
                let (reporter, closing) = (crew.reporter.clone(), crew.closing.clone());
                all.spawn_local(router::serve_routes(*effect, counts, queue, reporter, closing));
                continue;
            }
            action => EffectWorker { action, ..worker },
        };
        // Connections by another way are not mixed with others'.
        let origins = match worker.action.proxy().filter(|it| !it.is_none()) {
            None => Rc::clone(&usual),
            Some(way) => Rc::new(Origins::new(way.dialer(&crew.dialer), OriginLimits::default())),
        };
        let means = EffectMeans {
            origins,
            check: Arc::clone(&crew.check),
            reload: Arc::clone(&crew.reload),
            reporter: crew.reporter.clone(),
        };
        all.spawn_local(serve(worker, Rc::new(means), crew.closing.clone()));
    }
    all.spawn_local(jobs::run(crew.jobs, crew.closing.clone()));
    tokio::select! {
        () = crew.stopping.started() => {}
        () = async { while all.join_next().await.is_some() {} } => {}
    }
}

/// Carries out the orders of one effect, some at once, until it is closed and all are done.
async fn serve(worker: EffectWorker, means: Rc<EffectMeans>, closing: Drain) {
    let EffectWorker { action: deed, counts, queue: mut orders, concurrent } = worker;
    let deed = Rc::new(deed);
    let mut running = JoinSet::new();
    let mut is_closed = false;
    loop {
        tokio::select! {
            biased;
            () = closing.started(), if !is_closed => {
                orders.close();
                is_closed = true;
            }
            Some(_) = running.join_next(), if !running.is_empty() => {}
            order = orders.recv(), if running.len() < concurrent => {
                let Some(order) = order else { break };
                let (deed, means) = (Rc::clone(&deed), Rc::clone(&means));
                let counts = Arc::clone(&counts);
                running.spawn_local(async move { run_action(&deed, &means, &counts, order).await });
            }
        }
    }
    while running.join_next().await.is_some() {}
}

async fn run_action(
    deed: &EffectAction,
    means: &EffectMeans,
    counts: &EffectCounts,
    order: EffectOrder,
) {
    let outcome = deed.run(means, &order.occurrence).await;
    match &outcome {
        Ok(()) => drop(counts.done.fetch_add(1, Relaxed)),
        Err(failure) => {
            counts.failed.fetch_add(1, Relaxed);
            means.reporter.failure(counts, &failure.to_string());
        }
    }
    // Most often nobody waits.
    let _ = order.waiting.send(outcome);
}

impl EffectAction {
    /// Returns how its requests leave, if it makes any.
    fn proxy(&self) -> Option<&Detour> {
        match self {
            Self::Hook(hook) => Some(&hook.proxy),
            Self::Download(download) => Some(&download.proxy),
            Self::Script(_) | Self::Reload(_) | Self::Router(_) | Self::Routes(_) => None,
        }
    }

    async fn run(&self, means: &EffectMeans, of: &EffectOccurrence) -> Result<(), EffectFailure> {
        match self {
            Self::Hook(hook) => hook.run(&means.origins, of).await,
            Self::Script(script) => script.run(of).await,
            Self::Download(download) => {
                if of.firing.as_ref().is_some_and(|it| it.trigger != jobs::BY_HAND) {
                    tokio::time::sleep(super::up_to(download.jitter)).await;
                }
                let wanted = if of.only_missing { WantedFiles::Missing } else { WantedFiles::All };
                let fetched = download.run(&means.origins, &means.check, wanted).await;
                let outcome = fetched.outcome();
                if !fetched.changed.is_empty() {
                    (means.reload)(ReloadWhat::Files(fetched.changed));
                }
                outcome
            }
            Self::Reload(what) => {
                (means.reload)(what.clone());
                Ok(())
            }
            // Its task is another.
            Self::Router(_) | Self::Routes(_) => Ok(()),
        }
    }
}
