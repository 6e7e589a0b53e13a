//! `tidegate ctl allow`, `block` and their kin: names that are let through or blocked by hand.
//!
//! Shapes of what is sent and what is printed; nothing is sent here.

use crate::arguments::{EndOverrideArgs, OverrideArgs};
use command_output::{CommandFailure, ExitReason};
use serde_json::{Value as Json, json};
use vocab::{Action, TimeSpan};

/// The request that does it.
pub(super) fn order(what: &OverrideArgs) -> Result<Json, CommandFailure> {
    let minutes = if what.always || what.span == "always" {
        json!("always")
    } else {
        let wrong = |why: &dyn std::fmt::Display| {
            let message = format!("--for {}: {why}; write 5m, 1h, 24h or always", what.span);
            CommandFailure::new(ExitReason::Wrong, message)
        };
        let span = what.span.parse::<TimeSpan>().map_err(|why| wrong(&why))?;
        let seconds = span.0.as_secs();
        if seconds == 0 || seconds % 60 != 0 {
            return Err(wrong(&"whole minutes only"));
        }
        json!(seconds / 60)
    };
    let (client, profile) = (what.client, &what.profile);
    Ok(json!({ "host": what.host, "minutes": minutes, "client": client, "profile": profile }))
}

/// The request that ends it.
pub(super) fn key(what: &EndOverrideArgs) -> Json {
    json!({ "host": what.host, "client": what.client, "profile": what.profile })
}

/// Failure for one that there is not.
pub(super) fn absent(action: Action, what: &EndOverrideArgs) -> CommandFailure {
    let (done, command) = match action {
        Action::Pass => ("let through", "allows"),
        Action::Block => ("blocked by hand", "blocks"),
    };
    let client = what.client.map(|it| it.to_string());
    let message = format!(
        "{} is not {done} {}; tidegate ctl {command} shows what is, and for whom",
        what.host,
        for_whom(client.as_deref(), what.profile.as_deref())
    );
    CommandFailure::new(ExitReason::Wrong, message)
}

pub(super) fn print(action: Action, told: &Json) {
    let text = |key: &str| told[key].as_str();
    let (passes, end) = match action {
        Action::Pass => ("passes", "always, until it is revoked"),
        Action::Block => ("is blocked", "always, until it is unblocked"),
    };
    let end = text("until").map_or_else(|| end.to_owned(), |it| format!("until {it}"));
    let whom = for_whom(text("client"), text("profile"));
    let host = match text("host") {
        Some("*") => "everything",
        host => host.unwrap_or("?"),
    };
    println!("{host} {passes} {whom} {end}");
}

pub(super) fn print_all(action: Action, told: &Json) {
    let all = told.as_array().map_or(&[][..], Vec::as_slice);
    if all.is_empty() {
        println!(
            "nothing is {}",
            match action {
                Action::Pass => "let through",
                Action::Block => "blocked by hand",
            }
        );
    }
    for one in all {
        print(action, one);
    }
}

fn for_whom(client: Option<&str>, profile: Option<&str>) -> String {
    match (client, profile) {
        (Some(client), _) => format!("for {client}"),
        (None, Some(profile)) => format!("for the profile {profile}"),
        (None, None) => "for everybody".into(),
    }
}
