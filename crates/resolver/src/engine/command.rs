//! Commands to engines, by callers and by one another.

use super::flight_waiter::FlightWaiter;
use crate::question::ResolverQuestion;
use crate::settings::plan::ResolverPlan;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, WeakUnboundedSender};

/// A command to an engine, from another thread.
pub(crate) enum EngineCommand {
    LookUp(EngineLookup),
    Reload(Arc<ResolverPlan>),
}

/// A question on its way to the engine that looks it up.
pub(crate) struct EngineLookup {
    pub(crate) question: ResolverQuestion,
    pub(crate) waiter: FlightWaiter,
    pub(crate) kind: LookupKind,
    pub(crate) route: LookupRoute,
}

/// Meaning of an answer in the cache for a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LookupKind {
    /// The waiter is told it.
    Ask,
    /// The question is asked anew all the same.
    Renew,
}

/// Origin of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LookupRoute {
    /// From its caller.
    Fresh,
    /// From another engine, which knew it to be in flight here. It is not sent on once more.
    Forwarded,
}

/// The sending end of an engine's commands. The engine ends when the last one is gone.
#[derive(Clone)]
pub(crate) struct CommandSender {
    commands: UnboundedSender<EngineCommand>,
    waiting: Arc<AtomicUsize>,
}

/// The same, without keeping the engine.
pub(crate) struct WeakCommandSender {
    commands: WeakUnboundedSender<EngineCommand>,
    waiting: Arc<AtomicUsize>,
}

/// The receiving end.
pub(crate) struct CommandReceiver {
    commands: UnboundedReceiver<EngineCommand>,
    waiting: Arc<AtomicUsize>,
}

/// Both ends of an engine's commands. Bounded all the same: whoever sends a question counts itself
/// among those who wait, and reloads are few.
pub(crate) fn commands() -> (CommandSender, CommandReceiver) {
    let (commands, received) = tokio::sync::mpsc::unbounded_channel();
    let waiting = Arc::new(AtomicUsize::new(0));
    let sender = CommandSender { commands, waiting: Arc::clone(&waiting) };
    (sender, CommandReceiver { commands: received, waiting })
}

impl CommandSender {
    /// Gives `command` back where the engine has ended.
    pub(crate) fn send(&self, command: EngineCommand) -> Result<(), EngineCommand> {
        // Counted first: whoever sees none is overtaken by none.
        self.waiting.fetch_add(1, Ordering::SeqCst);
        self.commands.send(command).map_err(|unsent| {
            self.waiting.fetch_sub(1, Ordering::SeqCst);
            unsent.0
        })
    }

    /// True if nothing waits to be taken.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.load(Ordering::SeqCst) == 0
    }

    pub(crate) fn downgrade(&self) -> WeakCommandSender {
        WeakCommandSender {
            commands: self.commands.downgrade(),
            waiting: Arc::clone(&self.waiting),
        }
    }
}

impl WeakCommandSender {
    /// The sender; none where the engine is to end.
    pub(crate) fn upgrade(&self) -> Option<CommandSender> {
        let waiting = Arc::clone(&self.waiting);
        self.commands.upgrade().map(|commands| CommandSender { commands, waiting })
    }
}

impl CommandReceiver {
    /// Waits for commands and takes up to `limit` of them; 0 when no more can come.
    pub(crate) async fn recv_many(
        &mut self,
        batch: &mut Vec<EngineCommand>,
        limit: usize,
    ) -> usize {
        let taken = self.commands.recv_many(batch, limit).await;
        self.waiting.fetch_sub(taken, Ordering::SeqCst);
        taken
    }
}
