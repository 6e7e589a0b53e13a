//! Revisions made, signed and put where edges find them: parts first, the name that edges look at
//! last.

use crate::fleet_file::FleetFolder;
use crate::publication::{ProgramChoice, PublishFault, RevisionNote, RolloutChoice};
use crate::source_files::SourceFiles;
use fleet_bundle::{
    BundleFile, BundleManifest, CanaryShare, ChunkRef, ContentDigest, ENVELOPE_BYTES_MAX,
    EdgeEntry, EdgeState, EdgeStatus, EnrolmentRequest, EnvelopeFault, FORMAT, PROGRAM_BYTES_MAX,
    PayloadKind, ProgramBuild, ProgramMark, ProgramRelease, PublisherKey, STATUS_BYTES_MAX,
    SealedSecrets, SignedEnvelope, split,
};
use fleet_edge::{BundleClient, PlacedObject, objects};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

/// Bytes of the largest file of a bundle.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// A fleet's folder and the place of its bundles.
pub struct FleetPublisher {
    /// The folder.
    pub folder: FleetFolder,
    client: BundleClient,
    version: String,
}

/// A revision that was put at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublishedRevision {
    /// Number.
    pub revision: u64,
    /// Chunks that were sent, and those that were there.
    pub chunks_sent: usize,
    /// Chunks that it has.
    pub chunks: usize,
    /// Bytes that were sent.
    pub bytes_sent: u64,
    /// Signatures that are missing before edges take it over.
    pub signatures_missing: usize,
}

/// Revision that is to be signed.
struct RevisionDraft {
    sent: SentFiles,
    /// The newest revision, by number and digest.
    before: Option<(u64, ContentDigest)>,
    canary: Option<CanaryShare>,
    rolls_back_to: Option<u64>,
    program: Option<ProgramRelease>,
}

/// Files of a manifest with what sending them took.
struct SentFiles {
    files: Vec<BundleFile>,
    sent: usize,
    bytes: u64,
}

impl FleetPublisher {
    /// A publisher with a client of the place.
    pub fn new(folder: FleetFolder, client: BundleClient, version: &str) -> Self {
        Self { folder, client, version: version.into() }
    }

    /// The newest revision with its digest; none before the first.
    ///
    /// # Errors
    /// [`PublishFault`].
    pub fn latest(&self) -> Result<Option<(BundleManifest, ContentDigest)>, PublishFault> {
        self.manifest(objects::LATEST)
    }

    /// A revision by its number.
    ///
    /// # Errors
    /// [`PublishFault`].
    pub fn revision(&self, number: u64) -> Result<BundleManifest, PublishFault> {
        let found = self.manifest(&objects::revision(number))?;
        Ok(found.ok_or(PublishFault::NoRevision(number))?.0)
    }

    fn manifest(
        &self,
        object: &str,
    ) -> Result<Option<(BundleManifest, ContentDigest)>, PublishFault> {
        let found = fleet_view::read_revision(&self.client, object, &self.folder.trusted()?)?;
        Ok(found.map(|it| (it.manifest, it.digest)))
    }

    /// Publishes the folder.
    ///
    /// # Errors
    /// [`PublishFault`]; what edges see is as before.
    pub fn publish(
        &self,
        source: &SourceFiles,
        publication: &RevisionNote,
        key: &PublisherKey,
    ) -> Result<PublishedRevision, PublishFault> {
        let latest = self.latest()?;
        let mut known = latest.as_ref().map_or_else(BTreeSet::new, |(latest, _)| latest.chunks());
        let mut sent = self.send_files(source, &mut known)?;
        let program = match &publication.program {
            ProgramChoice::AsBefore => latest.as_ref().and_then(|(it, _)| it.program.clone()),
            ProgramChoice::Installed => None,
            ProgramChoice::Builds(files) => Some(self.send_builds(files, &mut known, &mut sent)?),
        };
        let canary = match &publication.rollout {
            RolloutChoice::All => None,
            RolloutChoice::Canary(share) => Some(share.clone()),
        };
        let before = latest.map(|(latest, digest)| (latest.revision, digest));
        let draft = RevisionDraft { sent, before, canary, rolls_back_to: None, program };
        self.put(draft, &source.secrets, publication, key)
    }

