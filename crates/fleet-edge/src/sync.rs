//! One look of an edge at its fleet's bundles: fetch, verify, lay aside, take over, tell.
//!
//! Nothing of what is fetched is used before its signature and its digests are verified, and
//! nothing that runs is touched before all of it is on disk. Called by the binary on a thread of
//! its own; time is handed in.

use crate::chunk_cache::ChunkCache;
use crate::client::BundleClient;
use crate::identity::EdgeIdentity;
use crate::objects;
use crate::placed::{PlaceFault, PlacedObject};
use crate::programs::RunningProgram;
use crate::store::{KeptRevision, RevisionStore};
use fleet_bundle::{
    BundleManifest, ChunkFault, ChunkRef, ContentDigest, ContentHasher, ENVELOPE_BYTES_MAX,
    EdgeFacts, EdgeName, EdgeState, EdgeStatus, EnvelopeFault, ManifestFault, PayloadKind,
    ProgramBuild, ProgramMachine, RevisionRefusal, RolloutStep, SealFault, SignedEnvelope,
    SyncState, TrustedKeys,
};
use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Bytes of the largest chunk as it is sent: zstd adds little to what cannot be compressed.
const CHUNK_SENT_MAX: usize = fleet_bundle::CHUNK_BYTES_MAX + (64 << 10);
/// Bytes of the secrets of one edge as they are sent.
const SEALED_MAX: usize = 4 << 20;
/// Complaints that a status carries.
const COMPLAINTS_MAX: usize = 20;

/// Program that takes a revision over which is laid aside.
pub trait RevisionTaker {
    /// Takes over what the store chooses now, or says every complaint and goes on as before.
    ///
    /// # Errors
    /// The complaints.
    fn take_over(&self, revision: &LaidRevision<'_>) -> Result<TakenBy, Vec<String>>;
}

/// Revision that lies on this machine's disk.
#[derive(Clone, Debug)]
pub struct LaidRevision<'r> {
    /// Number.
    pub number: u64,
    /// Person who published it.
    pub by: &'r str,
    /// Reason.
    pub why: &'r str,
    /// Program that is to take it over; none where this one is.
    pub program: Option<PathBuf>,
}

/// Process that has taken a revision over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakenBy {
    /// This one.
    ThisProcess,
    /// The one that follows it, which says so in the record; this one ends.
    Successor,
}

/// Counters of the program that a status tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServedCounts {
    /// Requests since the start.
    pub requests: u64,
    /// Failures among them.
    pub failures: u64,
}

/// An edge as its own configuration has it.
pub struct EdgeSetup {
    /// Name.
    pub name: EdgeName,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Keys that are trusted.
    pub trusted: TrustedKeys,
    /// Version of the program.
    pub version: String,
    /// The program, where this machine takes another one from its fleet.
    pub program: Option<RunningProgram>,
}

/// An edge and its place.
pub struct EdgeSync {
    setup: EdgeSetup,
    identity: EdgeIdentity,
    store: RevisionStore,
    client: BundleClient,
    progress: SyncProgress,
}

/// Findings of the last looks.
#[derive(Debug, Default)]
struct SyncProgress {
    tag: Option<String>,
    offered: Option<u64>,
    state: Option<SyncState>,
    complaints: Vec<String>,
    clock_ahead_s: Option<i64>,
    wanted: Option<EdgeState>,
}

/// Reason why a look ended without a revision.
#[derive(Debug)]
pub enum SyncFault {
    /// The place.
    Place(PlaceFault),
    /// There is no bundle yet.
    Empty,
    /// The signatures.
    Envelope(EnvelopeFault),
    /// The manifest.
    Manifest(ManifestFault),
    /// The revision.
    Refused(RevisionRefusal),
    /// A chunk that is not there.
    ChunkMissing(ContentDigest),
    /// A chunk that is another.
    Chunk(ChunkFault),
    /// A file whose chunks make another.
    File(String),
    /// A program without a build for this machine.
    Program(ProgramMachine),
    /// The secrets.
    Secrets(SealFault),
    /// This machine's disk.
    Disk(io::Error),
    /// The program, which goes on as before.
    NotTaken(Vec<String>),
}

