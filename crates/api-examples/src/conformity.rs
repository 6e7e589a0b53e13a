//! Examples held against their schemas: types, required fields, words, bounds and choices.
//!
//! Of JSON Schema it knows what descriptions of this API have. Called by tests, which fail where an
//! example is missing or says what the schema does not.

use crate::example::{is_of, reference};
use crate::{bodies, each_operation, is_structured};
use serde_json::Value;

/// The bodies of a description that have no example, or one that does not fit.
pub fn unfit_examples(document: &Value) -> Vec<String> {
    let schemas = &document["components"]["schemas"];
    let mut told = Vec::new();
    each_operation(&mut document.clone(), |name, operation| {
        for (media, body) in bodies(operation) {
            let fault = match body.get("example") {
                None => Some("there is no example".to_owned()),
                Some(example) if is_structured(&media) => {
                    fault(schemas, &body["schema"], example, "")
                }
                Some(example) => (!example.is_string()).then(|| "it is no text".to_owned()),
            };
            told.extend(fault.map(|fault| format!("{name} ({media}): {fault}")));
        }
    });
    told
}

/// Why a value does not fit a schema; none if it does.
fn fault(schemas: &Value, schema: &Value, value: &Value, place: &str) -> Option<String> {
    if let Some(name) = reference(schema) {
        return match schemas.get(name) {
            Some(named) => fault(schemas, named, value, place),
            None => Some(format!("{place}: there is no schema {name}")),
        };
    }
    let mut parts = schema["allOf"].as_array().into_iter().flatten();
    if let Some(why) = parts.find_map(|part| fault(schemas, part, value, place)) {
        return Some(why);
    }
    for choice in ["oneOf", "anyOf"] {
        if let Some(ways) = schema[choice].as_array() {
            let mut ways = ways.iter().map(|way| fault(schemas, way, value, place));
            if ways.all(|why| why.is_some()) {
                return Some(format!("{place}: {value} is none of the choices"));
            }
        }
    }
    let kinds: Vec<&str> = match &schema["type"] {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if !kinds.is_empty() && !kinds.iter().any(|kind| is_of(value, kind)) {
        return Some(format!("{place}: {value} is no {}", kinds.join(" or ")));
    }
    if schema["enum"].as_array().is_some_and(|words| !words.contains(value)) {
        return Some(format!("{place}: {value} is none of the words"));
    }
    if let (Some(least), Some(number)) = (schema["minimum"].as_f64(), value.as_f64())
        && number < least
    {
        return Some(format!("{place}: {value} is less than {least}"));
    }
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    if let Some(object) = value.as_object()
        && let Some(missing) = required.into_iter().find(|name| !object.contains_key(*name))
    {
        return Some(format!("{place}: {missing} is missing"));
    }
    let fields = schema["properties"].as_object().into_iter().flatten();
    let mut fields = fields.filter_map(|(name, part)| {
        fault(schemas, part, value.get(name)?, &format!("{place}/{name}"))
    });
    let items = value.as_array().into_iter().flatten();
    let mut items =
        items.filter_map(|item| fault(schemas, &schema["items"], item, &format!("{place}/-")));
    fields.next().or_else(|| items.next())
}
