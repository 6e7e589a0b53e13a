//! `tidegate ctl`: talks to the running process through its admin API.
//!
//! The address and the token are in the state folder, so whoever may read that may control it.

pub(crate) mod cache;
pub(crate) mod config;
pub(crate) mod overrides;
pub(crate) mod pools;

use crate::arguments::{CtlCommand, PurgeArgs};
use crate::running::{RunningTidegate, refused};
use crate::{requests, top, trace};
use command_output::{CommandFailure, ExitReason};
use http::{Method, StatusCode};
use serde_json::{Value as Json, json};
use std::path::Path;
use vocab::Action;

/// Sends the command and prints the answer.
pub fn ctl(state: &Path, command: &CtlCommand) -> Result<(), CommandFailure> {
    let asked: String;
    let (method, path, body) = match command {
        CtlCommand::Top(how) => return top::top(state, *how),
        CtlCommand::Trace(whom) => return trace::trace(state, *whom),
        CtlCommand::Requests(which) => return requests::requests(state, which),
        CtlCommand::Status { .. } => (Method::GET, "/api/status", None),
        CtlCommand::Reload => (Method::POST, "/api/reload", Some(json!({}))),
        CtlCommand::Pause { minutes } => {
            (Method::POST, "/api/pause", Some(json!({ "seconds": u64::from(*minutes) * 60 })))
        }
        CtlCommand::Resume => (Method::POST, "/api/resume", Some(json!({}))),
        CtlCommand::Allow(what) => (Method::POST, "/api/allow", Some(overrides::order(what)?)),
        CtlCommand::Block(what) => (Method::POST, "/api/block", Some(overrides::order(what)?)),
        CtlCommand::Blocks => (Method::GET, "/api/blocks", None),
        CtlCommand::Unblock(what) => (Method::POST, "/api/unblock", Some(overrides::key(what))),
        CtlCommand::Allows => (Method::GET, "/api/allows", None),
        CtlCommand::Inspected => (Method::GET, "/api/inspected", None),
        CtlCommand::Revoke(what) => (Method::POST, "/api/revoke", Some(overrides::key(what))),
        CtlCommand::Purge(what) => {
            let (path, body) = purge(what)?;
            (Method::POST, path, Some(body))
        }
        CtlCommand::Cache(what) => return list_cache(state, what),
        CtlCommand::Pools { what: None } => (Method::GET, "/api/pools", None),
        CtlCommand::Pools { what: Some(what) } => {
            (Method::PUT, "/api/pools", Some(pools::replacement(what)?))
        }
        CtlCommand::Server { what } => (Method::POST, "/api/pools", Some(pools::change(what))),
        CtlCommand::Config { what: None } => (Method::GET, "/api/config", None),
        CtlCommand::Config { what: Some(what) } => {
            let (method, path, body) = config::history(what);
            asked = path;
            (method, asked.as_str(), body)
        }
        CtlCommand::Get(which) => {
            asked = config::query(which);
            (Method::GET, asked.as_str(), None)
        }
        CtlCommand::Set(what) => (Method::POST, "/api/config", Some(config::set(what))),
        CtlCommand::Unset(which) => (Method::POST, "/api/config", Some(config::unset(which))),
    };
    let mut running = RunningTidegate::find(state)
        .map_err(|absent| CommandFailure::new(ExitReason::NotStarted, absent))?;
    let (status, answer) = running.ask(&method, path, body.as_ref())?;
    if let (StatusCode::NOT_FOUND, CtlCommand::Revoke(what)) = (status, command) {
        return Err(overrides::absent(Action::Pass, what));
    }
    if let (StatusCode::NOT_FOUND, CtlCommand::Unblock(what)) = (status, command) {
        return Err(overrides::absent(Action::Block, what));
    }
    if !status.is_success() {
        return Err(refused(&answer));
    }
    print_answer(command, &answer);
    Ok(())
}

/// Prints the answer to a command.
fn print_answer(command: &CtlCommand, answer: &Json) {
    match command {
        CtlCommand::Status { json: false } => print_status(answer),
        CtlCommand::Status { json: true } => println!("{answer:#}"),
        CtlCommand::Reload | CtlCommand::Set(_) | CtlCommand::Unset(_) => print_reload(answer),
        CtlCommand::Config { what: None } => config::print_text(answer),
        CtlCommand::Config { what: Some(what) } => config::print_history(what, answer),
        CtlCommand::Get(_) => config::print_value(answer),
        CtlCommand::Pause { .. } => {
            println!("everything passes until {}", answer["paused_until"].as_str().unwrap_or("?"));
        }
        CtlCommand::Resume => println!("the policy decides again"),
        CtlCommand::Allow(_) => overrides::print(Action::Pass, answer),
        CtlCommand::Allows => overrides::print_all(Action::Pass, &answer["allows"]),
        CtlCommand::Block(_) => overrides::print(Action::Block, answer),
        CtlCommand::Blocks => overrides::print_all(Action::Block, &answer["blocks"]),
        CtlCommand::Unblock(what) => {
            println!("{} is no longer blocked by hand: the lists decide again", what.host);
        }
        CtlCommand::Inspected => print_inspected(answer),
        CtlCommand::Revoke(what) => {
            println!("{} is no longer let through: the lists decide again", what.host);
        }
        CtlCommand::Pools { .. } | CtlCommand::Server { .. } => pools::print(answer),
        CtlCommand::Purge(_) => print_purged(answer),
        // They have answered by themselves.
        CtlCommand::Cache(_)
        | CtlCommand::Requests(_)
        | CtlCommand::Top(_)
        | CtlCommand::Trace(_) => {}
    }
}

