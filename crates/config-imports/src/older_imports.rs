//! Imports that write their remarks above the configuration themselves: hinsightd, Perlbal, Polipo.
//!
//! Their remarks become notes, so that they are shown as those of all others.

use crate::disk_files::{self, DiskFiles};
use crate::{ImportFailure, ReadProgram};
use import_report::{ImportReport, ImportedConfig, NotePlace};
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
    let text = made.map_err(ImportFailure::Faults)?;
    Ok(ReadProgram { config: noted(name, file, &text), text, script })
}

/// A configuration whose first lines are remarks, with these as notes.
fn noted(program: &str, file: &Path, text: &str) -> ImportedConfig {
    let source: Arc<str> = file.to_string_lossy().into();
    let body = text.lines().position(|line| !line.starts_with('#'));
    let remarks = body.unwrap_or(text.lines().count());
    let mut report = ImportReport::default();
    for remark in text.lines().take(remarks).filter_map(|line| line.strip_prefix("#   ")) {
        let (line, said) = placed(remark);
        let place = NotePlace::new(&source, line);
        match said.split_once(": ") {
            Some((setting, why)) => report.left_out(&place, setting, why),
            None => report.left_out(&place, said, ""),
        }
    }
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
