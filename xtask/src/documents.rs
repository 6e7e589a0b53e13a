//! Documents: links that lead somewhere, decisions that are numbered, no word of where packages
//! come from.

use crate::finding::Finding;
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

/// Links in a Markdown text that lead to no file of the repository.
pub(crate) fn broken_links(
    path: &Path,
    text: &str,
    exists: impl Fn(&Path) -> bool,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in prose(text) {
        for target in links(&line) {
            let file = target.split(['#', '?']).next().unwrap_or(target);
            if file.is_empty() || file.contains("://") || file.starts_with("mailto:") {
                continue;
            }
            let resolved = resolve(path.parent().unwrap_or(Path::new("")), Path::new(file));
            if !resolved.is_some_and(|resolved| exists(&resolved)) {
                findings.push(Finding::new(
                    path,
                    index,
                    format!("the link to {target} leads nowhere"),
                ));
            }
        }
    }
    findings
}

/// Files and folders of the repository that a text names in code, and that are not there: a reader
/// who looks for a feature would be sent to nothing.
pub(crate) fn missing_files(
    path: &Path,
    text: &str,
    exists: impl Fn(&Path) -> bool,
) -> Vec<Finding> {
    let is_ours = |named: &str| {
        FOLDERS.iter().any(|folder| named.starts_with(folder))
            && !named.contains(['{', '*', ' ', '<'])
    };
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for named in line.split('`').skip(1).step_by(2).filter(|named| is_ours(named)) {
            if !exists(Path::new(named)) {
                findings.push(Finding::new(path, index + 1, format!("{named} is not there")));
            }
        }
    }
    findings
}

/// Folders at the root whose files documents name.
const FOLDERS: [&str; 6] = ["crates/", "doors/", "xtask/", "tests/", "bench/", "docs/"];

/// Lines outside code fences, without inline code.
pub(crate) fn prose(text: &str) -> impl Iterator<Item = (usize, String)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            return None;
        }
        let outside: String = line.split('`').step_by(2).collect();
        (!fenced).then_some((index + 1, outside))
    })
}

/// The targets of `[text](target)` and `![alt](target "title")`.
pub(crate) fn links(line: &str) -> Vec<&str> {
    line.match_indices("](")
        .filter_map(|(at, _)| {
            let behind = &line[at + 2..];
            let target = &behind[..behind.find(')')?];
            target.split_whitespace().next()
        })
        .collect()
}

/// `target` seen from `folder`, without leaving the repository.
pub(crate) fn resolve(folder: &Path, target: &Path) -> Option<PathBuf> {
    let mut resolved = PathBuf::new();
    for part in folder.join(target).components() {
        match part {
            Component::Normal(part) => resolved.push(part),
            Component::ParentDir if !resolved.pop() => return None,
            Component::ParentDir | Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(resolved)
}

/// Decisions whose file name and heading do not carry one number of their own.
pub(crate) fn unnumbered_decisions<'d>(
    decisions: impl Iterator<Item = (&'d Path, &'d str)>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut taken: BTreeMap<u32, &Path> = BTreeMap::new();
    for (path, text) in decisions {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("");
        let number = name
            .split_once('-')
            .filter(|(digits, _)| digits.len() == 4)
            .and_then(|(digits, _)| digits.parse::<u32>().ok());
        let Some(number) = number else {
            let message =
                "a decision is named after its number, as in 0001-house-of-small-crates.md";
            findings.push(Finding::new(path, 0, message));
            continue;
        };
        if let Some(first) = taken.insert(number, path) {
            let message = format!("number {number} is taken by {}", first.display());
            findings.push(Finding::new(path, 0, message));
        }
        if !text.starts_with(&format!("# {number}. ")) {
            let message = format!("the heading should be \"# {number}. …\", as the file is named");
            findings.push(Finding::new(path, 1, message));
        }
    }
    findings
}

/// Hosts of package registries. In two pieces, so that this file does not name them.
const REGISTRIES: &[(&str, &str)] = &[
    ("crates", ".io"),
    ("registry.npm", "js.org"),
    ("npm", "js.com"),
    ("registry.yarn", "pkg.com"),
    ("pypi", ".org"),
    ("pythonhosted", ".org"),
    ("proxy.go", "lang.org"),
];

/// Mentions of package registries: which one serves a build is the builder's affair.
pub(crate) fn registry_hosts(path: &Path, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for (one, two) in REGISTRIES {
            let host = [*one, *two].concat();
            if line.contains(&host) {
                let message = format!(
                    "names the package registry {host}: leave that to the builder's own settings"
                );
                findings.push(Finding::new(path, index + 1, message));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_to_nowhere_is_found_and_code_is_no_link() {
        let text = "[a](b.md) ![p](../pic.png \"t\") [w](https://x.example/)\n`[no](code.md)`\n```\n[no](code.md)\n```\n[gone](gone.md#part) [here](#below) [out](../../etc)\n";
        let known = ["docs/b.md", "pic.png"].map(Path::new);
        let found = broken_links(Path::new("docs/a.md"), text, |path| known.contains(&path));
        let lines: Vec<_> = found.iter().map(|finding| finding.line).collect();
        assert_eq!(lines, [6, 6]);
        assert!(found[0].message.contains("gone.md#part"));
    }

    #[test]
    fn a_file_that_is_named_and_not_there_is_found() {
        let text =
            "`crates/a/src/a.rs`, `b.rs`\n| x | `doors/{a,b}/x.rs`, `crates/a/src/gone.rs` |\n";
        let found = missing_files(Path::new("A.md"), text, |path| path.ends_with("a.rs"));
        let lines: Vec<_> = found.iter().map(|finding| finding.line).collect();
        assert_eq!(lines, [2]);
    }

    #[test]
    fn decisions_carry_one_number_each() {
        let decisions = [
            ("docs/adr/0001-a.md", "# 1. A\n"),
            ("docs/adr/0001-b.md", "# 1. B\n"),
            ("docs/adr/0003-c.md", "# 4. C\n"),
            ("docs/adr/notes.md", "# 5. D\n"),
        ];
        let found =
            unnumbered_decisions(decisions.iter().map(|(path, text)| (Path::new(*path), *text)));
        let files: Vec<_> = found.iter().map(|it| it.file.to_str().unwrap_or("")).collect();
        assert_eq!(files, ["docs/adr/0001-b.md", "docs/adr/0003-c.md", "docs/adr/notes.md"]);
    }

    #[test]
    fn a_registry_is_recognised() {
        let text = format!("fine\nsee {}{}\n", "crates", ".io");
        assert_eq!(registry_hosts(Path::new("a.md"), &text)[0].line, 2);
    }
}
