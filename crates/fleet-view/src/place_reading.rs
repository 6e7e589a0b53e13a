//! Readings of a place so far: the newest revision, those before it, and edges' statuses.
//!
//! Each look has a bound of time: it begins with the newest revision and goes on with statuses
//! where the last look has ended. What has not changed is asked for with a condition, and what
//! never changes once.

use crate::line::RevisionLine;
use crate::signed::{ReadFault, SignedRevision, read_revision};
use fleet_bundle::{
    ENVELOPE_BYTES_MAX, EdgeEntry, EdgeName, EdgeStatus, EnvelopeFault, STATUS_BYTES_MAX,
    TrustedKeys, VerifyingKey,
};
use fleet_edge::{BundleClient, PlacedObject, objects};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Revisions that are shown.
const HISTORY_MAX: u64 = 20;
/// Edges whose statuses are read; more are counted.
pub(crate) const EDGES_MAX: usize = 2000;
/// Time for a look after which no further object is asked for.
const LOOK_MAX: Duration = Duration::from_secs(2);

/// Everything that was read of a place.
#[derive(Default)]
pub(crate) struct PlaceReading {
    tag: Option<String>,
    /// The newest revision; none before the first.
    pub(crate) newest: Option<RevisionLine>,
    /// Edges that have joined, without those above [`EDGES_MAX`].
    pub(crate) edges: Vec<EdgeEntry>,
    /// Edges that have joined, with those.
    pub(crate) edges_joined: usize,
    /// Revisions before the newest.
    pub(crate) history: BTreeMap<u64, RevisionLine>,
    /// The oldest revision whose signatures are still believed, where an older one is not.
    believed_from: Option<u64>,
    statuses: BTreeMap<EdgeName, ReadStatus>,
    /// Place in `edges` of the status that is read next.
    next: usize,
}

/// A status with the key that it was believed for, and the tag of its object.
struct ReadStatus {
    key: VerifyingKey,
    tag: Option<String>,
    status: Option<EdgeStatus>,
}

impl PlaceReading {
    /// Looks once; what was read before stays where nothing new can be read.
    pub(crate) fn look(
        &mut self,
        client: &BundleClient,
        trusted: &TrustedKeys,
    ) -> Result<(), ReadFault> {
        let until = Instant::now() + LOOK_MAX;
        self.read_newest(client, trusted)?;
        self.read_history(client, trusted, until)?;
        self.read_statuses(client, until)
    }

    /// The status of an edge, if it was read and was believed.
    pub(crate) fn status(&self, edge: &EdgeName) -> Option<&EdgeStatus> {
        self.statuses.get(edge)?.status.as_ref()
    }

    /// `true` once it is known whether the edge has told something.
    pub(crate) fn is_read(&self, edge: &EdgeName) -> bool {
        self.statuses.contains_key(edge)
    }

    fn read_newest(
        &mut self,
        client: &BundleClient,
        trusted: &TrustedKeys,
    ) -> Result<(), ReadFault> {
        match client.get(objects::LATEST, self.tag.as_deref(), ENVELOPE_BYTES_MAX)? {
            PlacedObject::Same => {}
            PlacedObject::Missing => *self = Self::default(),
            PlacedObject::Found { bytes, tag, .. } => {
                let SignedRevision { manifest, .. } = SignedRevision::open(&bytes, trusted)?;
                let line = RevisionLine::of(&manifest);
                if let Some(before) = self.newest.take() {
                    self.history.insert(before.revision, before);
                }
                let oldest = line.revision.saturating_sub(HISTORY_MAX - 1);
                self.history.retain(|number, _| (oldest..line.revision).contains(number));
                self.newest = Some(line);
                self.edges_joined = manifest.edges.len();
                self.edges = manifest.edges;
                self.edges.truncate(EDGES_MAX);
                let keys: BTreeMap<_, _> = self.edges.iter().map(|it| (&it.name, it.key)).collect();
                self.statuses.retain(|name, read| keys.get(name) == Some(&read.key));
                self.tag = tag;
            }
        }
        Ok(())
    }

    fn read_history(
        &mut self,
        client: &BundleClient,
        trusted: &TrustedKeys,
        until: Instant,
    ) -> Result<(), ReadFault> {
        let Some(newest) = self.newest.as_ref().map(|it| it.revision) else { return Ok(()) };
        let oldest = newest.saturating_sub(HISTORY_MAX - 1).max(self.believed_from.unwrap_or(1));
        for number in (oldest..newest).rev() {
            if self.history.contains_key(&number) || Instant::now() >= until {
                continue;
            }
            match read_revision(client, &objects::revision(number), trusted) {
                Ok(Some(read)) if read.manifest.revision == number => {
                    self.history.insert(number, RevisionLine::of(&read.manifest));
                }
                // Keys change, and somebody may have put another object there.
                Ok(Some(_) | None) | Err(ReadFault::Envelope(EnvelopeFault::Signatures { .. })) => {
                    self.believed_from = Some(number + 1);
                    return Ok(());
                }
                Err(why) => return Err(why),
            }
        }
        Ok(())
    }

    fn read_statuses(&mut self, client: &BundleClient, until: Instant) -> Result<(), ReadFault> {
        for _ in 0..self.edges.len() {
            if Instant::now() >= until {
                return Ok(());
            }
            self.next %= self.edges.len();
            let edge = &self.edges[self.next];
            self.next += 1;
            let known = self.statuses.get(&edge.name).and_then(|it| it.tag.clone());
            let object = objects::status(&edge.name);
            let read = match client.get(&object, known.as_deref(), STATUS_BYTES_MAX)? {
                PlacedObject::Same => continue,
                PlacedObject::Missing => ReadStatus { key: edge.key, tag: None, status: None },
                PlacedObject::Found { bytes, tag, .. } => {
                    let status = EdgeStatus::read(&bytes, &edge.name, &edge.key).ok();
                    ReadStatus { key: edge.key, tag, status }
                }
            };
            self.statuses.insert(edge.name.clone(), read);
        }
        Ok(())
    }
}
