//! From a plan to what carries it out: workers with their queues, and sets with their numbers.
//!
//! It reads the settings and starts nothing. Called by [`Effects::start`](super::Effects::start).

use super::counts::Counts;
use super::download::{AtStart, Download};
use super::hook::{self, Hook};
use super::jobs::{Duty, Lever};
use super::script::Script;
use super::sets::Target;
use super::settings::{Effect, EffectSpec, Job, SetTarget};
use super::targets::Targets;
use super::thread::{Deed, Worker};
use std::sync::Arc;
use tokio::sync::mpsc;
use vocab::Complaint;

/// An effect, as it is set off.
pub(super) struct Entry {
    pub(super) counts: Arc<Counts>,
    pub(super) way: Way,
}

/// How it is set off.
pub(super) enum Way {
    /// To these sets, by their numbers at the writer.
    Sets {
        v4: Option<u16>,
        v6: Option<u16>,
    },
    Queue {
        lever: Lever,
        at_start: AtStart,
    },
}

/// A job with what it sets off.
pub(super) fn duty(job: &Job, entries: &[Entry]) -> Duty {
    let levers =
        job.effects.iter().filter_map(|effect| match &entries[usize::from(effect.0)].way {
            Way::Queue { lever, .. } => Some(lever.clone()),
            // A job has no answer, so there is nothing to add.
            Way::Sets { .. } => None,
        });
    Duty { job: job.clone(), effects: levers.collect(), counts: Arc::default() }
}

/// What is built of a plan, effect by effect.
#[derive(Default)]
pub(super) struct Build {
    pub(super) entries: Vec<Entry>,
    pub(super) workers: Vec<Worker>,
    pub(super) targets: Vec<Target>,
}

impl Build {
    pub(super) fn add(&mut self, effect: &Effect) -> Result<(), Vec<Complaint>> {
        let counts = Counts::new(&effect.name, effect.spec.kind());
        let way = match &effect.spec {
            EffectSpec::Ipset(spec) => self.sets(spec.targets()?, &counts),
            EffectSpec::Nftset(spec) => self.sets(spec.targets()?, &counts),
            EffectSpec::HttpRequest(spec) => {
                let deed = Deed::Hook(Hook::read(spec)?);
                self.queue(deed, &counts, spec.queue_size, hook::CONCURRENT, AtStart::Nothing)
            }
            EffectSpec::Script(spec) => {
                let deed = Deed::Script(Script::read(spec)?);
                let concurrent = usize::from(spec.concurrent);
                self.queue(deed, &counts, spec.queue_size, concurrent, AtStart::Nothing)
            }
            EffectSpec::Download(spec) => {
                let download = Download::read(spec)?;
                let at_start = download.at_start;
                // One run after the other: two would write the same files.
                self.queue(Deed::Download(download), &counts, 1, 1, at_start)
            }
            EffectSpec::Reload(what) => {
                self.queue(Deed::Reload(what.clone()), &counts, 1, 1, AtStart::Nothing)
            }
        };
        self.entries.push(Entry { counts, way });
        Ok(())
    }

    fn sets(&mut self, targets: Targets, counts: &Arc<Counts>) -> Way {
        let mut number = |set: Option<SetTarget>| {
            let set = set?;
            self.targets.push(Target { counts: Arc::clone(counts), set });
            // EFFECTS_MAX effects have two sets each.
            Some((self.targets.len() - 1) as u16)
        };
        Way::Sets { v4: number(targets.v4), v6: number(targets.v6) }
    }

    fn queue(
        &mut self,
        deed: Deed,
        counts: &Arc<Counts>,
        waiting_max: usize,
        concurrent: usize,
        at_start: AtStart,
    ) -> Way {
        let (sender, orders) = mpsc::channel(waiting_max);
        self.workers.push(Worker { deed, counts: Arc::clone(counts), orders, concurrent });
        Way::Queue { lever: Lever { orders: sender, counts: Arc::clone(counts) }, at_start }
    }
}
