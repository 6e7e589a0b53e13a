//! Checks that the compiler does not make: who may name whom, and that the house is tidy.
//!
//! `cargo xtask fences` reads the manifests and imports and `cargo xtask tidy` the sources and
//! documents; each prints every finding with its reason and fails if there is one. `places` lists
//! where one figure of `ratchet.toml` comes from, and `commits` reads the messages of a branch.
//! These change nothing, and `make lint` calls the first two. `lower` takes the better figures over
//! into that file; `manual` writes the generated pages of the manual, or checks them.

mod bans;
mod book;
mod circles;
mod commits;
mod documents;
mod door_walls;
mod fences;
mod finding;
mod fleet_walls;
mod limits;
mod manual;
mod paths;
mod ratchet;
mod rust;
mod settings_page;
mod shipped;
mod sizes;
mod tidy;
mod tree;
mod wall;
mod walls;
mod words;

use finding::Finding;
use ratchet::{Gauge, Ratchet};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask fences | tidy | places FIGURE | lower | commits [BASE] | manual [--check]\n";

fn main() -> ExitCode {
    // The manifest's folder is known when this is built; the repository is the one above it.
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."));
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        ["fences"] => fences::gauges(root).and_then(|it| held(root, &it, fences::check(root)?)),
        ["tidy"] => tidy::gauges(root).and_then(|it| held(root, &it, tidy::check(root)?)),
        ["commits"] => commits::check(root, None).map(|it| told(&it)),
        ["commits", base] => commits::check(root, Some(base)).map(|it| told(&it)),
        ["message", file] => commits::check_message(root, file).map(|it| told(&it)),
        ["manual"] => manual::write(root).map(|it| told(&it)),
        ["manual", "--check"] => manual::check(root).map(|it| told(&it)),
        ["places", figure] => gauges(root).and_then(|it| places(&it, figure)),
        ["lower"] => gauges(root).and_then(|it| lower(root, &it)),
        _ => return say(USAGE, ExitCode::from(2)),
    };
    match done {
        Ok(Outcome { text, code }) => say(&text, code),
        Err(why) => say(&format!("{}: {why}\n", arguments[0]), ExitCode::FAILURE),
    }
}

/// The text that a task prints, and how the program ends.
struct Outcome {
    text: String,
    code: ExitCode,
}

fn told(findings: &[Finding]) -> Outcome {
    let mut lines: Vec<_> = findings.iter().map(Finding::to_string).collect();
    lines.push(match findings.len() {
        0 => "all is well\n".to_owned(),
        count => format!("{count} findings\n"),
    });
    let code = if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    Outcome { text: lines.join("\n"), code }
}

/// Findings, with those of the ratchet, below its notes.
fn held(root: &Path, gauges: &[Gauge], mut findings: Vec<Finding>) -> Result<Outcome, String> {
    let held = Ratchet::read(root)?.hold(gauges);
    findings.extend(held.findings);
    let Outcome { text, code } = told(&findings);
    Ok(Outcome { text: held.notes.join("\n") + "\n" + &text, code })
}

fn gauges(root: &Path) -> Result<Vec<Gauge>, String> {
    let mut gauges = fences::gauges(root)?;
    gauges.extend(tidy::gauges(root)?);
    Ok(gauges)
}

/// Every place that a figure counts.
fn places(gauges: &[Gauge], figure: &str) -> Result<Outcome, String> {
    let Some(gauge) = gauges.iter().find(|gauge| gauge.key() == figure) else {
        let known: Vec<_> = gauges.iter().map(Gauge::key).collect();
        return Err(format!("no figure is called {figure}; there are {}", known.join(", ")));
    };
    let lines: Vec<_> = gauge.places.iter().map(Finding::to_string).collect();
    Ok(Outcome { text: lines.join("\n") + "\n", code: ExitCode::SUCCESS })
}

/// Writes the figures that are better than their marks.
fn lower(root: &Path, gauges: &[Gauge]) -> Result<Outcome, String> {
    let mut ratchet = Ratchet::read(root)?;
    ratchet.lower(gauges);
    ratchet.write(root)?;
    Ok(Outcome { text: "the better figures are marks now\n".into(), code: ExitCode::SUCCESS })
}

/// Prints, and hands the code on. A reader that has gone is no failure of the check.
fn say(text: &str, code: ExitCode) -> ExitCode {
    let _ = std::io::stdout().write_all(text.as_bytes());
    code
}
