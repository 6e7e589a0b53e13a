//! The configuration's files for the admin API: judged as `check` does, applied together, and gone
//! back in.
//!
//! Which files there are, how they are written and what was changed is [`config_history`]'s; here
//! it meets the plan that runs, the lists and the reload.

use super::RunningApp;
use super::confirming::CommitWait;
use super::control::ControlHandle;
use super::judged::{self, ListReading};
use crate::cli::CommandSetup;
use admin::{ChangeAuthor, ConfigurationFiles, FilesRefusal, SettingsRefusal};
use admin_api::{
    ApplyOutcome, ApplyRequest, ChangeDetails, ChangeList, CheckDraft, CheckedDraft,
    ConfigFileList, DraftDifference, DraftFile, EditDraft, EditedDraft, PlacedProblem,
    ReloadOutcome, ReplayDraft, ReplayOutcome, RestoreRequest,
};
use command_output::{CommandFailure, ExitReason};
use config::{
    ConfigLanguage, EffectTime, FileComplaint, MadeSettings, Plan, SettingDifference, differences,
};
use config_history::{
    EarlierText, EditRule, FileChange, FileInForce, FileKind, FilesInForce, revision,
};
use policy::UnlistedAction;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// Takes back a change of the files that a process was killed in.
pub(super) fn take_back_unfinished(setup: &CommandSetup) -> Result<(), CommandFailure> {
    let Some(main) = setup.config_file() else { return Ok(()) };
    let told = config_history::undo_unfinished(main).map_err(|why| {
        let mark = config_history::undo_mark(main);
        let message = format!(
            "{}: a change of the configuration was cut off, and cannot be taken back: {why}; see \
             to the files that it names, then remove it",
            mark.display()
        );
        CommandFailure::new(ExitReason::NotStarted, message)
    })?;
    for line in told {
        println!("{line}");
    }
    Ok(())
}

impl RunningApp {
    /// Rule for changes of the configuration's own files.
    pub(super) fn edit_rule(&self) -> EditRule {
        self.check_file(&self.plan()).map_or_else(EditRule::Refused, |()| EditRule::Allowed)
    }

    /// Files that may get another text, the dashboard's among them also before it is there.
    fn editable_files(&self) -> FilesInForce {
        let files = self.history.files();
        // The built-in one and another program's are no files to edit.
        let takes_settings =
            files.main().is_some() && self.plan().language() == ConfigLanguage::Own;
        if takes_settings { files.with_dashboard(self.state.path()) } else { files }
    }

    /// Reads texts as a plan, as they would be taken over.
    fn draft_plan(
        &self,
        running: &Plan,
        files: &FilesInForce,
        drafts: &[(&FileInForce, &str)],
    ) -> Result<Plan, FilesRefusal> {
        let wrong = |found: Vec<FileComplaint>| FilesRefusal::Wrong(placed(found));
        let made = match self.made_settings() {
            Ok(made) => made,
            // A draft of it takes its place.
            Err(_) if drafts.iter().any(|(file, _)| file.kind == FileKind::Dashboard) => None,
            Err(why) => return Err(wrong(vec![why])),
        };
        let plan = files.judge(running, made, drafts).map_err(wrong)?;
        let mut judged = plan.clone();
        judged.file.admin = self.admin_after(&plan);
        let refused = self.privileges.refuse(&judged, self.state.path());
        if refused.is_empty() {
            return Ok(plan);
        }
        Err(wrong(refused.into_iter().map(|it| plan.locate(it)).collect()))
    }

    /// Judges a plan that was read from drafts.
    fn judge_draft(&self, running: &Plan, plan: &Plan) -> CheckedDraft {
        let policy = |plan: &Plan| serde_json::to_value(&plan.file.policy).ok();
        let lists =
            if policy(running) == policy(plan) { ListReading::Known } else { ListReading::Read };
        // The memory of all rules is taken once.
        let turn = (lists == ListReading::Read)
            .then(|| self.compiling.lock().unwrap_or_else(PoisonError::into_inner));
        let found = judged::judge(&self.setup, plan, self.state.path(), lists);
        drop(turn);
        let changed = differences(&running.shown_whole(), &plan.shown_whole());
        CheckedDraft {
            complaints: placed(found.complaints),
            warnings: found.warnings,
            differences: changed.into_iter().map(difference).collect(),
            asks: asks(running, plan),
            lists_read: lists == ListReading::Read,
        }
    }

    fn check_drafts(&self, draft: &CheckDraft) -> Result<CheckedDraft, FilesRefusal> {
        let (running, files) = (self.plan(), self.editable_files());
        let drafts = named(&files, &draft.files)?;
        match self.draft_plan(&running, &files, &drafts) {
            Ok(plan) => Ok(self.judge_draft(&running, &plan)),
            Err(FilesRefusal::Wrong(complaints)) => {
                Ok(CheckedDraft { complaints, ..CheckedDraft::default() })
            }
            Err(other) => Err(other),
        }
    }

