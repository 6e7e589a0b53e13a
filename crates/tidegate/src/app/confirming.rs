//! Changes of the files that may shut out whoever makes them: in force at once, and taken back
//! unless they are confirmed in time (docs/adr/0066).
//!
//! While one waits, no other change of files is made. A start after a kill takes it back too: the
//! mark of its files is there until it is confirmed.

use super::RunningApp;
use super::settings::{complaints, write_files};
use admin::{ChangeAuthor, SettingsRefusal};
use admin_api::ReloadOutcome;
use config_history::{ConfirmTimeout, FileChange, NotConfirmed, WrittenFiles};
use state_folder::replace_file;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// File of the state folder that says that a change was confirmed once: nobody is new here.
const DONE_FILE: &str = "first-run-done";

/// Wait of a change for confirmation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CommitWait {
    /// For so long where it changes where the dashboard is reached.
    IfDashboardMoves(Duration),
    /// For so long in any case.
    Always(Duration),
}

impl RunningApp {
    /// Refuses changes of files while one waits.
    pub(super) fn check_settled(&self) -> Result<(), SettingsRefusal> {
        if self.commit.is_settled() {
            return Ok(());
        }
        Err(SettingsRefusal::Fixed {
            why: "a change of the configuration waits for confirmation".into(),
            remedy: "confirm it (POST /api/first-run/confirm), or wait until it is taken back",
        })
    }

    /// Writes files and takes them over, until they are confirmed; what the reload refuses is put
    /// back.
    pub(super) fn write_and_wait(
        self: &Arc<Self>,
        main: Option<&Path>,
        changes: Vec<FileChange>,
        author: &ChangeAuthor,
        span: Duration,
    ) -> Result<(ReloadOutcome, Option<u64>), SettingsRefusal> {
        let written = write_files(main, changes)?;
        let (done, number) = match self.reload_unsettled(author) {
            Ok(done) => done,
            Err(mut found) => {
                found.extend(written.take_back());
                return Err(complaints(found.into_iter()));
            }
        };
        let until_ms = transport::clock::now().unix_ms + span.as_millis() as u64;
        let app = Arc::clone(self);
        let named = number.map_or_else(String::new, |number| format!(" {number}"));
        let why = format!("change{named} was not confirmed within {} s", span.as_secs());
        let take_back = move |written| app.take_back(written, why);
        let timeout = ConfirmTimeout { span, until_ms };
        if let Err((written, why)) = self.commit.begin(written, timeout, take_back) {
            let told = format!("it could not be left to wait for confirmation: {why}");
            self.take_back(written, told.clone());
            return Err(complaints(std::iter::once(told)));
        }
        Ok((done, number))
    }

    /// Has everything be as it was before files were written.
    fn take_back(self: &Arc<Self>, written: WrittenFiles, why: String) {
        log::warn!(target: "program", "{why}: the configuration before it is put back");
        self.ledger.note(transport::clock::now(), None, "configuration", &why);
        let mut trouble = written.take_back();
        let author = ChangeAuthor { who: "rollback".into(), from: None, why };
        match self.reload_unsettled(&author) {
            Ok(_) => self.settle_admin(),
            Err(found) => trouble.extend(found),
        }
        for line in trouble {
            self.note_problem(line);
        }
    }

    /// Keeps the change that waits, for a request that came to this listener.
    pub(super) fn confirm_change(
        &self,
        came_to: Option<SocketAddr>,
    ) -> Result<(), SettingsRefusal> {
        let refused = |why: NotConfirmed| SettingsRefusal::Fixed {
            why: why.into(),
            remedy: "GET /api/first-run tells whether a change waits",
        };
        if self.commit.waits_until().is_some()
            && came_to.is_some_and(|address| self.leaving_admin().contains(&address))
        {
            return Err(SettingsRefusal::Fixed {
                why: format!("this address is closed by the change; {}", self.dashboard_url())
                    .into(),
                remedy: "open the dashboard at that address, and confirm there",
            });
        }
        self.commit.confirm().map_err(refused)?;
        self.settle_admin();
        if let Err(why) = replace_file(&self.done_file(), b"") {
            self.note_problem(format!("{}: {why}", self.done_file().display()));
        }
        Ok(())
    }

    /// True where a change was confirmed once.
    pub(super) fn was_set_up(&self) -> bool {
        self.done_file().exists()
    }

    fn done_file(&self) -> PathBuf {
        self.state.path().join(DONE_FILE)
    }

    /// Time of a wait for a change that becomes this plan; none where it waits for nobody.
    pub(super) fn wait_of(&self, wait: CommitWait, plan: &config::Plan) -> Option<Duration> {
        match wait {
            CommitWait::Always(span) => Some(span),
            CommitWait::IfDashboardMoves(span) => self.moves_dashboard(plan).then_some(span),
        }
    }

    /// Holds the turn at editing.
    pub(super) fn editing_turn(&self) -> std::sync::MutexGuard<'_, ()> {
        self.editing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
