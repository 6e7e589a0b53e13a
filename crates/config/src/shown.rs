//! A configuration as it is shown to people: with `…` in place of what lets somebody in.
//!
//! Secrets are told by the names of their keys, and by the shape of URLs with a password, so that
//! no part has to say which of its settings are. What a comment says is shown. Called for the
//! admin API and the console.

use crate::edit::PlacedText;
use crate::yaml::{self, YamlNode, YamlValue};
use serde_json::Value as Json;
use std::ops::Range;

/// Mark in place of a secret.
pub(crate) const HIDDEN: &str = "…";
/// Parts of the names of keys that hold secrets, at any depth below them.
const SECRET_KEYS: [&str; 12] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "users",
    "authorization",
    "cookie",
    "credential",
    "api-key",
    "api_key",
    "apikey",
];
/// Settings that have such a part in their name and are none.
const OPEN_KEYS: [&str; 2] = ["server_tokens", "cookie_name"];

/// The text with its secrets hidden, or nothing of it where it is no YAML.
pub(crate) fn text(text: &str) -> String {
    let Ok(tree) = yaml::read(text) else { return HIDDEN.into() };
    let place = PlacedText::new(text);
    let mut hidden = Vec::new();
    hide_node(&place, &tree, ValueSecrecy::Open, &mut hidden);
    // What an anchor lends is found at each place.
    hidden.sort_by_key(|(range, _)| range.start);
    let mut shown = String::with_capacity(text.len());
    let mut at = 0;
    for (range, new) in hidden {
        if range.start >= at {
            shown.push_str(&text[at..range.start]);
            shown.push_str(&new);
            at = range.end;
        }
    }
    shown.push_str(&text[at..]);
    shown
}

/// A value with its secrets hidden; the keys that lead to it say whether it is one itself.
pub(crate) fn value<'k>(value: &Json, keys: impl Iterator<Item = &'k str>) -> Json {
    let mut secrecy = ValueSecrecy::Open;
    for key in keys {
        secrecy = secrecy.below(key);
    }
    shown_value(value, secrecy)
}

/// Rule for values.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ValueSecrecy {
    Open,
    /// Of a collector's section, where each field may let somebody in, whatever its name.
    Collector,
    Secret,
}

impl ValueSecrecy {
    fn below(self, key: &str) -> Self {
        let key = key.to_ascii_lowercase();
        let names_one =
            SECRET_KEYS.iter().any(|part| key.contains(part)) && !OPEN_KEYS.contains(&key.as_str());
        match (self, key.as_str()) {
            _ if names_one => Self::Secret,
            (Self::Collector, "headers") => Self::Secret,
            (Self::Open, "otlp") => Self::Collector,
            (Self::Open | Self::Collector | Self::Secret, _) => self,
        }
    }
}

