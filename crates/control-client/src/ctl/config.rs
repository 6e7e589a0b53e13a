//! `tidegate ctl config`, `get`, `set` and `unset`: settings of the running program, and what was
//! changed in them.
//!
//! It shapes what is sent and what is printed; it sends nothing.

use admin_api::{SettingEdit, SettingsRequest};
use clap::{Args, Subcommand};
use http::Method;
use serde_json::{Value as Json, json};

/// A setting.
#[derive(Clone, Debug, Args)]
pub struct SettingArgs {
    /// Where it stands: keys joined by dots, items of lists by number, as in gateway.routes[0].pool
    path: String,
}

/// Action on the history.
#[derive(Clone, Debug, Subcommand)]
pub enum ConfigCommand {
    /// Show what was changed in the configuration, by whom and why
    History {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Put the files back as they were before a change, and take them over at once
    Restore {
        /// Number of the change; what was changed after it in its files is undone too
        number: u64,
        /// Reason, for the history
        #[arg(long, value_name = "REASON", default_value = "")]
        why: String,
        /// Do it even where that blocks everything
        #[arg(long)]
        yes: bool,
    },
}

/// A setting and its value.
#[derive(Clone, Debug, Args)]
pub struct SetArgs {
    #[command(flatten)]
    setting: SettingArgs,
    /// The value as the file has it: 10, text, '[a, b]', '{ a: b }'
    #[arg(allow_hyphen_values = true)]
    value: String,
}

/// The place where one setting is asked for.
pub(super) fn query(setting: &SettingArgs) -> String {
    let path: String = url::form_urlencoded::byte_serialize(setting.path.as_bytes()).collect();
    format!("/api/config/value?path={path}")
}

/// The request that sets it.
pub(super) fn set(args: &SetArgs) -> Json {
    change(&args.setting, Some(args.value.clone()))
}

/// The request that takes it out of the file.
pub(super) fn unset(setting: &SettingArgs) -> Json {
    change(setting, None)
}

fn change(setting: &SettingArgs, value: Option<String>) -> Json {
    json!(SettingsRequest { changes: vec![SettingEdit { path: setting.path.clone(), value }] })
}

/// The request about the history.
pub(super) fn history(what: &ConfigCommand) -> (Method, String, Option<Json>) {
    match what {
        ConfigCommand::History { .. } => (Method::GET, "/api/configuration/history".into(), None),
        ConfigCommand::Restore { number, why, yes } => {
            let path = format!("/api/configuration/history/{number}/restore");
            (Method::POST, path, Some(json!({ "why": why, "confirm": yes })))
        }
    }
}

/// Changes, a line each with the files below it; or what came of going back.
pub(super) fn print_history(what: &ConfigCommand, answer: &Json) {
    match what {
        ConfigCommand::History { json: true } => println!("{answer:#}"),
        ConfigCommand::History { json: false } => {
            let changes = answer["changes"].as_array().map_or(&[][..], Vec::as_slice);
            if changes.is_empty() {
                println!("nothing was changed yet");
            }
            changes.iter().for_each(print_change);
            if let Some(trouble) = answer["trouble"].as_str() {
                println!("warning: {trouble}");
            }
        }
        ConfigCommand::Restore { .. } => match answer["number"].as_u64() {
            Some(number) => println!("the files are as they were; this is change {number}"),
            None => println!("the files are as they were before that change already"),
        },
    }
}

fn print_change(change: &Json) {
    let text = |key: &str| change[key].as_str().unwrap_or_default();
    let from = change["from"].as_str().map_or_else(String::new, |from| format!(" from {from}"));
    let why = if text("why").is_empty() { "-" } else { text("why") };
    println!("{} {} {}{from}: {}", change["number"], text("at"), text("who"), plain(why));
    for file in change["files"].as_array().into_iter().flatten() {
        println!("  {}", plain(file.as_str().unwrap_or_default()));
    }
}

/// A text without what a terminal would obey.
fn plain(text: &str) -> String {
    text.chars().filter(|it| !it.is_control()).collect()
}

/// The configuration's text.
pub(super) fn print_text(answer: &Json) {
    let file = answer["file"].as_str().unwrap_or("built-in");
    println!("# {file}");
    print!("{}", answer["text"].as_str().unwrap_or_default());
}

/// A value: a text as it is, everything else as JSON.
pub(super) fn print_value(answer: &Json) {
    match &answer["value"] {
        Json::String(text) => println!("{text}"),
        value @ (Json::Array(_) | Json::Object(_)) => println!("{value:#}"),
        value => println!("{value}"),
    }
}
