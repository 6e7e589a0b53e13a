//! Looks at a folder of bundles, with a program that takes over what it is told to.

#![allow(clippy::unwrap_used, reason = "a failed step should stop the test")]

use super::*;
use crate::layers::RevisionLayers;
use crate::place::BundlePlace;
use fleet_bundle::{
    BundleFile, BundlePath, CanaryShare, ChunkRef, EdgeEntry, FORMAT, ProgramBuild, ProgramMachine,
    ProgramRelease, PublisherKey, SealedSecrets, split,
};
use origins::Dialer;
use resolver::{Resolver, ResolverSettings};
use std::cell::RefCell;
use std::path::PathBuf;
use transport::ClientTls;

const NOW: u64 = 1_800_000_000;

/// A place, a key, and a machine's state folder.
struct Bench {
    folder: PathBuf,
    key: PublisherKey,
}

impl Bench {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("fleet-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("place")).unwrap();
        fs::create_dir_all(folder.join("state")).unwrap();
        Self { folder, key: PublisherKey::generate().unwrap() }
    }

    fn store(&self) -> RevisionStore {
        RevisionStore::of(&self.folder.join("state"))
    }

    fn trusted(&self) -> TrustedKeys {
        TrustedKeys { keys: vec![self.key.public()], signatures: 1 }
    }

    fn edge(&self) -> EdgeSync {
        self.edge_running(None)
    }

    fn edge_running(&self, program: Option<RunningProgram>) -> EdgeSync {
        let tls = ClientTls::new();
        let resolver = Resolver::start(&ResolverSettings::default(), tls.clone()).unwrap();
        let place = BundlePlace::Folder(self.folder.join("place"));
        let setup = EdgeSetup {
            name: EdgeName::parse("a").unwrap(),
            labels: BTreeMap::from([("site".to_owned(), "here".to_owned())]),
            trusted: self.trusted(),
            version: "1".into(),
            program,
        };
        let store = self.store();
        let identity = EdgeIdentity::open(store.make().unwrap()).unwrap();
        let client = BundleClient::open(&place, None, Dialer::new(resolver, tls)).unwrap();
        EdgeSync::new(setup, identity, store, client)
    }

    /// Puts some content at the place, in chunks.
    fn chunks(&self, content: &[u8]) -> Vec<ChunkRef> {
        let mut chunks = Vec::new();
        split::<io::Error>(content, |chunk| {
            let path = self.folder.join("place").join(objects::chunk(&chunk.digest));
            fs::write(path, &chunk.bytes)?;
            chunks.push(ChunkRef { digest: chunk.digest, size: chunk.size });
            Ok(())
        })
        .unwrap();
        chunks
    }

    /// A manifest of one file.
    fn manifest(&self, revision: u64, text: &str) -> BundleManifest {
        let file = BundleFile {
            path: BundlePath::parse("tidegate.yaml").unwrap(),
            size: text.len() as u64,
            digest: ContentDigest::of(text.as_bytes()),
            chunks: self.chunks(text.as_bytes()),
        };
        BundleManifest {
            format: FORMAT,
            revision,
            parent: None,
            made: NOW,
            not_after: None,
            by: "ann".into(),
            why: String::new(),
            rolls_back_to: None,
            canary: None,
            checked_by: "1".into(),
            trust: self.trusted(),
            edges: Vec::new(),
            files: vec![file],
            program: None,
        }
    }

    fn publish(&self, manifest: &BundleManifest) {
        self.publish_by(manifest, &self.key);
    }

