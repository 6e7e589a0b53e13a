//! Programs that the fleet has sent: `STATE/fleet/programs/DIGEST/tidegate`.
//!
//! A file is verified whenever it is about to be started: whoever could change it since it was
//! written is not believed. Those that no kept revision names are removed.

use crate::store::{KeptRevision, RevisionRecord, RevisionStore};
use fleet_bundle::{ContentDigest, ContentHasher, FailedProgram, ProgramMachine, ProgramStatus};
use std::collections::BTreeSet;
use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Bytes that are hashed at a time.
const PIECE: usize = 1 << 20;

/// The program that runs, of a machine that takes programs from its fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunningProgram {
    /// Digest of its file.
    pub digest: ContentDigest,
    /// Machine that it was built for.
    pub machine: ProgramMachine,
}

impl RunningProgram {
    /// The program of this process.
    ///
    /// # Errors
    /// Its file cannot be read, or it runs on a machine for which fleets have no programs.
    pub fn own() -> io::Result<Self> {
        let unknown = || io::Error::new(ErrorKind::Unsupported, "programs are for x86_64, aarch64");
        let machine = ProgramMachine::own().ok_or_else(unknown)?;
        // Also where the file was replaced meanwhile, this is the one that runs.
        Ok(Self { digest: digest_of(Path::new("/proc/self/exe"))?, machine })
    }

    /// Word of the edge about it, by its record; complaints are cut by `short`.
    pub(crate) fn status(
        &self,
        record: &RevisionRecord,
        short: impl Fn(&String) -> String,
    ) -> ProgramStatus {
        let failed = record.refused.as_ref().and_then(|refused| {
            // With the program that runs, the files were refused.
            let digest = refused.revision.program.filter(|it| *it != self.digest)?;
            Some(FailedProgram {
                digest,
                fault: refused.complaints.first().map(short).unwrap_or_default(),
            })
        });
        let in_force = record.in_force.and_then(|it| it.program);
        ProgramStatus { runs: self.digest, in_force, failed }
    }
}

/// Digest of a file.
fn digest_of(path: &Path) -> io::Result<ContentDigest> {
    let (mut file, mut hasher) = (File::open(path)?, ContentHasher::default());
    let mut piece = vec![0; PIECE];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(hasher.finish()),
            length => hasher.update(&piece[..length]),
        }
    }
}

impl RevisionStore {
    /// File of a program, which need not be there.
    fn program_file(&self, digest: &ContentDigest) -> PathBuf {
        self.programs().join(digest.to_string()).join("tidegate")
    }

    fn programs(&self) -> PathBuf {
        self.folder().join("programs")
    }

    /// A program that is here and is what it was; none else.
    pub fn program(&self, digest: &ContentDigest) -> Option<PathBuf> {
        let path = self.program_file(digest);
        (digest_of(&path).ok()? == *digest).then_some(path)
    }

    /// The program that a start of `running` gives way to: that of the revision in force, if it is
    /// another one. A revision that was being tried with another program is put off, to be taken
    /// over again.
    ///
    /// # Errors
    /// The record cannot be read or written, or the program is gone or spoilt.
    pub fn program_at_start(&self, running: &RunningProgram) -> io::Result<Option<PathBuf>> {
        let record = self.record()?;
        let is_other = |it: &KeptRevision| it.program.filter(|wanted| *wanted != running.digest);
        if record.tried.as_ref().and_then(|it| is_other(&it.revision)).is_some() {
            self.put_off()?;
        }
        let Some(wanted) = record.in_force.as_ref().and_then(is_other) else { return Ok(None) };
        let gone = || io::Error::new(ErrorKind::InvalidData, "the fleet's program is not whole");
        self.program(&wanted).map(Some).ok_or_else(gone)
    }

    /// Writes a program of which the pieces come one by one, and verifies it.
    pub(crate) fn write_program<E: From<io::Error>>(
        &self,
        digest: &ContentDigest,
        write: impl FnOnce(&mut File) -> Result<ContentDigest, E>,
    ) -> Result<Option<PathBuf>, E> {
        let path = self.program_file(digest);
        let folder = path.parent().unwrap_or(&path);
        fs::create_dir_all(folder)?;
        let draft = path.with_extension("part");
        let mut file = File::create(&draft)?;
        if write(&mut file)? != *digest {
            fs::remove_file(&draft)?;
            return Ok(None);
        }
        file.set_permissions(Permissions::from_mode(0o700))?;
        file.sync_all()?;
        drop(file);
        fs::rename(&draft, &path)?;
        File::open(folder)?.sync_all()?;
        Ok(Some(path))
    }

    /// Removes all programs but those of these revisions.
    pub(crate) fn prune_programs(&self, kept: &[KeptRevision]) -> io::Result<()> {
        let wanted: BTreeSet<String> =
            kept.iter().filter_map(|it| it.program).map(|it| it.to_string()).collect();
        let entries = match fs::read_dir(self.programs()) {
            Err(why) if why.kind() == ErrorKind::NotFound => return Ok(()),
            read => read?,
        };
        for entry in entries {
            let entry = entry?;
            if !entry.file_name().to_str().is_some_and(|name| wanted.contains(name)) {
                fs::remove_dir_all(entry.path())?;
            }
        }
        Ok(())
    }
}
