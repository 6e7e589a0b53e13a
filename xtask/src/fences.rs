//! Walls between crates: manifests and sources are held against [`crate::walls`].
//!
//! So is the table in ARCHITECTURE.md, which says to people what they are. Tests may name what they
//! need, but no door names another even there. Within a crate, circles of imports may only shrink.

use crate::circles;
use crate::door_walls::DOORS;
use crate::finding::Finding;
use crate::limits::CIRCLE_MAX;
use crate::ratchet::Gauge;
use crate::rust::{Source, line_of};
use crate::shipped;
use crate::tree;
use crate::wall::{Purity, Wall};
use crate::walls::{TEST_SUPPORT, WALLS};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use toml::Table;

/// What pure sources must not reach for in the standard library, and why.
const IMPURE: &[(&str, &str)] = &[
    ("std::fs", "it reads no file"),
    ("std::env", "it reads no environment"),
    ("std::thread", "it starts no thread"),
    ("std::process", "it starts and ends no process"),
    ("SystemTime", "time is handed in as vocab::Now"),
    ("Instant", "time is handed in as vocab::Now"),
    ("TcpStream", "it opens no socket"),
    ("TcpListener", "it opens no socket"),
    ("UdpSocket", "it opens no socket"),
    ("RandomState", "randomness is handed in as a seed"),
];

/// Every breach in the repository at `root`.
pub(crate) fn check(root: &Path) -> Result<Vec<Finding>, String> {
    let mut findings = Vec::new();
    for wall in WALLS {
        let path = Path::new(wall.folder).join("Cargo.toml");
        let text = read(&root.join(&path))?;
        let manifest: Table = text.parse().map_err(|why| format!("{}: {why}", path.display()))?;
        findings.extend(check_manifest(wall, &path, &manifest));
        if wall.purity == Purity::Pure {
            findings.extend(check_sources(wall, root)?);
        }
    }
    findings.extend(unknown_crates(root)?);
    findings.extend(check_table(&read(&root.join("ARCHITECTURE.md"))?));
    Ok(findings)
}

/// The largest import circle of each crate: files that lead to each other can be neither understood
/// nor moved one at a time.
pub(crate) fn gauges(root: &Path) -> Result<Vec<Gauge>, String> {
    let sources = shipped::read(root)?;
    let gauge = |(folder, circle): (&Path, Vec<String>)| Gauge {
        table: "circles",
        name: folder.display().to_string(),
        count: circle.len(),
        limit: CIRCLE_MAX,
        floor: 0,
        step: 1,
        because: "a file that leads back to itself is read with all the others",
        places: circle.into_iter().map(|module| Finding::new(folder, 0, module)).collect(),
    };
    Ok(circles::largest(&sources).into_iter().map(gauge).collect())
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|why| format!("{}: {why}", path.display()))
}

fn is_ours(name: &str) -> bool {
    WALLS.iter().any(|wall| wall.name == name)
}

/// The crates that a section of a manifest names, by their real names.
fn named(manifest: &Table, section: &str) -> BTreeSet<String> {
    let of = |table: &Table| {
        let entries = table.get(section).and_then(toml::Value::as_table).into_iter().flatten();
        entries
            .map(|(key, value)| {
                let renamed = value.get("package").and_then(toml::Value::as_str);
                renamed.unwrap_or(key).to_owned()
            })
            .collect::<Vec<_>>()
    };
    let targets = manifest.get("target").and_then(toml::Value::as_table).into_iter().flatten();
    let below_targets = targets.filter_map(|(_, table)| table.as_table()).flat_map(of);
    of(manifest).into_iter().chain(below_targets).collect()
}

