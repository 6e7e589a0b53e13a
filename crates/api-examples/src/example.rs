//! One example of a schema.
//!
//! Objects have all their fields, lists one entry, choices their first way. A schema within itself
//! is left out. Called for each body of the description.

use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// A maker of examples.
pub(crate) struct ExampleMaker<'d> {
    schemas: &'d Value,
    fields: &'d Value,
    /// Texts for which there is no word.
    pub(crate) unknown: BTreeSet<String>,
    /// Names of the schemas that are being followed.
    within: Vec<String>,
}

/// A place of a value: the schema's name, and the field's in it.
#[derive(Clone, Copy)]
struct FieldPlace<'n> {
    schema: &'n str,
    field: &'n str,
}

impl<'d> ExampleMaker<'d> {
    pub(crate) fn new(schemas: &'d Value, fields: &'d Value) -> Self {
        Self { schemas, fields, unknown: BTreeSet::new(), within: Vec::new() }
    }

    /// An example of a schema; null where there is none.
    pub(crate) fn example(&mut self, schema: &Value) -> Value {
        self.at(schema, FieldPlace { schema: "", field: "" })
    }

    fn at(&mut self, schema: &Value, place: FieldPlace<'_>) -> Value {
        if let Some(name) = reference(schema) {
            if self.within.iter().any(|open| open == name) {
                return Value::Null;
            }
            self.within.push(name.to_owned());
            let schemas = self.schemas;
            let found = self.at(&schemas[name], FieldPlace { schema: name, field: place.field });
            self.within.pop();
            return found;
        }
        if let Some(parts) = schema["allOf"].as_array() {
            let mut whole = Map::new();
            for part in parts {
                if let Value::Object(fields) = self.at(part, place) {
                    whole.extend(fields);
                }
            }
            return Value::Object(whole);
        }
        for choice in ["oneOf", "anyOf"] {
            if let Some(ways) = schema[choice].as_array() {
                let way = ways.iter().find(|way| way["type"] != "null").unwrap_or(schema);
                return self.at(way, place);
            }
        }
        if let Some(words) = schema["enum"].as_array() {
            return words.first().cloned().unwrap_or_default();
        }
        match kind_of(schema) {
            "object" => self.object(schema, place),
            "array" => match self.at(&schema["items"], place) {
                Value::Null => json!([]),
                entry => json!([entry]),
            },
            kind => self.leaf(schema, kind, place),
        }
    }

    fn object(&mut self, schema: &Value, place: FieldPlace<'_>) -> Value {
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        let mut object = Map::new();
        for (field, part) in schema["properties"].as_object().into_iter().flatten() {
            let here = FieldPlace { schema: place.schema, field };
            let is_required = required.iter().any(|name| name == field);
            if !is_required && self.is_left_out(here) {
                continue;
            }
            let value = self.at(part, here);
            if is_required || !value.is_null() {
                object.insert(field.clone(), value);
            }
        }
        Value::Object(object)
    }

    /// The table's word for a place; that of the schema's field outranks that of any field.
    fn word(&self, place: FieldPlace<'_>) -> Option<&Value> {
        let own = format!("{}.{}", place.schema, place.field);
        self.fields.get(own).or_else(|| self.fields.get(place.field))
    }

    fn is_left_out(&self, place: FieldPlace<'_>) -> bool {
        self.word(place).is_some_and(Value::is_null)
    }

    fn leaf(&mut self, schema: &Value, kind: &str, place: FieldPlace<'_>) -> Value {
        let word = self.word(place).filter(|word| is_of(word, kind)).cloned();
        match (word, kind) {
            (Some(word), _) => word,
            (None, "boolean") => json!(false),
            (None, "integer") => json!(schema["minimum"].as_i64().unwrap_or(0).max(3)),
            (None, "number") => json!(0.25),
            (None, "string") => {
                self.unknown.insert(format!("{}.{}", place.schema, place.field));
                Value::Null
            }
            // Anything goes.
            (None, _) => json!({}),
        }
    }
}

/// The name of the schema that another one leads to.
pub(crate) fn reference(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.strip_prefix("#/components/schemas/")
}

/// The type of a schema's values, beside null; empty where anything goes.
fn kind_of(schema: &Value) -> &str {
    match &schema["type"] {
        Value::String(kind) => kind,
        Value::Array(kinds) => {
            let mut kinds = kinds.iter().filter_map(Value::as_str);
            kinds.find(|kind| *kind != "null").unwrap_or_default()
        }
        _ if schema["properties"].is_object() => "object",
        _ => "",
    }
}

/// True for a value of a type of JSON Schema; of any where none is named.
pub(crate) fn is_of(value: &Value, kind: &str) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => !value.is_null(),
    }
}
