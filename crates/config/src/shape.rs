//! Holds a configuration tree against the schema of the settings, and reports every difference.
//!
//! serde stops at its first error; a person mending a file wants all of them. So the tree is
//! compared with the JSON Schema that the same structs export to editors: unknown keys (with the
//! nearest known one), wrong types, numbers out of bounds, words that do not parse. What passes
//! here is then read by serde.

use crate::formats;
use crate::yaml::{TextPosition, YamlNode, YamlValue};
use serde_json::Value as Json;
use settings::suggest;

/// A complaint and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlacedComplaint {
    /// Where.
    pub position: TextPosition,
    /// The setting, as keys joined by dots.
    pub path: String,
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub remedy: Option<String>,
}

/// Keys that had another name, and the name that they have.
const RENAMED: [(&str, &str); 1] = [("aside", "ejection_time")];

/// Every difference between `node` and `schema`. An unquoted `null` where the word is expected (a
/// block style is called so) becomes that word.
pub(crate) fn check(node: &mut YamlNode, schema: &Json) -> Vec<PlacedComplaint> {
    let mut complaints = Vec::new();
    ShapeChecker { root: schema }.check(node, schema, "", &mut complaints);
    complaints
}

struct ShapeChecker<'s> {
    root: &'s Json,
}

impl<'s> ShapeChecker<'s> {
    fn check(
        &self,
        node: &mut YamlNode,
        schema: &'s Json,
        path: &str,
        out: &mut Vec<PlacedComplaint>,
    ) {
        let schema = self.resolve(schema);
        for key in ["anyOf", "oneOf"] {
            if let Some(choices) = schema.get(key).and_then(Json::as_array) {
                return self.check_choices(node, choices, path, out);
            }
        }
        if let Some(word) = schema.get("const") {
            if node.to_json() != *word {
                out.push(wrong(node, path, &format!("expected {word}")));
            }
            return;
        }
        if let Some(words) = schema.get("enum").and_then(Json::as_array) {
            check_keyword(node, words, path, out);
            return;
        }
        if !type_fits(node, schema) {
            let expected = expected(schema);
            out.push(wrong(node, path, &format!("expected {expected}, found {}", node.kind())));
            return;
        }
        match &mut node.value {
            YamlValue::Section(_) => self.check_section(node, schema, path, out),
            YamlValue::List(items) => {
                if let Some(item_schema) = schema.get("items") {
                    for (index, item) in items.iter_mut().enumerate() {
                        self.check(item, item_schema, &join(path, &index.to_string()), out);
                    }
                }
            }
            YamlValue::Text(text) => check_text(node.position, text, schema, path, out),
            YamlValue::Integer(number) => {
                if has_type(schema, "string") {
                    check_text(node.position, &number.to_string(), schema, path, out);
                } else {
                    check_bounds(node.position, *number as f64, schema, path, out);
                }
            }
            YamlValue::Float(number) => check_bounds(node.position, *number, schema, path, out),
            YamlValue::Null | YamlValue::Bool(_) => {}
        }
    }

