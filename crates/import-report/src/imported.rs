//! A configuration of ours that an import made, with its report: as YAML, as a table, as JSON.

use crate::note::{ImportFate, ImportNote};
use crate::report::ImportReport;
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// Notes that stand above a configuration, at most; the table has all.
const COMMENTS_MAX: usize = 1_000;
/// Columns of a place in the table, at most; a longer one moves what follows.
const PLACE_COLUMNS: usize = 32;
/// Columns of a line in the table, at most.
const SOURCE_COLUMNS: usize = 48;

/// Sections of a configuration, in the order in which they are written: `dns`, its keys below it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EmittedSections(Vec<(String, Vec<(String, Value)>)>);

impl EmittedSections {
    /// Sets a key of a section, in place of what it was.
    pub fn set(&mut self, section: &str, key: &str, value: impl Into<Value>) {
        *self.slot(section, key) = value.into();
    }

    /// Adds an item to a list of a section.
    pub fn push(&mut self, section: &str, key: &str, item: impl Into<Value>) {
        let slot = self.slot(section, key);
        if !slot.is_array() {
            *slot = json!([]);
        }
        slot.as_array_mut().expect("it was made one").push(item.into());
    }

    /// Sets a key of a mapping in a section: `dns`, `cache`, `size`.
    pub fn set_below(&mut self, section: &str, key: &str, below: &str, value: impl Into<Value>) {
        let slot = self.slot(section, key);
        if !slot.is_object() {
            *slot = Value::Object(Map::new());
        }
        slot.as_object_mut().expect("it was made one").insert(below.into(), value.into());
    }

