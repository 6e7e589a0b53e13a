//! `tidegate import`: another program's configuration in our words, on standard output.
//!
//! The words are [`config`]'s; here files are read, and nothing is written.

use super::{CommandFailure, ExitReason};
use clap::{Args, ValueEnum};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Bytes of a configuration, and of a file that it names, at most: Polipo's own are a few hundred
/// lines.
const BYTES_MAX: u64 = 16 << 20;
/// Files of a folder that is named in place of one, at most.
const FILES_MAX: usize = 1000;

/// Holds what is imported.
#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// Whose configuration it is
    #[arg(value_enum)]
    program: ForeignProgram,
    /// File
    file: PathBuf,
    /// Where to write the functions of hinsightd's configuration, as a script in Luau
    #[arg(long, value_name = "FILE", required_if_eq("program", "hinsightd"))]
    script: Option<PathBuf>,
}

/// A program whose configuration can be read. Those of mosdns and OxiDNS run as they are.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum ForeignProgram {
    Hinsightd,
    Perlbal,
    Polipo,
}

/// Prints a configuration that does what the named one did.
pub(super) fn import(args: &ImportArgs) -> Result<(), CommandFailure> {
    let text = read(&args.file).map_err(|why| at(&args.file, &why))?;
    let said = match (args.program, &args.script) {
        (ForeignProgram::Hinsightd, Some(script)) => return hinsightd(&args.file, script),
        (ForeignProgram::Hinsightd, None) => unreachable!("clap wants it"),
        (ForeignProgram::Polipo, None) => config::from_polipo(&text, &args.file, &named),
        (ForeignProgram::Perlbal, None) => config::from_perlbal(&text, &args.file, &PerlbalFiles),
        (ForeignProgram::Perlbal | ForeignProgram::Polipo, Some(_)) => {
            let message = "only hinsightd's configuration has functions; leave --script out";
            return Err(CommandFailure::new(ExitReason::Wrong, format_args!("{message}")));
        }
    };
    print!("{}", said.map_err(|complaints| CommandFailure::complaints(&complaints))?);
    Ok(())
}

/// Prints hinsightd's settings, and writes its functions to a file that is not there yet.
fn hinsightd(file: &Path, script: &Path) -> Result<(), CommandFailure> {
    let said = config::from_hinsightd(file, &script.to_string_lossy(), read);
    let said = said.map_err(|complaints| CommandFailure::complaints(&complaints))?;
    let written = File::create_new(script).and_then(|mut it| it.write_all(said.script.as_bytes()));
    written.map_err(|why| at(script, &why))?;
    print!("{}", said.settings);
    Ok(())
}

fn at(file: &Path, why: &io::Error) -> CommandFailure {
    CommandFailure::new(ExitReason::Wrong, format_args!("{}: {why}", file.display()))
}

/// Surroundings of Perlbal's configuration: those of this process.
struct PerlbalFiles;

impl config::PerlbalSurroundings for PerlbalFiles {
    fn read(&self, path: &Path) -> io::Result<String> {
        read(path)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<String>> {
        let entries = fs::read_dir(folder)?.take(FILES_MAX);
        entries.map(|it| Ok(it?.file_name().to_string_lossy().into_owned())).collect()
    }

    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }
}

/// A file that a configuration names: at home behind `~`, and of a folder all its files.
fn named(path: &Path) -> io::Result<String> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let path = match (path.strip_prefix("~"), home) {
        (Ok(below), Some(home)) => home.join(below),
        (Ok(_) | Err(_), _) => path.to_owned(),
    };
    let told = |why: io::Error| io::Error::new(why.kind(), format!("{}: {why}", path.display()));
    if !path.is_dir() {
        return read(&path).map_err(told);
    }
    let entries = fs::read_dir(&path).map_err(told)?.take(FILES_MAX + 1);
    let mut files =
        entries.map(|it| Ok(it?.path())).collect::<io::Result<Vec<_>>>().map_err(told)?;
    if files.len() > FILES_MAX {
        return Err(told(io::Error::other(format!("more than {FILES_MAX} files"))));
    }
    files.sort();
    let texts: io::Result<Vec<_>> = files.iter().map(|file| named(file)).collect();
    Ok(texts?.join("\n"))
}

fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(BYTES_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 > BYTES_MAX {
        return Err(io::Error::other(format!("longer than {} MiB", BYTES_MAX >> 20)));
    }
    Ok(text)
}
