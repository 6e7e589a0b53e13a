//! The line console: opened at the start, closed before another process takes this one's place.

use super::RunningApp;
use super::control::ControlHandle;
use admin::AdminToken;
use line_console::ConsoleParts;
use std::sync::{Arc, PoisonError};
use transport::Drain;

impl RunningApp {
    /// Opens the console that the configuration of the start names. The doors go on without one
    /// that cannot be opened.
    pub(super) fn open_console(self: &Arc<Self>, token: AdminToken) {
        let settings = self.admin.load_full();
        let Some(choice) = &settings.console else { return };
        let control = Arc::new(ControlHandle(Arc::clone(self)));
        let ledger = self.ledger.clone();
        let parts = ConsoleParts { control, ledger, token, clock: transport::clock::now };
        let closing = Drain::new();
        match line_console::open(&choice.settings(), self.state.path(), parts, closing.clone()) {
            Ok(place) => {
                *self.console_closing.lock().unwrap_or_else(PoisonError::into_inner) = closing;
                // Opened again, it is at the same place.
                let _ = self.console.set(place);
            }
            Err(why) => self.note_problem(why.to_string()),
        }
    }

    /// Closes the console with its connections.
    pub(super) fn close_console(&self) {
        self.console_closing.lock().unwrap_or_else(PoisonError::into_inner).start();
    }
}
