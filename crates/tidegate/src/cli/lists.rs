//! `tidegate lists`: what each list holds, what was skipped and why, what it costs, and whether
//! those with a URL are fetched; and fetching them now.

use super::running::{Absent, Answers, RunningTidegate, Wanted, refused};
use super::{Exit, Failure, Setup};
use crate::app::lists;
use crate::app::subscriptions::{Smaller, Subscription, no_such_list, update_offline};
use admin::model::{self, List, Lists, SkippedCount, UpdateRequest, Updated, UpdatedList};
use http::Method;
use serde_json::{from_value, json};
use std::path::Path;

/// The lists in force, or those of the configuration.
pub(super) fn stats(setup: &Setup, wanted: Wanted) -> Result<(), Failure> {
    match Answers::of(setup, wanted)? {
        Answers::Running(mut running, from) => {
            let lists: Lists = running.get("/api/lists")?;
            lists.lists.iter().for_each(print_list);
            let bytes = running.status()?.running.rules_bytes;
            println!("memory: {:.1} MiB", bytes as f64 / f64::from(1 << 20));
            println!("asked {}", from.text);
        }
        Answers::File(plan, state, from) => {
            let texts = lists::read(&plan, &state);
            if !texts.problems.is_empty() {
                return Err(Failure::complaints(&texts.problems));
            }
            let rules = texts.compile();
            let subscriptions = Subscription::all(&plan, &state);
            for report in rules.lists() {
                let subscription = subscriptions.iter().find(|it| it.name == report.name);
                let subscription = subscription.map(Subscription::told);
                print_list(&List { subscription, ..lists::told(report) });
            }
            println!("memory: {}", rules.memory());
            println!("asked {}", from.text);
        }
    }
    Ok(())
}

/// Fetches lists now.
pub(super) fn update(setup: &Setup, which: &UpdateRequest) -> Result<(), Failure> {
    let plan = setup.plan()?;
    let state = setup.state_dir(&plan);
    let done: Updated = match RunningTidegate::find(&state) {
        Ok(mut running) => {
            let sent = json!(which);
            let (status, answer) = running.ask(&Method::POST, "/api/lists/update", Some(&sent))?;
            if !status.is_success() {
                return Err(refused(&answer));
            }
            from_value(answer).map_err(|why| Failure::new(Exit::Fault, why))?
        }
        Err(absent @ (Absent::Forbidden(_) | Absent::Unreadable(..))) => {
            return Err(Failure::new(Exit::NotStarted, absent));
        }
        Err(Absent::NotStarted(_) | Absent::Silent(..)) => {
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
    rules.lists().iter().map(lists::told).for_each(|list| print_list(&list));
    println!("memory: {}", rules.memory());
    let unfit = rules.lists().iter().find_map(|report| report.unfit);
    unfit.map_or(Ok(()), |why| {
        let message = format!("{}: not in force: {why}", file.display());
        Err(Failure::new(Exit::Wrong, message))
    })
}

fn print_list(list: &List) {
    println!(
        "{}: {} lines of {}: {} rules about names, {} about URLs, {} skipped",
        list.name, list.lines, list.syntax, list.rules_names, list.rules_urls, list.skipped
    );
    if let Some(why) = &list.unfit {
        println!("  not in force: {why}");
    }
    for SkippedCount { reason, count } in &list.skipped_by_reason {
        let lines = if *count == 1 { "line" } else { "lines" };
        println!("  {count} {lines} skipped: {reason}");
    }
    for line in list.skipped_lines.iter().take(10) {
        let place = line.file.as_ref().map_or_else(String::new, |file| format!(" of {file}"));
        println!("  line {}{place}: {:?} {}", line.line, line.text, line.reason);
    }
    if let Some(subscription) = &list.subscription {
        print_subscription(subscription);
    }
}

fn print_subscription(what: &model::Subscription) {
    let at = |moment: &Option<String>| moment.clone().unwrap_or_else(|| "never".into());
    match what.bytes {
        None => println!("  {}: never fetched", what.url),
        Some(bytes) => println!(
            "  {}: {bytes} bytes, fetched {}, asked for {}",
            what.url,
            at(&what.fetched_at),
            at(&what.checked_at)
        ),
    }
    if let Some(why) = &what.failure {
        println!("  {} tries failed since: {why}", what.failures);
    }
    if let Some(next) = &what.next_at {
        println!("  next try about {next}");
    }
}
