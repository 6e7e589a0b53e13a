//! The files of this machine, within bounds.

use import_report::ImportSurroundings;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Bytes of a configuration, and of a file that it names, at most: most are a few hundred lines.
const BYTES_MAX: u64 = 16 << 20;
/// Names of a folder, at most.
const FILES_MAX: usize = 1000;

/// The files of this machine.
pub(crate) struct DiskFiles;

impl ImportSurroundings for DiskFiles {
    fn read(&self, path: &Path) -> io::Result<String> {
        text(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let entries = fs::read_dir(path)?.take(FILES_MAX + 1);
        let names = entries.map(|it| Ok(it?.file_name().to_string_lossy().into_owned()));
        let mut names = names.collect::<io::Result<Vec<_>>>()?;
        if names.len() > FILES_MAX {
            return Err(io::Error::other(format!("more than {FILES_MAX} files")));
        }
        names.sort();
        Ok(names)
    }

    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }
}

impl config::PerlbalSurroundings for DiskFiles {
    fn read(&self, path: &Path) -> io::Result<String> {
        text(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        ImportSurroundings::list(self, path)
    }

    fn variable(&self, name: &str) -> Option<String> {
        ImportSurroundings::variable(self, name)
    }
}

/// The text of a file.
pub(crate) fn text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(BYTES_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 > BYTES_MAX {
        return Err(io::Error::other(format!("longer than {} MiB", BYTES_MAX >> 20)));
    }
    Ok(text)
}

/// A file that Polipo's configuration names: at home behind `~`, and of a folder all its files.
pub(crate) fn named(path: &Path) -> io::Result<String> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let path = match (path.strip_prefix("~"), home) {
        (Ok(below), Some(home)) => home.join(below),
        (Ok(_) | Err(_), _) => path.to_owned(),
    };
    let told = |why: io::Error| io::Error::new(why.kind(), format!("{}: {why}", path.display()));
    if !path.is_dir() {
        return text(&path).map_err(told);
    }
    let names = ImportSurroundings::list(&DiskFiles, &path).map_err(told)?;
    let texts: io::Result<Vec<_>> = names.iter().map(|name| named(&path.join(name))).collect();
    Ok(texts?.join("\n"))
}
