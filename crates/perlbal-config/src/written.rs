//! The configuration as text.

use crate::emitted::EmittedConfig;
use serde_json::json;
use std::fmt::Write;
use std::path::Path;
use yaml_text::literal;

/// Notes of one text, at most.
const NOTES_MAX: usize = 1_000;

/// The text of a configuration, made from the file `source`.
pub(crate) fn written(emitted: &EmittedConfig, source: &Path) -> String {
    let mut out =
        format!("# What Perlbal was told in {}.\n", literal(&json!(source.to_string_lossy())));
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
            yaml_text::item(&mut out, 2, site);
        }
    }
    if let Some(console) = &emitted.console {
        out.push_str("admin:\n");
        yaml_text::entry(&mut out, 2, "console", console);
    }
    out
}

fn gateway(emitted: &EmittedConfig, out: &mut String) {
    out.push_str("gateway:\n");
    yaml_text::entry(out, 2, "listen", &json!(emitted.listen));
    if !emitted.certificates.is_empty() {
        out.push_str("  tls:\n    certificates:\n");
        for files in &emitted.certificates {
            yaml_text::item(out, 6, files);
        }
    }
    for (key, value) in &emitted.gateway {
        yaml_text::entry(out, 2, key, value);
    }
    if !emitted.pools.is_empty() {
        out.push_str("  pools:\n");
    }
    for (name, pool) in &emitted.pools {
        yaml_text::entry(out, 4, name, pool);
    }
    out.push_str("  routes:\n");
    for route in &emitted.routes {
        yaml_text::item(out, 4, route);
    }
}

/// A text for a comment: nothing in it may end the line.
fn plain(text: &str) -> String {
    let shown = |c: char| if c.is_ascii() && !c.is_ascii_control() { c } else { '?' };
    text.chars().map(shown).collect()
}
