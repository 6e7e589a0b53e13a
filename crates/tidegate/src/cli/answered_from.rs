//! Where answers about the policy come from: the process that runs, or the configuration.
//!
//! A configuration that was named is asked itself, if what runs follows another. Nothing is made in
//! the state folder.

use super::{CommandFailure, CommandSetup, ExitReason};
use admin_api::ProgramStatus;
use control_client::{AbsentReason, RunningTidegate};
use std::path::{Path, PathBuf};

/// The configuration that answers come from.
#[derive(Clone, Debug, serde::Serialize)]
pub(super) struct AnsweredFrom {
    /// The number of the process that was asked; null if none was.
    pub(super) pid: Option<u32>,
    /// The configuration file; null for the built-in one.
    pub(super) configuration: Option<String>,
    /// The same in words.
    pub(super) text: String,
}

impl AnsweredFrom {
    fn running(status: &ProgramStatus) -> Self {
        let (pid, configuration) = (status.running.pid, status.running.config.clone());
        let from = configuration.as_ref().map_or_else(
            || "the built-in configuration".to_owned(),
            |path| format!("configuration {path}"),
        );
        let text = format!("the running Tidegate (process {pid}, {from})");
        Self { pid: Some(pid), configuration, text }
    }

    fn file(plan: &config::Plan, why: &str) -> Self {
        let path = (!plan.is_built_in()).then(|| plan.source.display().to_string());
        let from = path.clone().unwrap_or_else(|| {
            let here =
                "there is no tidegate.yaml here or in /etc/tidegate, and --config names none";
            format!("the built-in configuration: {here}")
        });
        Self { pid: None, configuration: path, text: format!("{from} ({why})") }
    }
}

/// Source of answers about the policy.
pub(super) enum PolicyAnswers {
    /// The process that runs.
    Running(Box<RunningTidegate>, AnsweredFrom),
    /// The configuration, as a start would read it.
    File(Box<config::Plan>, PathBuf, AnsweredFrom),
}

/// Choice between the process that runs and the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PolicySource {
    /// The process, where there is one that follows this configuration.
    RunningFirst,
    /// The file alone.
    File,
}

impl PolicyAnswers {
    /// Finds out who answers. Makes nothing in the state folder.
    pub(super) fn of(setup: &CommandSetup, wanted: PolicySource) -> Result<Self, CommandFailure> {
        // A configuration that has been broken meanwhile keeps nobody from asking what runs.
        let plan = setup.plan();
        let state = match (setup.state_path(), &plan) {
            (Some(named), _) => named.to_owned(),
            (None, Ok(plan)) => setup.state_dir(plan),
            (None, Err(_)) => return Err(plan.err().unwrap_or_else(no_plan)),
        };
        let found = match wanted {
            PolicySource::File => Err("as --offline says".to_owned()),
            PolicySource::RunningFirst => match RunningTidegate::find(&state) {
                Ok(mut running) => {
                    let status = running.status()?;
                    match follows(setup, &status) {
                        Followed::Yes => Ok((running, AnsweredFrom::running(&status))),
                        Followed::Other(other) => Err(format!(
                            "the running Tidegate, process {}, follows {other}",
                            status.running.pid
                        )),
                    }
                }
                // The file would say what may not hold in what runs.
                Err(absent @ AbsentReason::Forbidden(_)) => {
                    let message = format!("{absent}; --offline asks the configuration instead");
                    return Err(CommandFailure::new(ExitReason::NotStarted, message));
                }
                Err(absent) => Err(absent.in_short()),
            },
        };
        match found {
            Ok((running, from)) => Ok(Self::Running(Box::new(running), from)),
            Err(why) => {
                let plan = plan?;
                let from = AnsweredFrom::file(&plan, &why);
                Ok(Self::File(Box::new(plan), state, from))
            }
        }
    }
}

fn no_plan() -> CommandFailure {
    CommandFailure::new(ExitReason::Wrong, "there is no configuration")
}

enum Followed {
    Yes,
    Other(String),
}

/// A configuration that was named is the one to be asked, even if what runs follows another.
fn follows(setup: &CommandSetup, status: &ProgramStatus) -> Followed {
    let Some(named) = setup.config_path() else { return Followed::Yes };
    match &status.running.config {
        None => Followed::Other("the built-in configuration".into()),
        Some(followed) => {
            let whole = |path: &Path| std::fs::canonicalize(path).ok();
            if whole(named) == whole(Path::new(followed)) {
                Followed::Yes
            } else {
                Followed::Other(followed.clone())
            }
        }
    }
}
