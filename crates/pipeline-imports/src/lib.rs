//! Pipelines of mosdns v5 and OxiDNS, said in our words: listeners, upstreams, names that lead
//! elsewhere, lists, records, the cache.
//!
//! A pipeline is a program and our settings are not, so a file becomes settings only where these
//! answer every question as it did; else its plugins stay what they are, under `dns.pipeline`, and
//! what stands around them becomes ours. Each line has a note. It opens no file and reads no YAML:
//! both are handed in. Called by `config-imports`, for `tidegate import`, and by a fuzz target.

mod book;
mod condition;
mod flow;
mod frame;
mod kept;
mod kept_reason;
mod listeners;
mod names;
mod records;
mod simple;
mod sources;
mod steps;
#[cfg(test)]
mod tests;
mod upstreams;

pub use mosdns_compat::language::Dialect;
pub use sources::{DocumentFault, PlacedDocument, ReadDocument};

use book::PluginBook;
use import_report::{EmittedSections, ImportFault, ImportReport, ImportSurroundings};
use import_report::{ImportedConfig, NotePlace};
use mosdns_compat::language::{self, ForeignFile};
use sources::ImportFiles;
use std::path::PathBuf;

/// A configuration of ours in the making.
#[derive(Clone, Default)]
pub(crate) struct PipelineDraft {
    pub(crate) sections: EmittedSections,
    pub(crate) report: ImportReport,
}

/// The pipeline of a file, as a configuration of ours.
///
/// # Errors
/// Files that cannot be read, and what the other program would not take either.
pub fn from_pipeline(
    program: Dialect,
    paths: &[PathBuf],
    around: &dyn ImportSurroundings,
    reader: &ReadDocument<'_>,
) -> Result<ImportedConfig, Vec<ImportFault>> {
    let [path] = paths else {
        let place = NotePlace::new(&"".into(), 0);
        return Err(vec![ImportFault::new(&place, "one file is read: it names the others")]);
    };
    let files = ImportFiles::open(path, around, reader).map_err(|fault| vec![fault])?;
    let faults = |found: Vec<_>| found.into_iter().map(|it| files.fault(it)).collect::<Vec<_>>();
    let document = files.main_value();
    let foreign = match program {
        Dialect::Oxidns => language::read_as(Some(program), &document, &files).map_err(faults)?,
        Dialect::Mosdns => language::read(&document, &files).map_err(faults)?,
    };
    if foreign.dialect != program {
        let why = foreign.because.map_or_else(String::new, |it| it.to_string());
        let fault = ImportFault::new(&files.whole(), format!("only OxiDNS knows {why}"));
        return Err(vec![fault.remedy("write tidegate import oxidns")]);
    }
    let written = language::written_plugins(program, &document, &files).map_err(faults)?;
    let book = PluginBook::new(&foreign, &written, &files);
    let mut draft = PipelineDraft::default();
    listeners::listeners(&book, &mut draft);
    match simple::settings(&book, draft.clone()) {
        Ok(made) => draft = made,
        Err(reasons) => kept::pipeline(&reasons, &book, &mut draft)?,
    }
    frame::around(&book, &mut draft);
    let name = program_name(&foreign);
    Ok(ImportedConfig::new(name, files.sources(), &draft.sections, draft.report))
}

fn program_name(foreign: &ForeignFile) -> &'static str {
    match foreign.dialect {
        Dialect::Mosdns => "mosdns",
        Dialect::Oxidns => "OxiDNS",
    }
}
