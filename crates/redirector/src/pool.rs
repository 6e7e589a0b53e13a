//! The programs of a redirector, on a thread of their own, and the queue of questions to them.

use crate::process;
use crate::protocol::{HelperAnswer, HelperQuestion, LineForm};
use crate::queue::{AskedQuestion, HelperQueue, RedirectorLog};
use crate::settings::{RedirectorSettings, redirect_status};
use http::StatusCode;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::runtime::Builder;
use tokio::sync::{Mutex, mpsc, oneshot, watch};
use tokio::task::LocalSet;
use tokio::time::timeout;

/// Questions that wait for a program; the next is answered by the settings.
const WAITING_MAX: usize = 1024;

/// Programs that are asked about URLs. They end when it is dropped.
pub struct UrlRedirector {
    settings: RedirectorSettings,
    questions: mpsc::Sender<AskedQuestion>,
    /// Dropped first: the programs end.
    wanted: Option<watch::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl UrlRedirector {
    /// Starts the programs of settings that [`RedirectorSettings::check`] finds right. One that
    /// does not start is tried again, as one is that ends.
    pub fn start(settings: &RedirectorSettings, log: RedirectorLog) -> io::Result<Self> {
        let (questions, asked) = mpsc::channel(WAITING_MAX);
        let queue: HelperQueue = Arc::new(Mutex::new(asked));
        let helper = settings.clone();
        // Known to no request: a program that hangs costs this thread alone.
        let thread = std::thread::Builder::new().name("redirector".into());
        let (wanted, is_wanted) = watch::channel(());
        let thread = thread.spawn(move || run(&helper, &queue, &is_wanted, &log))?;
        let (wanted, thread) = (Some(wanted), Some(thread));
        Ok(Self { settings: settings.clone(), questions, wanted, thread })
    }

    /// The settings that it was started with.
    pub fn settings(&self) -> &RedirectorSettings {
        &self.settings
    }

    /// Asks about a request; [`HelperAnswer::Failed`] where no program answers in time.
    pub async fn ask(&self, question: HelperQuestion) -> HelperAnswer {
        let (answer, answered) = oneshot::channel();
        if self.questions.try_send(AskedQuestion { question, answer }).is_err() {
            return HelperAnswer::Failed;
        }
        match timeout(self.settings.timeout.0.0, answered).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) | Err(_) => HelperAnswer::Failed,
        }
    }
}

impl Drop for UrlRedirector {
    fn drop(&mut self) {
        drop(self.wanted.take());
        if let Some(thread) = self.thread.take() {
            // It kills its programs and waits for nothing.
            let _ = thread.join();
        }
    }
}

fn run(
    settings: &RedirectorSettings,
    queue: &HelperQueue,
    wanted: &watch::Receiver<()>,
    log: &RedirectorLog,
) {
    let Ok(runtime) = Builder::new_current_thread().enable_all().build() else {
        log("the redirector cannot run: the system gives no event queue");
        return;
    };
    let redirect_status = redirect_status(settings.redirect_status).unwrap_or(StatusCode::FOUND);
    let form = LineForm::new(settings.protocol, settings.concurrency, redirect_status);
    let tasks = LocalSet::new();
    for _ in 0..settings.processes {
        let (settings, queue, log) = (settings.clone(), Arc::clone(queue), Arc::clone(log));
        let mut wanted = wanted.clone();
        tasks.spawn_local(async move {
            tokio::select! {
                biased;
                // Nothing is ever sent: this is the end.
                _ = wanted.changed() => {}
                () = process::keep_running(&settings, form, &queue, &log) => {}
            }
        });
    }
    runtime.block_on(tasks);
}

#[cfg(test)]
mod tests;