    /// Publishes the files of the newest revision again: for all edges, with the edges that
    /// `fleet.yaml` has now.
    ///
    /// # Errors
    /// [`PublishFault`].
    pub fn republish(
        &self,
        publication: &RevisionNote,
        key: &PublisherKey,
        of: RepublishedFiles,
    ) -> Result<PublishedRevision, PublishFault> {
        let (latest, digest) = self.latest()?.ok_or(PublishFault::Nothing)?;
        let before = Some((latest.revision, digest));
        let source = SourceFiles::gather(&self.folder.path)?;
        // Later waves have the edges of those before.
        let since = latest.canary.as_ref().map(|it| it.since.unwrap_or(latest.revision));
        let (manifest, canary, rolls_back_to) = match of {
            RepublishedFiles::Promoted | RepublishedFiles::NextWave(_) if since.is_none() => {
                return Err(PublishFault::NoCanary(latest.revision));
            }
            RepublishedFiles::Promoted => (latest, None, None),
            RepublishedFiles::NextWave(share) => {
                let wave = CanaryShare { since, ..share };
                (latest, Some(wave), None)
            }
            RepublishedFiles::Earlier(number) => (self.revision(number)?, None, Some(number)),
            RepublishedFiles::SameFiles => {
                let canary = latest.canary.clone().map(|it| CanaryShare { since, ..it });
                (latest, canary, None)
            }
        };
        self.check_there(&manifest)?;
        let sent = SentFiles { files: manifest.files, sent: 0, bytes: 0 };
        let program = manifest.program;
        let draft = RevisionDraft { sent, before, canary, rolls_back_to, program };
        self.put(draft, &source.secrets, publication, key)
    }

    /// Everything that a manifest names lies at its place.
    fn check_there(&self, manifest: &BundleManifest) -> Result<(), PublishFault> {
        let files = manifest.files.iter().map(|file| (file.path.to_string(), &file.chunks));
        let builds = manifest.program.iter().flat_map(|release| &release.builds);
        let builds = builds.map(|it| (format!("the program for {}", it.machine), &it.chunks));
        for (what, chunks) in files.chain(builds) {
            for chunk in chunks {
                if !self.client.has(&objects::chunk(&chunk.digest))? {
                    return Err(PublishFault::Gone(what));
                }
            }
        }
        Ok(())
    }

    /// Adds a signature to the revision that waits for it.
    ///
    /// # Errors
    /// [`PublishFault`].
    pub fn sign_pending(&self, key: &PublisherKey) -> Result<PublishedRevision, PublishFault> {
        let pending = self.client.get(objects::PENDING, None, ENVELOPE_BYTES_MAX)?;
        let PlacedObject::Found { bytes, .. } = pending else { return Err(PublishFault::Nothing) };
        let mut envelope = SignedEnvelope::read(&bytes).map_err(PublishFault::Envelope)?;
        let mut trusted = self.folder.trusted()?;
        trusted.signatures = 1;
        let payload = envelope.open(PayloadKind::Manifest, &trusted);
        let payload = payload.map_err(PublishFault::Envelope)?;
        let manifest = BundleManifest::read(&payload).map_err(PublishFault::Manifest)?;
        let latest = self.latest()?.map_or(0, |(latest, _)| latest.revision);
        if manifest.revision <= latest {
            return Err(PublishFault::Overtaken(latest));
        }
        self.check_key(key)?;
        envelope.add_signature(key);
        let signatures_missing = self.put_envelope(&envelope, manifest.revision)?;
        let chunks = manifest.chunks().len();
        let revision = manifest.revision;
        Ok(PublishedRevision {
            revision,
            chunks_sent: 0,
            chunks,
            bytes_sent: 0,
            signatures_missing,
        })
    }

