//! The programs whose configurations are read, one arm each.

use crate::disk_files::DiskFiles;
use crate::{ImportFailure, ReadProgram, older_imports};
use clap::ValueEnum;
use import_report::{ImportFault, ImportSurroundings, ImportedConfig};
use std::path::{Path, PathBuf};

/// A program whose configuration can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ForeignProgram {
    /// hinsightd, whose configuration is a program in Lua.
    Hinsightd,
    /// Perlbal.
    Perlbal,
    /// Polipo.
    Polipo,
}

/// A crate that reads configurations: from paths to one of ours.
type ReadConfig = fn(
    paths: &[PathBuf],
    around: &dyn ImportSurroundings,
) -> Result<ImportedConfig, Vec<ImportFault>>;

/// The reader of a program; none for those that came before the report was one.
fn reader(program: ForeignProgram) -> Option<ReadConfig> {
    match program {
        ForeignProgram::Hinsightd | ForeignProgram::Perlbal | ForeignProgram::Polipo => None,
    }
}

/// Reads the configuration of `program` at `paths`.
pub(crate) fn read(
    program: ForeignProgram,
    paths: &[PathBuf],
    script: Option<&Path>,
    around: &DiskFiles,
) -> Result<ReadProgram, ImportFailure> {
    match reader(program) {
        Some(read) => {
            let config = read(paths, around).map_err(crate::placed)?;
            Ok(ReadProgram { text: config.commented(), config, script: None })
        }
        None => older_imports::read(program, paths, script, around),
    }
}
