//! A fleet in a folder as one of its edges sees it.

#![allow(clippy::unwrap_used, reason = "a failed step should stop the test")]

use super::*;
use fleet_api::FleetEdgeStatus;
use fleet_bundle::{
    BundleManifest, CanaryShare, ContentDigest, EdgeEntry, FORMAT, FailedProgram, PayloadKind,
    ProgramStatus, PublisherKey, SealingKey, SignedEnvelope, SyncState, TrustedKeys,
};
use fleet_edge::{BundlePlace, RevisionStore, objects};
use origins::Dialer;
use resolver::{Resolver, ResolverSettings};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use transport::ClientTls;

const NOW: u64 = 1_800_000_000;

/// A place, the fleet's key, and the keys of its edges.
struct Bench {
    folder: PathBuf,
    key: PublisherKey,
    edges: Vec<(EdgeEntry, PublisherKey)>,
}

impl Bench {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("view-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("place/status")).unwrap();
        fs::create_dir_all(folder.join("state")).unwrap();
        let edge = |name: &str| {
            let (key, seal) = (PublisherKey::generate().unwrap(), SealingKey::generate().unwrap());
            let entry = EdgeEntry {
                name: EdgeName::parse(name).unwrap(),
                state: EdgeState::Active,
                labels: BTreeMap::from([("ring".to_owned(), format!("of-{name}"))]),
                key: key.public(),
                seal: seal.public(),
                sealed: None,
            };
            (entry, key)
        };
        let edges = ["a", "b", "c"].map(edge).into();
        Self { folder, key: PublisherKey::generate().unwrap(), edges }
    }

    fn trusted(&self) -> TrustedKeys {
        TrustedKeys { keys: vec![self.key.public()], signatures: 1 }
    }

    fn view(&self, place: &str) -> FleetView {
        let tls = ClientTls::new();
        let resolver = Resolver::start(&ResolverSettings::default(), tls.clone()).unwrap();
        FleetView::new(ViewSetup {
            name: EdgeName::parse("a").unwrap(),
            labels: BTreeMap::new(),
            trusted: self.trusted(),
            version: "1".into(),
            place: BundlePlace::Folder(self.folder.join(place)),
            credentials: None,
            dialer: Dialer::new(resolver, tls),
            store: RevisionStore::of(&self.folder.join("state")),
        })
    }

    fn publish(&self, revision: u64, canary: Option<CanaryShare>) {
        self.publish_by(revision, canary, &self.key);
    }

    fn publish_by(&self, revision: u64, canary: Option<CanaryShare>, key: &PublisherKey) {
        let manifest = BundleManifest {
            format: FORMAT,
            revision,
            parent: None,
            made: NOW,
            not_after: None,
            by: "ann".into(),
            why: format!("the {revision}."),
            rolls_back_to: None,
            canary,
            checked_by: "1".into(),
            trust: self.trusted(),
            edges: self.edges.iter().map(|(entry, _)| entry.clone()).collect(),
            files: Vec::new(),
            program: None,
        };
        let signed = SignedEnvelope::sign(PayloadKind::Manifest, &manifest.to_json(), key);
        for object in [objects::revision(revision), objects::LATEST.to_owned()] {
            // As the publisher does: another file in its place.
            fs::write(self.folder.join("draft"), signed.to_json()).unwrap();
            fs::rename(self.folder.join("draft"), self.folder.join("place").join(object)).unwrap();
        }
    }

    fn tell(&self, edge: usize, state: SyncState, more: impl FnOnce(&mut EdgeStatus)) {
        let (entry, key) = &self.edges[edge];
        let mut told = status(entry, state);
        more(&mut told);
        let object = self.folder.join("place").join(objects::status(&entry.name));
        fs::write(object, told.sign(key)).unwrap();
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A word of an edge that runs the first revision and was offered the second.
fn status(entry: &EdgeEntry, state: SyncState) -> EdgeStatus {
    EdgeStatus {
        edge: entry.name.clone(),
        at: NOW - 5,
        clock_ahead_s: None,
        version: "1".into(),
        applied: Some(1),
        offered: Some(2),
        state,
        complaints: Vec::new(),
        requests: 7,
        failures: 0,
        program: None,
    }
}

fn word<'w>(told: &'w FleetRevisions, edge: &str) -> &'w FleetEdgeStatus {
    told.edges.iter().find(|it| it.edge == edge).unwrap()
}

