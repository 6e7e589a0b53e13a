//! `on_timer`: what a script does by itself.
//!
//! Each script that has the hook gets a thread with a machine of its own, so that waiting for an
//! answer holds up no request; what it learns goes to requests through `shared`.

use crate::code::ScriptCode;
use crate::fetching::{self, ScriptFetcher};
use crate::hook::ScriptHook;
use crate::machine;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Weak};

/// Starts the thread of a script with `on_timer`; it ends once what is returned is dropped.
pub(crate) fn start(code: &Arc<ScriptCode>, fetcher: ScriptFetcher) -> io::Result<SyncSender<()>> {
    let (gone, told) = sync_channel(0);
    let weak = Arc::downgrade(code);
    let thread = std::thread::Builder::new().name("script-timer".into());
    thread.spawn(move || run(&weak, &fetcher, &told))?;
    Ok(gone)
}

fn run(code: &Weak<ScriptCode>, fetcher: &ScriptFetcher, gone: &Receiver<()>) {
    while let Some(code) = code.upgrade() {
        let outcome = fetching::allowed(fetcher, || {
            machine::call(&code, ScriptHook::Timer, |_, function| function.call::<()>(()))
        });
        code.note(&outcome);
        let interval = code.interval;
        // Held on to, the script would never be gone.
        drop(code);
        if gone.recv_timeout(interval) != Err(RecvTimeoutError::Timeout) {
            return;
        }
    }
}
