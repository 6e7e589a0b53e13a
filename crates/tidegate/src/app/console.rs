//! The line console, opened at the start.

use super::RunningApp;
use admin::{AdminToken, ConsoleChoice, ProgramControl};
use line_console::ConsoleParts;
use std::sync::Arc;

impl RunningApp {
    /// Opens the console that the plan names. The doors go on without one that cannot be opened.
    pub(super) fn open_console(
        &self,
        choice: Option<&ConsoleChoice>,
        control: Arc<dyn ProgramControl>,
        token: AdminToken,
    ) {
        let Some(choice) = choice else { return };
        let ledger = self.ledger.clone();
        let parts = ConsoleParts { control, ledger, token, clock: transport::clock::now };
        match line_console::open(&choice.settings(), self.state.path(), parts, self.drain.clone()) {
            // It is opened once, so that nobody has said so before.
            Ok(place) => drop(self.console.set(place)),
            Err(why) => self.note_problem(why.to_string()),
        }
    }
}
