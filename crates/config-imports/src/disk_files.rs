//! The files of this machine, within bounds; archives and databases are folders.

use archive_folders::ArchiveFolder;
use import_report::ImportSurroundings;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Bytes of a configuration, and of a file that it names, at most: most are a few hundred lines.
const BYTES_MAX: u64 = 16 << 20;
/// Names of a folder, at most.
const FILES_MAX: usize = 1000;

/// The files of this machine.
#[derive(Default)]
pub(crate) struct DiskFiles {
    /// Archives that were opened, by their paths; none for files that are no archives.
    archives: RefCell<HashMap<PathBuf, Option<Rc<ArchiveFolder>>>>,
}

impl DiskFiles {
    /// The archive at a path or above it, and what is asked of it.
    fn archive<'p>(&self, path: &'p Path) -> io::Result<Option<(Rc<ArchiveFolder>, &'p Path)>> {
        let Some(file) = path.ancestors().find(|above| above.is_file()) else { return Ok(None) };
        let known = self.archives.borrow().get(file).cloned();
        let archive = if let Some(archive) = known {
            archive
        } else {
            let opened = ArchiveFolder::open(file)?.map(Rc::new);
            self.archives.borrow_mut().insert(file.to_owned(), opened.clone());
            opened
        };
        let inside = path.strip_prefix(file).unwrap_or(Path::new(""));
        Ok(archive.map(|archive| (archive, inside)))
    }
}

impl ImportSurroundings for DiskFiles {
    fn read(&self, path: &Path) -> io::Result<String> {
        match self.archive(path)? {
            Some((archive, inside)) => archive.read(inside),
            None => text(path),
        }
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        match self.archive(path)? {
            Some((archive, inside)) => archive.list(inside),
            None => names(path),
        }
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
        names(path)
    }

    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }
}

/// The names in a folder, in their order.
fn names(path: &Path) -> io::Result<Vec<String>> {
    let entries = fs::read_dir(path)?.take(FILES_MAX + 1);
    let names = entries.map(|it| Ok(it?.file_name().to_string_lossy().into_owned()));
    let mut names = names.collect::<io::Result<Vec<_>>>()?;
    if names.len() > FILES_MAX {
        return Err(io::Error::other(format!("more than {FILES_MAX} files")));
    }
    names.sort();
    Ok(names)
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
    let names = names(&path).map_err(told)?;
    let texts: io::Result<Vec<_>> = names.iter().map(|name| named(&path.join(name))).collect();
    Ok(texts?.join("\n"))
}