impl EdgeSync {
    /// An edge that has not looked yet.
    pub fn new(
        setup: EdgeSetup,
        identity: EdgeIdentity,
        store: RevisionStore,
        client: BundleClient,
    ) -> Self {
        Self { setup, identity, store, client, progress: SyncProgress::default() }
    }

    /// Looks once, and takes over what there is; the step, with the number of the revision.
    ///
    /// # Errors
    /// [`SyncFault`]; what ran runs on.
    pub fn look<T: RevisionTaker + ?Sized>(
        &mut self,
        now: u64,
        taker: &T,
    ) -> Result<(RolloutStep, u64), SyncFault> {
        let outcome = self.try_look(now, taker);
        let (state, complaints) = match &outcome {
            Ok((RolloutStep::WaitForCanary, _)) => (SyncState::WaitsForCanary, Vec::new()),
            Ok(_) => (SyncState::InForce, Vec::new()),
            Err(why @ (SyncFault::Refused(_) | SyncFault::Program(_))) => {
                (SyncState::Refused, vec![why.to_string()])
            }
            Err(SyncFault::NotTaken(complaints)) => (SyncState::Refused, complaints.clone()),
            Err(why) => (SyncState::Unreached, vec![why.to_string()]),
        };
        self.progress.state = Some(state);
        self.progress.complaints = complaints;
        outcome
    }

    fn try_look<T: RevisionTaker + ?Sized>(
        &mut self,
        now: u64,
        taker: &T,
    ) -> Result<(RolloutStep, u64), SyncFault> {
        let record = self.store.record()?;
        // A look that ended well is told by its tag; any other reads all of it again.
        let settled = match self.progress.state {
            Some(SyncState::InForce) => Some(RolloutStep::InForce),
            Some(SyncState::WaitsForCanary) => Some(RolloutStep::WaitForCanary),
            Some(SyncState::Refused | SyncState::Unreached) | None => None,
        };
        let tag = settled.and(self.progress.tag.clone());
        let bytes = match self.client.get(objects::LATEST, tag.as_deref(), ENVELOPE_BYTES_MAX)? {
            PlacedObject::Same => {
                let step = settled.unwrap_or(RolloutStep::InForce);
                return Ok((step, self.progress.offered.unwrap_or_default()));
            }
            PlacedObject::Missing => return Err(SyncFault::Empty),
            PlacedObject::Found { bytes, tag, server_time } => {
                self.progress.tag = tag;
                self.progress.clock_ahead_s =
                    server_time.and_then(|time| now.checked_signed_diff(time));
                bytes
            }
        };
        let trusted = record.trusted(&self.setup.trusted);
        let envelope = SignedEnvelope::read(&bytes).map_err(SyncFault::Envelope)?;
        let payload = envelope.open(PayloadKind::Manifest, &trusted);
        let payload = payload.map_err(SyncFault::Envelope)?;
        let manifest = BundleManifest::read(&payload).map_err(SyncFault::Manifest)?;
        let digest = ContentDigest::of(&payload);
        let program = self.wanted_program(&manifest);
        let kept_program = program.as_ref().ok().and_then(|it| it.map(|it| it.digest));
        let offered = KeptRevision { number: manifest.revision, digest, program: kept_program };
        self.progress.offered = Some(manifest.revision);
        self.progress.wanted = manifest.edge(&self.setup.name).map(|it| it.state);
        let applied = record.in_force.map(|it| (it.number, it.digest));
        let facts = EdgeFacts { name: &self.setup.name, labels: &self.setup.labels, applied, now };
        let step = facts.judge(&manifest, &digest).map_err(SyncFault::Refused)?;
        if step != RolloutStep::TakeOver {
            return Ok((step, manifest.revision));
        }
        if let Some(refused) = record.refused.filter(|it| it.revision == offered) {
            return Err(SyncFault::NotTaken(refused.complaints));
        }
        let program = self.lay_program(program?)?;
        self.lay_aside(&manifest)?;
        self.store.begin(offered, manifest.trust.clone(), self.setup.trusted.clone())?;
        let laid = LaidRevision {
            number: manifest.revision,
            by: &manifest.by,
            why: &manifest.why,
            program,
        };
        match taker.take_over(&laid) {
            Ok(TakenBy::Successor) => Ok((step, offered.number)),
            Ok(TakenBy::ThisProcess) => {
                let chunks = manifest.chunks();
                self.store.confirm()?;
                // A chunk more or less is no reason to call a revision wrong that is in force.
                let _ = self.known_chunks().and_then(|it| it.keep_only(&chunks));
                Ok((step, offered.number))
            }
            Err(complaints) => {
                self.store.refuse(offered, complaints.clone())?;
                Err(SyncFault::NotTaken(complaints))
            }
        }
    }

