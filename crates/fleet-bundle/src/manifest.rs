//! Manifest of a bundle: what a revision consists of, for whom, and until when.

use crate::chunks::{CHUNK_BYTES_MAX, ChunkRef};
use crate::digest::ContentDigest;
use crate::edge_entry::EdgeEntry;
use crate::edge_name::{EdgeName, check_label};
use crate::envelope::TrustedKeys;
use crate::file_path::BundlePath;
use crate::program::{ProgramFault, ProgramRelease};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Version of the form of manifests.
pub const FORMAT: u32 = 1;
/// Files of a bundle.
pub const FILES_MAX: usize = 4096;
/// Edges that one manifest knows.
pub const EDGES_MAX: usize = 10_000;
/// Bytes that the files of a bundle have together.
const BYTES_MAX: u64 = 4 << 30;
/// Chunks of all files.
const CHUNKS_MAX: usize = 65_536;
/// Bytes of who and why.
const TEXT_BYTES_MAX: usize = 1024;
/// Publishers' keys.
const KEYS_MAX: usize = 16;

/// One revision of a fleet's configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BundleManifest {
    /// Form of it: [`FORMAT`].
    pub format: u32,
    /// Number; each is greater than the one before.
    pub revision: u64,
    /// Digest of the manifest before it, as it was signed; none for the first.
    pub parent: Option<ContentDigest>,
    /// Time of publishing, in seconds of Unix time.
    pub made: u64,
    /// Time from which no edge takes it over any more.
    pub not_after: Option<u64>,
    /// Person who published it.
    pub by: String,
    /// Reason.
    pub why: String,
    /// Revision whose files these are again.
    pub rolls_back_to: Option<u64>,
    /// Edges that take it over before the others; none where all do at once.
    pub canary: Option<CanaryShare>,
    /// Version of Tidegate that checked it; edges that are older say so.
    pub checked_by: String,
    /// Keys that are trusted from then on.
    pub trust: TrustedKeys,
    /// Edges that have joined.
    pub edges: Vec<EdgeEntry>,
    /// Files of the configuration.
    pub files: Vec<BundleFile>,
    /// Program that edges run which take programs from the fleet; none where each runs its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<ProgramRelease>,
}

/// Part of a fleet that goes first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CanaryShare {
    /// Percent of the edges, chosen by their names and the revision; from 0 to 100.
    pub percent: u8,
    /// Edges with all of these labels; none by labels if this is empty.
    pub labels: BTreeMap<String, String>,
    /// Revision with which the roll-out began: a later wave has the edges of those before it. None
    /// for the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
}

/// One file of a bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BundleFile {
    /// Path.
    pub path: BundlePath,
    /// Bytes.
    pub size: u64,
    /// Digest of its content.
    pub digest: ContentDigest,
    /// Chunks, in their order.
    pub chunks: Vec<ChunkRef>,
}

/// Fault of a manifest that is signed and still not right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ManifestFault {
    /// No manifest of this form.
    Unreadable(String),
    /// A form that this version does not know.
    Format(u32),
    /// More of something than a manifest may have.
    TooMuch(&'static str),
    /// A path or an edge that is there twice, or a file in the place of a folder.
    Twice(String),
    /// Chunks that do not add up to their file.
    Size(BundlePath),
    /// Nobody's signature would ever be enough.
    Trust,
    /// The program.
    Program(ProgramFault),
    /// A label with other characters than letters, digits, `.`, `-` and `_`.
    Label(String),
}

impl BundleManifest {
    /// Reads a manifest, and checks all of it.
    ///
    /// # Errors
    /// The first [`ManifestFault`].
    pub fn read(bytes: &[u8]) -> Result<Self, ManifestFault> {
        #[derive(Deserialize)]
        struct FormatAlone {
            format: u32,
        }
        let unreadable = |why: serde_json::Error| ManifestFault::Unreadable(why.to_string());
        let FormatAlone { format } = serde_json::from_slice(bytes).map_err(unreadable)?;
        if format != FORMAT {
            return Err(ManifestFault::Format(format));
        }
        let read: Self = serde_json::from_slice(bytes).map_err(unreadable)?;
        read.check()?;
        Ok(read)
    }

