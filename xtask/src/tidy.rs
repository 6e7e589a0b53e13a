//! Habits that a machine can check: sizes, names, language, documents.
//!
//! Sources: a module opens with its documentation, stays within 500 lines without its tests, has
//! functions of at most 70 lines and none that takes a `bool` from outside; nothing is left undone
//! and nothing is called by a name that says nothing. Documents: see
//! [`crate::documents`]. What may only fall (language, sizes of crates): see [`gauges`].

use crate::book;
use crate::documents;
use crate::finding::Finding;
use crate::limits::{FILE_LINES_MAX, FUNCTION_LINES_MAX};
use crate::ratchet::Gauge;
use crate::rust::{Source, words};
use crate::tree::{self, extension};
use crate::words::wide_comments;
use crate::{shipped, sizes};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Names that say nothing of what stands there.
const EMPTY_NAMES: [&str; 8] =
    ["utils", "util", "helpers", "helper", "common", "manager", "misc", "core"];
/// Marks of unfinished work, in pieces so that this file does not carry them.
const MARKS: [[&str; 2]; 3] = [["TO", "DO"], ["FIX", "ME"], ["XX", "X"]];
/// Code that admits it is not there, and tests that do not run.
const STUBS: [&str; 3] = ["todo!", "unimplemented!", "#[ignore"];
/// Files of text that are searched for hosts of registries. Lock files are their tools' own.
const TEXTS: [&str; 14] = [
    "rs", "toml", "md", "yaml", "yml", "json", "ts", "tsx", "js", "html", "css", "sh", "py", "txt",
];
/// Files of a state folder, which hold keys and tokens and are no part of the project.
const STATE_FILES: [&str; 6] =
    ["admin.token", "admin.metrics-token", "ca.key", "ledger.db", "ledger.lock", "policy.snapshot"];
/// Documents that say where things are.
const NAMES_FILES: [&str; 2] = ["ARCHITECTURE.md", "CONTRIBUTING.md"];
/// Larger files are data.
const TEXT_BYTES_MAX: u64 = 1 << 20;

/// Everything untidy in the repository at `root`.
pub(crate) fn check(root: &Path) -> Result<Vec<Finding>, String> {
    let files = tree::files(root).map_err(|why| why.to_string())?;
    let mut findings = Vec::new();
    let mut pages: BTreeMap<PathBuf, String> = BTreeMap::new();
    for path in &files {
        findings.extend(check_name(path));
        findings.extend(left_behind(path));
        if !is_text(path) || too_large(&root.join(path)) {
            continue;
        }
        // What is no UTF-8 is test data for a parser.
        let Ok(text) = fs::read_to_string(root.join(path)) else { continue };
        findings.extend(documents::registry_hosts(path, &text));
        match extension(path) {
            "rs" => {
                findings.extend(check_source(path, &text));
            }
            "md" => {
                let exists = |target: &Path| root.join(target).exists();
                findings.extend(documents::broken_links(path, &text, exists));
                findings.extend(unfinished_text(path, &text));
                if NAMES_FILES.iter().any(|it| path == Path::new(it)) {
                    findings.extend(documents::missing_files(path, &text, exists));
                }
                pages.insert(path.clone(), text);
            }
            _ => {}
        }
    }
    findings.extend(book::check(&pages));
    let decisions = pages.iter().filter(|(path, _)| path.starts_with("docs/adr"));
    let decisions = decisions.map(|(path, text)| (path.as_path(), text.as_str()));
    findings.extend(documents::unnumbered_decisions(decisions));
    Ok(findings)
}

/// Everything that may only fall in the repository at `root`.
pub(crate) fn gauges(root: &Path) -> Result<Vec<Gauge>, String> {
    let sources = shipped::read(root)?;
    let files = tree::files(root).map_err(|why| why.to_string())?;
    let mut gauges = crate::words::gauges(&sources);
    gauges.extend(sizes::crate_lines(&sources));
    gauges.push(sizes::test_binaries(&files));
    Ok(gauges)
}

fn is_text(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("");
    let is_lock = name == "package-lock.json" || name == "Cargo.lock";
    let is_data =
        path.components().any(|part| matches!(part.as_os_str().to_str(), Some("data" | "seeds")));
    !is_lock && !is_data && (TEXTS.contains(&extension(path)) || name == "Makefile")
}

fn too_large(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.len() > TEXT_BYTES_MAX)
}

/// A file or folder by a name that says nothing.
fn check_name(path: &Path) -> Option<Finding> {
    if !matches!(extension(path), "rs" | "ts" | "tsx") {
        return None;
    }
    let stem = path.with_extension("");
    let named =
        stem.iter().filter_map(|part| part.to_str()).find(|part| EMPTY_NAMES.contains(part))?;
    Some(Finding::new(path, 0, format!("the name {named} says nothing: name it for what it does")))
}

/// A file that a running Tidegate has left in the tree.
fn left_behind(path: &Path) -> Option<Finding> {
    let name = path.file_name()?.to_str()?;
    let message = "a state folder is no part of the project, and holds keys: delete it";
    STATE_FILES.contains(&name).then(|| Finding::new(path, 0, message))
}

