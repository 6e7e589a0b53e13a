//! The scheduler: jobs that set effects off by the clock.
//!
//! A job whose last run is not over is skipped and counted. Its effects run one after the other,
//! each through its own queue, and a failure does not stop the next. Runs on the effects' thread.

use super::event::{EffectOccurrence, JobFiring};
use super::orders::EffectLever;
use super::schedule::{DueJob, JobTimetable};
use super::settings::JobSettings;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use transport::{Drain, clock};

/// How `${cron_trigger_kind}` calls a run that somebody asked for.
pub(super) const BY_HAND: &str = "manual";
/// Runs asked for by hand that wait for the scheduler.
pub(super) const ASKED_MAX: usize = 16;

/// All jobs, ready to run.
pub(super) struct JobBook {
    pub(super) timetable: JobTimetable,
    pub(super) jobs: Vec<JobDuty>,
    pub(super) requested: mpsc::Receiver<usize>,
}

/// A job and what it sets off.
pub(super) struct JobDuty {
    pub(super) job: JobSettings,
    pub(super) effects: Vec<EffectLever>,
    pub(super) counts: Arc<JobCounts>,
}

/// Outcome of a job.
#[derive(Debug, Default)]
pub(super) struct JobCounts {
    pub(super) runs: AtomicU64,
    pub(super) skipped: AtomicU64,
    pub(super) finished: AtomicU64,
    /// 0: never.
    pub(super) last_unix_ms: AtomicU64,
    pub(super) next_unix_ms: AtomicU64,
}

/// The state of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobStats {
    /// What it is called.
    pub name: String,
    /// Runs that were begun.
    pub runs: u64,
    /// Runs that are over.
    pub finished: u64,
    /// Times it came due while its last run was not over.
    pub skipped: u64,
    /// When its last run began, in milliseconds since 1970; 0 for never.
    pub last_unix_ms: u64,
    /// When it runs next; 0 for never.
    pub next_unix_ms: u64,
}

impl JobCounts {
    pub(super) fn stats(&self, name: &str) -> JobStats {
        JobStats {
            name: name.into(),
            runs: self.runs.load(Relaxed),
            finished: self.finished.load(Relaxed),
            skipped: self.skipped.load(Relaxed),
            last_unix_ms: self.last_unix_ms.load(Relaxed),
            next_unix_ms: self.next_unix_ms.load(Relaxed),
        }
    }
}

/// Runs jobs as they come due, until `closing` begins. What runs then is left to run.
pub(super) async fn run(mut book: JobBook, closing: Drain) {
    let mut running: Vec<Option<JoinHandle<()>>> = book.jobs.iter().map(|_| None).collect();
    loop {
        let now = clock::now();
        for DueJob { job, at_unix_ms } in book.timetable.take_due(now) {
            let duty = &book.jobs[job];
            start_job(duty, &mut running[job], duty.job.when.kind(), at_unix_ms);
        }
        for (index, duty) in book.jobs.iter().enumerate() {
            let next = book.timetable.next_unix_ms(index, now).unwrap_or(0);
            duty.counts.next_unix_ms.store(next, Relaxed);
        }
        tokio::select! {
            () = closing.started() => return,
            () = tokio::time::sleep(book.timetable.wait(now)) => {}
            Some(job) = book.requested.recv() => {
                if let Some(duty) = book.jobs.get(job) {
                    start_job(duty, &mut running[job], BY_HAND, clock::now().unix_ms);
                }
            }
        }
    }
}

fn start_job(
    duty: &JobDuty,
    running: &mut Option<JoinHandle<()>>,
    trigger: &'static str,
    due_unix_ms: u64,
) {
    if running.as_ref().is_some_and(|run| !run.is_finished()) {
        duty.counts.skipped.fetch_add(1, Relaxed);
        return;
    }
    duty.counts.runs.fetch_add(1, Relaxed);
    duty.counts.last_unix_ms.store(clock::now().unix_ms, Relaxed);
    let firing = Arc::new(JobFiring {
        schedule: duty.job.schedule.as_str().into(),
        job: duty.job.name.as_str().into(),
        trigger,
        due_unix_ms,
    });
    let (effects, counts) = (duty.effects.clone(), Arc::clone(&duty.counts));
    *running = Some(tokio::task::spawn_local(async move {
        for lever in effects {
            let firing = Some(Arc::clone(&firing));
            let occurrence = || EffectOccurrence { firing, ..EffectOccurrence::default() };
            // Counted and told where it happened; the next effect runs all the same.
            let _ = lever.pull(occurrence).outcome().await;
        }
        counts.finished.fetch_add(1, Relaxed);
    }));
}
