//! A configuration of ours that an import made, with its report: as YAML, as a table, as JSON.

use crate::note::{ImportFate, ImportNote, NotePlace};
use crate::report::ImportReport;
use crate::sections::EmittedSections;
use serde_json::{Value, json};
use std::fmt::Write;
use std::sync::Arc;

/// Notes that stand above a configuration, at most; the table has all.
const COMMENTS_MAX: usize = 1_000;
/// Columns of a place in the table, at most; a longer one moves what follows.
const PLACE_COLUMNS: usize = 32;
/// Columns of a line in the table, at most.
const SOURCE_COLUMNS: usize = 48;

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
    sections: EmittedSections,
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
        let (yaml, sections) = (sections.yaml(), sections.clone());
        Self { program: program.into(), sources, yaml, report, sections }
    }

    /// A configuration of a text that is whole already.
    pub fn of_text(program: &str, source: &str, yaml: String, report: ImportReport) -> Self {
        let sources = vec![source.into()];
        Self { program: program.into(), sources, yaml, report, ..Self::default() }
    }

    /// Takes out what a check complains of at `path`, with a note that says why: the item of a list
    /// that is meant, else the key. False where there is no such thing, and where fewer clients
    /// would be kept out without it.
    pub fn take_out(&mut self, path: &str, why: &str) -> bool {
        // A pipeline is a program: without one of its lines it would be another.
        let guards =
            ["dns.access", "dns.pipeline", "proxy.clients", "proxy.auth", "gateway.clients"];
        let is_guard = guards.iter().any(|guard| path.starts_with(guard))
            || path.split('.').any(|step| matches!(step, "match" | "otherwise"));
        if is_guard {
            return false;
        }
        let Some((path, value)) = self.sections.remove(path) else { return false };
        let file: Arc<str> = self.sources.first().map_or("", String::as_str).into();
        let said = yaml_text::literal(&value);
        self.report.left_out(&NotePlace::new(&file, 0), &format!("{path}: {said}"), why);
        self.yaml = self.sections.yaml();
        true
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
    fn what_a_check_refuses_is_taken_out_and_told_of() {
        let mut made = sample();
        assert!(made.take_out("dns.upstreams.0", "it is no address"));
        assert!(!made.take_out("dns.access.allow.0", "x") && !made.take_out("dns.none", "x"));
        assert!(made.yaml.contains("upstreams: []"), "{}", made.yaml);
        let told = made.report.notes().last().map(ToString::to_string);
        assert_eq!(
            told.as_deref(),
            Some("b.conf: dns.upstreams.0: \"udp://1.1.1.1\": it is no address")
        );
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
