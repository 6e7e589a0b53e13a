//! The service manager's watchdog: it hears that the program is alive as long as every core is.
//!
//! A core that takes no work any more, or whose thread is gone, is a fault that the manager mends
//! by a restart. Without a manager that watches, nothing is done.

use super::RunningApp;
use hot_restart::service_manager::{ServiceNews, tell, watchdog_interval};
use std::future::pending;
use std::sync::Arc;
use tokio::sync::oneshot;

impl RunningApp {
    /// Tells the manager again and again; never ends.
    pub(super) async fn keep_watchdog_quiet(self: &Arc<Self>) {
        let Some(interval) = watchdog_interval() else { return pending().await };
        loop {
            let ((), all_alive) = tokio::join!(tokio::time::sleep(interval), self.hear_all_cores());
            if all_alive == CoresHeard::All {
                tell(ServiceNews::Alive);
            }
        }
    }

    /// Has each core do something.
    async fn hear_all_cores(&self) -> CoresHeard {
        for core in 0..self.cores.count() {
            let (alive, heard) = oneshot::channel();
            let begun = self.cores.spawn(core, move || async move {
                // Whoever asked may have gone.
                let _ = alive.send(());
            });
            if begun.is_err() || heard.await.is_err() {
                return CoresHeard::NotAll;
            }
        }
        CoresHeard::All
    }
}

/// Cores that have answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CoresHeard {
    All,
    NotAll,
}