fn check_manifest(wall: &Wall, path: &Path, manifest: &Table) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut breach = |message: String| findings.push(Finding::new(path, 0, message));
    let normal = named(manifest, "dependencies");
    for name in normal.iter().chain(&named(manifest, "build-dependencies")) {
        if is_ours(name) && !wall.may.contains(&name.as_str()) {
            breach(format!("{} must not name {name}: {}", wall.name, why_not(wall, name)));
        }
        for ban in wall.never.iter().filter(|ban| ban.crates.contains(&name.as_str())) {
            breach(format!("{} must not name {name}: {}", wall.name, ban.because));
        }
    }
    for name in named(manifest, "dev-dependencies") {
        if DOORS.contains(&wall.name) && DOORS.contains(&name.as_str()) {
            breach(format!(
                "{} must not name {name} even in tests: {}",
                wall.name,
                why_not(wall, &name)
            ));
        }
    }
    findings
}

fn why_not(wall: &Wall, name: &str) -> String {
    let other = WALLS.iter().find(|other| other.name == name);
    match other {
        Some(_) if DOORS.contains(&wall.name) && DOORS.contains(&name) => {
            "doors do not know each other; what two of them share belongs on a floor below".into()
        }
        Some(_) if name == TEST_SUPPORT => {
            "tests alone name it: move it to dev-dependencies".into()
        }
        Some(other) if other.floor > wall.floor => format!(
            "imports point downward, and {name} (floor {}) stands above {} (floor {})",
            other.floor, wall.name, wall.floor
        ),
        Some(_) | None if wall.may.is_empty() => "it names nothing of ours".into(),
        Some(_) | None => format!("ARCHITECTURE.md lets it name only {}", wall.may.join(", ")),
    }
}

/// Crates in the tree that have no walls yet.
fn unknown_crates(root: &Path) -> Result<Vec<Finding>, String> {
    let mut findings = Vec::new();
    for parent in ["crates", "doors"] {
        let entries = fs::read_dir(root.join(parent)).map_err(|why| format!("{parent}: {why}"))?;
        for entry in entries.flatten() {
            let folder = PathBuf::from(parent).join(entry.file_name());
            let known = WALLS.iter().any(|wall| Path::new(wall.folder) == folder);
            if !known && root.join(&folder).join("Cargo.toml").exists() {
                let message =
                    "this crate has no floor: give it one in ARCHITECTURE.md and in xtask";
                findings.push(Finding::new(&folder, 0, message));
            }
        }
    }
    Ok(findings)
}

fn check_sources(wall: &Wall, root: &Path) -> Result<Vec<Finding>, String> {
    let folder = Path::new(wall.folder).join("src");
    let files = tree::files(&root.join(&folder)).map_err(|why| why.to_string())?;
    let mut findings = Vec::new();
    for file in
        files.iter().filter(|file| tree::extension(file) == "rs" && !file.ends_with("tests.rs"))
    {
        let path = folder.join(file);
        findings.extend(impure(wall.name, &path, &read(&root.join(&path))?));
    }
    Ok(findings)
}

fn impure(name: &str, path: &Path, text: &str) -> Vec<Finding> {
    let source = Source::new(text);
    let tests = source.test_lines();
    let mut findings = Vec::new();
    for (word, because) in IMPURE {
        for at in crate::rust::words(&source.code, word) {
            let line = line_of(&source.code, at);
            if !tests.iter().any(|(first, last)| (*first..=*last).contains(&line)) {
                findings.push(Finding::new(
                    path,
                    line,
                    format!("{name} must not use {word}: {because}"),
                ));
            }
        }
    }
    findings
}