    /// The build that this machine is to run with a revision; none where it runs its own, or takes
    /// none from its fleet.
    fn wanted_program<'m>(
        &self,
        manifest: &'m BundleManifest,
    ) -> Result<Option<&'m ProgramBuild>, SyncFault> {
        match (&manifest.program, self.setup.program) {
            (Some(release), Some(RunningProgram { machine, .. })) => {
                release.build(machine).map(Some).ok_or(SyncFault::Program(machine))
            }
            (Some(_), None) | (None, _) => Ok(None),
        }
    }

    /// Fetches and verifies the program of a revision; none where it runs already.
    fn lay_program(&self, build: Option<&ProgramBuild>) -> Result<Option<PathBuf>, SyncFault> {
        let runs = self.setup.program.map(|it| it.digest);
        let Some(build) = build else { return Ok(None) };
        // The one that runs is kept too, for the next start of this machine.
        let is_running = runs == Some(build.digest);
        let path = if let Some(path) = self.store.program(&build.digest) {
            path
        } else {
            let known = self.known_chunks()?;
            let written = self.store.write_program(&build.digest, |file| {
                self.write_chunks(&known, &build.chunks, file)
            })?;
            written.ok_or_else(|| SyncFault::File("the program".into()))?
        };
        Ok((!is_running).then_some(path))
    }

    /// Writes chunks one after another; the digest of all.
    fn write_chunks(
        &self,
        known: &ChunkCache,
        chunks: &[ChunkRef],
        out: &mut File,
    ) -> Result<ContentDigest, SyncFault> {
        let mut whole = ContentHasher::default();
        for chunk in chunks {
            let content = self.chunk(known, &chunk.digest, chunk.size)?;
            whole.update(&content);
            out.write_all(&content)?;
        }
        Ok(whole.finish())
    }

    /// Fetches and verifies every file of a revision, and puts them in their place together.
    fn lay_aside(&self, manifest: &BundleManifest) -> Result<(), SyncFault> {
        self.store.make()?;
        let draft = self.store.draft(manifest.revision)?;
        let known = self.known_chunks()?;
        for file in &manifest.files {
            let path = draft.join(file.path.as_path());
            fs::create_dir_all(path.parent().unwrap_or(&draft))?;
            let mut out = File::create_new(&path)?;
            if self.write_chunks(&known, &file.chunks, &mut out)? != file.digest {
                return Err(SyncFault::File(file.path.to_string()));
            }
            out.sync_all()?;
        }
        self.write_secrets(manifest, &draft)?;
        let labels = {
            let entry = manifest.edge(&self.setup.name);
            let facts = EdgeFacts {
                name: &self.setup.name,
                labels: &self.setup.labels,
                applied: None,
                now: 0,
            };
            facts.labels(entry)
        };
        crate::layers::write_labels(&draft, &self.setup.name, &labels)?;
        self.store.place(manifest.revision, &draft)?;
        Ok(())
    }

    /// One chunk, from the revisions that are here if one has it.
    fn chunk(
        &self,
        known: &ChunkCache,
        digest: &ContentDigest,
        size: u32,
    ) -> Result<Vec<u8>, SyncFault> {
        if let Some(content) = known.read(digest, size) {
            return Ok(content);
        }
        match self.client.get(&objects::chunk(digest), None, CHUNK_SENT_MAX)? {
            PlacedObject::Found { bytes, .. } => {
                let content = fleet_bundle::read_chunk(&bytes, digest, size);
                let content = content.map_err(SyncFault::Chunk)?;
                known.write(digest, &bytes)?;
                Ok(content)
            }
            PlacedObject::Same | PlacedObject::Missing => Err(SyncFault::ChunkMissing(*digest)),
        }
    }

    fn known_chunks(&self) -> io::Result<ChunkCache> {
        ChunkCache::open(self.store.make()?)
    }

    fn write_secrets(&self, manifest: &BundleManifest, draft: &Path) -> Result<(), SyncFault> {
        let sealed = manifest.edge(&self.setup.name).and_then(|entry| entry.sealed);
        let Some(digest) = sealed else { return Ok(()) };
        let found = self.client.get(&objects::sealed(&digest), None, SEALED_MAX)?;
        let PlacedObject::Found { bytes, .. } = found else {
            return Err(SyncFault::ChunkMissing(digest));
        };
        if ContentDigest::of(&bytes) != digest {
            return Err(SyncFault::Chunk(ChunkFault::Digest));
        }
        let secrets = self.identity.sealing.open(&self.setup.name, &bytes);
        for (path, content) in secrets.map_err(SyncFault::Secrets)?.files() {
            let path = draft.join(path.as_path());
            fs::create_dir_all(path.parent().unwrap_or(draft))?;
            durable_file::FileReplacement::private(&path).write(&content)?;
        }
        Ok(())
    }

    /// Tells the fleet how this edge does.
    ///
    /// # Errors
    /// [`PlaceFault`]; nothing depends on it.
    pub fn tell(&self, now: u64, served: ServedCounts) -> Result<(), PlaceFault> {
        let status = self.status(now, served);
        self.client.put(&objects::status(&self.setup.name), &status.sign(&self.identity.signing))
    }

    /// Status of this edge.
    pub fn status(&self, now: u64, served: ServedCounts) -> EdgeStatus {
        let record = self.store.record().unwrap_or_default();
        let complaints = self.progress.complaints.iter().take(COMPLAINTS_MAX);
        let short = |text: &String| text.chars().take(500).collect();
        EdgeStatus {
            edge: self.setup.name.clone(),
            at: now,
            clock_ahead_s: self.progress.clock_ahead_s,
            version: self.setup.version.clone(),
            applied: record.in_force.map(|it| it.number),
            offered: self.progress.offered,
            state: self.progress.state.unwrap_or(SyncState::Unreached),
            complaints: complaints.map(short).collect(),
            requests: served.requests,
            failures: served.failures,
            program: self.setup.program.map(|it| it.status(&record, short)),
        }
    }

    /// State that the fleet wants this edge to have, as far as it was told.
    pub fn wanted_state(&self) -> EdgeState {
        self.progress.wanted.unwrap_or_default()
    }

    /// `true` where a revision is in force.
    pub(crate) fn has_revision(&self) -> bool {
        self.store.record().is_ok_and(|record| record.in_force.is_some())
    }
}

