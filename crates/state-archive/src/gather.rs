//! Files that belong into an archive.

use crate::backup::{BackupSource, CacheChoice};
use crate::entry_path::{EntryPath, EntryRoot};
use crate::error::ArchiveError;
use crate::restore::DRAFT_NAME;
use crate::swap::{REPLACED_MARK, UNFINISHED_NAME};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

/// Files of one archive, at most.
pub(crate) const FILES_MAX: usize = 1_000_000;
/// Files of a running process, which are of no use to another, and the ledger, which is copied.
const PASSED_OVER: [&str; 6] =
    ["lock", "admin.address", "ledger.lock", ledger::FILE_NAME, "ledger.db-wal", "ledger.db-shm"];
/// Names that are built again from the rest.
const REBUILT: [&str; 2] = ["policy.snapshot", "dns-cache"];

/// Files and folders by their names in the archive.
pub(crate) type GatheredFiles = BTreeMap<EntryPath, PathBuf>;

/// All that belongs into the archive, but for the ledger; and how many links were passed over.
pub(crate) fn gather(source: &BackupSource) -> Result<(GatheredFiles, u64), ArchiveError> {
    let mut found = GatheredFiles::new();
    let mut links = 0;
    let caches: Vec<PathBuf> = match source.caches {
        CacheChoice::Taken => Vec::new(),
        CacheChoice::LeftOut => {
            let rebuilt = REBUILT.iter().map(|name| source.state.join(name));
            rebuilt.chain(source.cache_folders.iter().cloned()).collect()
        }
    };
    let is_left_out = |path: &Path| caches.iter().any(|cache| path == cache);
    walk(&source.state, &mut links, &mut |path| {
        let below = path.strip_prefix(&source.state).unwrap_or(path);
        let name = below.to_string_lossy();
        let is_own = PASSED_OVER.contains(&&*name)
            || name == UNFINISHED_NAME
            || name == DRAFT_NAME
            || name.contains(REPLACED_MARK)
            || path.extension().is_some_and(|it| it == "draft");
        if is_own || is_left_out(path) {
            return Ok(WalkChoice::PassOver);
        }
        add(&mut found, EntryRoot::State, below, path)?;
        Ok(WalkChoice::Enter)
    })?;
    if let Some(configuration) = &source.configuration {
        let base = configuration.folder();
        let mut add_file = |path: &Path| {
            let Ok(below) = path.strip_prefix(base) else { return Ok(()) };
            // What lies in the state folder comes with the state.
            let leads_out = below.components().any(|part| part == Component::ParentDir);
            if leads_out || path.starts_with(&source.state) {
                return Ok(());
            }
            let below: PathBuf = below.components().collect();
            add(&mut found, EntryRoot::Configuration, &below, path)
        };
        add_file(&configuration.file)?;
        for path in &configuration.named {
            if path.is_file() {
                add_file(path)?;
            } else if path.is_dir() {
                walk(path, &mut links, &mut |path| {
                    if path.starts_with(&source.state) {
                        return Ok(WalkChoice::PassOver);
                    }
                    if path.is_file() {
                        add_file(path)?;
                    }
                    Ok(WalkChoice::Enter)
                })?;
            }
        }
    }
    Ok((found, links))
}

fn add(
    found: &mut GatheredFiles,
    root: EntryRoot,
    below: &Path,
    path: &Path,
) -> Result<(), ArchiveError> {
    let name = EntryPath::new(root, below).map_err(|_| ArchiveError::LongPath(path.into()))?;
    if found.len() >= FILES_MAX {
        return Err(crate::HostileEntry::Count.into());
    }
    found.insert(name, path.into());
    Ok(())
}

/// Choice to walk into a folder, or past it.
enum WalkChoice {
    Enter,
    PassOver,
}

/// Calls `visit` with every file and folder below `folder`; links, sockets and the like are passed
/// over, as is what goes away meanwhile.
fn walk(
    folder: &Path,
    links: &mut u64,
    visit: &mut dyn FnMut(&Path) -> Result<WalkChoice, ArchiveError>,
) -> Result<(), ArchiveError> {
    let mut left = vec![folder.to_path_buf()];
    while let Some(folder) = left.pop() {
        let entries = match fs::read_dir(&folder) {
            Err(why) if why.kind() == io::ErrorKind::NotFound => continue,
            entries => entries.map_err(ArchiveError::file(&folder))?,
        };
        for entry in entries {
            let entry = entry.map_err(ArchiveError::file(&folder))?;
            let path = entry.path();
            let kind = entry.file_type().map_err(ArchiveError::file(&path))?;
            if !kind.is_file() && !kind.is_dir() {
                *links += u64::from(kind.is_symlink());
                continue;
            }
            if let WalkChoice::Enter = visit(&path)?
                && kind.is_dir()
            {
                left.push(path);
            }
        }
    }
    Ok(())
}
