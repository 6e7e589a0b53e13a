//! `tidegate check`: everything that is wrong with a configuration, and nothing started.

use super::lists::OutputForm;
use super::{CommandFailure, CommandSetup, ExitReason, difference};
use crate::app::fleet_live;
use crate::app::judged::{self, ListReading};
use clap::Args;
use config::Plan;
use policy_lists::Subscription;
use serde_json::json;
use std::path::Path;
use terminal_text::TextStream;

/// Holds how a configuration is checked.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Fail where there is a warning too
    #[arg(long)]
    strict: bool,
    /// Compare it with what the running Tidegate has in force: what a reload would change, and what
    /// a restart
    #[arg(long)]
    diff: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Reads and checks the configuration and what it names: lists, pattern files, folders.
pub(super) fn check(setup: &CommandSetup, args: &CheckArgs) -> Result<(), CommandFailure> {
    let judged = judge(setup);
    if args.json && !args.diff {
        return print_json(judged, args);
    }
    let (plan, warnings) = judged?;
    if args.diff {
        let form = if args.json { OutputForm::Json } else { OutputForm::Lines };
        return difference::print(setup, &plan, form);
    }
    let state = setup.state_dir(&plan);
    for told in &warnings {
        println!("{}", terminal_text::complaints(TextStream::Out, told));
    }
    refuse_warnings(&warnings, args)?;
    print_missing_lists(&plan, &state);
    if let Some(line) = start_privileges::foretold(&plan, &state) {
        println!("{line}");
    }
    if let Some(line) = fleet_live::session_note(&plan) {
        println!("{line}");
    }
    println!("{}: fine", plan.source.display());
    Ok(())
}

fn refuse_warnings(warnings: &[String], args: &CheckArgs) -> Result<(), CommandFailure> {
    if !args.strict || warnings.is_empty() {
        return Ok(());
    }
    let count = warnings.len();
    let message = format_args!("{count} warnings, and --strict takes none");
    Err(CommandFailure::new(ExitReason::Wrong, message))
}

/// Complaints and warnings for programs.
fn print_json(
    judged: Result<(Plan, Vec<String>), CommandFailure>,
    args: &CheckArgs,
) -> Result<(), CommandFailure> {
    let (complaints, warnings) = match &judged {
        Ok((_, warnings)) => (Vec::new(), warnings.clone()),
        Err(failure) => (failure.message.lines().map(str::to_owned).collect(), Vec::new()),
    };
    let file = judged.as_ref().ok().map(|(plan, _)| plan.source.display().to_string());
    let is_right = judged.is_ok() && (!args.strict || warnings.is_empty());
    let told =
        json!({ "file": file, "fine": is_right, "complaints": complaints, "warnings": warnings });
    println!("{told:#}");
    // It is told already.
    let silent = |failure: CommandFailure| CommandFailure { message: String::new(), ..failure };
    let (_, warnings) = judged.map_err(silent)?;
    refuse_warnings(&warnings, args)
}

/// The plan and its warnings, or every complaint.
fn judge(setup: &CommandSetup) -> Result<(Plan, Vec<String>), CommandFailure> {
    let plan = setup.plan()?;
    let found = judged::judge(setup, &plan, &setup.state_dir(&plan), ListReading::Read);
    if found.complaints.is_empty() {
        Ok((plan, found.warnings))
    } else {
        Err(CommandFailure::complaints(&found.complaints))
    }
}

/// Prints which lists are yet to be fetched.
fn print_missing_lists(plan: &Plan, state: &Path) {
    for list in Subscription::all(plan, state) {
        if list.stored().is_none() {
            println!(
                "list {}: nothing of it is here yet; it is fetched when Tidegate starts, or by \
                 tidegate lists update",
                list.name
            );
        }
    }
}
