//! The language of the sources: names of types, openings of doc comments, width of comments; and
//! the size of crates.
//!
//! A type is named by what the field calls it, so that somebody who knows HTTP and DNS can guess,
//! grep and search it: one name, one meaning. A doc comment opens with the thing. Tests are left
//! out. Called by `tidy` with every product source; each mark may only fall.

use crate::finding::Finding;
use crate::rust::{Function, Source, line_of, words};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Columns of a line with a comment, a URL at its end apart.
const COLUMNS_MAX: usize = 100;
/// Types that may share a name.
const BEARERS_MAX: usize = 3;
/// Names of which every part has one, by its own module.
const SHARED_NAMES: [&str; 1] = ["Settings"];
/// Types named by one word, in thousandths of all.
const ONE_WORD_MAX: usize = 45;
/// Doc comments that open with a riddle, in thousandths of all.
const RIDDLES_MAX: usize = 76;
/// Words that open a riddle: the reader learns what it is about at the end.
const RIDDLES: [&str; 14] = [
    "What",
    "Whatever",
    "Whether",
    "How",
    "Who",
    "Whoever",
    "Whom",
    "Whose",
    "It",
    "Its",
    "Those",
    "That",
    "It's",
    "Whichever",
];
/// Functions with a tuple for a parameter: several arguments dressed as one hide a missing type.
const TUPLES_MAX: usize = 76;
/// Lines of a crate, those of its tests excluded, from which on it is too large to live in.
const CRATE_LINES_MAX: usize = 10_000;
/// Crates that are larger.
const LARGE_CRATES_MAX: usize = 5;
/// Findings of one kind that are printed.
const WORST: usize = 5;

/// The words of all product sources.
#[derive(Default)]
pub(crate) struct Words {
    types: BTreeMap<String, Vec<(PathBuf, usize)>>,
    docs: usize,
    riddles: Vec<(PathBuf, usize)>,
    wide: Vec<Finding>,
    tuples: Vec<(PathBuf, usize)>,
    crates: BTreeMap<PathBuf, usize>,
}

impl Words {
    /// Adds one source, tests and tools apart; comments are measured in all.
    pub(crate) fn read(&mut self, path: &Path, text: &str, source: &Source) {
        self.wide.extend(wide_comments(path, text, source));
        if !is_product(path) {
            return;
        }
        let tests = source.test_lines();
        let is_test = |line: usize| tests.iter().any(|(a, b)| (*a..=*b).contains(&line));
        let test_lines: usize = tests.iter().map(|(first, last)| last - first + 1).sum();
        *self.crates.entry(path.iter().take(2).collect()).or_default() +=
            text.lines().count() - test_lines;
        let takes_tuple = |function: &&Function| {
            !is_test(function.line) && function.parameters.iter().any(|it| it.starts_with('('))
        };
        let functions = source.functions();
        let tuples = functions.iter().filter(takes_tuple);
        self.tuples.extend(tuples.map(|function| (path.to_owned(), function.line)));
        for keyword in ["struct", "enum", "trait", "union"] {
            for at in words(&source.code, keyword) {
                let line = line_of(&source.code, at);
                let name = first_word(source.code[at + keyword.len()..].trim_start());
                let begins_large = name.starts_with(|c: char| c.is_ascii_uppercase());
                if begins_large && !is_test(line) {
                    self.types.entry(name.to_owned()).or_default().push((path.into(), line));
                }
            }
        }
        let mut before = false;
        for (index, line) in source.comments.lines().enumerate() {
            let doc = line.trim().strip_prefix("///").or_else(|| line.trim().strip_prefix("//!"));
            if let Some(doc) = doc.filter(|_| !before) {
                self.docs += 1;
                if RIDDLES.contains(&first_word(doc.trim_start())) {
                    self.riddles.push((path.into(), index + 1));
                }
            }
            before = doc.is_some();
        }
    }

