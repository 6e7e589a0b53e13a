//! From a plan to what carries it out: workers with their queues, and sets with their numbers.
//!
//! It reads the settings and starts nothing. Called by [`Effects::start`](super::Effects::start).

use super::counts::EffectCounts;
use super::download::{AtStart, DownloadEffect};
use super::hook::{self, HookEffect};
use super::jobs::JobDuty;
use super::orders::EffectLever;
use super::router::{RouteEffect, RouterEffect};
use super::script::ScriptEffect;
use super::sets::{RecentAdditions, WriteTarget};
use super::settings::{EffectSettings, EffectSpec, JobSettings, SetTarget};
use super::targets::SetTargets;
use super::thread::{EffectAction, EffectWorker};
use std::sync::Arc;
use tokio::sync::mpsc;
use vocab::Complaint;

/// An effect, as it is set off.
pub(super) struct BuiltEffect {
    pub(super) counts: Arc<EffectCounts>,
    pub(super) dispatch: EffectDispatch,
}

/// Tells how it is set off.
pub(super) enum EffectDispatch {
    /// To these sets, by their numbers at the writer.
    Sets { v4: Option<u16>, v6: Option<u16> },
    Queue {
        trigger: EffectLever,
        at_start: AtStart,
        /// Addresses that it was told of a moment ago; none where it is told of all.
        recent: Option<RecentAdditions>,
    },
}

impl EffectDispatch {
    /// The same for what is told of an address once in a while.
    fn with_recent(self, notes: RecentAdditions) -> Self {
        match self {
            Self::Queue { trigger, at_start, .. } => {
                Self::Queue { trigger, at_start, recent: Some(notes) }
            }
            sets @ Self::Sets { .. } => sets,
        }
    }
}

/// A job with what it sets off.
pub(super) fn job_duty(job: &JobSettings, entries: &[BuiltEffect]) -> JobDuty {
    let levers =
        job.effects.iter().filter_map(|effect| match &entries[usize::from(effect.0)].dispatch {
            EffectDispatch::Queue { trigger: lever, .. } => Some(lever.clone()),
            // A job has no answer, so there is nothing to add.
            EffectDispatch::Sets { .. } => None,
        });
    JobDuty { job: job.clone(), effects: levers.collect(), counts: Arc::default() }
}

/// Holds what is built of a plan, effect by effect.
#[derive(Default)]
pub(super) struct EffectBuild {
    pub(super) entries: Vec<BuiltEffect>,
    pub(super) workers: Vec<EffectWorker>,
    pub(super) targets: Vec<WriteTarget>,
}

impl EffectBuild {
    pub(super) fn add(&mut self, effect: &EffectSettings) -> Result<(), Vec<Complaint>> {
        let counts = EffectCounts::new(&effect.name, effect.spec.kind());
        let way = match &effect.spec {
            EffectSpec::Ipset(spec) => self.sets(spec.targets()?, &counts),
            EffectSpec::Nftset(spec) => self.sets(spec.targets()?, &counts),
            EffectSpec::HttpRequest(spec) => {
                let deed = EffectAction::Hook(HookEffect::read(spec)?);
                self.queue(deed, &counts, spec.queue_size, hook::CONCURRENT, AtStart::Nothing)
            }
            EffectSpec::Script(spec) => {
                let deed = EffectAction::Script(ScriptEffect::read(spec)?);
                let concurrent = usize::from(spec.concurrent);
                self.queue(deed, &counts, spec.queue_size, concurrent, AtStart::Nothing)
            }
            EffectSpec::Download(spec) => {
                let download = DownloadEffect::read(spec)?;
                let at_start = download.at_start;
                // One run after the other: two would write the same files.
                self.queue(EffectAction::Download(download), &counts, 1, 1, at_start)
            }
            EffectSpec::RosAddressList(spec) => {
                let deed = EffectAction::Router(Box::new(RouterEffect::read(spec)?));
                let queue = self.queue(deed, &counts, spec.queue_size, 1, AtStart::Nothing);
                queue.with_recent(RecentAdditions::new())
            }
            EffectSpec::RosRoute(spec) => {
                let deed = EffectAction::Routes(Box::new(RouteEffect::read(spec)?));
                let queue = self.queue(deed, &counts, spec.queue_size, 1, AtStart::Nothing);
                queue.with_recent(RecentAdditions::new())
            }
            EffectSpec::Reload(what) => {
                self.queue(EffectAction::Reload(what.clone()), &counts, 1, 1, AtStart::Nothing)
            }
        };
        self.entries.push(BuiltEffect { counts, dispatch: way });
        Ok(())
    }

    fn sets(&mut self, targets: SetTargets, counts: &Arc<EffectCounts>) -> EffectDispatch {
        let mut number = |set: Option<SetTarget>| {
            let set = set?;
            self.targets.push(WriteTarget { counts: Arc::clone(counts), set });
            // EFFECTS_MAX effects have two sets each.
            Some((self.targets.len() - 1) as u16)
        };
        EffectDispatch::Sets { v4: number(targets.v4), v6: number(targets.v6) }
    }

    fn queue(
        &mut self,
        deed: EffectAction,
        counts: &Arc<EffectCounts>,
        waiting_max: usize,
        concurrent: usize,
        at_start: AtStart,
    ) -> EffectDispatch {
        let (sender, orders) = mpsc::channel(waiting_max);
        self.workers.push(EffectWorker {
            action: deed,
            counts: Arc::clone(counts),
            queue: orders,
            concurrent,
        });
        EffectDispatch::Queue {
            trigger: EffectLever { queue: sender, counts: Arc::clone(counts) },
            at_start,
            recent: None,
        }
    }
}
