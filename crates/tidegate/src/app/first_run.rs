//! The first run for the admin API: what [`first_run`] finds and writes, on the program that runs.

use super::RunningApp;
use super::confirming::CommitWait;
use super::control::ControlHandle;
use ::first_run::{FirstRunChoice, MachineOffer, answers_this_machine_alone, settings_text};
use admin::{ChangeAuthor, FilesRefusal, FirstRunDesk, SettingsRefusal};
use admin_api::{
    ApplyRequest, AskingDevice, DraftFile, FirstRunInfo, FirstRunOutcome, FirstRunQuery,
    FirstRunRequest, WaitingChange,
};
use config_history::revision;
use diagnosis::{DiagnosisSubject, MachineFolders};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use vocab::Now;

impl RunningApp {
    fn machine_offer(&self) -> MachineOffer {
        let (plan, state) = (self.plan(), self.state.path().to_owned());
        MachineOffer::look(DiagnosisSubject { plan, state, machine: MachineFolders::default() })
    }

    /// Reason why the configuration's own file may not be changed, with its remedy.
    fn why_not_written(&self) -> Option<String> {
        let files = self.history.files();
        let refused = match files.main() {
            Some(main) => main.check_writable(&self.edit_rule()).err(),
            None => self.check_file(&self.plan()).err(),
        };
        refused.map(|why| why.to_string())
    }

    fn begin_first_run(
        self: &Arc<Self>,
        wanted: &FirstRunRequest,
        author: &ChangeAuthor,
    ) -> Result<FirstRunOutcome, FilesRefusal> {
        let wrong = |why: String| FilesRefusal::Other(SettingsRefusal::Wrong(why.into()));
        let choice = FirstRunChoice::read(wanted).map_err(|why| wrong(why.to_string()))?;
        let _turn = self.editing_turn();
        let plan = self.plan();
        self.check_file(&plan)?;
        let files = self.history.files();
        let main = files.main().ok_or_else(|| wrong("there is no file to change".into()))?;
        let before = main.read_now().map_err(|why| wrong(format!("{}: {why}", main.name)))?;
        let pixel = self.machine_offer().pixel_address(choice.pixel_address, Some(choice.address));
        let text = settings_text(&before, &plan, &choice, pixel);
        let text = text.map_err(|why| wrong(why.to_string()))?;
        let file = DraftFile { path: main.name.clone(), text, revision: revision(&before) };
        let wanted = ApplyRequest { files: vec![file], ..ApplyRequest::default() };
        let done = self.apply_files(&wanted, author, CommitWait::Always(choice.confirm_within))?;
        Ok(FirstRunOutcome {
            ok: true,
            complaints: done.reload.warnings,
            confirm_within_s: done.confirm_within_s,
            dashboard: self.dashboard_url(),
            number: done.number,
        })
    }
}

impl FirstRunDesk for ControlHandle {
    fn look(&self, asked: &FirstRunQuery, client: IpAddr, now: Now) -> FirstRunInfo {
        let app = &self.0;
        let why_not = app.why_not_written();
        let known = app.trust.all(now).into_iter().find(|(known, _)| *known == client);
        let trust = known.map(|(_, learned)| learned.trust).unwrap_or_default();
        FirstRunInfo {
            needed: answers_this_machine_alone(&app.plan()) && !app.was_set_up(),
            can_write: why_not.is_none(),
            why_not,
            this_device: AskingDevice {
                client: client.to_string(),
                trust: trust.as_str().into(),
                ..AskingDevice::default()
            },
            check_url: self.check_url().map(|url| url.to_string()),
            waiting: app.commit.waits_until().map(|at| WaitingChange { until: vocab::iso(at) }),
            ..app.machine_offer().info(asked)
        }
    }

    fn begin(
        &self,
        wanted: &FirstRunRequest,
        author: &ChangeAuthor,
    ) -> Result<FirstRunOutcome, FilesRefusal> {
        self.0.begin_first_run(wanted, author)
    }

    fn confirm(&self, came_to: Option<SocketAddr>) -> Result<(), SettingsRefusal> {
        self.0.confirm_change(came_to)
    }

    fn check_url(&self) -> Option<Arc<String>> {
        self.0.check_url.load_full()
    }
}
