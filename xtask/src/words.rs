//! The language of the sources: names of types, openings of doc comments, width of comments, what
//! functions take and how they fail.
//!
//! A type is named by what the field calls it, so that somebody who knows HTTP and DNS can guess,
//! grep and search it: one name, one meaning. A doc comment opens with the thing. Measured in what
//! is shipped; the width of comments everywhere. Called by [`crate::tidy`].

use crate::finding::Finding;
use crate::limits::{BEARERS_MAX, COLUMNS_MAX};
use crate::ratchet::Gauge;
use crate::rust::{Source, end_of_generics, line_of, split_at_commas, words};
use crate::shipped::ShippedSource;
use std::collections::BTreeMap;
use std::path::Path;

/// Names of which every part has one, by its own module.
const SHARED_NAMES: [&str; 1] = ["Settings"];
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

/// Everything that is counted of the language of these sources.
pub(crate) fn gauges(sources: &[ShippedSource]) -> Vec<Gauge> {
    let mut names: BTreeMap<String, Vec<Finding>> = BTreeMap::new();
    for (name, place) in sources.iter().flat_map(types) {
        names.entry(name).or_default().push(place);
    }
    let one_word = names.iter().filter(|(name, _)| words_of(name) == 1);
    let is_shared = |(name, places): &(&String, &Vec<Finding>)| {
        places.len() > BEARERS_MAX && !SHARED_NAMES.contains(&name.as_str())
    };
    let shared = names.iter().filter(is_shared).map(|(name, places)| {
        let message = format!("{} types are called {name}: at most {BEARERS_MAX}", places.len());
        Finding::new(&places[0].file, places[0].line, message)
    });
    let each =
        |places: fn(&ShippedSource) -> Vec<Finding>| sources.iter().flat_map(places).collect();
    vec![
        Gauge::of_places(
            "words",
            "one_word_types",
            "a type is called by two words or more, the field's own",
            one_word.flat_map(|(_, places)| places.clone()).collect(),
        ),
        Gauge::of_places("words", "shared_names", "one name, one meaning", shared.collect()),
        Gauge::of_places(
            "words",
            "doc_riddles",
            "a doc comment opens with the thing, not with What, Whether or It",
            each(riddles),
        ),
        Gauge::of_places(
            "signatures",
            "tuple_parameters",
            "several arguments dressed as one hide a missing type",
            each(tuple_parameters),
        ),
        Gauge::of_places(
            "signatures",
            "string_errors",
            "an error is an enum or a Complaint, so that whoever gets it can tell what to do",
            each(string_errors),
        ),
    ]
}

/// Lines with a comment that go beyond the columns.
pub(crate) fn wide_comments(path: &Path, text: &str, source: &Source) -> Vec<Finding> {
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

/// Every type with its place.
fn types(source: &ShippedSource) -> Vec<(String, Finding)> {
    let code = &source.views.code;
    let mut found = Vec::new();
    for keyword in ["struct", "enum", "trait", "union"] {
        for at in words(code, keyword) {
            let name = first_word(code[at + keyword.len()..].trim_start());
            if name.starts_with(|c: char| c.is_ascii_uppercase()) {
                let place = Finding::new(&source.path, line_of(code, at), name);
                found.push((name.to_owned(), place));
            }
        }
    }
    found
}

/// Doc comments that open with a riddle.
fn riddles(source: &ShippedSource) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut goes_on = false;
    for (index, line) in source.views.comments.lines().enumerate() {
        let doc = line.trim().strip_prefix("///").or_else(|| line.trim().strip_prefix("//!"));
        if let Some(doc) = doc.filter(|_| !goes_on)
            && RIDDLES.contains(&first_word(doc.trim_start()))
        {
            found.push(Finding::new(&source.path, index + 1, doc.trim()));
        }
        goes_on = doc.is_some();
    }
    found
}

