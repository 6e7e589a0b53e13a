//! Imports that write their remarks above the configuration themselves: hinsightd, Perlbal, Polipo.
//!
//! Their remarks become notes, so that they are shown as those of all others.

use crate::disk_files::{self, DiskFiles};
use crate::{ImportFailure, ReadProgram};
use import_report::{ImportReport, ImportedConfig, NotePlace};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A program whose import came before the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OlderProgram {
    Hinsightd,
    Perlbal,
    Polipo,
}

/// Reads the configuration of one of the three.
pub(crate) fn read(
    program: OlderProgram,
    paths: &[PathBuf],
    script: Option<&Path>,
    around: &DiskFiles,
) -> Result<ReadProgram, ImportFailure> {
    let [file] = paths else {
        return Err(ImportFailure::Arguments("one file is read: name the first, it names others"));
    };
    let text = disk_files::text(file).map_err(|why| ImportFailure::File(file.clone(), why))?;
    let (name, made, script) = match (program, script) {
        (OlderProgram::Hinsightd, script) => {
            let script = script.unwrap_or(Path::new("site.luau")).to_string_lossy();
            let made = config::from_hinsightd(file, &script, disk_files::text);
            let made = made.map_err(ImportFailure::Faults)?;
            ("hinsightd", Ok(made.settings), Some(made.script))
        }
        (OlderProgram::Perlbal, _) => ("Perlbal", config::from_perlbal(&text, file, around), None),
        (OlderProgram::Polipo, _) => {
            ("Polipo", config::from_polipo(&text, file, &disk_files::named), None)
        }
    };
    let made = made.map_err(ImportFailure::Faults)?;
    // A program in Lua has no lines that each say one thing.
    let lines = if program == OlderProgram::Hinsightd { "" } else { text.as_str() };
    Ok(ReadProgram { config: noted(name, file, lines, &made), text: made, script })
}

/// A configuration whose first lines are remarks, with these as notes; of the other program's
/// `lines`, those that no remark is about were carried over.
fn noted(program: &str, file: &Path, lines: &str, text: &str) -> ImportedConfig {
    let source: Arc<str> = file.to_string_lossy().into();
    let body = text.lines().position(|line| !line.starts_with('#'));
    let remarks = body.unwrap_or(text.lines().count());
    let mut report = ImportReport::default();
    let mut told = BTreeSet::new();
    for remark in text.lines().take(remarks).filter_map(|line| line.strip_prefix("#   ")) {
        let (line, said) = placed(remark);
        told.insert(line);
        let place = NotePlace::new(&source, line);
        match said.split_once(": ") {
            Some((setting, why)) => report.left_out(&place, setting, why),
            None => report.left_out(&place, said, ""),
        }
    }
    for (line, said) in lines.lines().zip(1..).map(|(said, line)| (line, said.trim())) {
        if !said.is_empty() && !said.starts_with('#') && !told.contains(&line) {
            report.carried(&NotePlace::new(&source, line), said, "");
        }
    }
    report.sort(&[source.to_string()]);
    let yaml = text.lines().skip(remarks).flat_map(|line| [line, "\n"]).collect();
    ImportedConfig::of_text(program, &source, yaml, report)
}

/// A remark's line, and what it says.
fn placed(remark: &str) -> (usize, &str) {
    let placed = remark.strip_prefix("line ").and_then(|rest| {
        let end = rest.find([':', ','])?;
        Some((rest[..end].parse().ok()?, rest[end + 1..].trim_start()))
    });
    placed.unwrap_or((0, remark))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_without_a_remark_were_carried_over() {
        let lines = "# Polipo\nproxyPort = 8124\n\nlogFile = /a\ncacheIsShared = true\n";
        let text = "# What Polipo was told.\n#   line 4: logFile: the ledger has it\nproxy: {}\n";
        let table = noted("Polipo", Path::new("/c"), lines, text).table();
        assert!(table.contains("/c:2  carried   proxyPort = 8124"), "{table}");
        assert!(table.contains("/c:4  left out  logFile"), "{table}");
        assert!(table.contains("2 carried, 0 changed, 1 left out"), "{table}");
    }
}