    /// Statuses of the edges, each with its entry; none of one that has told nothing that it has
    /// signed.
    ///
    /// # Errors
    /// [`PublishFault`].
    pub fn statuses(&self, edges: &[EdgeEntry]) -> Result<Vec<Option<EdgeStatus>>, PublishFault> {
        let status = |edge| fleet_view::read_status(&self.client, edge);
        edges.iter().map(status).collect::<Result<_, _>>().map_err(PublishFault::Place)
    }

    /// Requests of invited names that have come, each with the place of its invitation.
    ///
    /// # Errors
    /// [`PublishFault`].
    pub fn enrolments(&self) -> Result<Vec<EnrolmentRequest>, PublishFault> {
        let mut found = Vec::new();
        for invitation in &self.folder.file.invitations {
            let Ok(name) = fleet_bundle::EdgeName::parse(&invitation.name) else { continue };
            let Ok(key) = invitation.key.parse() else { continue };
            let object = self.client.get(&objects::enrolment(&name), None, STATUS_BYTES_MAX)?;
            if let PlacedObject::Found { bytes, .. } = object
                && let Ok(request) = EnrolmentRequest::read(&bytes, &name, &key)
            {
                found.push(request);
            }
        }
        Ok(found)
    }

    fn check_key(&self, key: &PublisherKey) -> Result<(), PublishFault> {
        let is_known = self.folder.trusted()?.keys.contains(&key.public());
        if is_known { Ok(()) } else { Err(PublishFault::ForeignKey) }
    }

    fn send_files(
        &self,
        source: &SourceFiles,
        known: &mut BTreeSet<ContentDigest>,
    ) -> Result<SentFiles, PublishFault> {
        let mut sent = SentFiles { files: Vec::new(), sent: 0, bytes: 0 };
        let found = source.open.iter().map(|path| (path, source.read(path).map(Cow::Owned)));
        let made = source.made.iter().map(|(path, bytes)| (path, Ok(Cow::Borrowed(&**bytes))));
        for (path, content) in found.chain(made) {
            let content = content?;
            if content.len() as u64 > FILE_BYTES_MAX {
                let fault = fleet_bundle::ManifestFault::TooMuch("bytes of one file");
                return Err(PublishFault::Manifest(fault));
            }
            let chunks = self.send_chunks(&content, known, &mut sent)?;
            let (digest, size) = (ContentDigest::of(&content), content.len() as u64);
            sent.files.push(BundleFile { path: path.clone(), size, digest, chunks });
        }
        Ok(sent)
    }

    /// Sends what is not there yet of some content.
    fn send_chunks(
        &self,
        content: &[u8],
        known: &mut BTreeSet<ContentDigest>,
        sent: &mut SentFiles,
    ) -> Result<Vec<ChunkRef>, PublishFault> {
        let mut chunks = Vec::new();
        split::<PublishFault>(content, |chunk| {
            let object = objects::chunk(&chunk.digest);
            if known.insert(chunk.digest) && !self.client.has(&object)? {
                self.client.put(&object, &chunk.bytes)?;
                sent.sent += 1;
                sent.bytes += chunk.bytes.len() as u64;
            }
            chunks.push(ChunkRef { digest: chunk.digest, size: chunk.size });
            Ok(())
        })?;
        Ok(chunks)
    }

