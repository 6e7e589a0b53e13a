//! `tidegate lists`: what each list holds, what was skipped and why, and what it costs.

use super::{Exit, Failure, Setup};
use crate::app::lists;
use policy::{ListReport, Rules};
use std::path::Path;

/// The lists of the configuration.
pub(super) fn stats(setup: &Setup) -> Result<(), Failure> {
    let plan = setup.plan()?;
    let state = setup.state_dir(&plan);
    let texts = lists::read(&plan, &state);
    if !texts.problems.is_empty() {
        return Err(Failure::complaints(&texts.problems));
    }
    let rules = texts.compile();
    print(&rules);
    Ok(())
}

/// One list file, whether or not a configuration names it.
pub(super) fn test(file: &Path) -> Result<(), Failure> {
    let rules = lists::compile_file(file).map_err(|what| Failure::new(Exit::Wrong, what))?;
    print(&rules);
    Ok(())
}

fn print(rules: &Rules) {
    for report in rules.lists() {
        print_list(report);
    }
    let memory = rules.memory();
    println!("memory: {memory}");
}

fn print_list(report: &ListReport) {
    let skipped: u32 = report.skipped_by_reason.iter().map(|(_, count)| count).sum();
    println!(
        "{}: {} lines of {}: {} rules about names, {} about URLs, {skipped} skipped",
        report.name, report.lines, report.syntax, report.rules_names, report.rules_urls
    );
    if let Some(why) = report.unfit {
        println!("  not in force: {why}");
    }
    for (reason, count) in &report.skipped_by_reason {
        println!("  {count} skipped: {reason}");
    }
    for line in report.skipped.iter().take(10) {
        println!("  line {}: {}: {}", line.line, line.reason, line.text);
    }
}
