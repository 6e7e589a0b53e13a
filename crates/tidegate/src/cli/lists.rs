//! `tidegate lists`: what each list holds, what was skipped and why, what it costs, and whether
//! those with a URL are fetched; and fetching them now.

use super::{Exit, Failure, Setup, ctl};
use crate::app::lists;
use crate::app::subscriptions::{Smaller, Subscription, no_such_list, timetable, update_offline};
use admin::model::{UpdateRequest, Updated, UpdatedList};
use http::Method;
use policy::{ListReport, Rules};
use serde_json::{from_value, json};
use std::path::Path;

/// The lists of the configuration.
pub(super) fn stats(setup: &Setup) -> Result<(), Failure> {
    let plan = setup.plan()?;
    let state = setup.state_dir(&plan);
    let texts = lists::read(&plan, &state);
    if !texts.problems.is_empty() {
        return Err(Failure::complaints(&texts.problems));
    }
    let subscriptions = Subscription::all(&plan, &state);
    print(&texts.compile(), &subscriptions);
    Ok(())
}

/// Fetches lists now.
pub(super) fn update(setup: &Setup, which: &UpdateRequest) -> Result<(), Failure> {
    let plan = setup.plan()?;
    let state = setup.state_dir(&plan);
    let running = ctl::ask(&state, Method::POST, "/api/lists/update", Some(json!(which)));
    let done: Updated = match running {
        Ok((status, answer)) if status.is_success() => {
            from_value(answer).map_err(|why| Failure::new(Exit::Fault, why))?
        }
        Ok((status, answer)) => return Err(ctl::refused(status, &answer)),
        Err(failure) if failure.exit == Exit::NotStarted => {
            let mut wanted = Subscription::all(&plan, &state);
            wanted.retain(|it| which.list.as_ref().is_none_or(|name| it.name == *name));
            let folders = lists::folders(&plan, &state, which.list.as_deref());
            if wanted.is_empty() && folders.is_empty() {
                return Err(Failure::new(Exit::Wrong, no_such_list(which.list.as_deref())));
            }
            let smaller = if which.even_if_smaller { Smaller::Accepted } else { Smaller::Refused };
            let done = if wanted.is_empty() {
                Vec::new()
            } else {
                update_offline(&plan, &state, &wanted, smaller)
                    .map_err(|why| Failure::new(Exit::NotStarted, why))?
            };
            // Nobody has them in force: the next start reads them as they are then.
            let folders = folders.into_iter().map(|name| UpdatedList {
                name,
                outcome: "same".into(),
                failure: None,
            });
            let lists = done.into_iter().map(UpdatedList::from).chain(folders).collect();
            Updated { lists, is_fetching: false }
        }
        Err(failure) => return Err(failure),
    };
    let mut failed = Vec::new();
    for list in done.lists {
        match list.failure {
            Some(why) => failed.push(format!("{}: {why}\n", list.name)),
            None => println!("{}: {}", list.name, list.outcome),
        }
    }
    if done.is_fetching {
        println!("still being fetched; tidegate lists says what came of it");
    }
    if failed.is_empty() {
        return Ok(());
    }
    Err(Failure { exit: Exit::Wrong, message: failed.concat() })
}

/// One list file, whether or not a configuration names it.
pub(super) fn test(file: &Path) -> Result<(), Failure> {
    let rules = lists::compile_file(file).map_err(|what| Failure::new(Exit::Wrong, what))?;
    print(&rules, &[]);
    let unfit = rules.lists().iter().find_map(|report| report.unfit);
    unfit.map_or(Ok(()), |why| {
        let message = format!("{}: not in force: {why}", file.display());
        Err(Failure::new(Exit::Wrong, message))
    })
}

fn print(rules: &Rules, subscriptions: &[Subscription]) {
    for report in rules.lists() {
        print_list(report);
        if let Some(subscription) = subscriptions.iter().find(|it| it.name == report.name) {
            print_subscription(subscription);
        }
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
        let lines = if *count == 1 { "line" } else { "lines" };
        println!("  {count} {lines} skipped: {reason}");
    }
    for line in report.skipped.iter().take(10) {
        let (file, number) = report.in_file(line.line);
        let place = file.map_or_else(String::new, |file| format!(" of {file}"));
        println!("  line {number}{place}: {:?} {}", line.text, line.reason);
    }
}

fn print_subscription(what: &Subscription) {
    let record = what.record();
    let at = |seconds: u64| admin::iso(seconds * 1000);
    match &record.version {
        None => println!("  {}: never fetched", what.url),
        Some(version) => println!(
            "  {}: {} bytes, fetched {}, asked for {}",
            what.url,
            version.bytes,
            at(version.fetched_s),
            at(record.checked_s)
        ),
    }
    if let Some(why) = &record.failure {
        println!("  {} tries failed since: {why}", record.failures);
    }
    // Without the jitter, which only the running program knows.
    let next = timetable::due_s(&record, what.refresh, what.refresh.as_secs() / 10);
    if next > 0 {
        println!("  next try about {}", at(next));
    }
}
