//! Variables of the environment in OxiDNS files: `${NAME}`, `${NAME:-otherwise}`, `${env:NAME}`.
//!
//! They are put into the texts of a file that is parsed already, so no value can change what the
//! file says around it. What executors fill in with each question (`${qname}`) stays. Called by
//! [`super::include`] for each file, and by [`super::detect`].

use super::ForeignFiles;
use super::position::SourcePosition;
use serde_json::{Map, Value};
use std::borrow::Cow;
use vocab::Complaint;

/// Longest text that a value may become, in bytes.
const TEXT_BYTES_MAX: usize = 64 << 10;
/// All texts of a file together, in bytes: a bound for hostile files.
const ALL_BYTES_MAX: usize = 16 << 20;
/// Complaints, at most.
const COMPLAINTS_MAX: usize = 32;

/// Names that executors fill in with each question.
const RUN_TIME_NAMES: [&str; 18] = [
    "qname",
    "qtype",
    "qtype_name",
    "qclass",
    "qclass_name",
    "client_ip",
    "client_port",
    "server_name",
    "url_path",
    "marks",
    "has_resp",
    "rcode",
    "rcode_name",
    "resp_ip",
    "cron_plugin_tag",
    "cron_job_name",
    "cron_trigger_kind",
    "cron_scheduled_at_unix_ms",
];

/// A file on its way to its values.
struct VariableExpansion<'f> {
    files: &'f dyn ForeignFiles,
    bytes: usize,
    complaints: Vec<Complaint>,
}

/// `value` with the variables that its texts name, or a complaint for each that is missing.
pub(super) fn expand<'v>(
    value: Cow<'v, Value>,
    place: &SourcePosition,
    files: &dyn ForeignFiles,
) -> Result<Cow<'v, Value>, Vec<Complaint>> {
    if !any_text(&value, &|text| text.contains("${") || text.contains("$$")) {
        return Ok(value);
    }
    let mut expansion = VariableExpansion { files, bytes: 0, complaints: Vec::new() };
    let expanded = expansion.value(&value, place);
    if expansion.complaints.is_empty() {
        Ok(Cow::Owned(expanded))
    } else {
        Err(expansion.complaints)
    }
}

/// True if a text of `value` names a variable as only OxiDNS does.
pub(super) fn names_variable(value: &Value) -> bool {
    any_text(value, &|text| {
        text.split("${").skip(1).filter_map(|rest| rest.split_once('}')).any(|(body, _)| {
            let (name, _) = parts(body);
            let name = name.strip_prefix("env:").unwrap_or(name);
            let is_name = name.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_')
                && name.starts_with(|it: char| it.is_ascii_alphabetic() || it == '_');
            is_name && !RUN_TIME_NAMES.contains(&name)
        })
    })
}

fn any_text(value: &Value, fits: &impl Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => fits(text),
        Value::Array(items) => items.iter().any(|it| any_text(it, fits)),
        Value::Object(map) => map.iter().any(|(key, it)| fits(key) || any_text(it, fits)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The name, and what stands in its stead.
fn parts(body: &str) -> (&str, Option<&str>) {
    match body.split_once(":-") {
        Some((name, otherwise)) => (name, Some(otherwise)),
        None => (body, None),
    }
}

impl VariableExpansion<'_> {
    fn value(&mut self, value: &Value, place: &SourcePosition) -> Value {
        match value {
            Value::String(text) => {
                let expanded = self.text(text, place);
                if is_one_placeholder(text) { scalar(expanded) } else { Value::String(expanded) }
            }
            Value::Array(items) => items
                .iter()
                .enumerate()
                .map(|(index, it)| self.value(it, &place.below(index)))
                .collect(),
            Value::Object(map) => {
                let mut made = Map::with_capacity(map.len());
                for (key, it) in map {
                    let place = place.below(key);
                    let it = self.value(it, &place);
                    made.insert(self.text(key, &place), it);
                }
                Value::Object(made)
            }
            other => other.clone(),
        }
    }

    fn text(&mut self, text: &str, place: &SourcePosition) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            out.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            if let Some(after) = rest.strip_prefix('$') {
                // `$${` is a dollar sign and a brace; `$$` alone stays.
                out.push_str(if after.starts_with('{') { "$" } else { "$$" });
                rest = after;
                if let Some(after) = after.strip_prefix('{') {
                    out.push('{');
                    rest = after;
                }
                continue;
            }
            let Some(body) = rest.strip_prefix('{') else {
                out.push('$');
                continue;
            };
            let Some((body, after)) = body.split_once('}') else {
                self.complain(place.complaint("a } is missing behind ${"));
                return out;
            };
            self.placeholder(body, place, &mut out);
            rest = after;
            if out.len() > TEXT_BYTES_MAX || self.bytes > ALL_BYTES_MAX {
                let complaint = place.complaint("the text becomes too long with its variables");
                self.complain(complaint.remedy("at most 64 KiB, and 16 MiB a file"));
                return out;
            }
        }
        out.push_str(rest);
        self.bytes += out.len();
        out
    }

    fn placeholder(&mut self, body: &str, place: &SourcePosition, out: &mut String) {
        let (name, otherwise) = parts(body);
        let (name, is_explicit) = match name.strip_prefix("env:") {
            Some(name) => (name, true),
            None => (name, false),
        };
        if !is_explicit && otherwise.is_none() && RUN_TIME_NAMES.contains(&name.trim()) {
            out.push_str("${");
            out.push_str(body);
            out.push('}');
            return;
        }
        if name.is_empty() {
            let complaint = place.complaint("no variable is named in ${}");
            return self.complain(complaint.remedy("write ${NAME}, or $${} for the text itself"));
        }
        match (self.files.variable(name), otherwise) {
            (Some(value), Some(otherwise)) if value.is_empty() => out.push_str(otherwise),
            (Some(value), _) => out.push_str(&value),
            (None, Some(otherwise)) => out.push_str(otherwise),
            (None, None) => {
                let message = format!("the environment has no variable {name:?}");
                let remedy = format!("set it, or write ${{{name}:-VALUE}}");
                self.complain(place.complaint(message).remedy(remedy));
            }
        }
    }

    fn complain(&mut self, complaint: Complaint) {
        if self.complaints.len() < COMPLAINTS_MAX {
            self.complaints.push(complaint);
        }
    }
}

/// True if the text is one placeholder and nothing else: its value is then read as YAML has it.
fn is_one_placeholder(text: &str) -> bool {
    let body = text.trim().strip_prefix("${").and_then(|it| it.strip_suffix('}'));
    body.is_some_and(|it| !it.is_empty() && !it.contains('}') && !it.contains("${"))
}

/// A value of the environment as what YAML makes of it: a number, true, false or nothing; anything
/// else is a text.
fn scalar(text: String) -> Value {
    match text.trim() {
        "null" | "Null" | "NULL" | "~" | "" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        number => {
            let is_plain = number == "0" || !number.trim_start_matches('-').starts_with('0');
            let read = number.parse::<i64>().ok().filter(|_| is_plain);
            read.map_or(Value::String(text), Value::from)
        }
    }
}