#[test]
fn revisions_and_words_are_those_that_are_signed() {
    let bench = Bench::new("signed");
    bench.publish(1, None);
    let share = CanaryShare { percent: 0, labels: bench.edges[1].0.labels.clone(), since: None };
    bench.publish(2, Some(share));
    let [runs, failed] = [b"runs", b"fail"].map(|it| ContentDigest::of(it));
    bench.tell(1, SyncState::Refused, |it| {
        it.complaints = vec!["the port is taken".into()];
        let failed = Some(FailedProgram { digest: failed, fault: "exit status: 1".into() });
        it.program = Some(ProgramStatus { runs, in_force: Some(runs), failed });
    });
    // Somebody speaks for another edge.
    let forged = status(&bench.edges[2].0, SyncState::InForce).sign(&bench.edges[1].1);
    fs::write(bench.folder.join("place/status/c.json"), forged).unwrap();
    let view = bench.view("place");
    view.note(status(&bench.edges[0].0, SyncState::WaitsForCanary), EdgeState::Drained);
    let told = view.revisions(NOW);
    assert_eq!(told.trouble, None);
    assert_eq!(told.newest.as_ref().map(|it| (it.revision, it.why.as_str())), Some((2, "the 2.")));
    assert_eq!(told.before.iter().map(|it| it.revision).collect::<Vec<_>>(), [1]);
    assert_eq!(
        (told.own.state.as_str(), told.own.wanted.as_str()),
        ("waits_for_canary", "drained")
    );
    let [a, b, c] = ["a", "b", "c"].map(|edge| word(&told, edge));
    assert_eq!((a.state.as_deref(), a.goes_first), (Some("waits_for_canary"), false));
    assert_eq!((b.state.as_deref(), b.goes_first), (Some("refused"), true));
    assert_eq!(
        (&b.complaints[..], &b.troubles[..]),
        (&["the port is taken".to_owned()][..], &["refused".to_owned()][..])
    );
    let program = b.program.as_ref().unwrap();
    assert_eq!(
        (&program.runs, program.in_force.as_ref()),
        (&runs.to_string(), Some(&runs.to_string()))
    );
    assert_eq!(
        program.failed.as_ref().map(|it| (it.digest.as_str(), it.fault.as_str())),
        Some((failed.to_string().as_str(), "exit status: 1"))
    );
    assert_eq!((&a.program, &c.program), (&None, &None));
    assert_eq!((c.state.as_ref(), &c.troubles[..]), (None, &["untold".to_owned()][..]));
    let progress = told.rollout;
    assert_eq!((progress.edges, progress.in_force, progress.refused, progress.first), (3, 0, 1, 1));
}

#[test]
fn a_reading_serves_all_who_ask_within_two_seconds() {
    let bench = Bench::new("cached");
    bench.publish(1, None);
    let view = bench.view("place");
    assert_eq!(view.revisions(NOW).newest.unwrap().revision, 1);
    bench.publish(2, None);
    assert_eq!(view.revisions(NOW).newest.unwrap().revision, 1);
    lock(&view.reading).read = Instant::now().checked_sub(READ_AGAIN).map(|at| (at, NOW));
    let told = view.revisions(NOW + 2);
    assert_eq!((told.newest.unwrap().revision, told.before.len()), (2, 1));
}

#[test]
fn what_was_read_stays_where_nothing_new_is_believed() {
    let bench = Bench::new("stays");
    bench.publish(1, None);
    let view = bench.view("place");
    assert_eq!(view.revisions(NOW).edges_joined, 3);
    bench.publish_by(2, None, &PublisherKey::generate().unwrap());
    lock(&view.reading).read = None;
    let told = view.revisions(NOW);
    assert!(told.trouble.unwrap().contains("0 of the trusted keys have signed it"));
    assert_eq!((told.newest.unwrap().revision, told.edges_joined), (1, 3));
    let nowhere = bench.view("nowhere").revisions(NOW);
    assert_eq!(nowhere.trouble.as_deref(), Some("the folder is not there"));
    assert_eq!((nowhere.newest, nowhere.own.state.as_str()), (None, "starting"));
}

#[test]
fn an_edge_that_has_not_joined_is_shown_to_itself() {
    let mut bench = Bench::new("alone");
    bench.edges.remove(0);
    bench.publish(1, None);
    let view = bench.view("place");
    let own = bench.edges[0].0.clone();
    let own = EdgeEntry { name: EdgeName::parse("a").unwrap(), ..own };
    view.note(status(&own, SyncState::InForce), EdgeState::Active);
    let told = view.revisions(NOW);
    assert_eq!(told.edges.iter().map(|it| it.edge.as_str()).collect::<Vec<_>>(), ["a", "b", "c"]);
    assert!(!word(&told, "a").is_joined && word(&told, "b").is_joined);
    assert_eq!((told.edges_joined, word(&told, "a").revision), (2, Some(1)));
}
