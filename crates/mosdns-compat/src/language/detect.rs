//! Which of the two dialects a file is written in, told by what it uses.
//!
//! A file is one of mosdns unless something in it exists in OxiDNS only: a type of plugins, a key,
//! a quick form. Files of mosdns v1 to v4 are named as such. Called by [`super`] before anything is
//! read.

use super::environment;
use super::position::SourcePosition;
use super::strings;
use super::tree::text_of;
use super::words::{RuleHead, head, sense};
use super::{Dialect, answers, executors, matchers, providers, record_types};
use serde_json::Value;
use std::fmt;
use vocab::Complaint;

/// Holds what made a file one of OxiDNS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DialectEvidence {
    /// Where it stands.
    pub position: SourcePosition,
    /// What it is.
    pub what: String,
}

impl fmt::Display for DialectEvidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.what, self.position)
    }
}

/// Keys of arguments that only OxiDNS knows, by type; an empty type stands for all.
const KEYS: &[(&str, &[&str])] = &[
    ("", &["short_circuit"]),
    (
        "cache",
        &[
            "cache_negative",
            "max_negative_ttl",
            "negative_ttl_without_soa",
            "max_positive_ttl",
            "min_positive_ttl",
            "ecs_in_key",
        ],
    ),
    ("forward", &["response_selection"]),
    ("http_server", &["enable_http3"]),
    ("black_hole", &["mode"]),
];

/// Keys of an upstream that only OxiDNS knows.
const UPSTREAM_KEYS: &[&str] = &["port", "timeout", "outbound", "min_conns"];

/// Keys at the top of a file of an older mosdns: the version that has it, and what v5 has in its
/// place.
const OLDER_KEYS: [(&str, &str, &str); 3] = [
    ("servers", "v4", "each listener becomes a plugin: udp_server, tcp_server or http_server"),
    ("data_providers", "v4", "each becomes a plugin domain_set or ip_set with `files`"),
    ("plugin", "v1 to v3", "`plugin` becomes `plugins`, whose types have other names"),
];

/// A complaint about a file of an older mosdns, if `document` is one: its executors and matchers
/// have other names and arguments than those of v5, and a complaint about each would bury the
/// cause.
pub(super) fn older_version(document: &Value) -> Option<Complaint> {
    let (key, version, change) = OLDER_KEYS.iter().find(|(key, ..)| document.get(key).is_some())?;
    let message = format!("this is a file of mosdns {version}, whose language v5 gave up");
    let remedy = format!(
        "write it for v5: {change}; `exec` lists become rules of a sequence with `matches` and \
         `exec`"
    );
    Some(Complaint::new(*key, message).remedy(remedy))
}

/// The first thing in `document` that only OxiDNS knows.
pub(super) fn evidence(document: &Value, place: &SourcePosition) -> Option<DialectEvidence> {
    let found = |key: &str, what: &str| {
        Some(DialectEvidence { position: place.below(key), what: what.to_owned() })
    };
    if document.get("runtime").is_some() {
        return found("runtime", "`runtime`");
    }
    if document.pointer("/network/outbound").is_some() {
        return found("network", "`network.outbound`");
    }
    if document.pointer("/api/http").is_some_and(Value::is_object) {
        return found("api.http", "`api.http` with keys");
    }
    if document.pointer("/log/rotation").is_some() {
        return found("log.rotation", "`log.rotation`");
    }
    if let Some("trace" | "off") = document.pointer("/log/level").and_then(Value::as_str) {
        return found("log.level", "this level of the log");
    }
    let plugins = document.get("plugins").and_then(Value::as_array);
    let own = plugins.into_iter().flatten().enumerate();
    let own = own.map(|(index, it)| (it, place.below("plugins").below(index)));
    own.clone().find_map(|(it, place)| of_plugin(it, &place)).or_else(|| {
        let named = environment::names_variable(document).then(|| {
            let place = own.clone().find(|(it, _)| environment::names_variable(it));
            place.map_or_else(|| place_of(document), |(_, place)| place)
        })?;
        Some(DialectEvidence { position: named, what: "a variable of the environment".into() })
    })
}

/// The key at the top of `document` below which a variable is named.
fn place_of(document: &Value) -> SourcePosition {
    let map = document.as_object();
    let named = map.into_iter().flatten().find(|(_, it)| environment::names_variable(it));
    named.map_or_else(SourcePosition::default, |(key, _)| SourcePosition::default().below(key))
}