/// Functions with a tuple for a parameter, by its pattern or its type.
fn tuple_parameters(source: &ShippedSource) -> Vec<Finding> {
    let is_tuple = |text: &str| text.starts_with('(') && !text.starts_with("()");
    let takes_tuple = |parameter: &String| {
        let pattern = parameter.strip_prefix("mut ").unwrap_or(parameter);
        let of_type = parameter.split_once(": ").map(|(_, of)| of.trim_start_matches('&'));
        is_tuple(pattern) || of_type.is_some_and(is_tuple)
    };
    let functions = source.views.functions().into_iter();
    functions
        .filter(|function| function.parameters.iter().any(takes_tuple))
        .map(|function| Finding::new(&source.path, function.line, function.name))
        .collect()
}

/// Every `Result<_, String>`.
fn string_errors(source: &ShippedSource) -> Vec<Finding> {
    let code = &source.views.code;
    let is_string = |at: &usize| {
        let open = at + "Result".len();
        let inside = |end| split_at_commas(&code[open + 1..end - 1]);
        code[open..].starts_with('<')
            && end_of_generics(code, open)
                .map(inside)
                .is_some_and(|it| it.last().is_some_and(|last| it.len() == 2 && last == "String"))
    };
    words(code, "Result")
        .filter(is_string)
        .map(|at| Finding::new(&source.path, line_of(code, at), "Result<_, String>"))
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
    use crate::shipped::shipped;

    /// What a gauge finds in these sources, by its name.
    fn found(name: &str, sources: &[(&str, &str)]) -> Vec<String> {
        let texts = sources.iter().map(|(path, text)| ((*path).into(), (*text).to_owned()));
        let gauges = gauges(&shipped(texts.collect()));
        let places = gauges.into_iter().filter(|gauge| gauge.name == name).flat_map(|it| it.places);
        places.map(|place| place.to_string()).collect()
    }

    fn in_one(name: &str, text: &str) -> Vec<String> {
        found(name, &[("crates/a/src/a.rs", text)])
    }

    #[test]
    fn words_of_a_name_begin_with_large_letters() {
        for (name, count) in [("Place", 1), ("HttpCache", 2), ("H2Connection", 2), ("DNSName", 2)] {
            assert_eq!(words_of(name), count, "{name}");
        }
    }

    #[test]
    fn a_name_that_four_types_bear_is_counted_but_for_settings() {
        let bearers = |name: &str| {
            let text = format!("pub struct {name};\n");
            let paths = ["a", "b", "c", "d"].map(|it| format!("crates/{it}/src/lib.rs"));
            let sources: Vec<_> = paths.iter().map(|it| (it.as_str(), text.as_str())).collect();
            found("shared_names", &sources)
        };
        assert!(bearers("CachePlace")[0].contains("4 types are called CachePlace"));
        assert_eq!(bearers("Settings"), Vec::<String>::new());
    }

    #[test]
    fn riddles_and_short_names_are_counted_outside_tests() {
        let text = "//! A.\n\n/// What it is.\n/// It is.\nstruct Place;\n#[cfg(test)]\nmod tests {\n    /// What.\n    enum Two {}\n}\n";
        assert_eq!(in_one("doc_riddles", text), ["crates/a/src/a.rs:3: What it is."]);
        assert_eq!(in_one("one_word_types", text), ["crates/a/src/a.rs:5: Place"]);
    }

    #[test]
    fn tuples_are_counted_by_pattern_and_by_type() {
        let text = "fn a((b, c): (u8, u8)) {}\nfn d(e: &(u8, u8)) {}\nfn f(g: [u8; 2], h: ()) {}\n";
        let expected = ["crates/a/src/a.rs:1: a", "crates/a/src/a.rs:2: d"];
        assert_eq!(in_one("tuple_parameters", text), expected);
    }

    #[test]
    fn errors_that_are_text_are_counted() {
        let text = "fn a() -> io::Result<String> {}\nfn b() -> Result<Vec<(u8, u8)>, String> {}\nfn c() -> Result<String, Error> {}\n";
        assert_eq!(in_one("string_errors", text), ["crates/a/src/a.rs:2: Result<_, String>"]);
    }

    #[test]
    fn wide_comments_are_found_but_for_a_url() {
        let wide = |text: &str| wide_comments(Path::new("a.rs"), text, &Source::new(text)).len();
        assert_eq!(wide(&format!("// {}\n", "x".repeat(100))), 1);
        assert_eq!(wide(&format!("// https://example.org/{}\n", "x".repeat(100))), 0);
    }
}
