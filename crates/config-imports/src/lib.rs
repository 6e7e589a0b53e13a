//! `tidegate import`: whose configurations are read, from which files, and what is shown of it.
//!
//! The words of each program are a crate of its own; here its files are opened, within bounds, and
//! the configuration or the report is made a text. It starts nothing, and writes only the files
//! that its arguments name. Called by the command line of `tidegate`.

mod disk_files;
mod older_imports;
mod programs;

use crate::disk_files::DiskFiles;
pub use crate::programs::ForeignProgram;
use clap::Args;
use config::FileComplaint;
use import_report::{ImportFault, ImportedConfig};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Arguments of `tidegate import`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ImportArgs {
    /// The program whose configuration it is
    #[arg(value_enum)]
    program: ForeignProgram,
    /// Files or folders of the configuration; those that they name are found by themselves
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Write the configuration to this file, which is not there yet, instead of printing it
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write no file: only show what would be written
    #[arg(long)]
    dry_run: bool,
    /// Show a table instead of the configuration: each line, its fate, our setting
    #[arg(long)]
    compare: bool,
    /// Show the report with the configuration as JSON
    #[arg(long)]
    json: bool,
    /// Where to write the functions of hinsightd's configuration, as a script in Luau
    #[arg(long, value_name = "FILE", required_if_eq("program", "hinsightd"))]
    script: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  tidegate import polipo /etc/polipo/config > tidegate.yaml
  tidegate import perlbal /etc/perlbal/perlbal.conf --compare
  tidegate import mosdns /etc/mosdns/config.yaml --compare
  tidegate import perlbal /etc/perlbal/perlbal.conf --output tidegate.yaml";

/// Failure of an import: nothing was written.
#[derive(Debug)]
pub enum ImportFailure {
    /// Faults of the configuration, by file and line.
    Faults(Vec<FileComplaint>),
    /// Arguments that do not go together.
    Arguments(&'static str),
    /// A file that cannot be read or written.
    File(PathBuf, io::Error),
}

/// Texts of a finished import.
#[derive(Debug)]
pub struct ImportTexts {
    /// For standard output.
    pub shown: String,
    /// Complaints that `check` has about the configuration, for standard error.
    pub complaints: Vec<FileComplaint>,
}

/// A configuration that was read, with the script beside it.
pub(crate) struct ReadProgram {
    pub(crate) config: ImportedConfig,
    /// The file, remarks above the configuration.
    pub(crate) text: String,
    pub(crate) script: Option<String>,
}

/// Reads the configuration that `args` name, and writes the files that they name.
///
/// # Errors
/// Lines that the other program would not take either, and files that cannot be read or written.
pub fn import(args: &ImportArgs) -> Result<ImportTexts, ImportFailure> {
    if args.script.is_some() && args.program != ForeignProgram::Hinsightd {
        return Err(ImportFailure::Arguments(
            "only hinsightd's configuration has functions; leave --script out",
        ));
    }
    let place = place_of(args);
    let read = programs::read(args, &place, &DiskFiles::default())?;
    let text = read.text;
    let complaints = config::parse(&text, &place).err().unwrap_or_default();
    if !args.dry_run {
        if let (Some(file), Some(script)) = (&args.script, &read.script) {
            write_new(file, script)?;
        }
        if let Some(file) = &args.output {
            write_new(file, &text)?;
        }
    }
    let shown = match (args.json, args.compare, &args.output) {
        (true, _, _) => format!("{:#}\n", read.config.json()),
        (false, true, _) => read.config.table(),
        (false, false, Some(file)) if !args.dry_run => {
            format!("{} is written; tidegate check -c {0} tells more\n", file.display())
        }
        (false, false, _) => text,
    };
    Ok(ImportTexts { shown, complaints })
}

/// The place where the configuration is to stand: beside the one that was read, if none is named,
/// since relative paths in it start there.
fn place_of(args: &ImportArgs) -> PathBuf {
    let first = args.paths.first().map_or(Path::new(""), PathBuf::as_path);
    args.output.clone().unwrap_or_else(|| first.with_file_name("tidegate.yaml"))
}

/// Writes a file that is not there yet: one that is there is somebody's.
fn write_new(path: &Path, text: &str) -> Result<(), ImportFailure> {
    let written = File::create_new(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|why| ImportFailure::File(path.into(), why))
}

/// Faults as complaints of a file.
pub(crate) fn placed(faults: Vec<ImportFault>) -> ImportFailure {
    let placed = |fault: ImportFault| FileComplaint {
        file: PathBuf::from(&*fault.place.file),
        line: fault.place.line.max(1),
        column: 1,
        path: fault.setting,
        message: fault.message,
        remedy: fault.remedy,
    };
    ImportFailure::Faults(faults.into_iter().map(placed).collect())
}