    /// Sends the builds of a release, which say themselves what they are.
    fn send_builds(
        &self,
        files: &[PathBuf],
        known: &mut BTreeSet<ContentDigest>,
        sent: &mut SentFiles,
    ) -> Result<ProgramRelease, PublishFault> {
        let mut release = None;
        for file in files {
            let fault = |why: String| PublishFault::Program(file.clone(), why);
            let size = fs::metadata(file).map_err(|why| fault(why.to_string()))?.len();
            if size > PROGRAM_BYTES_MAX {
                return Err(fault(format!("it has more than {PROGRAM_BYTES_MAX} bytes")));
            }
            let content = fs::read(file).map_err(|why| fault(why.to_string()))?;
            let mark = ProgramMark::read(&content).map_err(|why| fault(why.to_string()))?;
            let build = ProgramBuild {
                machine: mark.machine,
                size: content.len() as u64,
                digest: ContentDigest::of(&content),
                chunks: self.send_chunks(&content, known, sent)?,
            };
            let joined = ProgramRelease::join(release, &mark.version, build);
            release = Some(joined.map_err(|why| fault(why.to_string()))?);
        }
        release.ok_or(PublishFault::Nothing)
    }

    /// Signs a manifest of these files and puts it at its place.
    fn put(
        &self,
        draft: RevisionDraft,
        secrets: &SealedSecrets,
        publication: &RevisionNote,
        key: &PublisherKey,
    ) -> Result<PublishedRevision, PublishFault> {
        self.check_key(key)?;
        let RevisionDraft { sent, before, canary, rolls_back_to, program } = draft;
        let revision = before.map_or(1, |(revision, _)| revision + 1);
        if self.client.has(&objects::revision(revision))? {
            return Err(PublishFault::Overtaken(revision));
        }
        let manifest = BundleManifest {
            format: FORMAT,
            revision,
            parent: before.map(|(_, digest)| digest),
            made: publication.now,
            not_after: publication.not_after,
            by: publication.by.clone(),
            why: publication.why.clone(),
            rolls_back_to,
            canary,
            checked_by: self.version.clone(),
            trust: self.folder.trusted()?,
            edges: self.sealed_entries(secrets)?,
            files: sent.files,
            program,
        };
        manifest.check().map_err(PublishFault::Manifest)?;
        let envelope = SignedEnvelope::sign(PayloadKind::Manifest, &manifest.to_json(), key);
        let signatures_missing = self.put_envelope(&envelope, revision)?;
        Ok(PublishedRevision {
            revision,
            chunks_sent: sent.sent,
            chunks: manifest.chunks().len(),
            bytes_sent: sent.bytes,
            signatures_missing,
        })
    }

    /// Puts an envelope where edges look, or where other signers do.
    fn put_envelope(
        &self,
        envelope: &SignedEnvelope,
        revision: u64,
    ) -> Result<usize, PublishFault> {
        let bytes = envelope.to_json();
        match envelope.open(PayloadKind::Manifest, &self.folder.trusted()?) {
            Ok(_) => {
                self.client.put(&objects::revision(revision), &bytes)?;
                self.client.put(objects::LATEST, &bytes)?;
                Ok(0)
            }
            Err(EnvelopeFault::Signatures { found, wanted }) => {
                self.client.put(objects::PENDING, &bytes)?;
                Ok(wanted - found)
            }
            Err(why) => Err(PublishFault::Envelope(why)),
        }
    }

    /// Edges with the digests of their secrets, which are sealed anew for each that may have them.
    fn sealed_entries(&self, secrets: &SealedSecrets) -> Result<Vec<EdgeEntry>, PublishFault> {
        let mut entries = self.folder.entries()?;
        if secrets.is_empty() {
            return Ok(entries);
        }
        for entry in entries.iter_mut().filter(|it| it.state != EdgeState::Revoked) {
            let sealed = secrets.seal(&entry.name, &entry.seal).map_err(PublishFault::Seal)?;
            let digest = ContentDigest::of(&sealed);
            self.client.put(&objects::sealed(&digest), &sealed)?;
            entry.sealed = Some(digest);
        }
        Ok(entries)
    }
}

/// Files that are published again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RepublishedFiles {
    /// Files of the newest revision, which so far is for its canaries alone.
    Promoted,
    /// The same for more edges, not yet for all.
    NextWave(CanaryShare),
    /// Files of an earlier revision.
    Earlier(u64),
    /// Files of the newest one, with other edges.
    SameFiles,
}
