//! What of the sources is shipped: code and comments of the crates and doors, without tests.
//!
//! Tests are files of tests, `#[cfg(test)]` items, and the files of `#[cfg(test)] mod name;`. Read
//! once, and measured by [`crate::circles`] and [`crate::words`].

use crate::rust::{Source, closing};
use crate::tree;
use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Folders whose files are no part of what is shipped.
const TEST_FOLDERS: [&str; 4] = ["test", "tests", "benches", "examples"];
/// Openings of the attribute that makes an item one for tests.
const TEST_MARKS: [&str; 3] = ["#[cfg(test)]", "#[cfg(all(test", "#![cfg(test)]"];

/// One shipped source. Both views are blank where a test is.
pub(crate) struct ShippedSource {
    /// From the root of the repository.
    pub(crate) path: PathBuf,
    pub(crate) views: Source,
    /// Lines, those of tests excluded.
    pub(crate) lines: usize,
}

impl ShippedSource {
    /// The folder of its crate.
    pub(crate) fn crate_folder(&self) -> &Path {
        let above = self.path.ancestors().find(|folder| folder.ends_with("src"));
        above.and_then(Path::parent).unwrap_or(&self.path)
    }

    /// Its module path within the crate; empty for the root.
    pub(crate) fn module(&self) -> Vec<&str> {
        let inside = self.path.strip_prefix(self.crate_folder().join("src")).unwrap_or(&self.path);
        let mut parts: Vec<&str> = inside.iter().filter_map(|part| part.to_str()).collect();
        let stem = inside.file_stem().and_then(|stem| stem.to_str()).unwrap_or("");
        parts.pop();
        let is_root = parts.is_empty() && matches!(stem, "lib" | "main");
        if stem != "mod" && !is_root {
            parts.push(stem);
        }
        parts
    }
}

/// Every shipped source of the repository at `root`.
pub(crate) fn read(root: &Path) -> Result<Vec<ShippedSource>, String> {
    let mut texts = Vec::new();
    for parent in ["crates", "doors"] {
        let files = tree::files(&root.join(parent)).map_err(|why| format!("{parent}: {why}"))?;
        for file in files.iter().filter(|file| tree::extension(file) == "rs") {
            let path = Path::new(parent).join(file);
            let text = fs::read_to_string(root.join(&path))
                .map_err(|why| format!("{}: {why}", path.display()))?;
            texts.push((path, text));
        }
    }
    Ok(shipped(texts))
}

/// What is shipped of these files.
pub(crate) fn shipped(texts: Vec<(PathBuf, String)>) -> Vec<ShippedSource> {
    let mut of_tests = BTreeSet::new();
    let mut sources = Vec::new();
    for (path, text) in texts {
        let mut views = Source::new(&text);
        let found = test_items(&views.code, &text);
        for module in &found.modules {
            of_tests.extend(files_of(&path, module));
        }
        let lines =
            text.lines().count() - found.items.iter().map(|it| lines_in(&text, it)).sum::<usize>();
        for item in &found.items {
            blank_out(&mut views.code, item);
            blank_out(&mut views.comments, item);
        }
        if found.extent == TestExtent::Items && is_shipped(&path) {
            sources.push(ShippedSource { path, views, lines });
        }
    }
    sources.retain(|source| !of_tests.iter().any(|test| source.path.starts_with(test)));
    sources
}

fn is_shipped(path: &Path) -> bool {
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("");
    let is_of_tests = |part: &str| TEST_FOLDERS.contains(&part);
    let is_test = path.iter().filter_map(|part| part.to_str()).any(is_of_tests)
        || is_of_tests(stem)
        || stem.ends_with("_test")
        || stem.ends_with("_tests");
    !is_test && path.iter().any(|part| part == "src")
}

/// The items of a source that are built for tests only.
#[derive(Default)]
struct TestItems {
    /// Where they are, from the attribute to the end of the item.
    items: Vec<Range<usize>>,
    modules: Vec<TestModule>,
    extent: TestExtent,
}

/// Share of a file that is for tests.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum TestExtent {
    #[default]
    Items,
    File,
}

/// A module for tests that has a file of its own.
struct TestModule {
    name: String,
    /// The file that `#[path]` names.
    file: Option<String>,
}

fn test_items(code: &str, text: &str) -> TestItems {
    let mut found = TestItems::default();
    let mut marks: Vec<(usize, &str)> =
        TEST_MARKS.iter().flat_map(|mark| code.match_indices(mark)).collect();
    marks.sort_unstable();
    for (at, mark) in marks {
        if found.items.iter().any(|item| item.contains(&at)) {
            continue;
        }
        if mark.starts_with("#!") {
            return TestItems { extent: TestExtent::File, ..TestItems::default() };
        }
        let Some(end) = closing(code, at + 1) else { continue };
        let (mut from, mut file) = (end + 1, None);
        while let Some(open) = opening_of_attribute(code, from) {
            let Some(close) = closing(code, open) else { break };
            file = file.or_else(|| path_attribute(&text[open..=close]));
            from = close + 1;
        }
        found.modules.extend(module_file(&code[from..]).map(|name| TestModule { name, file }));
        found.items.push(at..end_of_item(code, from));
    }
    found
}