fn of_plugin(plugin: &Value, place: &SourcePosition) -> Option<DialectEvidence> {
    let kind = plugin.get("type").and_then(Value::as_str)?;
    let found =
        |place: SourcePosition, what: String| Some(DialectEvidence { position: place, what });
    let is_own = (executors::TYPES.contains(&kind) && !executors::MOSDNS_PLUGINS.contains(&kind))
        || (matchers::TYPES.contains(&kind) && kind != "rate_limiter")
        || (providers::TYPES.contains(&kind) && !matches!(kind, "domain_set" | "ip_set"));
    if is_own {
        return found(place.below("type"), format!("a plugin of type {kind}"));
    }
    let args = plugin.get("args")?;
    let place = place.below("args");
    for (_, keys) in KEYS.iter().filter(|(it, _)| it.is_empty() || *it == kind) {
        if let Some(key) = keys.iter().find(|key| args.get(key).is_some()) {
            return found(place.below(key), format!("the key {key:?}"));
        }
    }
    if kind.ends_with("_server") && has_unit(args.get("idle_timeout")) {
        return found(place.below("idle_timeout"), "a time with its unit".into());
    }
    match kind {
        "forward" => of_upstreams(args.get("upstreams")?, &place.below("upstreams")),
        "sequence" => {
            let alone = std::slice::from_ref(args);
            let rules = args.as_array().map_or(alone, Vec::as_slice);
            rules.iter().enumerate().find_map(|(index, it)| of_rule(it, &place.below(index)))
        }
        _ => None,
    }
}

fn has_unit(value: Option<&Value>) -> bool {
    let text = value.and_then(Value::as_str).unwrap_or_default();
    text.ends_with(|it: char| it.is_ascii_alphabetic()) && super::tree::span_of(text).is_some()
}

fn of_upstreams(upstreams: &Value, place: &SourcePosition) -> Option<DialectEvidence> {
    let alone = std::slice::from_ref(upstreams);
    let upstreams = upstreams.as_array().map_or(alone, Vec::as_slice);
    upstreams.iter().enumerate().find_map(|(index, it)| {
        let place = place.below(index);
        if let Some(key) = UPSTREAM_KEYS.iter().find(|key| it.get(key).is_some()) {
            return Some(DialectEvidence {
                position: place.below(key),
                what: format!("the key {key:?}"),
            });
        }
        has_unit(it.get("idle_timeout")).then(|| DialectEvidence {
            position: place.below("idle_timeout"),
            what: "a time with its unit".into(),
        })
    })
}

fn of_rule(rule: &Value, place: &SourcePosition) -> Option<DialectEvidence> {
    let found = |place: SourcePosition, what: Option<String>| {
        Some(DialectEvidence { position: place, what: what? })
    };
    let exec = rule.get("exec").and_then(text_of);
    let own = exec.and_then(|exec| found(place.below("exec"), of_exec(&exec)));
    if own.is_some() {
        return own;
    }
    let matches = rule.get("matches")?;
    let place = place.below("matches");
    match matches {
        Value::Array(all) => all.iter().enumerate().find_map(|(index, it)| {
            found(place.below(index), text_of(it).and_then(|it| of_match(&it)))
        }),
        alone => found(place, text_of(alone).and_then(|it| of_match(&it))),
    }
}

/// Returns what in an executor of a rule only OxiDNS knows.
fn of_exec(exec: &str) -> Option<String> {
    let (RuleHead::Type(name), words) = head(exec, Dialect::Mosdns)? else { return None };
    if executors::OXIDNS_QUICK.contains(&name) {
        return Some(format!("the executor {name} in a rule"));
    }
    let last = words.split_whitespace().next_back().unwrap_or_default();
    let short_circuits = matches!(name, "forward" | "cache" | "black_hole");
    if short_circuits
        && matches!(last, "short_circuit" | "short_circuit=true" | "short_circuit=false")
    {
        return Some(format!("the word {last}"));
    }
    let first = words.split_whitespace().next().unwrap_or_default();
    if name == "black_hole" && answers::is_hole_mode(first) {
        return Some(format!("the mode {first} of black_hole"));
    }
    let has_unit = name == "sleep" && has_unit(Some(&Value::from(words)));
    let has_commas =
        matches!(name, "mark" | "forward_edns0opt" | "black_hole") && words.contains(',');
    (has_unit || has_commas).then(|| format!("{words:?} of {name}"))
}

/// Returns what in a match of a rule only OxiDNS knows.
fn of_match(text: &str) -> Option<String> {
    let (RuleHead::Type(name), words) = head(sense(text).1, Dialect::Mosdns)? else { return None };
    if matchers::OXIDNS_QUICK.contains(&name) {
        return Some(format!("the matcher {name} in a rule"));
    }
    let is_own = match name {
        "qtype" | "qclass" | "rcode" => {
            words.contains(',') || words.split_whitespace().any(is_named)
        }
        "mark" => words.contains(','),
        "qname" | "cname" | "client_ip" | "resp_ip" | "ptr_ip" => {
            words.split_whitespace().any(|it| it.contains(',') && !it.starts_with("regexp:"))
        }
        "string_exp" => strings::parts(words).is_some_and(|(source, ..)| {
            let known = strings::SOURCES.iter().position(|(it, _)| *it == source);
            // Compact forms too: no source of mosdns holds its operation.
            known.is_some_and(|at| {
                at >= strings::MOSDNS_SOURCES || !words.split_whitespace().any(|it| it == source)
            })
        }),
        _ => false,
    };
    is_own.then(|| format!("{words:?} of {name}"))
}

/// True if a word is the name of a type, class or response code.
fn is_named(word: &str) -> bool {
    let word = word.to_ascii_uppercase();
    let is_number = word.bytes().all(|it| it.is_ascii_digit());
    !is_number
        && (record_types::rtype(&word).or(matchers::class(&word)).or(matchers::rcode(&word)))
            .is_some()
}
