//! One thread per core, each with a runtime of its own.
//!
//! What runs on a core stays there: its tasks need not be `Send`, its listeners are its own
//! (`SO_REUSEPORT`), and no lock is shared on the way of a request. It balances nothing: the kernel
//! spreads connections over the cores' sockets. The binary starts it once.

use crate::outbox::OutboxFlusher;
use std::fmt;
use std::future::Future;
use std::io;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::runtime::{Builder, LocalOptions};
use tokio::sync::mpsc;

/// Jobs that wait for a core to pick them up. They are listeners and the like, handed in at start
/// and on reload; a full queue means that the core is stuck.
const JOBS_WAITING_MAX: usize = 1024;

/// Rest of a thread after a panic.
const PAUSE: Duration = Duration::from_millis(10);

type Job = Box<dyn FnOnce() + Send>;

/// The running cores. Dropping it stops them: their tasks are dropped where they wait.
#[derive(Debug)]
pub struct Cores {
    cores: Vec<Core>,
}

#[derive(Debug)]
struct Core {
    jobs: mpsc::Sender<Job>,
    thread: Option<JoinHandle<()>>,
}

/// A core takes no more work: it is stuck, or stopped by a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoreStuck(pub usize);

impl Cores {
    /// As many as this process may use.
    pub fn available() -> NonZeroUsize {
        std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
    }

    /// Starts `count` threads.
    pub fn start(count: NonZeroUsize) -> io::Result<Self> {
        let cores = (0..count.get()).map(Core::start).collect::<io::Result<_>>()?;
        Ok(Self { cores })
    }

    /// Returns how many there are.
    pub fn count(&self) -> usize {
        self.cores.len()
    }

    /// Runs `start` on core `core` (counted from 0) and the future it returns as a task there.
    /// The future need not be `Send` and may itself `tokio::task::spawn_local`.
    ///
    /// # Panics
    /// If there is no such core.
    pub fn spawn<S, F>(&self, core: usize, start: S) -> Result<(), CoreStuck>
    where
        S: FnOnce() -> F + Send + 'static,
        F: Future<Output = ()> + 'static,
    {
        // Begun inside the task, so that a panic is the task's own and the core goes on.
        let job: Job = Box::new(move || drop(tokio::task::spawn_local(async { start().await })));
        self.cores[core].jobs.try_send(job).map_err(|_| CoreStuck(core))
    }
}

impl Core {
    fn start(index: usize) -> io::Result<Self> {
        let (jobs, mut waiting) = mpsc::channel::<Job>(JOBS_WAITING_MAX);
        let (built, outcome) = std::sync::mpsc::sync_channel(1);
        let thread =
            std::thread::Builder::new().name(format!("core-{index}")).spawn(move || {
                // A local runtime cannot leave its thread, so it is built here.
                let runtime = match Builder::new_current_thread()
                    .enable_all()
                    .build_local(LocalOptions::default())
                {
                    Ok(runtime) => runtime,
                    Err(why) => return drop(built.send(Err(why))),
                };
                let _ = built.send(Ok(()));
                runtime.block_on(async {
                    tokio::task::spawn_local(OutboxFlusher);
                    while let Some(job) = waiting.recv().await {
                        job();
                    }
                });
            })?;
        match outcome.recv() {
            Ok(Ok(())) => Ok(Self { jobs, thread: Some(thread) }),
            Ok(Err(why)) => Err(why),
            Err(_) => Err(io::Error::other("a core's thread ended while starting")),
        }
    }
}

impl Drop for Cores {
    fn drop(&mut self) {
        let threads: Vec<_> =
            self.cores.drain(..).filter_map(|mut core| core.thread.take()).collect();
        // The senders are gone with the cores: every thread leaves its loop.
        for thread in threads {
            // A panic there was printed there.
            let _ = thread.join();
        }
    }
}

impl fmt::Display for CoreStuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "core {} takes no more work", self.0)
    }
}

impl std::error::Error for CoreStuck {}

/// Runs `turns`, which end when they return, and runs them again after a panic: for the thread of a
/// socket that nobody else serves. What the turn had taken on is lost.
pub fn restart_on_panic(mut turns: impl FnMut()) {
    while catch_unwind(AssertUnwindSafe(&mut turns)).is_err() {
        // A turn that panics whatever it is given must not take a processor for itself.
        std::thread::park_timeout(PAUSE);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use std::rc::Rc;

    fn broken() -> std::future::Ready<()> {
        panic!("before the future is there")
    }

    #[test]
    fn a_panic_ends_its_task_and_neither_core_nor_other_tasks() {
        let cores = Cores::start(NonZeroUsize::MIN).unwrap();
        let (done, finished) = std::sync::mpsc::channel();
        let (release, released) = tokio::sync::oneshot::channel::<()>();
        let told = done.clone();
        let beside = move || async move {
            released.await.unwrap();
            told.send("beside").unwrap();
        };
        cores.spawn(0, beside).unwrap();
        cores.spawn(0, broken).unwrap();
        cores.spawn(0, || async { panic!("inside the future") }).unwrap();
        let after = move || async move {
            done.send("after").unwrap();
            release.send(()).unwrap();
        };
        cores.spawn(0, after).unwrap();
        let told: Vec<_> = (0..2).map(|_| finished.recv().unwrap()).collect();
        assert_eq!(told, ["after", "beside"]);
    }

    #[test]
    fn turns_go_on_after_a_panic_until_they_return() {
        let mut left = vec!["the end", "second", "first"];
        restart_on_panic(|| {
            let what = left.pop().unwrap();
            assert_eq!(what, "the end");
        });
        assert!(left.is_empty());
    }

    #[test]
    fn a_core_runs_futures_that_cannot_leave_it() {
        let cores = Cores::start(NonZeroUsize::new(2).unwrap()).unwrap();
        let (done, finished) = std::sync::mpsc::channel();
        for core in 0..cores.count() {
            let done = done.clone();
            let run = move || async move {
                let local = Rc::new(core);
                tokio::task::yield_now().await;
                done.send((*local, std::thread::current().name().map(str::to_owned))).unwrap();
            };
            cores.spawn(core, run).unwrap();
        }
        let mut ran: Vec<_> = (0..2).map(|_| finished.recv().unwrap()).collect();
        ran.sort();
        assert_eq!(ran, [(0, Some("core-0".into())), (1, Some("core-1".into()))]);
    }
}