/// The `[` of an attribute, where the next thing is one.
fn opening_of_attribute(code: &str, from: usize) -> Option<usize> {
    let at = code.len() - code[from..].trim_start().len();
    code[at..].starts_with("#[").then_some(at + 1)
}

fn path_attribute(attribute: &str) -> Option<String> {
    let value = attribute.strip_prefix("[path")?.trim_start().strip_prefix('=')?;
    value.split('"').nth(1).map(str::to_owned)
}

/// The name of the module, where the item is `mod name;`.
fn module_file(item: &str) -> Option<String> {
    let (head, _) = item.split_once(';')?;
    let mut words = head.split_whitespace().rev();
    let name = words.next()?;
    (words.next() == Some("mod")).then(|| name.to_owned())
}

/// The end of the item that begins at `from`: behind its `;`, or behind its body. A `use` of
/// several names has braces and a `;`.
fn end_of_item(code: &str, from: usize) -> usize {
    let mut at = from;
    while let Some(byte) = code.as_bytes().get(at) {
        match byte {
            b'(' | b'[' => at = closing(code, at).unwrap_or(code.len()),
            b'{' => {
                let behind = closing(code, at).map_or(code.len(), |close| close + 1);
                return behind + usize::from(code[behind..].starts_with(';'));
            }
            b';' | b',' | b'}' => return at + 1,
            _ => {}
        }
        at += 1;
    }
    code.len()
}

/// The files in which a module of `parent` may stand, with the folder of its parts.
fn files_of(parent: &Path, module: &TestModule) -> Vec<PathBuf> {
    let folder = parent.parent().unwrap_or(Path::new(""));
    if let Some(file) = &module.file {
        return vec![folder.join(file)];
    }
    let stem = parent.file_stem().and_then(|stem| stem.to_str()).unwrap_or("");
    let below = match stem {
        "mod" | "lib" | "main" => folder.to_owned(),
        _ => folder.join(stem),
    };
    vec![below.join(format!("{}.rs", module.name)), below.join(&module.name)]
}

fn lines_in(text: &str, item: &Range<usize>) -> usize {
    text[item.start..item.end].lines().count()
}

/// Blanks a range, line for line.
fn blank_out(view: &mut String, range: &Range<usize>) {
    let blank: String =
        view[range.clone()].bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }).collect();
    view.replace_range(range.clone(), &blank);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(files: &[(&str, &str)]) -> Vec<String> {
        let texts = files.iter().map(|(path, text)| (PathBuf::from(path), (*text).to_owned()));
        let sources = shipped(texts.collect());
        sources.iter().map(|source| source.path.display().to_string()).collect()
    }

    #[test]
    fn files_of_tests_are_not_shipped() {
        let files = [
            ("crates/a/src/lib.rs", "#[cfg(test)]\n#[path = \"odd.rs\"]\nmod more;\nmod b;\n"),
            ("crates/a/src/odd.rs", "fn a() {}\n"),
            ("crates/a/src/b.rs", "#[cfg(test)]\npub(crate) mod house;\n"),
            ("crates/a/src/b/house.rs", "fn a() {}\n"),
            ("crates/a/src/b/house/room.rs", "fn a() {}\n"),
            ("crates/a/src/b/allow_tests.rs", "fn a() {}\n"),
            ("crates/a/src/b/whole.rs", "#![cfg(test)]\nfn a() {}\n"),
            ("crates/a/tests/it/main.rs", "fn a() {}\n"),
            ("crates/a/build.rs", "fn main() {}\n"),
        ];
        assert_eq!(paths(&files), ["crates/a/src/lib.rs", "crates/a/src/b.rs"]);
    }

    #[test]
    fn test_items_are_blank_and_their_lines_do_not_count() {
        let text = "fn a() {}\n#[cfg(test)]\nuse b::{C, D};\n#[cfg(all(test, unix))]\n#[x]\nfn e() {\n    f();\n}\nfn g() {}\n";
        let sources = shipped(vec![(PathBuf::from("crates/a/src/a.rs"), text.into())]);
        let code: String = sources[0].views.code.split_whitespace().collect();
        assert_eq!(code, "fna(){}fng(){}");
        assert_eq!(sources[0].lines, 2);
        assert_eq!(sources[0].views.code.lines().count(), 9);
    }

    #[test]
    fn a_file_is_a_module_of_its_crate() {
        let modules = [
            ("crates/a/src/lib.rs", vec![]),
            ("crates/a/src/b.rs", vec!["b"]),
            ("crates/a/src/b/mod.rs", vec!["b"]),
            ("doors/a/src/b/main.rs", vec!["b", "main"]),
        ];
        for (path, module) in modules {
            let sources = shipped(vec![(PathBuf::from(path), String::new())]);
            assert_eq!(sources[0].module(), module, "{path}");
        }
    }
}
