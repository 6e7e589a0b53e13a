//! Revisions on this machine's disk: the one in force, the one that is tried, and those before.
//!
//! `STATE/fleet/revisions/N/` holds the files of a revision, whole or not at all;
//! `STATE/fleet/record.json` says which is in force, and is replaced as a whole. A process that is
//! killed while it tries a revision tries it once more at its start; killed again, the one before
//! is in force, and the edge says so. Programs that come with revisions: [`crate::programs`].

use durable_file::FileReplacement;
use fleet_bundle::{ContentDigest, TrustedKeys};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, chown};
use std::path::{Path, PathBuf};

/// The fleet's folder in the state folder.
pub const FLEET_FOLDER: &str = "fleet";
/// File that says which revision is in force.
const RECORD_FILE: &str = "record.json";
/// Revisions that are kept.
const KEPT: usize = 3;
/// Starts of a process that a revision may fail.
const TRIES_MAX: u32 = 2;

/// One revision as it is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptRevision {
    /// Number.
    pub number: u64,
    /// Digest of its manifest as it was signed.
    pub digest: ContentDigest,
    /// Program that this machine runs with it; none where it runs its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<ContentDigest>,
}

/// A revision that is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TriedRevision {
    /// The revision.
    pub revision: KeptRevision,
    /// Times that it was begun.
    pub tries: u32,
}

/// A revision that was not taken over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedRevision {
    /// The revision.
    pub revision: KeptRevision,
    /// Reasons.
    pub complaints: Vec<String>,
}

/// Revisions that this edge has, tries and refused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RevisionRecord {
    /// In force last.
    pub in_force: Option<KeptRevision>,
    /// In force before it, the newest first.
    pub before: Vec<KeptRevision>,
    /// Tried now.
    pub tried: Option<TriedRevision>,
    /// Refused last, unless another was taken over since.
    pub refused: Option<RefusedRevision>,
    /// Put off, as another program has to take it over.
    #[serde(default)]
    pub put_off: Option<TriedRevision>,
    /// Keys that a revision in force has named, with those of the settings at that time.
    pub trust: Option<(TrustedKeys, TrustedKeys)>,
    /// The same of the one that is tried.
    #[serde(default)]
    pub tried_trust: Option<(TrustedKeys, TrustedKeys)>,
}

/// The fleet's folder.
#[derive(Clone, Debug)]
pub struct RevisionStore {
    folder: PathBuf,
}

impl RevisionStore {
    /// The one of this state folder, which need not be there yet.
    pub fn of(state_dir: &Path) -> Self {
        Self { folder: state_dir.join(FLEET_FOLDER) }
    }