/// Lists what the HTTP caches have stored.
fn list_cache(state: &Path, what: &cache::CacheArgs) -> Result<(), CommandFailure> {
    let mut running = RunningTidegate::find(state)
        .map_err(|absent| CommandFailure::new(ExitReason::NotStarted, absent))?;
    let index: admin_api::CacheIndex = running.get(&cache::path(what))?;
    if what.json {
        let json = serde_json::to_string(&index);
        println!("{}", json.expect("numbers and text have a form in JSON"));
    } else {
        cache::print(&index);
    }
    Ok(())
}

fn print_reload(answer: &Json) {
    println!(
        "reloaded: {} lists, {} rules, {} ms",
        answer["lists"], answer["rules"], answer["took_ms"]
    );
    for warning in answer["warnings"].as_array().into_iter().flatten() {
        println!("warning: {}", warning.as_str().unwrap_or_default());
    }
}

fn print_inspected(answer: &Json) {
    let bodies = answer["bodies"].as_array().map_or(&[][..], Vec::as_slice);
    if bodies.is_empty() {
        println!("nothing is kept of what pages post to blocked hosts");
    }
    for body in bodies {
        let text = |key: &str| body[key].as_str().unwrap_or("-");
        println!("{} {} {} {}", text("at"), text("client"), text("method"), text("url"));
        println!("  {} bytes, {}", body["bytes"], text("content_type"));
        // Whoever wrote it may have meant the terminal.
        let shown = body["text"].as_str().unwrap_or("(no text)");
        let plain = |line: &str| line.chars().filter(|it| !it.is_control()).collect::<String>();
        shown.lines().for_each(|line| println!("  {}", plain(line)));
    }
}

/// Returns what is sent to purge, and where; clap lets exactly one of what there is through.
fn purge(asked: &PurgeArgs) -> Result<(&'static str, Json), CommandFailure> {
    let what = &asked.what;
    let names = match (&what.name, &what.suffix, what.all) {
        (Some(name), _, _) => Some(json!({ "what": "name", "name": name })),
        (None, Some(suffix), _) => Some(json!({ "what": "suffix", "name": suffix })),
        (None, None, true) => Some(json!({ "what": "all" })),
        (None, None, false) => None,
    };
    if let Some(names) = names {
        if asked.soft || asked.door.is_some() {
            let message = "--soft and --door are for what is stored, with --url, --prefix, --host, --tag or --stored";
            return Err(CommandFailure::new(ExitReason::Wrong, message));
        }
        return Ok(("/api/purge", names));
    }
    let stored =
        [("url", &what.url), ("prefix", &what.prefix), ("host", &what.host), ("tag", &what.tag)];
    let given = stored.into_iter().find_map(|(kind, value)| Some((kind, value.as_ref()?)));
    let (kind, value) = given.map_or(("all", None), |(kind, value)| (kind, Some(value)));
    let body = json!({ "what": kind, "value": value, "soft": asked.soft, "door": asked.door });
    Ok(("/api/stores/purge", body))
}

fn print_purged(answer: &Json) {
    match answer["answers"].as_u64() {
        Some(answers) => println!("{answers} answers were forgotten"),
        None => println!(
            "{} stored answers and {} fetches under way were taken back",
            answer["entries"], answer["fetches"]
        ),
    }
}

fn print_status(status: &Json) {
    let text = |key: &str| status[key].as_str().unwrap_or("-").to_owned();
    println!(
        "tidegate {}, up {} s since {}",
        text("version"),
        status["uptime_s"],
        text("started_at")
    );
    if let Some(newer) = status["newer"]["version"].as_str() {
        println!(
            "newer version   {newer}  {}",
            status["newer"]["page"].as_str().unwrap_or_default()
        );
    }
    println!("process         {}, state folder {}", status["pid"], text("state"));
    println!("configuration   {}", status["config"].as_str().unwrap_or("built-in"));
    for listener in status["listeners"].as_array().into_iter().flatten() {
        println!(
            "{:<15} {}",
            listener["door"].as_str().unwrap_or("-"),
            listener["url"].as_str().unwrap_or("-")
        );
    }
    println!("lists           {} with {} rules", status["lists"], status["rules"]);
    if let Some(until) = status["paused_until"].as_str() {
        println!("paused          until {until}");
    }
    if let Some(bytes) = status["resident_bytes"].as_u64() {
        println!("memory          {} MiB resident", bytes >> 20);
    }
    for door in status["latency"].as_array().into_iter().flatten() {
        println!(
            "{:<15} {} requests, median {} µs, 99 of 100 within {} µs",
            door["door"].as_str().unwrap_or("-"),
            door["count"],
            door["median_us"],
            door["p99_us"]
        );
    }
    for warning in status["warnings"].as_array().into_iter().flatten() {
        println!("warning         {}", warning.as_str().unwrap_or_default());
    }
}