    /// Writes files, all or none, and takes them over. The turn at editing is the caller's.
    pub(super) fn apply_files(
        self: &Arc<Self>,
        wanted: &ApplyRequest,
        author: &ChangeAuthor,
        wait: CommitWait,
    ) -> Result<ApplyOutcome, FilesRefusal> {
        self.check_settled()?;
        let (running, files) = (self.plan(), self.editable_files());
        let drafts = named(&files, &wanted.files)?;
        let rule = self.edit_rule();
        let mut changes = Vec::new();
        let mut stale = Vec::new();
        for ((file, text), sent) in drafts.iter().zip(&wanted.files) {
            file.check_writable(&rule)?;
            let before = file.read_now().unwrap_or_default();
            if revision(&before) != sent.revision {
                stale.push(file.info(&rule));
            } else if before != *text {
                let (path, after) = (file.path.clone(), (*text).to_owned());
                changes.push(FileChange { path, before, after });
            }
        }
        if !stale.is_empty() {
            return Err(FilesRefusal::Changed(stale));
        }
        let plan = self.draft_plan(&running, &files, &drafts)?;
        let found = judged::judge(&self.setup, &plan, self.state.path(), ListReading::Known);
        if !found.complaints.is_empty() {
            return Err(FilesRefusal::Wrong(placed(found.complaints)));
        }
        let asks = asks(&running, &plan);
        if !asks.is_empty() && !wanted.confirm {
            return Err(FilesRefusal::Unconfirmed(asks));
        }
        let span = self.wait_of(wait, &plan).filter(|_| !changes.is_empty());
        let (reload, number) = self.write_drafts(&files, changes, author, span)?;
        let found = differences(&running.shown_whole(), &plan.shown_whole());
        let late = found.iter().filter(|it| it.takes == EffectTime::Restart);
        Ok(ApplyOutcome {
            reload,
            number,
            at_restart: late.map(ToString::to_string).collect(),
            confirm_within_s: span.map(|span| span.as_secs()),
            dashboard: span.map(|_| self.dashboard_url()),
        })
    }

    /// Writes files and takes them over, until they are confirmed if they are to wait so long.
    fn write_drafts(
        self: &Arc<Self>,
        files: &FilesInForce,
        changes: Vec<FileChange>,
        author: &ChangeAuthor,
        span: Option<Duration>,
    ) -> Result<(ReloadOutcome, Option<u64>), SettingsRefusal> {
        // What the dashboard has set is one file in a folder of its own.
        let is_own =
            |it: &FileChange| files.iter().any(|file| file.path == it.path && !is_dashboard(file));
        let needs_mark = span.is_some() || changes.iter().any(is_own);
        let main = files.main().filter(|_| needs_mark).map(|main| main.path.clone());
        match span {
            Some(span) => self.write_and_wait(main.as_deref(), changes, author, span),
            None => self.write_and_reload(main.as_deref(), changes, author),
        }
    }

    /// The files as they were before a change, as far as they differ from what they are.
    fn texts_before(&self, number: u64) -> Result<Vec<DraftFile>, FilesRefusal> {
        let before = self.history.before(number).map_err(unread)?;
        let before = before.ok_or(FilesRefusal::NoSuchChange(number))?;
        let files = self.history.files();
        let mut drafts = Vec::new();
        for EarlierText { path, text } in before {
            let file = files.find(&path);
            let text = match (text, file) {
                (Some(text), _) => text,
                (None, Some(file)) if is_dashboard(file) => {
                    MadeSettings::blank(self.state.path()).text
                }
                // It leaves the configuration with the file that names it.
                (None, _) => continue,
            };
            let Some(file) = file else {
                if std::fs::read(&path).is_ok_and(|now| now == text.as_bytes()) {
                    continue;
                }
                return Err(FilesRefusal::Other(SettingsRefusal::Fixed {
                    why: format!("{path} was part of the configuration then, and is not now")
                        .into(),
                    remedy: "put that file back by hand, name it under include, then go back",
                }));
            };
            let now = file.read_now().unwrap_or_default();
            drafts.push(DraftFile { path, text, revision: revision(&now) });
        }
        Ok(drafts)
    }
}

impl ConfigurationFiles for ControlHandle {
    fn files(&self) -> ConfigFileList {
        let rule = self.0.edit_rule();
        let files = self.0.editable_files();
        let (fixed, remedy) = match &rule {
            EditRule::Refused(SettingsRefusal::Fixed { why, remedy }) => {
                (Some(why.to_string()), Some((*remedy).to_owned()))
            }
            EditRule::Refused(_) | EditRule::Allowed => (None, None),
        };
        let files = files.iter().map(|file| file.info(&rule)).collect();
        ConfigFileList { files, fixed, remedy }
    }

