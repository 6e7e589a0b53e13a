//! What the compiler does not check: who may name whom, and that the house is tidy.
//!
//! `cargo xtask fences` reads the manifests and `cargo xtask tidy` the sources and documents; each
//! prints every finding with its reason and fails if there is one. The two change nothing, and
//! `make lint` calls both. `cargo xtask manual` writes the generated pages of the manual, or checks
//! them.

mod book;
mod documents;
mod fences;
mod finding;
mod manual;
mod rust;
mod settings_page;
mod tidy;
mod tree;
mod walls;
mod words;

use finding::Finding;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    // The manifest's folder is known when this is built; the repository is the one above it.
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."));
    let task = std::env::args().nth(1).unwrap_or_default();
    let flag = std::env::args().nth(2).unwrap_or_default();
    let found = match (task.as_str(), flag.as_str()) {
        ("fences", "") => fences::check(root),
        ("tidy", "") => tidy::check(root),
        ("manual", "") => manual::write(root),
        ("manual", "--check") => manual::check(root),
        _ => {
            return say("usage: cargo xtask fences | tidy | manual [--check]\n", ExitCode::from(2));
        }
    };
    match found {
        Ok(findings) if findings.is_empty() => {
            say(&format!("{task}: all is well\n"), ExitCode::SUCCESS)
        }
        Ok(findings) => {
            let lines: Vec<String> = findings.iter().map(Finding::to_string).collect();
            let count = format!("{task}: {} findings\n", findings.len());
            say(&format!("{}\n{count}", lines.join("\n")), ExitCode::FAILURE)
        }
        Err(why) => say(&format!("{task}: {why}\n"), ExitCode::FAILURE),
    }
}

/// Prints, and hands the code on. A reader that has gone is no failure of the check.
fn say(text: &str, code: ExitCode) -> ExitCode {
    let _ = std::io::stdout().write_all(text.as_bytes());
    code
}
