//! A file replaced as a whole: written beside its place, synced, renamed, and its folder synced.
//!
//! Whoever opens it, and whatever kills this process or the machine, finds the old file or the new
//! one, never a part. It refuses to write through a link or into a file of somebody else's that
//! stands where the draft goes. Used by all that keep state in files.

#[cfg(test)]
mod tests;

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

/// A file to be put in the place of what stands at `path`, if anything does.
#[derive(Clone, Copy, Debug)]
pub struct FileReplacement<'p> {
    /// Where it is to stand; a link there is replaced too.
    pub path: &'p Path,
    /// Owner and mode.
    pub access: FileAccess<'p>,
    /// Name that it has until it is whole.
    pub draft: DraftName,
    /// State of its name once it is written.
    pub durability: NameDurability,
}

/// Owner and mode of a file.
#[derive(Clone, Copy, Debug)]
pub enum FileAccess<'p> {
    /// For its owner alone, to be read and written.
    Private,
    /// For everybody to be read, whatever the umask says.
    Public,
    /// As the umask has it.
    Umask,
    /// Owner, group and mode of another file, which is mostly the one that is replaced. Fails where
    /// a file cannot be given to that owner.
    Of(&'p Metadata),
}

/// Name of a file that is not whole yet, in the folder where it is to stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DraftName {
    /// `NAME.new`.
    New,
    /// `.NAME.part`, where programs read every file of the folder.
    Hidden,
}

/// State of the new name once [`FileReplacement::write`] is back. The contents are on disk before
/// the file has its name in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameDurability {
    /// On disk: the new file is there after a power cut.
    Synced,
    /// On disk where the file system can say so.
    Tried,
    /// The kernel's affair: after a power cut the old file may be there again.
    Left,
}

impl<'p> FileReplacement<'p> {
    /// A file that its owner alone may read, which is there after a power cut.
    pub const fn private(path: &'p Path) -> Self {
        Self {
            path,
            access: FileAccess::Private,
            draft: DraftName::New,
            durability: NameDurability::Synced,
        }
    }

    /// Writes the file, which is open for reading and writing then. After an error the old one
    /// stands, but for one of the folder's.
    pub fn write(&self, bytes: &[u8]) -> io::Result<File> {
        self.write_by(&mut SystemSteps, bytes)
    }

    fn write_by<D: WriteSteps>(&self, disk: &mut D, bytes: &[u8]) -> io::Result<D::Draft> {
        let draft = self.draft_path();
        let written = self.written(disk, &draft, bytes).inspect_err(|_| {
            // It may never have been made; the error that counts is the first.
            let _ = disk.remove(&draft);
        })?;
        match self.durability {
            NameDurability::Synced => disk.sync_folder(self.folder())?,
            NameDurability::Tried => drop(disk.sync_folder(self.folder())),
            NameDurability::Left => {}
        }
        Ok(written)
    }

    fn written<D: WriteSteps>(
        &self,
        disk: &mut D,
        draft: &Path,
        bytes: &[u8],
    ) -> io::Result<D::Draft> {
        // What a process that was killed has left.
        match disk.remove(draft) {
            Err(why) if why.kind() != ErrorKind::NotFound => return Err(why),
            Ok(()) | Err(_) => {}
        }
        let mut file = disk.create(draft, self.access)?;
        disk.fill(&mut file, bytes)?;
        disk.sync(&mut file)?;
        disk.rename(draft, self.path)?;
        Ok(file)
    }

    fn draft_path(&self) -> PathBuf {
        let name = self.path.file_name().unwrap_or_default();
        let mut draft = name.to_owned();
        match self.draft {
            DraftName::New => draft.push(".new"),
            DraftName::Hidden => {
                draft = ".".into();
                draft.push(name);
                draft.push(".part");
            }
        }
        self.path.with_file_name(draft)
    }

    fn folder(&self) -> &Path {
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        folder.unwrap_or(Path::new("."))
    }
}

/// Steps of a replacement, one call of the system each: tests stop between any two.
trait WriteSteps {
    type Draft;
    fn remove(&mut self, draft: &Path) -> io::Result<()>;
    fn create(&mut self, draft: &Path, access: FileAccess<'_>) -> io::Result<Self::Draft>;
    fn fill(&mut self, draft: &mut Self::Draft, bytes: &[u8]) -> io::Result<()>;
    fn sync(&mut self, draft: &mut Self::Draft) -> io::Result<()>;
    fn rename(&mut self, draft: &Path, path: &Path) -> io::Result<()>;
    fn sync_folder(&mut self, folder: &Path) -> io::Result<()>;
}

struct SystemSteps;

impl WriteSteps for SystemSteps {
    type Draft = File;

    fn remove(&mut self, draft: &Path) -> io::Result<()> {
        fs::remove_file(draft)
    }

    fn create(&mut self, draft: &Path, access: FileAccess<'_>) -> io::Result<File> {
        // Nobody else reads it before it has its own mode.
        let mode = if matches!(access, FileAccess::Umask) { 0o666 } else { 0o600 };
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create_new(true).mode(mode).open(draft)?;
        match access {
            FileAccess::Private | FileAccess::Umask => {}
            FileAccess::Public => file.set_permissions(Permissions::from_mode(0o644))?,
            FileAccess::Of(facts) => {
                let own = file.metadata()?;
                if (own.uid(), own.gid()) != (facts.uid(), facts.gid()) {
                    fchown(&file, Some(facts.uid()), Some(facts.gid()))?;
                }
                file.set_permissions(Permissions::from_mode(facts.mode() & 0o7777))?;
            }
        }
        Ok(file)
    }

    fn fill(&mut self, draft: &mut File, bytes: &[u8]) -> io::Result<()> {
        draft.write_all(bytes)
    }

    fn sync(&mut self, draft: &mut File) -> io::Result<()> {
        draft.sync_all()
    }

    fn rename(&mut self, draft: &Path, path: &Path) -> io::Result<()> {
        fs::rename(draft, path)
    }

    fn sync_folder(&mut self, folder: &Path) -> io::Result<()> {
        File::open(folder)?.sync_all()
    }
}