    /// The manifest as it is signed.
    pub fn to_json(&self) -> Vec<u8> {
        // Texts and numbers alone: nothing of it can fail.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// The entry of an edge.
    pub fn edge(&self, name: &EdgeName) -> Option<&EdgeEntry> {
        self.edges.iter().find(|edge| edge.name == *name)
    }

    /// Every chunk once.
    pub fn chunks(&self) -> BTreeSet<ContentDigest> {
        let files = self.files.iter().flat_map(|file| &file.chunks);
        let program = self.program.iter().flat_map(ProgramRelease::chunks);
        files.chain(program).map(|chunk| chunk.digest).collect()
    }

    /// Checks what a publisher would sign.
    ///
    /// # Errors
    /// The first [`ManifestFault`].
    pub fn check(&self) -> Result<(), ManifestFault> {
        let of_program = || self.program.iter().flat_map(ProgramRelease::chunks);
        let is_bounded = of_program().all(|it| it.size as usize <= CHUNK_BYTES_MAX);
        let of_files = self.files.iter().map(|file| file.chunks.len());
        let chunks = of_files.sum::<usize>() + of_program().count();
        let bytes = self.files.iter().try_fold(0u64, |sum, file| sum.checked_add(file.size));
        let canary_labels = self.canary.as_ref().map_or(0, |it| it.labels.len());
        for (is_fine, what) in [
            (self.files.len() <= FILES_MAX, "files"),
            (self.edges.len() <= EDGES_MAX, "edges"),
            (chunks <= CHUNKS_MAX, "chunks"),
            (bytes.is_some_and(|it| it <= BYTES_MAX), "bytes"),
            (is_bounded, "bytes of a chunk"),
            (self.by.len().max(self.why.len()) <= TEXT_BYTES_MAX, "text"),
            (self.trust.keys.len() <= KEYS_MAX, "keys"),
            (self.canary.as_ref().is_none_or(|it| it.percent <= 100), "percent"),
            (canary_labels <= 16, "labels"),
        ] {
            if !is_fine {
                return Err(ManifestFault::TooMuch(what));
            }
        }
        if self.trust.signatures == 0 || self.trust.signatures > self.trust.keys.len() {
            return Err(ManifestFault::Trust);
        }
        let program = self.program.iter().try_for_each(ProgramRelease::check);
        program.map_err(ManifestFault::Program)?;
        self.check_files()?;
        self.check_edges()
    }

    fn check_files(&self) -> Result<(), ManifestFault> {
        let mut files = BTreeSet::new();
        let mut folders = BTreeSet::new();
        for file in &self.files {
            let path = file.path.as_str();
            folders.extend(path.match_indices('/').map(|(at, _)| &path[..at]));
            if !files.insert(path) {
                return Err(ManifestFault::Twice(path.into()));
            }
            let sizes = file.chunks.iter().map(|chunk| u64::from(chunk.size));
            let is_bounded = file.chunks.iter().all(|it| it.size as usize <= CHUNK_BYTES_MAX);
            if !is_bounded || sizes.sum::<u64>() != file.size {
                return Err(ManifestFault::Size(file.path.clone()));
            }
        }
        match files.intersection(&folders).next() {
            Some(path) => Err(ManifestFault::Twice((*path).to_owned())),
            None => Ok(()),
        }
    }

    fn check_edges(&self) -> Result<(), ManifestFault> {
        let mut names = BTreeSet::new();
        for edge in &self.edges {
            if !names.insert(edge.name.as_str()) {
                return Err(ManifestFault::Twice(edge.name.to_string()));
            }
            if edge.labels.len() > 16 {
                return Err(ManifestFault::TooMuch("labels"));
            }
            let mut words = edge.labels.iter().flat_map(|(key, value)| [key, value]);
            if let Some(wrong) = words.find(|word| check_label(word).is_err()) {
                return Err(ManifestFault::Label(wrong.clone()));
            }
        }
        Ok(())
    }
}

impl fmt::Display for ManifestFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(why) => write!(f, "it is no manifest: {why}"),
            Self::Format(format) => {
                write!(f, "its format is {format}, and this version knows {FORMAT}")
            }
            Self::TooMuch(what) => write!(f, "it has more {what} than a manifest may"),
            Self::Twice(what) => write!(f, "{what:?} is in it twice"),
            Self::Size(path) => write!(f, "the chunks of {path} do not add up to it"),
            Self::Program(why) => write!(f, "its program: {why}"),
            Self::Trust => f.write_str("it trusts fewer keys than it wants signatures"),
            Self::Label(word) => write!(f, "{word:?} is no word of a label"),
        }
    }
}

impl std::error::Error for ManifestFault {}