fn shown_value(value: &Json, secrecy: ValueSecrecy) -> Json {
    match value {
        Json::String(text) => shown_text(text, secrecy).map_or_else(|| value.clone(), Json::from),
        Json::Number(_) if secrecy == ValueSecrecy::Secret => Json::from(HIDDEN),
        Json::Array(items) => items.iter().map(|it| shown_value(it, secrecy)).collect(),
        Json::Object(entries) => {
            let shown = entries.iter();
            let shown = shown.map(|(key, it)| (key.clone(), shown_value(it, secrecy.below(key))));
            Json::Object(shown.collect())
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => value.clone(),
    }
}

fn hide_node(
    place: &PlacedText<'_>,
    node: &YamlNode,
    secrecy: ValueSecrecy,
    hidden: &mut Vec<(Range<usize>, String)>,
) {
    match &node.value {
        YamlValue::Section(entries) => {
            for entry in entries {
                hide_node(place, &entry.node, secrecy.below(&entry.key), hidden);
            }
        }
        YamlValue::List(items) => {
            for item in items {
                hide_node(place, item, secrecy, hidden);
            }
        }
        YamlValue::Text(text) => {
            if let Some(new) = shown_text(text, secrecy) {
                let range = place.start(node)..place.end(node);
                let is_quoted = place.text[range.clone()].starts_with(['"', '\'']);
                hidden.push((range, if is_quoted { format!("{new:?}") } else { new }));
            }
        }
        YamlValue::Integer(_) | YamlValue::Float(_) if secrecy == ValueSecrecy::Secret => {
            hidden.push((place.start(node)..place.end(node), HIDDEN.into()));
        }
        YamlValue::Null | YamlValue::Bool(_) | YamlValue::Integer(_) | YamlValue::Float(_) => {}
    }
}

/// A text without its secret; none where it has none.
fn shown_text(text: &str, secrecy: ValueSecrecy) -> Option<String> {
    if secrecy == ValueSecrecy::Secret {
        return (!text.is_empty()).then(|| HIDDEN.into());
    }
    // `http://USER:PASSWORD@HOST`, and the same without a scheme.
    let (scheme, rest) = text.split_once("://").map_or(("", text), |(scheme, rest)| (scheme, rest));
    let end = rest.find(['/', '?', ' ']).unwrap_or(rest.len());
    let (login, host) = rest[..end].rsplit_once('@')?;
    let (user, _) = login.split_once(':')?;
    let join = if scheme.is_empty() { "" } else { "://" };
    Some(format!("{scheme}{join}{user}:{HIDDEN}@{host}{}", &rest[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_hidden_and_comments_and_order_stay() {
        let shown = text(
            "proxy:\n  parent: http://ann:s3cret@proxy.example:3128/ # ours\n  auth:\n    users:\n\
             \x20     ann: \"$2y$05$abc\"  # a hash\n    tokens: { bob: 'sha256:00' }\n\
             dns: { upstreams: [{ address: tls://1.1.1.1, socks5: 'me:pw@10.0.0.1:1080' }] }\n\
             gateway: { pools: { a: { sticky: { secret: 12345 }, servers: [\"http://x:1\"] } } }\n",
        );
        assert_eq!(
            shown,
            "proxy:\n  parent: http://ann:…@proxy.example:3128/ # ours\n  auth:\n    users:\n\
             \x20     ann: \"…\"  # a hash\n    tokens: { bob: \"…\" }\n\
             dns: { upstreams: [{ address: tls://1.1.1.1, socks5: \"me:…@10.0.0.1:1080\" }] }\n\
             gateway: { pools: { a: { sticky: { secret: … }, servers: [\"http://x:1\"] } } }\n",
        );
    }

    #[test]
    fn a_secret_stays_one_however_it_is_asked_for() {
        let users = serde_json::json!({ "ann": "$2y$05$abc" });
        let shown = value(&users, ["proxy", "auth", "users"].into_iter());
        assert_eq!(shown, serde_json::json!({ "ann": "…" }));
        let one = value(&users["ann"], ["proxy", "auth", "users", "ann"].into_iter());
        assert_eq!(one, serde_json::json!("…"));
        let open = serde_json::json!({ "listen": ["http://[::1]:80"], "pool": "a" });
        assert_eq!(value(&open, ["gateway"].into_iter()), open);
    }

    #[test]
    fn every_field_of_a_collector_is_hidden_whatever_its_name() {
        let shown = text("telemetry: { otlp: { headers: { x-team: s3cret }, timeout: 10s } }\n");
        assert_eq!(shown, "telemetry: { otlp: { headers: { x-team: … }, timeout: 10s } }\n");
        let one = value(&serde_json::json!("s"), ["telemetry", "otlp", "headers", "x"].into_iter());
        assert_eq!(one, serde_json::json!("…"));
    }

    #[test]
    fn a_text_that_is_no_configuration_is_not_shown() {
        assert_eq!(text("password: [x"), HIDDEN);
        let lent = "a: &one { password: x }\nb: *one\n";
        assert_eq!(text(lent), "a: &one { password: … }\nb: *one\n");
    }
}
