//! `tidegate lists`: what each list holds, what was skipped and why, what it costs, and whether
//! those with a URL are fetched; and fetching them now.

use super::answered_from::{PolicyAnswers, PolicySource};
use super::{CommandFailure, CommandSetup, ExitReason};
use crate::app::read_lists;
use admin_api::{ListInfo, ListUpdateOutcome, ListsInfo, UpdateRequest, UpdatedList};
use control_client::{AbsentReason, RunningTidegate, refused};
use http::Method;
use policy_lists::{ShrinkRule, Subscription, UpdateRefusal, update_offline};
use serde_json::{from_value, json};
use std::path::Path;

/// Form in which lists are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutputForm {
    /// For people.
    Lines,
    /// For programs.
    Json,
}

/// The lists in force, or those of the configuration.
pub(super) fn stats(
    setup: &CommandSetup,
    wanted: PolicySource,
    form: OutputForm,
) -> Result<(), CommandFailure> {
    match PolicyAnswers::of(setup, wanted)? {
        PolicyAnswers::Running(mut running, from) => {
            let lists: ListsInfo = running.get("/api/lists")?;
            if form == OutputForm::Json {
                println!("{:#}", json!({ "lists": lists.lists, "answered_from": from }));
                return Ok(());
            }
            print_all(&lists.lists);
            let bytes = running.status()?.running.rules_bytes;
            println!("memory: {:.1} MiB", bytes as f64 / f64::from(1 << 20));
            println!("asked {}", from.text);
        }
        PolicyAnswers::File(plan, state, from) => {
            let texts = read_lists(&plan, &state)?;
            let rules = texts.compile();
            let subscriptions = Subscription::all(&plan, &state);
            let told = rules.lists().iter().map(|report| {
                let subscription = subscriptions.iter().find(|it| it.name == report.name);
                let subscription = subscription.map(Subscription::info);
                ListInfo { subscription, ..policy_lists::list_info(report) }
            });
            let told: Vec<ListInfo> = told.collect();
            if form == OutputForm::Json {
                println!("{:#}", json!({ "lists": told, "answered_from": from }));
                return Ok(());
            }
            print_all(&told);
            println!("memory: {}", rules.memory());
            println!("asked {}", from.text);
        }
    }
    Ok(())
}

/// Fetches lists now.
pub(super) fn update(
    setup: &CommandSetup,
    which: &UpdateRequest,
    form: OutputForm,
) -> Result<(), CommandFailure> {
    let plan = setup.plan()?;
    let state = setup.state_dir(&plan);
    let done: ListUpdateOutcome = match RunningTidegate::find(&state) {
        Ok(mut running) => {
            let sent = json!(which);
            let (status, answer) = running.ask(&Method::POST, "/api/lists/update", Some(&sent))?;
            if !status.is_success() {
                return Err(refused(&answer));
            }
            from_value(answer).map_err(|why| CommandFailure::new(ExitReason::Fault, why))?
        }
        Err(absent @ (AbsentReason::Forbidden(_) | AbsentReason::Unreadable(..))) => {
            return Err(CommandFailure::new(ExitReason::NotStarted, absent));
        }
        Err(AbsentReason::NotStarted(_) | AbsentReason::Silent(..)) => {
            let mut wanted = Subscription::all(&plan, &state);
            wanted.retain(|it| which.list.as_ref().is_none_or(|name| it.name == *name));
            let folders = policy_lists::folders(&plan, &state, which.list.as_deref());
            if wanted.is_empty() && folders.is_empty() {
                return Err(CommandFailure::new(
                    ExitReason::Wrong,
                    UpdateRefusal::NoSuchList(which.list.clone()),
                ));
            }
            let smaller =
                if which.even_if_smaller { ShrinkRule::Accepted } else { ShrinkRule::Refused };
            let done = if wanted.is_empty() {
                Vec::new()
            } else {
                update_offline(&plan, &state, &wanted, smaller)?
            };
            // Nobody has them in force: the next start reads them as they are then.
            let folders = folders.into_iter().map(|name| UpdatedList {
                name,
                outcome: "same".into(),
                failure: None,
            });
            let lists = done.into_iter().map(UpdatedList::from).chain(folders).collect();
            ListUpdateOutcome { lists, is_fetching: false }
        }
    };
    let mut failed = Vec::new();
    if form == OutputForm::Json {
        println!("{:#}", json!(done));
    }
    for list in done.lists {
        match list.failure {
            Some(why) => failed.push(format!("{}: {why}\n", list.name)),
            None if form == OutputForm::Json => {}
            None => println!("{}: {}", list.name, list.outcome),
        }
    }
    if done.is_fetching && form == OutputForm::Lines {
        println!("still being fetched; tidegate lists says what came of it");
    }
    if failed.is_empty() {
        return Ok(());
    }
    Err(CommandFailure { exit: ExitReason::Wrong, message: failed.concat() })
}

/// One list file, whether or not a configuration names it.
pub(super) fn test(file: &Path, form: OutputForm) -> Result<(), CommandFailure> {
    let rules = policy_lists::compile_file(file).map_err(|what| {
        CommandFailure::new(ExitReason::Wrong, format_args!("{}: {what}", file.display()))
    })?;
    let told: Vec<ListInfo> = rules.lists().iter().map(policy_lists::list_info).collect();
    match form {
        OutputForm::Json => println!("{:#}", json!({ "lists": told })),
        OutputForm::Lines => {
            print_all(&told);
            println!("memory: {}", rules.memory());
        }
    }
    let unfit = rules.lists().iter().find_map(|report| report.unfit);
    unfit.map_or(Ok(()), |why| {
        let message = format!("{}: not in force: {why}", file.display());
        Err(CommandFailure::new(ExitReason::Wrong, message))
    })
}

fn print_all(lists: &[ListInfo]) {
    for list in lists {
        println!("{list}");
    }
}
