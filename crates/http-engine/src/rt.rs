//! How hyper runs its parts here: as tasks of the current thread.

use hyper::rt::Executor;
use std::future::Future;

/// Spawns on the current thread's local runtime or `LocalSet`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LocalExec;

impl<F> Executor<F> for LocalExec
where
    F: Future + 'static,
{
    fn execute(&self, task: F) {
        tokio::task::spawn_local(async move { drop(task.await) });
    }
}