    /// The value of a key.
    pub fn get(&self, section: &str, key: &str) -> Option<&Value> {
        let (_, keys) = self.0.iter().find(|(name, _)| name == section)?;
        keys.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// True if the section has any key.
    pub fn has(&self, section: &str) -> bool {
        self.0.iter().any(|(name, keys)| name == section && !keys.is_empty())
    }

    fn slot(&mut self, section: &str, key: &str) -> &mut Value {
        let at = self.0.iter().position(|(name, _)| name == section).unwrap_or_else(|| {
            self.0.push((section.into(), Vec::new()));
            self.0.len() - 1
        });
        let keys = &mut self.0[at].1;
        let at = keys.iter().position(|(name, _)| name == key).unwrap_or_else(|| {
            keys.push((key.into(), Value::Null));
            keys.len() - 1
        });
        &mut keys[at].1
    }

    /// The sections as YAML. A section with one key that is empty is a list or scalar itself. What
    /// would be a variable of ours (`${file:…}`) is told to be none.
    pub fn yaml(&self) -> String {
        let mut out = String::new();
        for (section, keys) in &self.0 {
            match &keys[..] {
                [(key, value)] if key.is_empty() => {
                    yaml_text::entry(&mut out, 0, section, &literally(value));
                }
                keys => {
                    let _ = writeln!(out, "{section}:");
                    for (key, value) in keys {
                        yaml_text::entry(&mut out, 2, key, &literally(value));
                    }
                }
            }
        }
        out
    }
}

/// A value whose texts mean what they say, whatever brackets they hold.
fn literally(value: &Value) -> Value {
    match value {
        Value::String(text) => literal_text(text).into(),
        Value::Array(items) => items.iter().map(literally).collect(),
        Value::Object(keys) => {
            keys.iter().map(|(key, value)| (key.clone(), literally(value))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// A text in which `$${` stands for the `${` of a variable.
fn literal_text(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find("${") {
        let Some(length) = rest[at..].find('}') else { break };
        out.push_str(&rest[..at]);
        let word = rest[at + 2..at + length].split_once(':').map(|(word, _)| word);
        if matches!(word, Some("env" | "file" | "credential")) {
            out.push('$');
        }
        out.push_str(&rest[at..=at + length]);
        rest = &rest[at + length + 1..];
    }
    out + rest
}

/// A configuration of ours that an import made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImportedConfig {
    /// The program whose configuration it was, as people call it.
    pub program: String,
    /// The files as they were named, in their order.
    pub sources: Vec<String>,
    /// The configuration, without remarks.
    pub yaml: String,
    /// The notes.
    pub report: ImportReport,
}

impl ImportedConfig {
    /// A configuration with its notes in the order of the files that they are about.
    pub fn new(
        program: &str,
        sources: Vec<String>,
        sections: &EmittedSections,
        mut report: ImportReport,
    ) -> Self {
        report.sort(&sources);
        Self { program: program.into(), sources, yaml: sections.yaml(), report }
    }

    /// The file: remarks about what was changed and left out, and the configuration below.
    pub fn commented(&self) -> String {
        let sources = self.sources.iter().map(|file| yaml_text::literal(&json!(file)));
        let sources = sources.collect::<Vec<_>>().join(", ");
        let mut out = format!("# What {} was told in {sources}.\n", self.program);
        for (fate, title) in [
            (ImportFate::LeftOut, "Left out:"),
            (ImportFate::Changed, "Not quite the same, to be looked at:"),
        ] {
            let count = self.report.count(fate);
            if count > 0 {
                let _ = writeln!(out, "# {title}");
            }
            let notes = self.report.notes().iter().filter(|note| note.fate == fate);
            for note in notes.take(COMMENTS_MAX) {
                let _ = writeln!(out, "#   {note}");
            }
            if count > COMMENTS_MAX {
                let _ = writeln!(out, "#   and {} more", count - COMMENTS_MAX);
            }
        }
        out.push_str(&self.yaml);
        out
    }

    /// The report as a table, for a terminal: place, fate, line, our setting.
    pub fn table(&self) -> String {
        let notes = self.report.notes();
        let widest = |column: fn(&ImportNote) -> usize, most: usize| {
            notes.iter().map(column).filter(|it| *it <= most).max().unwrap_or(0)
        };
        let places = widest(|note| note.place.to_string().chars().count(), PLACE_COLUMNS);
        let lines = widest(|note| note.source.chars().count(), SOURCE_COLUMNS);
        let mut out = String::new();
        for note in notes {
            let place = note.place.to_string();
            let said = match (note.setting.as_str(), note.why.as_str()) {
                (setting, "") => setting.to_owned(),
                ("", why) => why.to_owned(),
                (setting, why) => format!("{setting}: {why}"),
            };
            let row =
                format!("{place:places$}  {:8}  {:lines$}  {said}", note.fate.word(), note.source);
            let _ = writeln!(out, "{}", row.trim_end());
        }
        let counts = ImportFate::ALL.map(|it| format!("{} {}", self.report.count(it), it.word()));
        let _ = write!(out, "{}", counts.join(", "));
        match self.report.beyond() {
            0 => out.push('\n'),
            more => {
                let _ = writeln!(out, ", {more} more not shown");
            }
        }
        out
    }

    /// The report as JSON.
    pub fn json(&self) -> Value {
        let notes = self.report.notes().iter().map(|note| {
            json!({
                "file": &*note.place.file,
                "line": note.place.line,
                "source": note.source,
                "fate": note.fate.word(),
                "setting": note.setting,
                "why": note.why,
            })
        });
        json!({
            "program": self.program,
            "sources": self.sources,
            "notes": notes.collect::<Vec<_>>(),
            "not_shown": self.report.beyond(),
            "configuration": self.yaml,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NotePlace;
    use std::sync::Arc;

    fn sample() -> ImportedConfig {
        let (first, second): (Arc<str>, Arc<str>) = ("b.conf".into(), "a.conf".into());
        let mut report = ImportReport::default();
        report.left_out(&NotePlace::new(&second, 2), "dhcp-range=\n1", "there is no DHCP server");
        report.carried(&NotePlace::new(&first, 9), "server=1.1.1.1", "dns.upstreams");
        report.changed(&NotePlace::new(&first, 1), "cache-size=9", "dns.cache.size", "bytes here");
        report.carried(&NotePlace::new(&first, 9), "server=1.1.1.1", "dns.upstreams");
        let mut sections = EmittedSections::default();
        sections.push("dns", "upstreams", "udp://1.1.1.1");
        sections.set_below("dns", "cache", "size", "9KiB");
        sections.set("web", "", json!([{ "root": "a" }]));
        ImportedConfig::new("it", vec!["b.conf".into(), "a.conf".into()], &sections, report)
    }

    #[test]
    fn remarks_say_what_is_not_the_same_and_end_no_line_early() {
        let due = "# What it was told in \"b.conf\", \"a.conf\".\n# Left out:\n\
             #   a.conf:2: dhcp-range= 1: there is no DHCP server\n\
             # Not quite the same, to be looked at:\n\
             #   b.conf:1: cache-size=9: dns.cache.size: bytes here\n\
             dns:\n  upstreams: [\"udp://1.1.1.1\"]\n  cache: { size: \"9KiB\" }\n\
             web: [{ root: \"a\" }]\n";
        assert_eq!(sample().commented(), due);
    }

    #[test]
    fn the_table_has_a_row_for_each_line_in_the_order_of_the_files() {
        let due = "b.conf:1  changed   cache-size=9    dns.cache.size: bytes here\n\
             b.conf:9  carried   server=1.1.1.1  dns.upstreams\n\
             a.conf:2  left out  dhcp-range= 1   there is no DHCP server\n\
             1 carried, 1 changed, 1 left out\n";
        assert_eq!(sample().table(), due);
        let json = sample().json();
        assert_eq!(json["notes"][0]["fate"], "changed");
        assert_eq!(json["notes"][2]["line"], 2);
    }

    #[test]
    fn what_is_read_names_no_file_of_this_machine() {
        let mut sections = EmittedSections::default();
        sections.set("policy", "rules", json!(["${a} ${file:/etc/shadow} ${env:A", "$${env:B}"]));
        let due = "policy:\n  rules: [\"${a} $${file:/etc/shadow} ${env:A\", \"$$${env:B}\"]\n";
        assert_eq!(sections.yaml(), due);
    }

    #[test]
    fn notes_beyond_the_cap_are_counted() {
        let file = Arc::from("f");
        let mut report = ImportReport::default();
        for line in 0..20_003 {
            report.left_out(&NotePlace::new(&file, line), "x", "y");
        }
        let made = ImportedConfig { report, ..ImportedConfig::default() };
        assert!(made.table().ends_with("0 carried, 0 changed, 20000 left out, 3 more not shown\n"));
        assert!(made.commented().contains("#   and 19000 more\n"));
    }
}
