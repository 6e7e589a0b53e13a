//! Written forms by their names in the schema: the shared ones and the parts' own.
//!
//! A text in one of several forms (a parent proxy, or a list of them) is told what is wrong with it
//! only if its form is known here; serde alone would say that no variant fits. It reads no file.
//! Called by `shape` for every text that the schema gives a format.

use door_proxy::{ParentHosts, TokenDigest};
use origins::ParentHop;
use resolver::{KeyPin, PlainServer, SocksProxy};
use settings::{WrittenWord, check_written};

/// Reads `text` in the form called `format`. Formats that nobody has declared accept everything:
/// they come from the types of numbers (`uint32`).
pub(crate) fn check(format: &str, text: &str) -> Result<(), String> {
    if let Some(checked) = settings::check_format(format, text) {
        return checked;
    }
    match format {
        ParentHop::FORMAT => check_written::<ParentHop>(text),
        KeyPin::FORMAT => check_written::<KeyPin>(text),
        ParentHosts::FORMAT => check_written::<ParentHosts>(text),
        PlainServer::FORMAT => check_written::<PlainServer>(text),
        SocksProxy::FORMAT => check_written::<SocksProxy>(text),
        TokenDigest::FORMAT => check_written::<TokenDigest>(text),
        _ => Ok(()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use serde_json::Value as Json;

    /// Formats of texts in a schema.
    fn formats(schema: &Json, found: &mut Vec<String>) {
        let text = schema.get("type").is_some_and(|it| it == "string");
        if let Some(format) = schema.get("format").and_then(Json::as_str).filter(|_| text) {
            found.push(format.into());
        }
        match schema {
            Json::Object(entries) => entries.values().for_each(|it| formats(it, found)),
            Json::Array(items) => items.iter().for_each(|it| formats(it, found)),
            _ => {}
        }
    }

    #[test]
    fn every_text_with_a_form_is_checked_by_it() {
        let mut found = Vec::new();
        formats(crate::schema(), &mut found);
        assert!(found.contains(&ParentHop::FORMAT.to_owned()) && found.len() > 50, "{found:?}");
        for format in found {
            // Nothing is written with a line break inside.
            assert!(check(&format, "\n").is_err(), "the form {format:?} is checked by nobody");
        }
    }
}
