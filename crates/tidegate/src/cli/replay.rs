//! `tidegate replay`: what another configuration would have done with the requests of the log.
//!
//! Both configurations are read as a start would read them; nothing is fetched, written or put in
//! force. The log may be one that a running Tidegate writes.

use super::{CommandFailure, CommandSetup, ExitReason};
use crate::app;
use clap::Args;
use config::{MadeSettings, Plan};
use replay::{ChangedAction, ChangedName, ReplayReport, RequestReplay};
use std::path::{Path, PathBuf};
use terminal_text::{TextStream, TextStyle, painted};
use transport::clock;
use vocab::TimeSpan;

/// Names that are printed for people.
const NAMES_SHOWN: usize = 20;
/// Names that JSON has.
const NAMES_MAX: usize = 1000;

/// Holds which configuration is tried, and on what.
#[derive(Debug, Args)]
pub(super) struct ReplayArgs {
    /// The configuration that would be; the one that is now is that of --config
    #[arg(value_name = "FILE")]
    new: PathBuf,
    /// Requests of this last while
    #[arg(long, value_name = "TIME", default_value = "7d")]
    since: TimeSpan,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Judges recorded requests by both configurations, and prints what differs.
pub(super) fn replay(setup: &CommandSetup, args: &ReplayArgs) -> Result<(), CommandFailure> {
    let plan = setup.plan()?;
    let state = setup.state_dir(&plan);
    let new = plan_of(&args.new, &state)?;
    let now = app::policy_of(&plan, &state, None)?;
    let then = app::policy_of(&new, &state, Some(&now))?;
    let since_ms = clock::now().unix_ms.saturating_sub(args.since.0.as_millis() as u64);
    let mut replay = RequestReplay::new(&now, &then);
    ledger::read_recorded(&state, since_ms, |request| replay.judge(&request)).map_err(|why| {
        let message = format!("the request log in {} cannot be read: {why}", state.display());
        CommandFailure::new(ExitReason::Fault, message)
    })?;
    if args.json {
        let json = serde_json::to_string_pretty(&replay.report(NAMES_MAX));
        println!("{}", json.map_err(|error| CommandFailure::new(ExitReason::Fault, error))?);
    } else {
        print!("{}", describe(&replay.report(NAMES_SHOWN)));
    }
    Ok(())
}

/// The configuration of a file, as it would be with this state folder.
fn plan_of(path: &Path, state: &Path) -> Result<Plan, CommandFailure> {
    let made = MadeSettings::read(state);
    let made = made.map_err(|complaint| CommandFailure::complaints(&[complaint]))?;
    config::load(path, made.as_ref().into())
        .map_err(|complaints| CommandFailure::complaints(&complaints))
}

fn describe(report: &ReplayReport) -> String {
    let counts = &report.counts;
    let of = |count: u64, what: &str| {
        format!("{count} {} {what}", if count == 1 { "request" } else { "requests" })
    };
    let mut lines = vec![format!(
        "{}: {} and {}",
        of(counts.requests, "judged again"),
        of(counts.blocked, "more would be blocked"),
        of(counts.passed, "more would pass")
    )];
    if counts.skipped > 0 {
        lines.push(format!("{} for no name", of(counts.skipped, "could not be judged")));
    }
    lines.extend(report.names.iter().map(line));
    if report.more > 0 {
        lines.push(format!("and {} more names; --json has up to {NAMES_MAX}", report.more));
    }
    lines.join("\n") + "\n"
}

fn line(changed: &ChangedName) -> String {
    let (style, word) = match changed.action {
        ChangedAction::Block => (TextStyle::Bad, "blocked"),
        ChangedAction::Pass => (TextStyle::Good, "passes "),
    };
    let clients: Vec<String> = changed.clients.iter().map(ToString::to_string).collect();
    let rule = changed.rule.as_ref().map(|rule| format!("  ({rule})")).unwrap_or_default();
    format!(
        "  {} {:>7} × {} for {}{rule}",
        painted(TextStream::Out, style, word),
        changed.requests,
        changed.name,
        clients.join(", ")
    )
}