fn check_source(path: &Path, text: &str) -> Vec<Finding> {
    let source = Source::new(text);
    let mut findings = Vec::new();
    findings.extend(check_opening(path, text));
    findings.extend(wide_comments(path, text, &source));
    findings.extend(unfinished_source(path, &source));
    if is_test(path) {
        return findings;
    }
    let tests = source.test_lines();
    let in_tests = |line: usize| tests.iter().any(|(first, last)| (*first..=*last).contains(&line));
    let test_lines: usize = tests.iter().map(|(first, last)| last - first + 1).sum();
    let lines = text.lines().count() - test_lines;
    if lines > FILE_LINES_MAX {
        let message = format!(
            "{lines} lines without tests: at most {FILE_LINES_MAX}, so that it is read in one go"
        );
        findings.push(Finding::new(path, 0, message));
    }
    for function in source.functions().iter().filter(|function| !in_tests(function.line)) {
        let name = &function.name;
        if function.lines > FUNCTION_LINES_MAX {
            let message =
                format!("{name} takes {} lines: at most {FUNCTION_LINES_MAX}", function.lines);
            findings.push(Finding::new(path, function.line, message));
        }
        let is_public = function.before.split(' ').any(|word| word.starts_with("pub"));
        let flag = function.parameters.iter().find(|it| it.ends_with(": bool"));
        if let Some(flag) = flag.filter(|_| is_public) {
            let message = format!(
                "{name} takes {flag}: at the call that reads as true or false; an enum reads aloud"
            );
            findings.push(Finding::new(path, function.line, message));
        }
    }
    findings
}

/// Tests of a crate stand in `tests/` or in a file `tests.rs`; the folder `tests` of the
/// repository is a crate of them.
fn is_test(path: &Path) -> bool {
    path.ends_with("tests.rs") || path.iter().any(|part| part == "tests")
}

fn check_opening(path: &Path, text: &str) -> Option<Finding> {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let opening = lines.find(|line| !line.starts_with("#!"));
    let opens_well = opening.is_some_and(|line| line.starts_with("//!"));
    let message = "a module opens with what it is, what it refuses and who calls it (//!)";
    (!opens_well).then(|| Finding::new(path, 1, message))
}

fn unfinished_source(path: &Path, source: &Source) -> Vec<Finding> {
    let mut findings = unfinished_text(path, &source.comments);
    for (index, line) in source.code.lines().enumerate() {
        for stub in STUBS.iter().filter(|stub| line.contains(**stub)) {
            findings.push(Finding::new(
                path,
                index + 1,
                format!("{stub}: what is not done is not there"),
            ));
        }
    }
    findings
}

fn unfinished_text(path: &Path, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for mark in MARKS.map(|pieces| pieces.concat()) {
            if words(line, &mark).next().is_some() && !line.contains(&format!("`{mark}")) {
                let message = format!("{mark}: do it, or write an issue");
                findings.push(Finding::new(path, index + 1, message));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(path: &str, text: &str) -> Vec<String> {
        check_source(Path::new(path), text).into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn a_tidy_source_has_no_findings() {
        let text = "//! What it is.\n\n/// Reads.\npub fn read(text: &str, how: How) -> bool {\n    text.is_empty()\n}\n";
        assert_eq!(messages("crates/a/src/a.rs", text), Vec::<String>::new());
    }

    #[test]
    fn each_habit_is_checked() {
        let long = "    x();\n".repeat(71);
        let text = format!(
            "use a;\n// {}: later\npub(crate) fn f(on: bool) {{\n{long}}}\nfn g() {{ todo!() }}\n",
            MARKS[0].concat()
        );
        let found = messages("crates/a/src/a.rs", &text);
        assert_eq!(found.len(), 5, "{found:#?}");
        assert!(found.iter().any(|it| it.contains("f takes on: bool")));
        assert!(found.iter().any(|it| it.contains("f takes 73 lines")));
    }

    #[test]
    fn tests_do_not_count_as_length() {
        let text = format!("//! A.\n#[cfg(test)]\nmod tests {{\n{}}}\n", "    // x\n".repeat(600));
        assert_eq!(messages("crates/a/src/a.rs", &text), Vec::<String>::new());
        let text = format!("//! A.\n{}", "// x\n".repeat(600));
        assert_eq!(messages("crates/a/src/a.rs", &text).len(), 1);
        assert_eq!(messages("crates/a/tests/a.rs", &text), Vec::<String>::new());
    }

    #[test]
    fn a_state_folder_is_found() {
        assert!(left_behind(Path::new("state/ca/ca.key")).is_some());
        assert!(left_behind(Path::new("crates/a/src/ca.rs")).is_none());
    }

    #[test]
    fn empty_names_are_found() {
        assert!(check_name(Path::new("crates/a/src/utils.rs")).is_some());
        assert!(check_name(Path::new("crates/common/src/lib.rs")).is_some());
        assert!(check_name(Path::new("crates/a/src/cores.rs")).is_none());
    }
}
