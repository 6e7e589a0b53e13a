//! Sections of a configuration in the making, and their text.

use serde_json::{Map, Value, json};
use std::fmt::Write;

/// Sections of a configuration, in the order in which they are written: `dns`, its keys below it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EmittedSections(Vec<(String, Vec<(String, Value)>)>);

impl EmittedSections {
    /// Sets a key of a section, in place of what it was.
    pub fn set(&mut self, section: &str, key: &str, value: impl Into<Value>) {
        *self.slot(section, key) = value.into();
    }

    /// Adds an item to a list of a section.
    pub fn push(&mut self, section: &str, key: &str, item: impl Into<Value>) {
        let slot = self.slot(section, key);
        if !slot.is_array() {
            *slot = json!([]);
        }
        slot.as_array_mut().expect("it was made one").push(item.into());
    }

    /// Sets a key of a mapping in a section: `dns`, `cache`, `size`.
    pub fn set_below(&mut self, section: &str, key: &str, below: &str, value: impl Into<Value>) {
        let slot = self.slot(section, key);
        if !slot.is_object() {
            *slot = Value::Object(Map::new());
        }
        slot.as_object_mut().expect("it was made one").insert(below.into(), value.into());
    }

    /// The value of a key.
    pub fn get(&self, section: &str, key: &str) -> Option<&Value> {
        let (_, keys) = self.0.iter().find(|(name, _)| name == section)?;
        keys.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// Takes a key out.
    pub fn take(&mut self, section: &str, key: &str) -> Option<Value> {
        let (_, keys) = self.0.iter_mut().find(|(name, _)| name == section)?;
        let at = keys.iter().position(|(name, _)| name == key)?;
        Some(keys.remove(at).1)
    }

    /// True if the section has any key.
    pub fn has(&self, section: &str) -> bool {
        self.0.iter().any(|(name, keys)| name == section && !keys.is_empty())
    }

    /// Takes out what stands at a dotted path: the item of the last list in it, else the key. Gives
    /// its path and value.
    pub(crate) fn remove(&mut self, path: &str) -> Option<(String, Value)> {
        let steps: Vec<&str> = path.split('.').collect();
        let [section, key, below @ ..] = &steps[..] else { return None };
        let keys = &mut self.0.iter_mut().find(|(name, _)| name == section)?.1;
        let at = keys.iter().position(|(name, _)| name == key)?;
        let is_index = |step: &&str| step.bytes().all(|it| it.is_ascii_digit());
        let end = below.iter().rposition(is_index).map_or(below.len(), |it| it + 1);
        let Some((last, way)) = below[..end].split_last() else {
            // A whole list is not taken out for what is wrong with its length.
            if keys[at].1.is_array() {
                return None;
            }
            return Some((format!("{section}.{key}"), keys.remove(at).1));
        };
        let mut holder = &mut keys[at].1;
        for step in way {
            holder = match holder {
                Value::Array(items) => items.get_mut(step.parse::<usize>().ok()?)?,
                Value::Object(keys) => keys.get_mut(*step)?,
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
            };
        }
        let value = match holder {
            Value::Array(items) => {
                let index = last.parse::<usize>().ok().filter(|it| *it < items.len())?;
                items.remove(index)
            }
            Value::Object(keys) => keys.remove(*last)?,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
        };
        Some((steps[..2 + end].join("."), value))
    }

    fn slot(&mut self, section: &str, key: &str) -> &mut Value {
        let at = self.0.iter().position(|(name, _)| name == section).unwrap_or_else(|| {
            self.0.push((section.into(), Vec::new()));
            self.0.len() - 1
        });
        let keys = &mut self.0[at].1;
        let at = keys.iter().position(|(name, _)| name == key).unwrap_or_else(|| {
            keys.push((key.into(), Value::Null));
            keys.len() - 1
        });
        &mut keys[at].1
    }

    /// The sections as YAML. A section with one key that is empty is a list or scalar itself. What
    /// would be a variable of ours (`${file:…}`) is told to be none.
    pub fn yaml(&self) -> String {
        let mut out = String::new();
        for (section, keys) in &self.0 {
            match &keys[..] {
                [(key, value)] if key.is_empty() => {
                    yaml_text::entry(&mut out, 0, section, &literally(value));
                }
                keys => {
                    let _ = writeln!(out, "{section}:");
                    for (key, value) in keys {
                        yaml_text::entry(&mut out, 2, key, &literally(value));
                    }
                }
            }
        }
        out
    }
}

/// A value whose texts mean what they say, whatever brackets they hold.
fn literally(value: &Value) -> Value {
    match value {
        Value::String(text) => literal_text(text).into(),
        Value::Array(items) => items.iter().map(literally).collect(),
        Value::Object(keys) => {
            keys.iter().map(|(key, value)| (key.clone(), literally(value))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// A text in which `$${` stands for the `${` of a variable.
fn literal_text(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find("${") {
        let Some(length) = rest[at..].find('}') else { break };
        out.push_str(&rest[..at]);
        let word = rest[at + 2..at + length].split_once(':').map(|(word, _)| word);
        if matches!(word, Some("env" | "file" | "credential")) {
            out.push('$');
        }
        out.push_str(&rest[at..=at + length]);
        rest = &rest[at + length + 1..];
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_names_no_file_of_this_machine() {
        let mut sections = EmittedSections::default();
        sections.set("policy", "rules", json!(["${a} ${file:/etc/shadow} ${env:A", "$${env:B}"]));
        let due = "policy:\n  rules: [\"${a} $${file:/etc/shadow} ${env:A\", \"$$${env:B}\"]\n";
        assert_eq!(sections.yaml(), due);
    }
}
