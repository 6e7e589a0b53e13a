//! `tidegate check`: everything that is wrong with a configuration, and nothing started.

use super::lists::OutputForm;
use super::{CommandFailure, CommandSetup, ExitReason, difference};
use crate::app;
use crate::app::doors::HTTP_DOORS;
use clap::Args;
use config::Plan;
use file_access::private_files::PrivateFiles;
use http_front::check_certificate;
use policy_lists::Subscription;
use serde_json::json;
use signer::CaCertificate;
use std::path::Path;
use std::sync::Arc;
use terminal_text::TextStream;
use vocab::Door;

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
    let state = setup.state_dir(&plan);
    let texts = policy_lists::read(&plan, &state);
    let rules = texts.compile();
    let (mut complaints, mut remarks) = (texts.problems, texts.remarks);
    complaints.extend(policy_lists::not_in_force(&plan, &rules));
    remarks.extend(policy_lists::without_rules(&rules));
    drop(rules);
    let base = plan.base(&state);
    let private = app::private::paths(&plan, &state, setup);
    let private = Arc::new(PrivateFiles::new(private));
    let named = HTTP_DOORS.iter().flat_map(|entry| {
        let found = (entry.check_files)(&plan, base, &private).into_iter();
        found.map(|complaint| complaint.under(entry.door.as_str()))
    });
    let dns = plan.file.dns.as_ref().map(|dns| door_dns::check_files(dns, base));
    let dns = dns.into_iter().flatten().map(|complaint| complaint.under(Door::Dns.as_str()));
    let admin = plan.file.admin.https.as_ref().and_then(|https| {
        let (chain, key) = (https.certificate.as_ref()?, https.key.as_ref()?);
        check_certificate(chain, key, base, "https.certificate")
    });
    let admin = admin.map(|complaint| complaint.under("admin"));
    complaints.extend(named.chain(dns).chain(admin).map(|complaint| plan.locate(complaint)));
    complaints.extend(start_privileges::bad_account(&plan));
    complaints.extend(app::scripts::decision_script(&plan, &state, None).err());
    complaints.extend(app::block_page::read(&plan, &state).err().unwrap_or_default());
    if !complaints.is_empty() {
        return Err(CommandFailure::complaints(&complaints));
    }
    let mut warnings = warnings(setup, &plan, &state);
    warnings.extend(remarks);
    Ok((plan, warnings))
}

/// Remarks about what is allowed and may still be a mistake, a line each.
fn warnings(setup: &CommandSetup, plan: &Plan, state: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    let foreign = plan.file.dns.as_ref().and_then(|dns| dns.foreign.as_ref());
    if let Some(foreign) = foreign {
        let dumps = foreign.dumps().iter().filter_map(door_dns::CacheDump::warning);
        let told = foreign.warnings().iter().chain(dumps);
        lines.extend(told.map(|told| plan.locate(told.clone()).to_string()));
    }
    let told = plan.warnings().into_iter().chain(app::pixel_warnings(plan));
    let told = told.chain(app::private::warnings(plan, state, setup));
    lines.extend(told.map(|told| told.to_string()));
    lines.extend(diagnosis::readable_secrets(plan, state, app::private::secrets(plan)));
    lines.extend(diagnosis::unusable_listeners(plan, state));
    lines.extend(start_privileges::warnings(plan, state));
    lines.extend(state_folder::problems(state));
    let age = CaCertificate::read(&state.join("ca"))
        .and_then(|ca| ca.warning(transport::clock::now().unix_secs()));
    lines.extend(age.map(|age| format!("{}: {age}", state.join("ca/ca.pem").display())));
    lines
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
