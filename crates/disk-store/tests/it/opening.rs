//! Opening: whose folder it is, what is refused and in which words, and a folder that goes away.

use crate::support::{Answer, NOW, SEED, Scratch};
use disk_store::{
    DiskStore, DiskTrouble, KeySeed, NotStored, OpenError, PRIVATE_FOLDER, Purge, PurgeError,
    PurgeStrength, Settings,
};
use std::fs;
use vocab::Now;

fn refusal(settings: &Settings) -> String {
    DiskStore::open(settings, NOW).map(|_| ()).unwrap_err().to_string()
}

#[test]
fn a_folder_is_made_for_its_owner_alone_and_keeps_its_secret() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = Scratch::new();
    let mut settings = scratch.settings(64 << 20, 1 << 20);
    settings.path = scratch.0.join("a/b");
    let (disk, recovered) = DiskStore::open(&settings, NOW).unwrap();
    assert_eq!((recovered.seed.0, recovered.objects), (SEED.0, 0));
    Answer::new(1, 1, 10).put(&disk);
    disk.flush();
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&settings.path), 0o700);
    for file in fs::read_dir(&settings.path).unwrap() {
        assert_eq!(mode(&file.unwrap().path()), 0o600);
    }
    drop(disk);
    settings.seed = KeySeed([9; 16]);
    let (disk, recovered) = DiskStore::open(&settings, NOW).unwrap();
    assert_eq!((recovered.seed.0, recovered.objects, recovered.scanned), (SEED.0, 1, 0));
    assert!(Answer::new(1, 1, 10).get(&disk).is_some());
}

#[test]
fn one_process_at_a_time() {
    let scratch = Scratch::new();
    let settings = scratch.settings(64 << 20, 1 << 20);
    let disk = scratch.open();
    assert!(refusal(&settings).contains("in use by another process"));
    drop(disk);
    assert!(DiskStore::open(&settings, NOW).is_ok());
}

#[test]
fn other_peoples_folders_are_left_alone_and_other_files_in_ours_too() {
    let scratch = Scratch::new();
    let settings = scratch.settings(64 << 20, 1 << 20);
    fs::create_dir(&scratch.0).unwrap();
    fs::write(scratch.0.join("thesis.tex"), "a").unwrap();
    let said = refusal(&settings);
    assert!(said.contains("thesis.tex") && said.contains("empty folder"), "{said}");
    fs::remove_file(scratch.0.join("thesis.tex")).unwrap();
    drop(DiskStore::open(&settings, NOW).unwrap());
    fs::write(scratch.0.join("notes.txt"), "a").unwrap();
    fs::create_dir(scratch.0.join("00000000000000ff.segment")).unwrap();
    let (_disk, recovered) = DiskStore::open(&settings, NOW).unwrap();
    assert_eq!(recovered.foreign, ["00000000000000ff.segment", "notes.txt"]);
    assert!(scratch.0.join("notes.txt").exists());
}

#[test]
fn a_private_store_within_it_is_no_foreign_file() {
    let scratch = Scratch::new();
    let settings = scratch.settings(64 << 20, 1 << 20);
    let within = Settings { path: scratch.0.join(PRIVATE_FOLDER), ..settings.clone() };
    let private = DiskStore::open(&within, NOW).unwrap();
    let (disk, recovered) = DiskStore::open(&settings, NOW).unwrap();
    assert!(recovered.foreign.is_empty(), "{:?}", recovered.foreign);
    drop((private, disk));
    fs::remove_dir_all(&within.path).unwrap();
    fs::write(&within.path, "a file").unwrap();
    let (_disk, recovered) = DiskStore::open(&settings, NOW).unwrap();
    assert_eq!(recovered.foreign, [PRIVATE_FOLDER]);
}

#[test]
fn a_newer_or_damaged_identity_is_refused() {
    let scratch = Scratch::new();
    let settings = scratch.settings(64 << 20, 1 << 20);
    drop(scratch.open());
    let identity = scratch.0.join("identity");
    let whole = fs::read(&identity).unwrap();
    let mut newer = whole.clone();
    newer[16] = 2;
    newer.push(0);
    fs::write(&identity, &newer).unwrap();
    assert!(refusal(&settings).contains("version 2"));
    for bit in 0..whole.len() * 8 {
        let mut flipped = whole.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        fs::write(&identity, &flipped).unwrap();
        let refused = DiskStore::open(&settings, NOW).map(|_| ()).unwrap_err();
        assert!(matches!(refused, OpenError::Damaged(_) | OpenError::Newer(..)), "{refused}");
    }
    fs::write(&identity, &whole).unwrap();
    let disk = scratch.open();
    Answer::new(1, 1, 10).put(&disk);
    drop(disk);
    // Segments without the file that says which purges and keys they belong to.
    fs::remove_file(&identity).unwrap();
    assert!(refusal(&settings).contains("empty the folder"));
}