    fn publish_by(&self, manifest: &BundleManifest, key: &PublisherKey) {
        let signed = SignedEnvelope::sign(PayloadKind::Manifest, &manifest.to_json(), key);
        // As the publisher does: another file in its place.
        let (path, draft) = (self.folder.join("place/latest.json"), self.folder.join("draft"));
        fs::write(&draft, signed.to_json()).unwrap();
        fs::rename(draft, path).unwrap();
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A program that refuses some revisions, and notes those that it was given.
#[derive(Default)]
struct Program {
    refused: Vec<u64>,
    taken: RefCell<Vec<u64>>,
    programs: RefCell<Vec<PathBuf>>,
}

impl RevisionTaker for Program {
    fn take_over(&self, revision: &LaidRevision<'_>) -> Result<TakenBy, Vec<String>> {
        self.taken.borrow_mut().push(revision.number);
        self.programs.borrow_mut().extend(revision.program.clone());
        match revision.program {
            _ if self.refused.contains(&revision.number) => Err(vec!["no".into()]),
            Some(_) => Ok(TakenBy::Successor),
            None => Ok(TakenBy::ThisProcess),
        }
    }
}

#[test]
fn a_refused_revision_is_tried_once_and_the_next_is_taken_over() {
    let bench = Bench::new("refused");
    let (mut edge, program) = (bench.edge(), Program { refused: vec![2], ..Program::default() });
    bench.publish(&bench.manifest(1, "a"));
    assert_eq!(edge.look(NOW, &program).unwrap(), (RolloutStep::TakeOver, 1));
    assert_eq!(edge.look(NOW, &program).unwrap(), (RolloutStep::InForce, 1));
    bench.publish(&bench.manifest(2, "b"));
    for _ in 0..3 {
        assert!(matches!(edge.look(NOW, &program), Err(SyncFault::NotTaken(_))));
    }
    let status = edge.status(NOW, ServedCounts::default());
    assert_eq!(
        (status.applied, status.offered, status.state),
        (Some(1), Some(2), SyncState::Refused)
    );
    assert_eq!(status.complaints, ["no"]);
    bench.publish(&bench.manifest(3, "c"));
    edge.look(NOW, &program).unwrap();
    assert_eq!(*program.taken.borrow(), [1, 2, 3]);
    let files = RevisionLayers::read(&bench.store().files(3)).unwrap().folder;
    assert_eq!(fs::read(files.join("tidegate.yaml")).unwrap(), b"c");
}

#[test]
fn a_place_that_is_not_there_is_not_made_by_a_machine() {
    let bench = Bench::new("gone");
    bench.publish(&bench.manifest(1, "one"));
    let mut edge = bench.edge();
    edge.look(NOW, &Program::default()).unwrap();
    edge.tell(NOW, ServedCounts::default()).unwrap();
    let [place, gone] = ["place", "gone"].map(|it| bench.folder.join(it));
    fs::rename(&place, &gone).unwrap();
    let told = edge.tell(NOW, ServedCounts::default()).unwrap_err();
    assert_eq!(told.to_string(), "the folder is not there");
    assert!(!place.exists());
    fs::rename(&gone, &place).unwrap();
    edge.tell(NOW, ServedCounts::default()).unwrap();
}

#[test]
fn what_ends_the_process_twice_gives_way_to_the_revision_before() {
    let bench = Bench::new("killed");
    let (mut edge, program) = (bench.edge(), Program::default());
    bench.publish(&bench.manifest(1, "a"));
    edge.look(NOW, &program).unwrap();
    let store = bench.store();
    let bad = KeptRevision { number: 2, digest: ContentDigest::of(b"2"), program: None };
    store.begin(bad, bench.trusted(), bench.trusted()).unwrap();
    // Killed; the next start tries it again.
    store.count_start().unwrap();
    assert_eq!(store.record().unwrap().chosen(), Some(bad));
    // Killed once more.
    store.count_start().unwrap();
    let record = store.record().unwrap();
    assert_eq!(record.chosen().map(|it| it.number), Some(1));
    assert_eq!(record.refused.map(|it| it.revision), Some(bad));
}

#[test]
fn time_keys_and_shares_decide_who_takes_a_revision_over() {
    let bench = Bench::new("rules");
    let (mut edge, program) = (bench.edge(), Program::default());
    let late = BundleManifest { not_after: Some(NOW), ..bench.manifest(1, "a") };
    bench.publish(&late);
    let why = edge.look(NOW, &program).unwrap_err();
    assert!(matches!(why, SyncFault::Refused(RevisionRefusal::Expired(NOW))), "{why}");
    // A machine whose clock is an hour slow still takes it.
    assert_eq!(edge.look(NOW - 3600, &program).unwrap().0, RolloutStep::TakeOver);
    let other = share_of("there");
    bench.publish(&BundleManifest { canary: Some(other), ..bench.manifest(2, "b") });
    assert_eq!(edge.look(NOW, &program).unwrap(), (RolloutStep::WaitForCanary, 2));
    assert_eq!(edge.look(NOW, &program).unwrap(), (RolloutStep::WaitForCanary, 2));
    let ours = share_of("here");
    let next = PublisherKey::generate().unwrap();
    let trust = TrustedKeys { keys: vec![next.public()], signatures: 1 };
    bench.publish(&BundleManifest { canary: Some(ours), trust, ..bench.manifest(3, "c") });
    assert_eq!(edge.look(NOW, &program).unwrap(), (RolloutStep::TakeOver, 3));
    // From now on the other key counts, and the old one does not.
    bench.publish(&bench.manifest(4, "d"));
    assert!(matches!(edge.look(NOW, &program), Err(SyncFault::Envelope(_))));
    bench.publish_by(&bench.manifest(4, "d"), &next);
    assert_eq!(edge.look(NOW, &program).unwrap(), (RolloutStep::TakeOver, 4));
    bench.publish(&bench.manifest(3, "other"));
    assert!(edge.look(NOW, &program).is_err());
}

#[test]
fn secrets_are_opened_here_and_parts_are_fetched_once() {
    let bench = Bench::new("secrets");
    let (mut edge, program) = (bench.edge(), Program::default());
    let mut secrets = SealedSecrets::default();
    secrets.insert(BundlePath::parse("secrets/word").unwrap(), b"hunter2");
    let name = EdgeName::parse("a").unwrap();
    let sealed = secrets.seal(&name, &edge.identity.sealing.public()).unwrap();
    let digest = ContentDigest::of(&sealed);
    fs::write(bench.folder.join("place").join(objects::sealed(&digest)), &sealed).unwrap();
    let entry = EdgeEntry {
        name,
        state: EdgeState::Active,
        labels: BTreeMap::new(),
        key: edge.identity.signing.public(),
        seal: edge.identity.sealing.public(),
        sealed: Some(digest),
    };
    bench.publish(&BundleManifest { edges: vec![entry.clone()], ..bench.manifest(1, "text") });
    edge.look(NOW, &program).unwrap();
    let word = bench.store().files(1).join("secrets/word");
    assert_eq!(fs::read(&word).unwrap(), b"hunter2");
    let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&word).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    let manifest = bench.manifest(2, "text");
    for entry in fs::read_dir(bench.folder.join("place")).unwrap().flatten() {
        if entry.file_name().as_encoded_bytes().starts_with(b"chunk-") {
            fs::remove_file(entry.path()).unwrap();
        }
    }
    bench.publish(&manifest);
    assert_eq!(edge.look(NOW, &program).unwrap(), (RolloutStep::TakeOver, 2));
    // A part that is spoilt here is asked for again, and is not there.
    let chunk = bench
        .folder
        .join("state/fleet/chunks")
        .join(manifest.files[0].chunks[0].digest.to_string());
    fs::write(chunk, "spoilt").unwrap();
    bench.publish(&BundleManifest { revision: 3, ..manifest });
    assert!(matches!(edge.look(NOW, &program), Err(SyncFault::ChunkMissing(_))));
    let told = edge.tell(NOW, ServedCounts { requests: 3, failures: 1 });
    told.unwrap();
    let status = fs::read(bench.folder.join("place/status/a.json")).unwrap();
    let read = EdgeStatus::read(&status, &entry.name, &entry.key).unwrap();
    assert_eq!((read.requests, read.applied, read.offered), (3, Some(2), Some(3)));
    let other = PublisherKey::generate().unwrap().public();
    assert!(EdgeStatus::read(&status, &entry.name, &other).is_err());
}

fn share_of(site: &str) -> CanaryShare {
    CanaryShare { percent: 0, labels: BTreeMap::from([("site".into(), site.into())]), since: None }
}

/// A manifest with a program of these bytes for this machine.
fn with_program(bench: &Bench, manifest: BundleManifest, bytes: &[u8]) -> BundleManifest {
    let machine = ProgramMachine::own().unwrap();
    let digest = ContentDigest::of(bytes);
    let build =
        ProgramBuild { machine, size: bytes.len() as u64, digest, chunks: bench.chunks(bytes) };
    let program = Some(ProgramRelease { version: "2".into(), builds: vec![build] });
    BundleManifest { program, ..manifest }
}

#[test]
fn a_program_is_laid_aside_whole_and_the_next_process_says_that_it_runs() {
    let bench = Bench::new("program");
    let machine = ProgramMachine::own().unwrap();
    let runs = RunningProgram { digest: ContentDigest::of(b"old"), machine };
    let (mut edge, program) = (bench.edge_running(Some(runs)), Program::default());
    bench.publish(&with_program(&bench, bench.manifest(1, "a"), b"new"));
    assert_eq!(edge.look(NOW, &program).unwrap(), (RolloutStep::TakeOver, 1));
    let store = bench.store();
    let path = program.programs.borrow()[0].clone();
    assert_eq!(fs::read(&path).unwrap(), b"new");
    // Power is cut before the next process says so: the old one starts, and the revision is taken
    // over again.
    assert_eq!(store.program_at_start(&runs).unwrap(), None);
    assert_eq!(store.record().unwrap().chosen(), None);
    let mut edge = bench.edge_running(Some(runs));
    assert_eq!(edge.look(NOW, &program).unwrap(), (RolloutStep::TakeOver, 1));
    store.confirm().unwrap();
    assert_eq!(store.program_at_start(&runs).unwrap(), Some(path.clone()));
    let other = RunningProgram { digest: ContentDigest::of(b"new"), machine };
    assert_eq!(store.program_at_start(&other).unwrap(), None);
    // One that is spoilt is never started.
    fs::write(&path, b"bad").unwrap();
    assert!(store.program_at_start(&runs).is_err());
}

#[test]
fn a_program_that_ends_the_machine_twice_is_refused_and_the_one_in_force_stays() {
    let bench = Bench::new("program-killed");
    let machine = ProgramMachine::own().unwrap();
    let runs = RunningProgram { digest: ContentDigest::of(b"old"), machine };
    let program = Program::default();
    bench.publish(&with_program(&bench, bench.manifest(1, "a"), b"new"));
    for _ in 0..2 {
        bench.edge_running(Some(runs)).look(NOW, &program).unwrap();
        assert_eq!(bench.store().program_at_start(&runs).unwrap(), None);
    }
    let mut edge = bench.edge_running(Some(runs));
    assert!(matches!(edge.look(NOW, &program), Err(SyncFault::NotTaken(_))));
    let told = edge.status(NOW, ServedCounts::default()).program.unwrap();
    let failed = told.failed.unwrap();
    assert_eq!((told.runs, told.in_force), (runs.digest, None));
    assert_eq!(failed.digest, ContentDigest::of(b"new"));
    assert!(failed.fault.contains("twice"), "{}", failed.fault);
    // The next revision has its own program, and what is not kept goes.
    bench.publish(&with_program(&bench, bench.manifest(2, "b"), b"newer"));
    edge.look(NOW, &program).unwrap();
    bench.store().confirm().unwrap();
    let told = edge.status(NOW, ServedCounts::default()).program.unwrap();
    assert_eq!((told.in_force, told.failed), (Some(ContentDigest::of(b"newer")), None));
    let programs = fs::read_dir(bench.folder.join("state/fleet/programs")).unwrap();
    assert_eq!(programs.count(), 1);
}

#[test]
fn a_machine_that_takes_no_programs_takes_the_files_and_another_kind_refuses() {
    let bench = Bench::new("program-none");
    let (mut edge, program) = (bench.edge(), Program::default());
    let manifest = with_program(&bench, bench.manifest(1, "a"), b"new");
    bench.publish(&manifest);
    assert_eq!(edge.look(NOW, &program).unwrap(), (RolloutStep::TakeOver, 1));
    assert!(program.programs.borrow().is_empty());
    assert_eq!(edge.status(NOW, ServedCounts::default()).program, None);
    let other = match ProgramMachine::own().unwrap() {
        ProgramMachine::X86_64 => ProgramMachine::Aarch64,
        ProgramMachine::Aarch64 => ProgramMachine::X86_64,
    };
    let runs = RunningProgram { digest: ContentDigest::of(b"old"), machine: other };
    let mut edge = bench.edge_running(Some(runs));
    bench.publish(&BundleManifest { revision: 2, ..manifest });
    assert!(matches!(edge.look(NOW, &program), Err(SyncFault::Program(_))));
}
