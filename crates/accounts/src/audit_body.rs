//! A request's body as the audit log keeps it: without what is secret or long.

use serde_json::{Map, Value};

/// Parts of names whose values are secret.
const SECRET_WORDS: [&str; 6] = ["password", "token", "secret", "code", "key", "credential"];
/// Characters that are kept of a text.
const TEXT_LENGTH_MAX: usize = 200;
/// Entries that are kept of a list or a mapping.
const ENTRIES_MAX: usize = 20;
/// Levels that are kept.
const DEPTH_MAX: usize = 6;
/// Stands where something secret was.
const REDACTED: &str = "[redacted]";

/// The same value, as it may be shown to another administrator.
pub fn redacted(value: &Value) -> Value {
    bounded(value, DEPTH_MAX)
}

fn bounded(value: &Value, depth: usize) -> Value {
    if depth == 0 {
        return Value::String("…".into());
    }
    match value {
        Value::String(text) => Value::String(cut(text)),
        Value::Array(all) => {
            all.iter().take(ENTRIES_MAX).map(|it| bounded(it, depth - 1)).collect()
        }
        Value::Object(all) => {
            let entry = |(name, value): (&String, &Value)| {
                let kept = match value {
                    // Whether there was one is no secret.
                    Value::Null => Value::Null,
                    Value::Bool(_) => value.clone(),
                    _ if is_secret(name) => Value::String(REDACTED.into()),
                    _ => bounded(value, depth - 1),
                };
                (cut(name), kept)
            };
            Value::Object(all.iter().take(ENTRIES_MAX).map(entry).collect::<Map<_, _>>())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_WORDS.iter().any(|word| name.contains(word))
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(TEXT_LENGTH_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn secrets_and_length_do_not_stay() {
        let body = json!({
            "name": "anna", "password": "correct horse", "totp": "off",
            "item": {"api_token": "x", "keys": [1, 2], "n": 7, "code": null},
            "text": "ä".repeat(500), "many": (0..100).collect::<Vec<_>>(),
        });
        let kept = redacted(&body);
        assert_eq!(kept["name"], "anna");
        assert_eq!(kept["password"], REDACTED);
        assert_eq!(kept["totp"], "off");
        let item = json!({"api_token": REDACTED, "keys": REDACTED, "n": 7, "code": null});
        assert_eq!(kept["item"], item);
        assert_eq!(kept["text"].as_str().unwrap().chars().count(), TEXT_LENGTH_MAX + 1);
        assert_eq!(kept["many"].as_array().unwrap().len(), ENTRIES_MAX);
    }

    #[test]
    fn depth_is_bounded() {
        let deep = (0..100).fold(json!(1), |inner, _| json!([inner]));
        assert!(redacted(&deep).to_string().len() < 40);
    }
}