#[test]
fn limits_out_of_bounds_are_refused_with_the_bounds() {
    let scratch = Scratch::new();
    let said = |bytes, segment| refusal(&scratch.settings(bytes, segment));
    assert!(said(1 << 20, 1 << 10).contains("64 KiB to 1 GiB"));
    assert!(said(8 << 20, 1 << 20).contains("16 to 4096"));
    assert!(said(1 << 40, 1 << 20).contains("16 to 4096"));
    let none = Settings { objects: 0, ..scratch.settings(64 << 20, 1 << 20) };
    assert!(refusal(&none).contains("between 1 and"));
    assert!(!scratch.0.exists(), "nothing was made");
    for bytes in [1 << 20, 1 << 30, 4 << 40] {
        let usual = Settings::new(scratch.0.clone(), bytes, SEED);
        assert!(DiskStore::open(&usual, NOW).is_ok(), "{bytes}");
    }
}

#[test]
fn a_path_that_is_no_folder_is_named() {
    let scratch = Scratch::new();
    fs::write(&scratch.0, "a file").unwrap();
    let said = refusal(&scratch.settings(64 << 20, 1 << 20));
    assert!(said.starts_with(scratch.0.to_str().unwrap()), "{said}");
    fs::remove_file(&scratch.0).unwrap();
}

#[test]
fn a_smaller_limit_is_kept_from_the_first_record_on() {
    let scratch = Scratch::new();
    let disk = scratch.open();
    (0..300).for_each(|number| Answer::new(number, 1, 40_000).put(&disk));
    drop(disk);
    let disk = DiskStore::open(&scratch.settings(4 << 20, 128 << 10), NOW).unwrap().0;
    assert!(disk.stats().bytes > 4 << 20);
    Answer::new(999, 1, 10).put(&disk);
    disk.flush();
    assert!(disk.stats().bytes <= 4 << 20 && Answer::new(999, 1, 0).get(&disk).is_some());
}

#[test]
fn a_folder_that_vanished_stops_storing_and_not_reading() {
    let scratch = Scratch::new();
    let disk = DiskStore::open(&scratch.settings(4 << 20, 64 << 10), NOW).unwrap().0;
    let first = Answer::new(1, 1, 5000);
    first.put(&disk);
    disk.flush();
    fs::remove_dir_all(&scratch.0).unwrap();
    // What is open goes on; a new segment cannot be made.
    for number in 2..30 {
        // The first that comes after the trouble is refused already.
        let _ = Answer::new(number, 1, 5000).put_at(&disk, disk.moment());
        disk.flush();
    }
    assert_eq!(disk.stats().failure, Some(DiskTrouble::FolderGone));
    assert!(first.get(&disk).is_some());
    assert_eq!(first.put_at(&disk, disk.moment()), Err(NotStored::DiskFailure));
    // Another folder in its place is not ours.
    fs::create_dir(&scratch.0).unwrap();
    let later = Now { mono_ms: NOW.mono_ms + 40_000, ..NOW };
    let tried = |answer: &Answer| {
        answer.drafted(disk.moment(), u64::MAX, |draft| disk.writer(draft, later)?.commit())
    };
    assert_eq!(tried(&Answer::new(50, 1, 0)), Ok(()));
    disk.flush();
    assert_eq!(fs::read_dir(&scratch.0).unwrap().count(), 0);
    assert_eq!(disk.stats().failure, Some(DiskTrouble::FolderGone));
}

#[test]
fn a_closed_store_leaves_its_folder_to_the_next_and_what_is_read_is_read_to_its_end() {
    let scratch = Scratch::new();
    let former = scratch.open();
    let (small, large) = (Answer::new(1, 1, 500), Answer::new(2, 1, 300_000));
    small.put(&former);
    large.put(&former);
    former.flush();
    let mut reading = large.stored(&former).unwrap();
    former.close();
    let next = scratch.open();
    for answer in [small, large] {
        assert!(answer.stored(&former).is_none());
        assert_eq!(answer.stored(&next).map(|it| Answer::of(&it)), Some(answer));
    }
    let mut read = Vec::new();
    while read.len() < large.len {
        read.extend_from_slice(&reading.body.read(read.len() as u64).unwrap());
    }
    assert_eq!(read, large.body());
    assert_eq!(small.put_at(&former, former.moment()), Err(NotStored::Closed));
    let refused = former.purge(&[Purge::Everything], PurgeStrength::Hard);
    assert!(matches!(refused, Err(PurgeError::Closed)));
    assert!(small.stored(&next).is_some());
}
