//! The manual's page of every setting, written from the JSON schema of the configuration.
//!
//! A mapping of the configuration is a heading with a table of its keys: what may be written, the
//! default, and the text of the `Settings` it comes from. Nothing is left out. Called by
//! [`crate::manual`].

use serde_json::{Map, Value};
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;

const OPENING: &str = "# Every setting

This page is generated from the JSON schema that `tidegate schema` prints; `cargo xtask manual` writes it.
`NAME` is a name of your own, and `[]` an entry of a list. A key without a default is left out unless you write it.
The words for values: *size* is `64MiB` or `200KB`, *duration* is `300ms`, `10s`, `5m`, `12h` or `30d`, *network* is an
address or a network such as `192.168.0.0/16`.

An editor that knows JSON Schema completes and explains the keys while you type: save the output of `tidegate schema` as
`tidegate.schema.json` beside the configuration, and put this on the configuration's first line:

```yaml
# yaml-language-server: $schema=tidegate.schema.json
```
";

/// The page for this schema.
pub(crate) fn page(schema: &Value) -> String {
    let mut page = Page {
        definitions: schema["$defs"].as_object().cloned().unwrap_or_default(),
        written: BTreeMap::new(),
        waiting: VecDeque::new(),
        text: OPENING.to_owned(),
    };
    page.table("The whole file", "", schema);
    // Mappings of one top-level key stay together: each is followed by what it contains.
    while let Some((path, definition)) = page.waiting.pop_front() {
        let node = page.definitions.get(&definition).cloned().unwrap_or_default();
        let later = std::mem::take(&mut page.waiting);
        page.table(&path, &path, &node);
        page.waiting.extend(later);
    }
    page.text
}

struct Page {
    definitions: Map<String, Value>,
    /// Definitions that have a heading, by the path under which they are described.
    written: BTreeMap<String, String>,
    waiting: VecDeque<(String, String)>,
    text: String,
}

impl Page {
    /// A heading and a table of the keys of `node`.
    fn table(&mut self, heading: &str, path: &str, node: &Value) {
        let level = if path.contains('.') { "###" } else { "##" };
        let _ = write!(self.text, "\n{level} {heading}\n");
        if let Some(text) = node["description"].as_str().filter(|_| !path.is_empty()) {
            let _ = writeln!(self.text, "{}\n", prose(text));
        }
        self.text += "| key | value | default | meaning |\n|---|---|---|---|\n";
        let keys = node["properties"].as_object().cloned().unwrap_or_default();
        for (key, value) in &keys {
            let below = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            let required =
                node["required"].as_array().is_some_and(|it| it.iter().any(|it| it == key));
            let default = if required { "required".to_owned() } else { default(value) };
            let kind = self.kind(&below, value);
            let meaning = self.meaning(value);
            let _ = writeln!(self.text, "| `{key}` | {kind} | {default} | {meaning} |");
        }
    }

    /// What may be written, as words. Mappings become links to the table of their keys.
    fn kind(&mut self, path: &str, node: &Value) -> String {
        if let Some(name) = reference(node) {
            let target = self.definitions.get(name).cloned().unwrap_or_default();
            if target["properties"].is_object() {
                return self.link(path, name);
            }
            return self.kind(path, &target);
        }
        if let Some(choices) = node["anyOf"].as_array() {
            let mut kinds: Vec<String> = choices
                .iter()
                .filter(|it| it["type"] != "null")
                .map(|it| self.kind(path, it))
                .collect();
            kinds.dedup();
            return kinds.join(", or ");
        }
        if let Some(values) = node["oneOf"].as_array() {
            return values.iter().map(|it| code(&it["const"])).collect::<Vec<_>>().join(", ");
        }
        if node["items"].is_object() {
            return format!("list of {}", self.kind(&format!("{path}[]"), &node["items"]));
        }
        if node["additionalProperties"].is_object() {
            let values = self.kind(&format!("{path}.NAME"), &node["additionalProperties"]);
            return format!("by NAME: {values}");
        }
        plain_kind(node)
    }