    fn schema(&self) -> &'static serde_json::Value {
        config::schema()
    }

    fn check(&self, draft: &CheckDraft) -> Result<CheckedDraft, FilesRefusal> {
        self.0.check_drafts(draft)
    }

    fn replay(&self, draft: &ReplayDraft, since_ms: u64) -> Result<ReplayOutcome, FilesRefusal> {
        let (running, files) = (self.0.plan(), self.0.editable_files());
        let drafts = named(&files, &draft.files)?;
        let plan = self.0.draft_plan(&running, &files, &drafts)?;
        Ok(self.0.replay_plan(&plan, since_ms)?)
    }

    fn edit(&self, draft: &EditDraft) -> Result<EditedDraft, FilesRefusal> {
        config_history::edit_drafts(&self.0.editable_files(), draft)
    }

    fn apply(
        &self,
        wanted: &ApplyRequest,
        author: &ChangeAuthor,
    ) -> Result<ApplyOutcome, FilesRefusal> {
        let _turn = self.0.editing.lock().unwrap_or_else(PoisonError::into_inner);
        self.0.apply_files(wanted, author, CommitWait::IfDashboardMoves(span_of(wanted)?))
    }

    fn history(&self) -> ChangeList {
        self.0.history.list(vocab::iso)
    }

    fn change(&self, number: u64) -> Result<ChangeDetails, FilesRefusal> {
        let found = self.0.history.details(number, vocab::iso).map_err(unread)?;
        found.ok_or(FilesRefusal::NoSuchChange(number))
    }

    fn restore(
        &self,
        number: u64,
        wanted: &RestoreRequest,
        author: &ChangeAuthor,
    ) -> Result<ApplyOutcome, FilesRefusal> {
        let _turn = self.0.editing.lock().unwrap_or_else(PoisonError::into_inner);
        let files = self.0.texts_before(number)?;
        let mut author = author.clone();
        if author.why.is_empty() {
            author.why = format!("back to before change {number}");
        }
        let wanted = ApplyRequest { files, confirm: wanted.confirm, ..ApplyRequest::default() };
        self.0.apply_files(&wanted, &author, CommitWait::IfDashboardMoves(span_of(&wanted)?))
    }
}

/// Time for which a change of where the dashboard is waits for confirmation.
fn span_of(wanted: &ApplyRequest) -> Result<Duration, SettingsRefusal> {
    let span = ::first_run::confirm_within(wanted.confirm_within_s);
    span.map_err(|why| SettingsRefusal::Wrong(why.into()))
}

/// The refusal of a history that cannot be read.
fn unread(why: std::io::Error) -> SettingsRefusal {
    let remedy = "see to the folder config-history in the state folder";
    SettingsRefusal::Fixed { why: why.into(), remedy }
}

fn is_dashboard(file: &FileInForce) -> bool {
    file.kind == FileKind::Dashboard
}

/// Drafts with the files that they are of; each file once.
fn named<'d>(
    files: &'d FilesInForce,
    sent: &'d [DraftFile],
) -> Result<Vec<(&'d FileInForce, &'d str)>, FilesRefusal> {
    let mut drafts: Vec<(&FileInForce, &str)> = Vec::with_capacity(sent.len());
    for draft in sent {
        let file = files.find(&draft.path);
        let file = file.ok_or_else(|| FilesRefusal::NoSuchFile(draft.path.clone()))?;
        if drafts.iter().any(|(known, _)| known.path == file.path) {
            let why = format!("{} is sent twice", draft.path).into();
            return Err(SettingsRefusal::Wrong(why).into());
        }
        drafts.push((file, &draft.text));
    }
    Ok(drafts)
}

/// Effects that must be said yes to: from then on nothing passes that no list names.
fn asks(running: &Plan, plan: &Plan) -> Vec<String> {
    let blocks = |plan: &Plan| plan.file.policy.default.otherwise == UnlistedAction::Block;
    let now = "everything that no list allows is blocked, for every client without a profile of \
               its own (policy.default.otherwise)";
    (blocks(plan) && !blocks(running)).then(|| now.to_owned()).into_iter().collect()
}

fn difference(found: SettingDifference) -> DraftDifference {
    let text = found.to_string();
    let takes = match found.takes {
        EffectTime::Reload => "reload",
        EffectTime::Restart => "restart",
    };
    let SettingDifference { path, before, after, .. } = found;
    DraftDifference { path, before, after, takes: takes.into(), text }
}

/// Complaints as clients are told of them, with files by the names that are listed.
fn placed(found: Vec<FileComplaint>) -> Vec<PlacedProblem> {
    let problem = |it: FileComplaint| PlacedProblem {
        file: config_history::absolute(&it.file),
        line: it.line,
        column: it.column,
        path: it.path,
        message: it.message,
        remedy: it.remedy,
    };
    found.into_iter().map(problem).collect()
}