impl fmt::Display for SyncFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Place(why) => write!(f, "the bundles cannot be reached: {why}"),
            Self::Empty => f.write_str("nothing is published yet"),
            Self::Envelope(why) => write!(f, "the bundle is not believed: {why}"),
            Self::Manifest(why) => write!(f, "the manifest is wrong: {why}"),
            Self::Refused(why) => why.fmt(f),
            Self::ChunkMissing(digest) => write!(f, "a part of the bundle is not there: {digest}"),
            Self::Chunk(why) => write!(f, "a part of the bundle is not believed: {why}"),
            Self::File(path) => write!(f, "the parts of {path} make another file"),
            Self::Program(machine) => {
                write!(f, "the revision has no program for {machine}, which this machine is")
            }
            Self::Secrets(why) => write!(f, "the secrets: {why}"),
            Self::Disk(why) => write!(f, "the state folder: {why}"),
            Self::NotTaken(complaints) => f.write_str(&complaints.join("\n")),
        }
    }
}

impl std::error::Error for SyncFault {}

impl From<io::Error> for SyncFault {
    fn from(why: io::Error) -> Self {
        Self::Disk(why)
    }
}

impl From<PlaceFault> for SyncFault {
    fn from(why: PlaceFault) -> Self {
        Self::Place(why)
    }
}

#[cfg(test)]
mod tests;
