//! A change of the dashboard, or a draft of the configuration, tried on recorded requests and not
//! made.
//!
//! Both policies are compiled beside the one in force, of whose rules they take what did not
//! change. One replay at a time, for each takes the memory of all rules. Called by the admin API.

use super::made::{OWN_LIST, has_own_list, list_change, write};
use super::profiles::item_changes;
use super::settings::complaints;
use super::{RunningApp, compiling};
use admin::{ReplayOrder, SettingsRefusal, TriedChange};
use admin_api::{ReplayOutcome, ReplayedName, ReplayedRule};
use config::{MadeChange, MadeItems, MadeSettings, Plan};
use policy::Policy;
use replay::{ChangedAction, ReplayReport, RequestReplay};
use serde_json::json;
use std::path::PathBuf;
use std::sync::{MutexGuard, PoisonError, TryLockError};
use std::time::Instant;

/// Own rules while they are tried, in the state folder.
const TRIED_FILE: &str = "own-rules.tried";
/// Names and rules that an answer has.
const ANSWERED_MAX: usize = 200;

/// A file that goes when it is not needed any more.
struct TriedFile(PathBuf);

impl RunningApp {
    /// Judges the requests of a while as they would be with a change.
    pub(super) fn replay(&self, order: &ReplayOrder) -> Result<ReplayOutcome, SettingsRefusal> {
        let _turn = self.turn_at_trying()?;
        let started = Instant::now();
        let made = self.made_before()?;
        // Held until the rules are read.
        let (changes, tried) = self.changes_of(&order.change, made.as_ref())?;
        let (_, plan) = self.made_with(made.as_ref(), &changes)?;
        let then = self.policy_of(&plan)?;
        drop(tried);
        self.judge_again(&then, order.since_ms, started)
    }

    /// Judges the requests since a moment as they would be with a plan.
    pub(super) fn replay_plan(
        &self,
        plan: &Plan,
        since_ms: u64,
    ) -> Result<ReplayOutcome, SettingsRefusal> {
        let _turn = self.turn_at_trying()?;
        let started = Instant::now();
        let then = self.policy_of(plan)?;
        self.judge_again(&then, since_ms, started)
    }

    fn turn_at_trying(&self) -> Result<MutexGuard<'_, ()>, SettingsRefusal> {
        match self.replaying.try_lock() {
            Ok(turn) => Ok(turn),
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => Err(SettingsRefusal::Fixed {
                why: "another change is being tried".into(),
                remedy: "wait for some seconds, then try again",
            }),
        }
    }

    /// Compares what recorded requests had with what they would have.
    fn judge_again(
        &self,
        then: &Policy,
        since_ms: u64,
        started: Instant,
    ) -> Result<ReplayOutcome, SettingsRefusal> {
        let now = self.policy_of(&self.plan())?;
        let mut replay = RequestReplay::new(&now, then);
        self.ledger.flush();
        let read = ledger::read_recorded(self.state.path(), since_ms, |request| {
            replay.judge(&request);
        });
        read.map_err(|why| SettingsRefusal::Fixed {
            why: format!("the request log cannot be read: {why}").into(),
            remedy: "look at the disk that holds the state folder, then try again",
        })?;
        let took_ms = started.elapsed().as_millis() as u64;
        Ok(ReplayOutcome { took_ms, ..outcome(replay.report(ANSWERED_MAX)) })
    }

    /// Changes of the dashboard's file that a tried change is, and the file with own rules that it
    /// names meanwhile.
    fn changes_of(
        &self,
        change: &TriedChange,
        made: Option<&MadeSettings>,
    ) -> Result<(Vec<MadeChange>, Option<TriedFile>), SettingsRefusal> {
        match change {
            TriedChange::Lists(change) => Ok((vec![list_change(change)], None)),
            TriedChange::Item(kind, edit) => Ok((item_changes(*kind, edit, made), None)),
            TriedChange::OwnRules(text) => {
                let file = TriedFile(self.state.path().join(TRIED_FILE));
                write(&file.0, text)?;
                let path = config_history::absolute(&file.0);
                let list = json!({ "name": OWN_LIST, "path": path });
                let change = if has_own_list(made) {
                    MadeChange::Replace(MadeItems::Lists, OWN_LIST.into(), list)
                } else {
                    MadeChange::Add(MadeItems::Lists, list)
                };
                Ok((vec![change], Some(file)))
            }
        }
    }

    /// The policy that a plan would have, whatever is paused now.
    fn policy_of(&self, plan: &Plan) -> Result<Policy, SettingsRefusal> {
        let _turn = self.compiling.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.policy.load();
        compiling::policy_of(plan, self.state.path(), Some(&before))
            .map_err(|failure| complaints(failure.message.lines().map(str::to_owned)))
    }
}

fn outcome(report: ReplayReport) -> ReplayOutcome {
    let names = report.names.into_iter().map(|it| ReplayedName {
        name: it.name,
        action: word(it.action).into(),
        requests: it.requests,
        clients: it.clients.iter().map(ToString::to_string).collect(),
        rule: it.rule,
    });
    let rules = report.rules.into_iter().map(|it| ReplayedRule {
        list: it.list,
        line: it.line,
        text: it.text,
        action: word(it.action).into(),
        requests: it.requests,
    });
    ReplayOutcome {
        requests: report.counts.requests,
        blocked: report.counts.blocked,
        passed: report.counts.passed,
        skipped: report.counts.skipped,
        names: names.collect(),
        more: report.more,
        rules: rules.collect(),
        took_ms: 0,
    }
}

const fn word(action: ChangedAction) -> &'static str {
    match action {
        ChangedAction::Block => "block",
        ChangedAction::Pass => "pass",
    }
}

impl Drop for TriedFile {
    fn drop(&mut self) {
        // The next one takes its place.
        let _ = std::fs::remove_file(&self.0);
    }
}
