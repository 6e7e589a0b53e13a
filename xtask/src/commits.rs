//! Messages of commits: a subject that is read in one line, and for a change of the product why.
//!
//! `cargo xtask commits [BASE]` reads the history after BASE (`main` unless it is named), merges
//! apart; `cargo xtask message FILE` one message that is about to be committed, as the hook in
//! `.githooks` does. A clone without BASE has nothing to be held against.

use crate::finding::Finding;
use crate::limits::SUBJECT_COLUMNS_MAX;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Folders whose changes say why.
const PRODUCT: [&str; 2] = ["crates", "doors"];
const BASE: &str = "main";

/// One commit, or one that is about to be.
struct CommitMessage<'t> {
    /// Its short hash, or the file that the message is in.
    name: &'t str,
    text: &'t str,
    /// Files that it changes, from the root of the repository.
    files: Vec<&'t Path>,
}

/// Everything wrong with the commits after `base`.
pub(crate) fn check(root: &Path, base: Option<&str>) -> Result<Vec<Finding>, String> {
    let range = format!("{}..HEAD", base.unwrap_or(BASE));
    let format = "--format=%x01%h%x02%B%x02";
    let log = git(root, &["log", "--no-merges", "--name-only", format, &range])?;
    let commits = log.split('\u{1}').skip(1).filter_map(|commit| {
        let mut parts = commit.splitn(3, '\u{2}');
        let (name, text, files) = (parts.next()?, parts.next()?, parts.next()?);
        Some(CommitMessage { name, text, files: paths(files) })
    });
    Ok(commits.flat_map(|commit| commit.findings()).collect())
}

/// Everything wrong with the message in `file`, for what is staged.
pub(crate) fn check_message(root: &Path, file: &str) -> Result<Vec<Finding>, String> {
    let text = fs::read_to_string(file).map_err(|why| format!("{file}: {why}"))?;
    let kept: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let staged = git(root, &["diff", "--cached", "--name-only"])?;
    let commit = CommitMessage { name: file, text: &kept.join("\n"), files: paths(&staged) };
    Ok(commit.findings())
}

fn paths(listed: &str) -> Vec<&Path> {
    listed.lines().filter(|line| !line.is_empty()).map(Path::new).collect()
}

fn git(root: &Path, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new("git").arg("-C").arg(root).args(arguments).output();
    let output = output.map_err(|why| format!("git: {why}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim_end().to_owned());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

impl CommitMessage<'_> {
    fn findings(&self) -> Vec<Finding> {
        let mut lines = self.text.trim().lines();
        let subject = lines.next().unwrap_or("");
        // Git joins what is not set apart by an empty line to the subject.
        let is_apart = lines.next().is_none_or(|line| line.trim().is_empty());
        let has_body = lines.any(|line| !line.trim().is_empty() && !is_trailer(line));
        let mut findings = Vec::new();
        let mut wrong = |what: String| {
            findings.push(Finding::new(Path::new(self.name), 0, format!("{subject:?}: {what}")));
        };
        let columns = subject.chars().count();
        if columns > SUBJECT_COLUMNS_MAX {
            wrong(format!("a subject of {columns} columns is cut off: {SUBJECT_COLUMNS_MAX}"));
        }
        if !is_apart {
            wrong("an empty line parts the subject from the body".into());
        }
        let is_product = |file: &&Path| PRODUCT.iter().any(|folder| file.starts_with(folder));
        if !has_body && self.files.iter().any(is_product) {
            wrong("a change of the product says why in its body".into());
        }
        findings
    }
}

/// True for a line such as `Signed-off-by: …`, which says nothing of the change.
fn is_trailer(line: &str) -> bool {
    let Some((key, _)) = line.split_once(": ") else { return false };
    let is_key = |c: char| c.is_ascii_alphabetic() || c == '-';
    key.contains('-') && key.chars().all(is_key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(text: &str, file: &str) -> usize {
        let files = vec![Path::new(file)];
        CommitMessage { name: "1234567", text, files }.findings().len()
    }

    #[test]
    fn a_change_of_the_product_says_why() {
        assert_eq!(findings("dns: less\n\nNobody used it.\n", "doors/dns/src/door.rs"), 0);
        assert_eq!(findings("dns: less\n", "doors/dns/src/door.rs"), 1);
        assert_eq!(findings("dns: less\n\nSigned-off-by: A <a@b>\n", "crates/a.rs"), 1);
        assert_eq!(findings("manual: less\n", "docs/manual/dns.md"), 0);
    }

    #[test]
    fn a_subject_is_one_short_line() {
        assert_eq!(findings(&"x".repeat(73), "docs/a.md"), 1);
        assert_eq!(findings("dns: less\nand more\n", "docs/a.md"), 1);
    }
}