    /// A link to the table of a definition, which is written where it is met first.
    fn link(&mut self, path: &str, name: &str) -> String {
        if !self.written.contains_key(name) {
            self.written.insert(name.to_owned(), path.to_owned());
            self.waiting.push_back((path.to_owned(), name.to_owned()));
        }
        let described = &self.written[name];
        format!("[{described}](#{})", crate::book::anchor(described))
    }

    /// The description, with those of the single values behind it.
    fn meaning(&self, node: &Value) -> String {
        let mut text = prose(node["description"].as_str().unwrap_or_default());
        let target = reference(node).and_then(|name| self.definitions.get(name)).unwrap_or(node);
        for value in target["oneOf"].as_array().into_iter().flatten() {
            if let Some(described) = value["description"].as_str() {
                let _ = write!(text, " {}: {}", code(&value["const"]), prose(described));
            }
        }
        text.trim().to_owned()
    }
}

fn reference(node: &Value) -> Option<&str> {
    node["$ref"].as_str().and_then(|it| it.rsplit('/').next())
}

fn plain_kind(node: &Value) -> String {
    let kind = match &node["type"] {
        Value::Array(kinds) => kinds.iter().find(|it| *it != "null").and_then(Value::as_str),
        kind => kind.as_str(),
    };
    let kind = match (kind, node["format"].as_str()) {
        (Some("string"), Some("span")) => "duration",
        (Some("string"), Some(format)) => format,
        (Some("string"), None) => "text",
        (Some("integer" | "number"), _) => "number",
        (Some("boolean"), _) => "`true`, `false`",
        _ => "value",
    };
    kind.to_owned()
}

/// The default as it would be written; nothing for keys that are absent unless written.
fn default(node: &Value) -> String {
    match &node["default"] {
        Value::Null => String::new(),
        Value::Object(keys) if !keys.is_empty() => "as below".to_owned(),
        Value::Array(items) if items.len() > 8 => "see the schema".to_owned(),
        value => code(value),
    }
}

/// A value as code. A text is bare unless it is empty.
fn code(value: &Value) -> String {
    match value.as_str() {
        Some(text) if !text.is_empty() => format!("`{}`", text.replace('|', "\\|")),
        _ => format!("`{}`", value.to_string().replace('|', "\\|")),
    }
}

/// A description for a cell of a table: one line, without marks that Markdown would read.
fn prose(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|");
    let outside = |(index, piece): (usize, &str)| match index % 2 {
        0 => piece.replace('<', "&lt;").replace('*', "\\*"),
        _ => piece.to_owned(),
    };
    line.split('`').enumerate().map(outside).collect::<Vec<_>>().join("`")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_key_has_a_row_with_its_default_and_its_values() {
        let schema = json!({
            "$defs": {
                "Door": {
                    "description": "A door.",
                    "properties": {
                        "listen": { "type": "array", "items": { "type": "string", "format": "listener" }, "default": ["a|b"], "description": "Where <it>\nanswers." },
                        "mode": { "$ref": "#/$defs/Mode", "default": "on", "description": "How." },
                        "next": { "anyOf": [{ "$ref": "#/$defs/Door" }, { "type": "null" }], "default": null }
                    },
                    "required": ["listen"]
                },
                "Mode": { "oneOf": [{ "const": "on", "description": "Yes." }, { "const": "off" }] }
            },
            "properties": { "door": { "$ref": "#/$defs/Door", "default": {}, "description": "The door." } }
        });
        let page = page(&schema);
        let rows: Vec<&str> = page.lines().filter(|it| it.starts_with("| `")).collect();
        assert_eq!(
            rows,
            [
                "| `door` | [door](#door) | `{}` | The door. |",
                "| `listen` | list of listener | required | Where &lt;it> answers. |",
                "| `mode` | `on`, `off` | `on` | How. `on`: Yes. |",
                "| `next` | [door](#door) |  |  |",
            ]
        );
        assert!(page.contains("\n## door\nA door.\n"), "{page}");
    }
}