    /// The folder, made for its owner alone.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn make(&self) -> io::Result<&Path> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        // A command of root's makes it for the user of the state folder.
        let owner = fs::metadata(self.folder.parent().unwrap_or(&self.folder))?;
        let ours = fs::metadata(&self.folder)?;
        if (owner.uid(), owner.gid()) != (ours.uid(), ours.gid()) {
            chown(&self.folder, Some(owner.uid()), Some(owner.gid()))?;
        }
        Ok(&self.folder)
    }

    /// The record; nothing where there is no record.
    ///
    /// # Errors
    /// The file cannot be read, or is none of ours.
    pub fn record(&self) -> io::Result<RevisionRecord> {
        match fs::read(self.folder.join(RECORD_FILE)) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(io::Error::other),
            Err(why) if is_absent(why.kind()) => Ok(RevisionRecord::default()),
            Err(why) => Err(why),
        }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder of a revision's files.
    pub fn files(&self, number: u64) -> PathBuf {
        self.folder.join("revisions").join(number.to_string())
    }

    /// Makes room for the files of a revision: an empty folder beside its place.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn draft(&self, number: u64) -> io::Result<PathBuf> {
        let draft = self.files(number).with_extension("part");
        remove_folder(&draft)?;
        fs::create_dir_all(&draft)?;
        Ok(draft)
    }

    /// Puts a draft in its place; all of its files are on disk.
    ///
    /// # Errors
    /// It cannot be put there.
    pub fn place(&self, number: u64, draft: &Path) -> io::Result<()> {
        let place = self.files(number);
        remove_folder(&place)?;
        fs::rename(draft, &place)?;
        fs::File::open(place.parent().unwrap_or(&self.folder))?.sync_all()
    }

    /// Begins to try a revision, which names keys while others are configured.
    ///
    /// # Errors
    /// The record cannot be written.
    pub fn begin(
        &self,
        revision: KeptRevision,
        named: TrustedKeys,
        configured: TrustedKeys,
    ) -> io::Result<()> {
        self.change(|record| {
            let before = record.put_off.take().filter(|it| it.revision == revision);
            let tries = before.map_or(1, |it| it.tries);
            record.tried = Some(TriedRevision { revision, tries });
            record.tried_trust = Some((named, configured));
        })
    }

    /// Puts off a revision that is tried, of which the starts have been counted.
    pub(crate) fn put_off(&self) -> io::Result<()> {
        if self.count_start()?.is_none() {
            return Ok(());
        }
        self.change(|record| record.put_off = record.tried.take())
    }

    /// Counts a start with a revision that was being tried, and gives it; one that has failed too
    /// often is refused.
    ///
    /// # Errors
    /// The record cannot be written.
    pub fn count_start(&self) -> io::Result<Option<TriedRevision>> {
        let Some(tried) = self.record()?.tried else { return Ok(None) };
        if tried.tries >= TRIES_MAX {
            let why = "the process ended while it took this revision over, twice";
            return self.refuse(tried.revision, vec![why.to_owned()]).map(|()| None);
        }
        let counted = TriedRevision { tries: tried.tries + 1, ..tried };
        self.change(|record| record.tried = Some(counted)).map(|()| Some(counted))
    }

    /// The tried revision is in force from now on, with the keys that it names.
    ///
    /// # Errors
    /// The record cannot be written.
    pub fn confirm(&self) -> io::Result<()> {
        self.change(|record| {
            let Some(tried) = record.tried.take() else { return };
            let before = record.in_force.replace(tried.revision);
            if let Some(before) = before.filter(|it| it.number != tried.revision.number) {
                record.before.insert(0, before);
                record.before.truncate(KEPT - 1);
            }
            record.refused = None;
            if let Some(trust) = record.tried_trust.take() {
                record.trust = Some(trust);
            }
        })?;
        self.prune()
    }

    /// A revision is not taken over.
    ///
    /// # Errors
    /// The record cannot be written.
    pub fn refuse(&self, revision: KeptRevision, complaints: Vec<String>) -> io::Result<()> {
        self.change(|record| {
            (record.tried, record.tried_trust) = (None, None);
            record.refused = Some(RefusedRevision { revision, complaints });
        })
    }

    fn change(&self, change: impl FnOnce(&mut RevisionRecord)) -> io::Result<()> {
        let mut record = self.record()?;
        change(&mut record);
        let bytes = serde_json::to_vec_pretty(&record).map_err(io::Error::other)?;
        FileReplacement::private(&self.folder.join(RECORD_FILE)).write(&bytes).map(drop)
    }

    /// Removes the files of revisions that are not kept any more.
    fn prune(&self) -> io::Result<()> {
        let record = self.record()?;
        let tried = record.tried.iter().chain(&record.put_off).map(|it| it.revision);
        let kept = record.in_force.iter().chain(&record.before).copied();
        let kept: Vec<KeptRevision> = kept.chain(tried).collect();
        self.prune_programs(&kept)?;
        let kept: Vec<String> = kept.iter().map(|it| it.number.to_string()).collect();
        for entry in fs::read_dir(self.folder.join("revisions"))? {
            let entry = entry?;
            let name = entry.file_name();
            if !kept.iter().any(|it| name == it.as_str()) {
                remove_folder(&entry.path())?;
            }
        }
        Ok(())
    }
}

/// `true` for a file that is not there, and for one of another user's: a command of somebody else
/// checks the machine's own file alone.
fn is_absent(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::PermissionDenied)
}

impl RevisionRecord {
    /// The revision that a start or a reload takes: the one that is tried, or the one in force.
    pub fn chosen(&self) -> Option<KeptRevision> {
        self.tried.map(|it| it.revision).or(self.in_force)
    }

    /// Keys that are trusted: those of a revision in force, as long as the settings name the same
    /// ones as they did then.
    pub fn trusted(&self, settings: &TrustedKeys) -> TrustedKeys {
        match &self.trust {
            Some((named, configured)) if configured == settings => named.clone(),
            Some(_) | None => settings.clone(),
        }
    }
}

fn remove_folder(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(why) if why.kind() != ErrorKind::NotFound => Err(why),
        Ok(()) | Err(_) => Ok(()),
    }
}
