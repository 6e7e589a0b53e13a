//! The generated pages of the manual: every setting, and the help of every command.
//!
//! Both are read from the binary, so that they say what it does: the one that `TIDEGATE_BIN` names,
//! or `target/debug/tidegate`, which is built first, because a binary older than the sources would
//! say that all is well. With `--check` nothing is written: a page that differs is a finding. The
//! end-to-end tests run that.

use crate::finding::Finding;
use crate::settings_page;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const SETTINGS: &str = "docs/manual/reference/settings.md";
const HELP: &str = "docs/manual/reference/help.md";
/// Commands within commands, at most.
const DEPTH_MAX: usize = 3;

/// Generated pages that differ from what the binary says.
pub(crate) fn check(root: &Path) -> Result<Vec<Finding>, String> {
    let differs = |(page, text): &(&str, String)| {
        fs::read_to_string(root.join(page)).ok().as_ref() != Some(text)
    };
    let message = "differs from what the binary says: run `cargo xtask manual`";
    let pages = pages(root)?;
    let stale = pages.iter().filter(|page| differs(page));
    Ok(stale.map(|(page, _)| Finding::new(Path::new(page), 0, message)).collect())
}

/// Writes the generated pages.
pub(crate) fn write(root: &Path) -> Result<Vec<Finding>, String> {
    for (page, text) in pages(root)? {
        fs::write(root.join(page), text).map_err(|why| format!("{page}: {why}"))?;
    }
    Ok(Vec::new())
}

fn pages(root: &Path) -> Result<Vec<(&'static str, String)>, String> {
    let binary = match std::env::var_os("TIDEGATE_BIN") {
        Some(named) => PathBuf::from(named),
        None => built(root)?,
    };
    let schema = said(&binary, &["schema"])?;
    let schema = serde_json::from_str(&schema).map_err(|why| why.to_string())?;
    let mut help = "# Help of every command\n\nThis page is generated from `--help`; \
                    `cargo xtask manual` writes it. [The command line](command-line.md) says what the commands are for.\n"
        .to_owned();
    describe(&binary, &[], &mut help)?;
    Ok(vec![(SETTINGS, settings_page::page(&schema)), (HELP, help)])
}

/// The binary of the sources as they are.
fn built(root: &Path) -> Result<PathBuf, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["build", "--locked", "--workspace", "--bin", "tidegate"])
        .current_dir(root)
        .status()
        .map_err(|why| format!("cargo build: {why}"))?;
    if !status.success() {
        return Err(format!("cargo build: {status}"));
    }
    Ok(root.join("target/debug/tidegate"))
}

/// The help of one command and of those below it.
fn describe(binary: &Path, command: &[&str], page: &mut String) -> Result<(), String> {
    let help = said(binary, &[command, &["--help"]].concat())?;
    let name = [&["tidegate"], command].concat().join(" ");
    let text: Vec<&str> = help.lines().map(str::trim_end).collect();
    let _ = write!(page, "\n## {name}\n```text\n{}\n```\n", text.join("\n").trim_end());
    if command.len() + 1 >= DEPTH_MAX {
        return Ok(());
    }
    for below in commands(&help) {
        describe(binary, &[command, &[below]].concat(), page)?;
    }
    Ok(())
}

/// Names under `Commands:`, without the help itself.
fn commands(help: &str) -> Vec<&str> {
    let rows = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    rows.take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect()
}

fn said(binary: &Path, args: &[&str]) -> Result<String, String> {
    let output = Command::new(binary)
        .args(args)
        .output()
        .map_err(|why| format!("{}: {why}", binary.display()))?;
    if !output.status.success() {
        return Err(format!("tidegate {}: {}", args.join(" "), output.status));
    }
    String::from_utf8(output.stdout).map_err(|why| why.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_from_help() {
        let help = "One.\n\nCommands:\n  run    Run all\n         doors\n  check  Report\n  help   Print\n\nOptions:\n  -h\n";
        assert_eq!(commands(help), ["run", "check"]);
    }
}