/// Holds the table in ARCHITECTURE.md against [`WALLS`]: each crate with its floor, and where its
/// permissions are written out, the same ones.
fn check_table(text: &str) -> Vec<Finding> {
    let path = Path::new("ARCHITECTURE.md");
    let rows: Vec<(usize, Vec<&str>)> = text
        .lines()
        .enumerate()
        .filter(|(_, line)| line.starts_with("| `"))
        .map(|(index, line)| {
            (index + 1, line.trim_matches('|').split('|').map(str::trim).collect())
        })
        .collect();
    let mut findings = Vec::new();
    for wall in WALLS {
        let label = if DOORS.contains(&wall.name) { "doors/*" } else { wall.name };
        let row = rows.iter().find(|(_, cells)| cells[0].trim_matches('`') == label);
        let Some((line, cells)) = row else {
            findings.push(Finding::new(path, 0, format!("the table of floors lacks {label}")));
            continue;
        };
        if cells.get(1) != Some(&wall.floor.to_string().as_str()) {
            let message = format!("{label} stands on floor {} according to xtask", wall.floor);
            findings.push(Finding::new(path, *line, message));
        }
        let written: BTreeSet<&str> =
            cells.get(3).unwrap_or(&"").split(", ").filter(|name| is_ours(name)).collect();
        let ours: BTreeSet<&str> = wall.may.iter().copied().collect();
        if !written.is_empty() && written != ours {
            let message = format!("{label} may name {} according to xtask", wall.may.join(", "));
            findings.push(Finding::new(path, *line, message));
        }
    }
    findings.dedup();
    findings
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;

    fn breaches(name: &str, manifest: &str) -> Vec<String> {
        let wall = WALLS.iter().find(|wall| wall.name == name).unwrap();
        let found = check_manifest(wall, Path::new("Cargo.toml"), &manifest.parse().unwrap());
        found.into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn a_breach_is_named_with_its_reason() {
        let found = breaches("policy", "[dependencies]\nvocab.workspace = true\ntokio = \"1\"\n");
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("policy must not name tokio: it must run without"));
        let found = breaches("door-web", "[dev-dependencies]\ndoor-pixel.workspace = true\n");
        assert!(found[0].contains("doors do not know each other"), "{found:?}");
        let found = breaches("vocab", "[dependencies]\npolicy.workspace = true\n");
        assert!(found[0].contains("floor 1) stands above vocab (floor 0)"), "{found:?}");
        let found = breaches("resolver", "[dependencies]\npolicy.workspace = true\n");
        assert!(found[0].contains("lets it name only vocab, settings"), "{found:?}");
    }

    #[test]
    fn what_tests_share_is_theirs_alone() {
        let normal = breaches("door-web", "[dependencies]\ntest-support.workspace = true\n");
        assert!(normal[0].contains("tests alone name it"), "{normal:?}");
        let of_tests = "[dev-dependencies]\ntest-support.workspace = true\n";
        assert_eq!(breaches("door-web", of_tests), Vec::<String>::new());
    }

    #[test]
    fn a_renamed_or_conditional_crate_is_seen_through() {
        let renamed = "[dependencies]\nrt = { package = \"tokio\", version = \"1\" }\n";
        assert_eq!(breaches("dns-wire", renamed).len(), 1);
        let conditional = "[target.'cfg(unix)'.dependencies]\nlibc = \"0.2\"\n";
        assert_eq!(breaches("dns-wire", conditional).len(), 1);
    }

    #[test]
    fn pure_sources_reach_for_no_clock_outside_their_tests() {
        let text =
            "use std::time::Instant;\n// Instant\n#[cfg(test)]\nmod tests {\n    use std::fs;\n}\n";
        let found = impure("policy", Path::new("a.rs"), text);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].line, 1);
    }

    #[test]
    fn the_table_for_people_says_the_same() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let text = fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
        assert_eq!(check_table(&text), []);
        let moved = text.replace("| `policy` | 1 |", "| `policy` | 2 |");
        assert_eq!(check_table(&moved).len(), 1);
        let widened = text.replacen("| vocab, settings, ", "| vocab, policy, ", 1);
        assert_eq!(check_table(&widened).len(), 1);
    }

    #[test]
    fn walls_only_point_downward() {
        for wall in WALLS.iter().filter(|wall| wall.name != "config") {
            for name in wall.may {
                let other = WALLS.iter().find(|other| other.name == *name).unwrap();
                assert!(other.floor <= wall.floor, "{} names {name}", wall.name);
            }
        }
    }
}
