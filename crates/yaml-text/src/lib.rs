//! Values as YAML, for the files that imports write: short ones on one line, others in blocks.
//!
//! Pure. Texts stand in quotes, keys only where they need them. Called by `config` and by the
//! crates that read other programs' configurations.

use serde_json::Value as Json;
use std::fmt::Write;

/// Characters of a value that stands on one line.
const LINE_MAX: usize = 100;
/// Words that are no text without quotes (YAML 1.2 section 10.2, and what 1.1 had beside them).
const RESERVED: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];

/// A value on one line: `{ path: "/", ports: [80, 443] }`.
pub fn literal(value: &Json) -> String {
    match value {
        Json::Object(entries) if entries.is_empty() => "{}".into(),
        Json::Object(entries) => {
            let entries = entries.iter().map(|(key, value)| {
                let value = literal(value);
                format!("{}: {value}", key_text(key))
            });
            format!("{{ {} }}", entries.collect::<Vec<_>>().join(", "))
        }
        Json::Array(items) => {
            format!("[{}]", items.iter().map(literal).collect::<Vec<_>>().join(", "))
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => scalar(value),
    }
}

/// Writes a key with its value: on one line where that is short, else below it; `indent` characters
/// in.
pub fn entry(out: &mut String, indent: usize, key: &str, value: &Json) {
    let _ = write!(out, "{:indent$}{}:", "", key_text(key));
    below(out, indent + 2, value);
}

/// Writes an item of a list, after a dash.
pub fn item(out: &mut String, indent: usize, value: &Json) {
    let _ = write!(out, "{:indent$}-", "");
    let begun = out.len();
    below(out, indent + 2, value);
    // The first entry stands behind the dash.
    if out[begun..].starts_with('\n') {
        out.replace_range(begun..begun + "\n- ".len() + indent, " ");
    }
}

/// A value after its key or dash.
fn below(out: &mut String, indent: usize, value: &Json) {
    let line = literal(value);
    match value {
        Json::Object(entries) if line.len() > LINE_MAX => {
            out.push('\n');
            for (key, value) in entries {
                entry(out, indent, key, value);
            }
        }
        Json::Array(items) if line.len() > LINE_MAX => {
            out.push('\n');
            for value in items {
                item(out, indent, value);
            }
        }
        _ => {
            let _ = writeln!(out, " {line}");
        }
    }
}

fn key_text(key: &str) -> String {
    let is_plain = key.starts_with(|first: char| first.is_ascii_alphabetic())
        && key.chars().all(|it| it.is_ascii_alphanumeric() || it == '_' || it == '-')
        && !RESERVED.contains(&key.to_ascii_lowercase().as_str());
    if is_plain { key.to_owned() } else { scalar(&Json::from(key)) }
}

/// JSON is YAML, but for characters that YAML does not take as they are (YAML 1.2 section 5.1).
fn scalar(value: &Json) -> String {
    let mut out = String::new();
    for character in value.to_string().chars() {
        if character.is_ascii() && !character.is_ascii_control() {
            out.push(character);
        } else {
            let _ = write!(out, "\\U{:08x}", u32::from(character));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn short_values_stand_on_one_line() {
        let value = json!({ "path": "/*", "no": [1, true, null], "*.php": {}, "é": "\u{85}\"" });
        let text = literal(&value);
        let due = "{ \"*.php\": {}, \"no\": [1, true, null], path: \"/*\", \"\\U000000e9\": \"\\U00000085\\\"\" }";
        assert_eq!(text, due);
    }

    #[test]
    fn long_values_stand_below_their_keys() {
        let value = json!({
            "list": [{ "deep": "y".repeat(90), "and": [1, 2] }, ["z".repeat(99)]],
            "short": { "a": 1 },
        });
        let mut text = String::new();
        entry(&mut text, 0, "top", &value);
        let (y, z) = ("y".repeat(90), "z".repeat(99));
        let due = format!(
            "top:\n  list:\n    - and: [1, 2]\n      deep: \"{y}\"\n    - - \"{z}\"\n  short: {{ a: 1 }}\n"
        );
        assert_eq!(text, due);
    }
}
