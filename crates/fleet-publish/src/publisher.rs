//! Revisions made, signed and put where edges find them: parts first, the name that edges look at
//! last.

use crate::fleet_file::FleetFolder;
use crate::publication::{PublishFault, RevisionNote, RolloutChoice};
use crate::source_files::SourceFiles;
use fleet_bundle::{
    BundleFile, BundleManifest, CanaryShare, ChunkRef, ContentDigest, ENVELOPE_BYTES_MAX,
    EdgeEntry, EdgeState, EdgeStatus, EnrolmentRequest, EnvelopeFault, FORMAT, PayloadKind,
    PublisherKey, STATUS_BYTES_MAX, SealedSecrets, SignedEnvelope, split,
};
use fleet_edge::{BundleClient, PlacedObject, objects};
use std::collections::BTreeSet;

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
        let sent = self.send_files(source, latest.as_ref().map(|(latest, _)| latest))?;
        let canary = match &publication.rollout {
            RolloutChoice::All => None,
            RolloutChoice::Canary(share) => Some(share.clone()),
        };
        let before = latest.map(|(latest, digest)| (latest.revision, digest));
        let draft = RevisionDraft { sent, before, canary, rolls_back_to: None };
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
        let (manifest, canary) = match of {
            RepublishedFiles::Promoted if latest.canary.is_none() => {
                return Err(PublishFault::NoCanary(latest.revision));
            }
            RepublishedFiles::Promoted => (latest, None),
            RepublishedFiles::Earlier(number) => (self.revision(number)?, None),
            RepublishedFiles::SameFiles => {
                let canary = latest.canary.clone();
                (latest, canary)
            }
        };
        let rolls_back_to = match of {
            RepublishedFiles::Earlier(number) => Some(number),
            RepublishedFiles::Promoted | RepublishedFiles::SameFiles => None,
        };
        for file in &manifest.files {
            for chunk in &file.chunks {
                if !self.client.has(&objects::chunk(&chunk.digest))? {
                    return Err(PublishFault::Gone(file.path.clone()));
                }
            }
        }
        let sent = SentFiles { files: manifest.files, sent: 0, bytes: 0 };
        let draft = RevisionDraft { sent, before, canary, rolls_back_to };
        self.put(draft, &source.secrets, publication, key)
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
        latest: Option<&BundleManifest>,
    ) -> Result<SentFiles, PublishFault> {
        let mut known = latest.map_or_else(BTreeSet::new, BundleManifest::chunks);
        let mut sent = SentFiles { files: Vec::new(), sent: 0, bytes: 0 };
        for path in &source.open {
            let content = source.read(path)?;
            if content.len() as u64 > FILE_BYTES_MAX {
                let fault = fleet_bundle::ManifestFault::TooMuch("bytes of one file");
                return Err(PublishFault::Manifest(fault));
            }
            let mut chunks = Vec::new();
            split::<PublishFault>(&content, |chunk| {
                let object = objects::chunk(&chunk.digest);
                if known.insert(chunk.digest) && !self.client.has(&object)? {
                    self.client.put(&object, &chunk.bytes)?;
                    sent.sent += 1;
                    sent.bytes += chunk.bytes.len() as u64;
                }
                chunks.push(ChunkRef { digest: chunk.digest, size: chunk.size });
                Ok(())
            })?;
            let (digest, size) = (ContentDigest::of(&content), content.len() as u64);
            sent.files.push(BundleFile { path: path.clone(), size, digest, chunks });
        }
        Ok(sent)
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
        let RevisionDraft { sent, before, canary, rolls_back_to } = draft;
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepublishedFiles {
    /// Files of the newest revision, which so far is for its canaries alone.
    Promoted,
    /// Files of an earlier revision.
    Earlier(u64),
    /// Files of the newest one, with other edges.
    SameFiles,
}
