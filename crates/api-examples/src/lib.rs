//! Examples in the description of the API (OpenAPI 3.1): of every body that is sent and of every
//! main answer.
//!
//! They are made of the schemas, so that none can differ from what is served; the words come from a
//! table by the names of fields, `examples.json`. It reads no file and knows no route. Called where
//! the description is put together.

mod conformity;
mod example;

pub use conformity::unfit_examples;

use example::ExampleMaker;
use serde_json::{Map, Value};

/// The table: words by field or `Schema.field` (null leaves a field out), and answers that are no
/// JSON by operation.
const TABLE: &str = include_str!("examples.json");

/// Methods that an operation has in a path's item.
const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

/// Adds an example to each body that is sent and each answer of success. Gives the fields for whose
/// text the table has no word: they stay without.
pub fn add_examples(document: &mut Value) -> Vec<String> {
    let table: Value = serde_json::from_str(TABLE).unwrap_or_default();
    let schemas = document["components"]["schemas"].clone();
    let mut maker = ExampleMaker::new(&schemas, &table["fields"]);
    each_operation(document, |name, operation| {
        for (media, body) in bodies(operation) {
            let example = if is_structured(&media) {
                maker.example(&body["schema"])
            } else {
                table["answers"][name].clone()
            };
            if !example.is_null()
                && let Some(body) = body.as_object_mut()
            {
                body.insert("example".into(), example);
            }
        }
    });
    maker.unknown.into_iter().collect()
}

/// True for a body of fields: JSON, or a form.
fn is_structured(media: &str) -> bool {
    media.ends_with("json") || media == "application/x-www-form-urlencoded"
}

/// Shows every operation under its name, `GET /api/status`.
fn each_operation(document: &mut Value, mut visit: impl FnMut(&str, &mut Value)) {
    let Some(paths) = document["paths"].as_object_mut() else { return };
    for (path, item) in paths {
        let Some(item) = item.as_object_mut() else { continue };
        for (method, operation) in item {
            if METHODS.contains(&method.as_str()) {
                visit(&format!("{} {path}", method.to_uppercase()), operation);
            }
        }
    }
}

/// The bodies of an operation with their media types: what is sent, and the answers of success.
fn bodies(operation: &mut Value) -> Vec<(String, &mut Value)> {
    let Some(operation) = operation.as_object_mut() else { return Vec::new() };
    let mut contents: Vec<&mut Map<String, Value>> = Vec::new();
    for (part, value) in operation.iter_mut() {
        match part.as_str() {
            "requestBody" => contents.extend(content(value)),
            "responses" => {
                let all = value.as_object_mut().into_iter().flatten();
                let good = all.filter(|(status, _)| status.starts_with('2'));
                contents.extend(good.filter_map(|(_, answer)| content(answer)));
            }
            _ => {}
        }
    }
    let all = contents.into_iter().flatten();
    all.map(|(media, body)| (media.clone(), body)).collect()
}

fn content(part: &mut Value) -> Option<&mut Map<String, Value>> {
    part.get_mut("content")?.as_object_mut()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn document() -> Value {
        let rule = json!({
            "type": "object",
            "required": ["list", "line"],
            "properties": {
                "list": { "type": "string" }, "line": { "type": "integer", "minimum": 1 },
                "rule": { "oneOf": [{ "type": "null" }, { "$ref": "#/components/schemas/Rule" }] },
                "client": { "type": ["string", "null"] },
                "shares": { "type": "array", "items": { "type": "number" } }
            }
        });
        let flat = json!({ "allOf": [
            { "$ref": "#/components/schemas/Rule" },
            { "type": "object", "required": ["at"], "properties": { "at": { "type": "string" } } }
        ] });
        let answer = json!({ "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Flat" } } } });
        json!({
            "components": { "schemas": { "Rule": rule, "Flat": flat } },
            "paths": { "/x": { "post": {
                "requestBody": { "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Rule" } } } },
                "responses": { "200": answer, "204": {}, "400": answer }
            } } }
        })
    }

    #[test]
    fn bodies_and_good_answers_get_examples_that_fit_their_schemas() {
        let mut document = document();
        assert_eq!(unfit_examples(&document).len(), 2, "none is there yet");
        assert_eq!(add_examples(&mut document), [] as [&str; 0]);
        assert_eq!(unfit_examples(&document), [] as [&str; 0]);
        let post = &document["paths"]["/x"]["post"];
        let sent = &post["requestBody"]["content"]["application/json"]["example"];
        assert!(
            sent["list"].is_string() && sent["shares"].as_array().unwrap().len() == 1,
            "{sent}"
        );
        let good = &post["responses"]["200"]["content"]["application/json"]["example"];
        assert!(good["at"].is_string() && good["list"].is_string(), "{good}");
        assert!(post["responses"]["400"]["content"]["application/json"].get("example").is_none());
    }

    #[test]
    fn an_example_that_does_not_fit_is_told() {
        let mut document = document();
        add_examples(&mut document);
        let body = "/paths/~1x/post/requestBody/content/application~1json/example";
        for (place, wrong) in [
            ("list", json!(7)),
            ("line", json!(0)),
            ("line", json!(null)),
            ("shares", json!(["x"])),
            ("rule", json!({ "list": "x" })),
        ] {
            let mut document = document.clone();
            let sent = document.pointer_mut(body).unwrap().as_object_mut().unwrap();
            sent.insert(place.into(), wrong.clone());
            let told = unfit_examples(&document);
            assert!(told.len() == 1 && told[0].starts_with("POST /x"), "{wrong}: {told:?}");
        }
        let sent = document.pointer_mut(body).unwrap().as_object_mut().unwrap();
        sent.remove("list");
        assert_eq!(unfit_examples(&document).len(), 1, "a field that is required");
    }

    #[test]
    fn a_text_without_a_word_is_told_with_its_place() {
        let mut document = document();
        document["components"]["schemas"]["Rule"]["properties"]["colour"] =
            json!({ "type": "string" });
        assert_eq!(add_examples(&mut document), ["Rule.colour"]);
    }
}
