//! The configuration as text.

use crate::emitted::EmittedConfig;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;

/// Notes of one text, at most.
const NOTES_MAX: usize = 1_000;

/// The text of a configuration, made from the file `source`.
pub(crate) fn written(emitted: &EmittedConfig, source: &Path) -> String {
    let mut out =
        format!("# What Perlbal was told in {}.\n", yaml_of(&json!(source.to_string_lossy())));
    if !emitted.notes.is_empty() {
        out.push_str("# Not carried over, or to be looked at:\n");
    }
    for note in emitted.notes.iter().take(NOTES_MAX) {
        let _ = writeln!(out, "#   {}", plain(&format!("{}: {}", note.place, note.text)));
    }
    if emitted.notes.len() > NOTES_MAX {
        let _ = writeln!(out, "#   and {} more", emitted.notes.len() - NOTES_MAX);
    }
    if !emitted.routes.is_empty() {
        gateway(emitted, &mut out);
    }
    if !emitted.sites.is_empty() {
        out.push_str("web:\n");
        for site in &emitted.sites {
            let _ = writeln!(out, "  - {}", yaml_of(site));
        }
    }
    if let Some(console) = &emitted.console {
        let _ = writeln!(out, "admin:\n  console: {}", yaml_of(console));
    }
    out
}

fn gateway(emitted: &EmittedConfig, out: &mut String) {
    let _ = writeln!(out, "gateway:\n  listen: {}", yaml_of(&json!(emitted.listen)));
    if !emitted.certificates.is_empty() {
        out.push_str("  tls:\n    certificates:\n");
        for files in &emitted.certificates {
            let _ = writeln!(out, "      - {}", yaml_of(files));
        }
    }
    for (key, value) in &emitted.gateway {
        let _ = writeln!(out, "  {key}: {}", yaml_of(value));
    }
    if !emitted.pools.is_empty() {
        out.push_str("  pools:\n");
    }
    for (name, pool) in &emitted.pools {
        let _ = writeln!(out, "    {}: {}", yaml_of(&json!(name)), yaml_of(pool));
    }
    out.push_str("  routes:\n");
    for route in &emitted.routes {
        let _ = writeln!(out, "    - {}", yaml_of(route));
    }
}

/// JSON is YAML, but for characters that YAML does not take as they are (YAML 1.2 section 5.1).
fn yaml_of(value: &Value) -> String {
    let mut out = String::new();
    for character in value.to_string().chars() {
        if character.is_ascii() && !character.is_ascii_control() {
            out.push(character);
        } else {
            let _ = write!(out, "\\U{:08x}", u32::from(character));
        }
    }
    out
}

/// A text for a comment: nothing in it may end the line.
fn plain(text: &str) -> String {
    let shown = |c: char| if c.is_ascii() && !c.is_ascii_control() { c } else { '?' };
    text.chars().map(shown).collect()
}
