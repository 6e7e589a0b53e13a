//! `tidegate ctl config`, `get`, `set` and `unset`: settings of the running program.
//!
//! It shapes what is sent and what is printed; it sends nothing.

use admin::model::{SettingEdit, SettingsRequest};
use clap::Args;
use serde_json::{Value as Json, json};

/// A setting.
#[derive(Clone, Debug, Args)]
pub struct SettingArgs {
    /// Where it stands: keys joined by dots, items of lists by number, as in gateway.routes[0].pool
    path: String,
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
