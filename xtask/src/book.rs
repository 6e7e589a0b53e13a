//! The book of `docs/`: its pages are in its contents, and links and anchors lead somewhere.
//!
//! mdBook renders what `docs/SUMMARY.md` lists and checks no link; a page that is missing there, a
//! link from a page to a file outside the book, or an anchor without its heading would be found by
//! a reader. Called by [`crate::tidy`].

use crate::documents::{links, prose, resolve};
use crate::finding::Finding;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const CONTENTS: &str = "docs/SUMMARY.md";
/// Folders whose pages all belong to the book.
const PAGES: [&str; 2] = ["docs/manual", "docs/performance"];

/// Pages outside the contents, links that lead out of the book, anchors without a heading.
/// `documents` has every Markdown file of the repository.
pub(crate) fn check(documents: &BTreeMap<PathBuf, String>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let listed = listed(documents);
    for page in documents.keys() {
        if PAGES.iter().any(|folder| page.starts_with(folder)) && !listed.contains(page) {
            findings.push(Finding::new(page, 0, format!("the page is not in {CONTENTS}")));
        }
    }
    for (path, text) in documents {
        for (line, prose) in prose(text) {
            for target in links(&prose) {
                let why = wrong(documents, &listed, path, target);
                findings.extend(why.map(|why| Finding::new(path, line, why)));
            }
        }
    }
    findings
}

/// The pages of the book.
fn listed(documents: &BTreeMap<PathBuf, String>) -> BTreeSet<PathBuf> {
    let contents = documents.get(Path::new(CONTENTS)).map_or("", String::as_str);
    let targets = contents.lines().flat_map(links).map(|page| Path::new("docs").join(page));
    targets.collect()
}

/// The reason why a link would not work for a reader of the book or of the repository.
fn wrong(
    documents: &BTreeMap<PathBuf, String>,
    listed: &BTreeSet<PathBuf>,
    path: &Path,
    target: &str,
) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (file, fragment) = target.split_once('#').map_or((target, None), |(a, b)| (a, Some(b)));
    let page = match file {
        "" => path.to_owned(),
        file => resolve(path.parent().unwrap_or(Path::new("")), Path::new(file))?,
    };
    if listed.contains(path)
        && !listed.contains(&page)
        && page.extension().is_none_or(|it| it == "md")
    {
        return Some(format!("the link to {target} leads out of the book"));
    }
    let fragment = fragment?;
    let headings = headings(documents.get(&page)?);
    (!headings.contains(fragment))
        .then(|| format!("{} has no heading for #{fragment}", page.display()))
}

/// The anchors of a document's headings.
fn headings(text: &str) -> BTreeSet<String> {
    let mut taken: BTreeSet<String> = BTreeSet::new();
    let mut fenced = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        let Some((marks, title)) = line.split_once(' ').filter(|_| !fenced) else { continue };
        if marks.is_empty() || marks.len() > 6 || marks.bytes().any(|it| it != b'#') {
            continue;
        }
        let base = anchor(title);
        let mut name = base.clone();
        let mut count = 0;
        while taken.contains(&name) {
            count += 1;
            name = format!("{base}-{count}");
        }
        taken.insert(name);
    }
    taken
}

/// The anchor of a heading, as mdBook and GitHub make it.
pub(crate) fn anchor(heading: &str) -> String {
    heading
        .trim()
        .chars()
        .filter_map(|letter| match letter {
            ' ' => Some('-'),
            '-' | '_' => Some(letter),
            _ if letter.is_alphanumeric() => Some(letter.to_ascii_lowercase()),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_links_and_anchors_are_checked() {
        let documents = [
            ("docs/SUMMARY.md", "- [A](manual/a.md)\n- [B](manual/b.md)\n"),
            (
                "docs/manual/a.md",
                "# A `door`, two\n[b](b.md#part-2) [no](b.md#part-3) [self](#a-door-two) [out](../../README.md) [web](https://x.example/#y)\n",
            ),
            ("docs/manual/b.md", "# B\n## Part\n```\n## Code\n```\n## Part\n## Part\n"),
            ("docs/manual/lost.md", "# Lost\n"),
            ("README.md", "[a](docs/manual/a.md#none)\n"),
        ];
        let documents = documents
            .map(|(path, text)| (PathBuf::from(path), text.to_owned()))
            .into_iter()
            .collect();
        let found: Vec<String> = check(&documents).iter().map(Finding::to_string).collect();
        assert_eq!(
            found,
            [
                "docs/manual/lost.md: the page is not in docs/SUMMARY.md",
                "README.md:1: docs/manual/a.md has no heading for #none",
                "docs/manual/a.md:2: docs/manual/b.md has no heading for #part-3",
                "docs/manual/a.md:2: the link to ../../README.md leads out of the book",
            ]
        );
    }
}
