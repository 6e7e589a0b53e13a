//! Values as YAML, for the files that imports write.

use serde_json::Value as Json;
use std::fmt::Write;

/// Characters of a value that stands on one line.
const LINE_MAX: usize = 80;

/// A value on one line. JSON is YAML, but for characters that YAML does not take as they are (YAML
/// 1.2 section 5.1).
pub(crate) fn literal(value: &Json) -> String {
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

/// A key with its value: on one line where that is short, else below it, `indent` characters in.
pub(crate) fn entry(out: &mut String, indent: usize, key: &str, value: &Json) {
    let is_plain = key.starts_with(|first: char| first.is_ascii_alphabetic())
        && key.chars().all(|it| it.is_ascii_alphanumeric() || it == '_');
    let key = if is_plain { key.to_owned() } else { literal(&Json::from(key)) };
    let _ = write!(out, "{:indent$}{key}:", "");
    below(out, indent + 2, value);
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
            for item in items {
                let _ = write!(out, "{:indent$}-", "");
                let begun = out.len();
                below(out, indent + 2, item);
                // The first entry stands behind the dash.
                if out[begun..].starts_with('\n') {
                    out.replace_range(begun..begun + "\n- ".len() + indent, " ");
                }
            }
        }
        _ => {
            let _ = writeln!(out, " {line}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn long_values_stand_below_their_keys_and_mean_the_same() {
        let value = json!({
            "a b": ["x".repeat(40), { "deep": "y".repeat(70), "and": [1, 2], "or": {} }],
            "short": { "é\n": "\u{85}" },
            "list": [["z".repeat(90)], "1: 2"],
        });
        let mut text = String::new();
        entry(&mut text, 0, "top", &value);
        let read = crate::yaml::read(&text).unwrap_or_else(|why| panic!("{}\n{text}", why.message));
        assert_eq!(read.to_json(), json!({ "top": value }));
        assert!(text.contains("\n    - \"xxx") && text.contains("\n    - and: [1,2]\n"), "{text}");
    }
}
