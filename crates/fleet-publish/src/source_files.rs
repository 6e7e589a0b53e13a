//! Files of a fleet's folder, as they go into a bundle: all but hidden ones, `fleet.yaml`, and what
//! is sealed.

use crate::fleet_file::FLEET_FILE;
use fleet_bundle::{BadBundlePath, BundlePath, FILES_MAX, SealedSecrets};
use fleet_edge::{MAIN_FILE, SECRET_FOLDER};
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Files of a folder, in the order of their paths.
#[derive(Clone, Debug)]
pub struct SourceFiles {
    /// The folder.
    pub folder: PathBuf,
    /// Paths of files that everybody may read.
    pub open: Vec<BundlePath>,
    /// Files that are in the bundle and not in the folder: what was made of it.
    pub made: BTreeMap<BundlePath, Vec<u8>>,
    /// Files that are sealed for each edge.
    pub secrets: SealedSecrets,
}

/// Reason why a folder cannot be published.
#[derive(Debug)]
pub enum SourceFault {
    /// A file cannot be read.
    File(PathBuf, io::Error),
    /// A path that a bundle does not take.
    Path(PathBuf, BadBundlePath),
    /// A link, a socket or the like.
    NoFile(PathBuf),
    /// More files than a bundle has.
    TooMany,
    /// Without the configuration.
    NoMain,
}

impl SourceFiles {
    /// Looks through a folder.
    ///
    /// # Errors
    /// [`SourceFault`].
    pub fn gather(folder: &Path) -> Result<Self, SourceFault> {
        let mut found = Self {
            folder: folder.into(),
            open: Vec::new(),
            made: BTreeMap::new(),
            secrets: SealedSecrets::default(),
        };
        found.walk(folder)?;
        found.open.sort_unstable();
        if found.open.iter().any(|it| it.as_str() == MAIN_FILE) {
            Ok(found)
        } else {
            Err(SourceFault::NoMain)
        }
    }

    /// Content of one of the open files.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(&self, path: &BundlePath) -> Result<Vec<u8>, SourceFault> {
        let name = self.folder.join(path.as_path());
        fs::read(&name).map_err(|why| SourceFault::File(name, why))
    }

    fn walk(&mut self, folder: &Path) -> Result<(), SourceFault> {
        let failed = |why| SourceFault::File(folder.into(), why);
        for entry in fs::read_dir(folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let path = entry.path();
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                continue;
            }
            let kind = entry.file_type().map_err(failed)?;
            if kind.is_dir() {
                self.walk(&path)?;
            } else if kind.is_file() {
                self.add(&path)?;
            } else {
                return Err(SourceFault::NoFile(path));
            }
        }
        Ok(())
    }

    fn add(&mut self, path: &Path) -> Result<(), SourceFault> {
        let below = path.strip_prefix(&self.folder).unwrap_or(path);
        let text = below.to_str().unwrap_or("\0");
        let named = BundlePath::parse(text).map_err(|why| SourceFault::Path(path.into(), why))?;
        if text == FLEET_FILE {
            return Ok(());
        }
        if self.open.len() >= FILES_MAX {
            return Err(SourceFault::TooMany);
        }
        if below.starts_with(SECRET_FOLDER) {
            let content = fs::read(path).map_err(|why| SourceFault::File(path.into(), why))?;
            self.secrets.insert(named, &content);
        } else {
            self.open.push(named);
        }
        Ok(())
    }
}

impl fmt::Display for SourceFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path, why) => write!(f, "{}: {why}", path.display()),
            Self::Path(path, why) => write!(f, "{}: {why}", path.display()),
            Self::NoFile(path) => {
                write!(f, "{}: a bundle has plain files; put a copy there", path.display())
            }
            Self::TooMany => write!(f, "a bundle has at most {FILES_MAX} files"),
            Self::NoMain => write!(f, "the folder has no {MAIN_FILE}, which is the configuration"),
        }
    }
}

impl std::error::Error for SourceFault {}
