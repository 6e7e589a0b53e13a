//! Engines on threads that receive questions themselves.
//!
//! A thread has one engine at most. What is submitted on such a thread goes to its own engine, if
//! that serves the group; everything else goes to the general one.

use super::command::{self, CommandSender, EngineLookup};
use super::peers::EnginePeers;
use super::{EngineParts, EngineRole, ResolverEngine};
use std::cell::RefCell;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use tokio::task::JoinHandle;

thread_local! {
    /// The engine of this thread.
    static OWN: RefCell<Weak<ResolverEngine>> = const { RefCell::new(Weak::new()) };
}

/// An engine on this thread, which ends by [`Self::finish`] or with the thread's runtime; whoever
/// waits then is told that the resolver has stopped.
pub struct LocalEngine {
    engine: Weak<ResolverEngine>,
    /// The last sender: the engine ends when it is gone and nobody waits.
    commands: CommandSender,
    running: JoinHandle<()>,
}

impl LocalEngine {
    /// An engine on this thread, within whose local runtime it must be called.
    pub(crate) fn start(parts: EngineParts) -> Self {
        let (commands, received) = command::commands();
        let engine = ResolverEngine::join(EngineRole::Local, parts, commands.downgrade());
        register(&engine);
        let weak = Rc::downgrade(&engine);
        let running = tokio::task::spawn_local(engine.run(received));
        Self { engine: weak, commands, running }
    }

    /// True if it waits for nothing, and nobody counts on its being run: its thread may then block
    /// at something else than its runtime. A reload that comes meanwhile is taken up at the next
    /// turn of the runtime, before the next question.
    pub fn is_idle(&self) -> bool {
        // In this order: what others hand to it, they hand over while it has something in flight.
        self.engine.upgrade().is_none_or(|engine| engine.is_idle()) && self.commands.is_empty()
    }

    /// Takes no more questions, and returns when those that wait are answered or have failed, which
    /// their time-outs see to.
    pub async fn finish(self) {
        OWN.take();
        drop(self.commands);
        // If it panicked, whoever waited was told that the resolver has stopped.
        drop(self.running.await);
    }
}

/// The engine of this thread from now on.
pub(super) fn register(engine: &Rc<ResolverEngine>) {
    OWN.replace(Rc::downgrade(engine));
}

/// Hands `lookup` to this thread's own engine; gives it back where there is none of the same
/// resolver, or where that does not serve the group.
pub(crate) fn put(peers: &Arc<EnginePeers>, lookup: EngineLookup) -> Result<(), EngineLookup> {
    // The thread may be ending, and its engine gone.
    let own = OWN.try_with(|own| own.borrow().upgrade()).ok().flatten();
    match own {
        Some(engine)
            if Arc::ptr_eq(&engine.peers, peers) && engine.serves(lookup.question.group()) =>
        {
            engine.put(lookup);
            Ok(())
        }
        Some(_) | None => Err(lookup),
    }
}