    /// Follows `$ref` into the definitions of the root schema.
    fn resolve(&self, mut schema: &'s Json) -> &'s Json {
        // A chain of references is short; a circle would be a fault of ours, not of the file.
        for _ in 0..16 {
            let Some(target) = schema
                .get("$ref")
                .and_then(Json::as_str)
                .and_then(|reference| reference.strip_prefix('#'))
                .and_then(|pointer| self.root.pointer(pointer))
            else {
                return schema;
            };
            schema = target;
        }
        schema
    }

    fn check_section(
        &self,
        node: &mut YamlNode,
        schema: &'s Json,
        path: &str,
        out: &mut Vec<PlacedComplaint>,
    ) {
        let YamlValue::Section(entries) = &mut node.value else { return };
        let empty = serde_json::Map::new();
        let properties = schema.get("properties").and_then(Json::as_object).unwrap_or(&empty);
        let others = schema.get("additionalProperties");
        for entry in entries {
            let inner = join(path, &entry.key);
            match (properties.get(&entry.key), others) {
                (Some(property), _) => self.check(&mut entry.node, property, &inner, out),
                (None, Some(Json::Bool(false))) => out.push(PlacedComplaint {
                    position: entry.position,
                    path: inner,
                    message: "this key is not known".into(),
                    remedy: renamed(&entry.key, properties)
                        .or_else(|| suggest(&entry.key, properties.keys().map(String::as_str))),
                }),
                (None, Some(other)) => self.check(&mut entry.node, other, &inner, out),
                (None, None) => {}
            }
        }
        for required in schema.get("required").and_then(Json::as_array).into_iter().flatten() {
            if let Some(key) = required.as_str()
                && node.entry(key).is_none()
            {
                out.push(wrong(node, path, &format!("the key {key:?} is missing")));
            }
        }
    }

    /// Of several allowed forms, the one that fits; else the complaints of the form that comes
    /// closest: one of the right type, with the fewest complaints.
    fn check_choices(
        &self,
        node: &mut YamlNode,
        choices: &'s [Json],
        path: &str,
        out: &mut Vec<PlacedComplaint>,
    ) {
        let words: Vec<Json> = choices.iter().filter_map(|c| c.get("const").cloned()).collect();
        if words.len() == choices.len() {
            return check_keyword(node, &words, path, out);
        }
        let mut best: Option<Vec<PlacedComplaint>> = None;
        for choice in choices {
            let mut complaints = Vec::new();
            self.check(node, choice, path, &mut complaints);
            if complaints.is_empty() {
                return;
            }
            let rank =
                |found: &[PlacedComplaint]| (found.iter().any(|c| c.path == path), found.len());
            if best.as_ref().is_none_or(|held| rank(&complaints) < rank(held)) {
                best = Some(complaints);
            }
        }
        out.extend(best.unwrap_or_default());
    }
}

/// The remedy for a key that has another name now, where the section has that.
fn renamed(key: &str, properties: &serde_json::Map<String, Json>) -> Option<String> {
    let (_, now) =
        RENAMED.iter().find(|(old, now)| *old == key && properties.contains_key(*now))?;
    Some(format!("it is called {now:?} now"))
}

fn check_keyword(node: &mut YamlNode, words: &[Json], path: &str, out: &mut Vec<PlacedComplaint>) {
    if matches!(node.value, YamlValue::Null) && words.iter().any(|word| word == "null") {
        node.value = YamlValue::Text("null".into());
    }
    if words.contains(&node.to_json()) {
        return;
    }
    let known: Vec<&str> = words.iter().filter_map(Json::as_str).collect();
    let mut complaint = wrong(node, path, &format!("expected one of {}", known.join(", ")));
    if let YamlValue::Text(text) = &node.value {
        complaint.remedy = suggest(text, known.into_iter());
    }
    out.push(complaint);
}

fn join(path: &str, step: &str) -> String {
    if path.is_empty() { step.into() } else { format!("{path}.{step}") }
}

fn wrong(node: &YamlNode, path: &str, message: &str) -> PlacedComplaint {
    wrong_at(node.position, path, message)
}

fn wrong_at(place: TextPosition, path: &str, message: &str) -> PlacedComplaint {
    PlacedComplaint { position: place, path: path.into(), message: message.into(), remedy: None }
}

fn types(schema: &Json) -> Vec<&str> {
    match schema.get("type") {
        Some(Json::String(one)) => vec![one],
        Some(Json::Array(several)) => several.iter().filter_map(Json::as_str).collect(),
        _ => Vec::new(),
    }
}

fn has_type(schema: &Json, name: &str) -> bool {
    types(schema).contains(&name)
}

fn type_fits(node: &YamlNode, schema: &Json) -> bool {
    let allowed = types(schema);
    if allowed.is_empty() {
        return true;
    }
    allowed.iter().any(|name| match (&node.value, *name) {
        (YamlValue::Null, "null")
        | (YamlValue::Bool(_), "boolean")
        | (YamlValue::Text(_), "string")
        | (YamlValue::Integer(_), "integer")
        | (YamlValue::Integer(_) | YamlValue::Float(_), "number")
        | (YamlValue::List(_), "array")
        | (YamlValue::Section(_), "object") => true,
        // An unquoted number is text where the text has a written form that numbers can have.
        (YamlValue::Integer(_), "string") => schema.get("format").is_some(),
        _ => false,
    })
}

fn expected(schema: &Json) -> String {
    if let Some(format) = schema.get("format").and_then(Json::as_str)
        && let Some(example) = schema.pointer("/examples/0").and_then(Json::as_str)
    {
        return format!("a {format} such as {example}");
    }
    let words: Vec<&str> = types(schema)
        .into_iter()
        .filter(|name| *name != "null")
        .map(|name| match name {
            "boolean" => "true or false",
            "string" => "text",
            "integer" => "a whole number",
            "number" => "a number",
            "array" => "a list",
            "object" => "a section of keys",
            other => other,
        })
        .collect();
    words.join(" or ")
}

fn check_text(
    place: TextPosition,
    text: &str,
    schema: &Json,
    path: &str,
    out: &mut Vec<PlacedComplaint>,
) {
    if let Some(format) = schema.get("format").and_then(Json::as_str)
        && let Err(message) = formats::check(format, text)
    {
        out.push(wrong_at(place, path, &message));
    }
}

fn check_bounds(
    place: TextPosition,
    number: f64,
    schema: &Json,
    path: &str,
    out: &mut Vec<PlacedComplaint>,
) {
    let bound = |key: &str| schema.get(key).and_then(Json::as_f64);
    if let Some(least) = bound("minimum").filter(|least| number < *least) {
        out.push(wrong_at(place, path, &format!("{number} is less than {least}")));
    }
    if let Some(most) = bound("maximum").filter(|most| number > *most) {
        out.push(wrong_at(place, path, &format!("{number} is more than {most}")));
    }
}