    /// Everything over its mark, the worst of each kind.
    pub(crate) fn findings(self) -> Vec<Finding> {
        let mut findings: Vec<Finding> = self.wide.into_iter().take(WORST).collect();
        let count: usize = self.types.values().map(Vec::len).sum();
        let shared = |(name, places): &(&String, &Vec<_>)| {
            places.len() > BEARERS_MAX && !SHARED_NAMES.contains(&name.as_str())
        };
        for (name, places) in self.types.iter().filter(shared) {
            let message = format!(
                "{} types are called {name}: one name, one meaning; at most {BEARERS_MAX}",
                places.len()
            );
            findings.push(Finding::new(&places[0].0, places[0].1, message));
        }
        let short = || self.types.iter().filter(|(name, _)| words_of(name) == 1);
        let one_word: usize = short().map(|(_, places)| places.len()).sum();
        if one_word * 1000 > count * ONE_WORD_MAX {
            let message = format!(
                "{one_word} of {count} types are called by one word, over {ONE_WORD_MAX} in 1000: \
                 take the field's word"
            );
            let places = short().flat_map(|(_, places)| places).take(WORST);
            findings.extend(places.map(|(path, line)| Finding::new(path, *line, message.clone())));
        }
        if self.riddles.len() * 1000 > self.docs * RIDDLES_MAX {
            let message = format!(
                "{} of {} doc comments open with What, Whether, It ..., over {RIDDLES_MAX} in \
                 1000: open with the thing",
                self.riddles.len(),
                self.docs
            );
            let places = self.riddles.iter().take(WORST);
            findings.extend(places.map(|(path, line)| Finding::new(path, *line, message.clone())));
        }
        if self.tuples.len() > TUPLES_MAX {
            let message = format!(
                "{} functions take a tuple, over {TUPLES_MAX}: give it the type that it hides",
                self.tuples.len()
            );
            let places = self.tuples.iter().take(WORST);
            findings.extend(places.map(|(path, line)| Finding::new(path, *line, message.clone())));
        }
        let large: Vec<_> = self.crates.iter().filter(|(_, it)| **it > CRATE_LINES_MAX).collect();
        if large.len() > LARGE_CRATES_MAX {
            let told = |(path, lines): &(&PathBuf, &usize)| {
                let message = format!("{lines} lines: split crates of over {CRATE_LINES_MAX}");
                Finding::new(path, 0, message)
            };
            findings.extend(large.iter().map(told));
        }
        findings
    }
}

/// True for a source that is shipped.
fn is_product(path: &Path) -> bool {
    let is_shipped = path.starts_with("crates") || path.starts_with("doors");
    is_shipped && !path.ends_with("tests.rs") && !path.iter().any(|part| part == "tests")
}

/// Lines with a comment that go beyond the columns.
fn wide_comments(path: &Path, text: &str, source: &Source) -> Vec<Finding> {
    let lines = text.lines().zip(source.comments.lines()).enumerate();
    let is_wide = |(_, (line, comment)): &(usize, (&str, &str))| {
        let has_url = line.rsplit(' ').next().is_some_and(|word| word.contains("://"));
        !comment.trim().is_empty() && !has_url && line.chars().count() > COLUMNS_MAX
    };
    lines
        .filter(is_wide)
        .map(|(index, (line, _))| {
            let columns = line.chars().count();
            let message = format!("{columns} columns: comments are wrapped at {COLUMNS_MAX}");
            Finding::new(path, index + 1, message)
        })
        .collect()
}

fn first_word(text: &str) -> &str {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '\'';
    text.split(|c| !is_part(c)).next().unwrap_or("")
}

/// Words of a name: `HttpCache` has two, `CIDR` one.
fn words_of(name: &str) -> usize {
    let bytes = name.as_bytes();
    let begins = |at: usize| {
        let is_large = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_uppercase);
        is_large(at)
            && (at == 0
                || !is_large(at - 1)
                || bytes.get(at + 1).is_some_and(u8::is_ascii_lowercase))
    };
    (0..bytes.len()).filter(|at| begins(*at)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(sources: &[(&str, String)]) -> Vec<String> {
        let mut words = Words::default();
        for (path, text) in sources {
            words.read(Path::new(path), text, &Source::new(text));
        }
        words.findings().into_iter().map(|finding| finding.to_string()).collect()
    }

    #[test]
    fn words_of_a_name_begin_with_large_letters() {
        for (name, count) in [("Place", 1), ("HttpCache", 2), ("H2Connection", 2), ("DNSName", 2)] {
            assert_eq!(words_of(name), count, "{name}");
        }
    }

    #[test]
    fn a_name_that_four_types_bear_is_a_finding_but_for_settings() {
        let source = |name: &str| format!("//! A.\n/// One of them.\npub struct {name};\n");
        let four = |name: &str| {
            let paths = ["a", "b", "c", "d"].map(|it| format!("crates/{it}/src/lib.rs"));
            let sources: Vec<_> = paths.iter().map(|it| (it.as_str(), source(name))).collect();
            findings(&sources)
        };
        assert!(four("CachePlace")[0].contains("4 types are called CachePlace"));
        assert!(!four("Settings").iter().any(|it| it.contains("are called Settings")));
    }

    #[test]
    fn riddles_wide_comments_and_short_names_are_findings() {
        let text = format!("//! A.\n\n/// What it is.\nstruct Place;\n// {}\n", "x".repeat(100));
        let found = findings(&[("crates/a/src/lib.rs", text.clone())]);
        assert_eq!(found.len(), 3, "{found:#?}");
        assert!(found[0].contains("103 columns"));
        assert_eq!(findings(&[("tests/tests/it/a.rs", text)]).len(), 1, "width alone");
        let url = format!("//! A.\n// https://example.org/{}\n", "x".repeat(100));
        assert_eq!(findings(&[("crates/a/src/lib.rs", url)]), Vec::<String>::new());
    }
}
