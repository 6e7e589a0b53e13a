//! Torn writes and flipped bits, everywhere: never a wrong byte, never a panic.

use crate::support::{Answer, Dice, NOW, SEED, Scratch, put_all};
use disk_store::{
    ChecksumSalt, CorruptedBody, DiskStore, PurgeEffect, SegmentEnding, SegmentSurvey, scan_segment,
};
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// A store with small and large records and a newer head in one segment; its answers, the segment,
/// and the segment's bytes.
fn written(scratch: &Scratch) -> (Vec<Answer>, PathBuf, Vec<u8>) {
    let disk = scratch.open();
    let mut answers: Vec<Answer> =
        [0, 1, 700, 17_000, 300].iter().zip(0..).map(|(len, n)| Answer::new(n, 1, *len)).collect();
    put_all(&disk, &answers);
    disk.flush();
    answers[2].renewal = 1;
    answers[2].renew(&disk, &Answer::new(2, 0, 0).stored(&disk).unwrap());
    drop(disk);
    let [segment] = &scratch.segments()[..] else { panic!("one segment") };
    (answers, segment.clone(), fs::read(segment).unwrap())
}

fn look(segment: &Path, bytes: &[u8]) -> Option<SegmentSurvey> {
    let name = segment.file_stem().unwrap().to_str().unwrap();
    let id = u64::from_str_radix(name, 16).unwrap();
    scan_segment(bytes, bytes.len() as u64, id, ChecksumSalt::of(&SEED))
}

/// Opens the store with `bytes` as its segment; how many answers are found, each of them whole.
fn found(scratch: &Scratch, segment: &Path, bytes: &[u8], answers: &[Answer]) -> Vec<u64> {
    for path in scratch.segments() {
        fs::remove_file(path).unwrap();
    }
    fs::write(segment, bytes).unwrap();
    let disk = scratch.open();
    let mut numbers = Vec::new();
    for answer in answers {
        if let Some((there, purged)) = answer.get(&disk) {
            let older = Answer { renewal: 0, ..*answer };
            assert!(there == *answer || there == older, "{there:?}");
            assert_eq!(purged, PurgeEffect::No);
            numbers.push(there.number);
        }
    }
    numbers
}

/// Places for tests that open a store for each: a sample, another one for each offset.
fn places(len: usize, first: usize) -> impl Iterator<Item = usize> {
    (first..len).step_by(37)
}

#[test]
fn no_flipped_bit_and_no_cut_lists_a_record_that_is_not_there() {
    let scratch = Scratch::new();
    let (_, segment, sealed) = written(&scratch);
    let whole = look(&segment, &sealed).unwrap();
    assert_eq!((whole.entries.len(), whole.ending), (6, SegmentEnding::Sealed));
    let unsealed = &sealed[..whole.end as usize];
    for bytes in [&sealed, unsealed] {
        let mut bytes = bytes.to_vec();
        for bit in 0..bytes.len() * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            let found = look(&segment, &bytes).map_or_else(Vec::new, |found| found.entries);
            assert!(found.iter().all(|it| whole.entries.contains(it)), "bit {bit}: {found:?}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }
    for end in 0..sealed.len() {
        let found = look(&segment, &sealed[..end]).map_or_else(Vec::new, |found| found.entries);
        assert_eq!(found, whole.entries[..found.len()], "cut at {end}");
        let before = whole.entries.iter().filter(|it| it.at + it.len <= end as u64).count();
        assert!(found.len() >= before, "cut at {end}");
    }
}

#[test]
fn flipped_bits_never_come_through() {
    let scratch = Scratch::new();
    let (answers, segment, sealed) = written(&scratch);
    let unsealed = sealed[..look(&segment, &sealed).unwrap().end as usize].to_vec();
    let all = vec![0, 1, 2, 3, 4];
    assert_eq!(found(&scratch, &segment, &sealed, &answers), all);
    assert_eq!(found(&scratch, &segment, &unsealed, &answers), all);
    let mut dice = Dice(1);
    for (first, whole) in [sealed, unsealed].into_iter().enumerate() {
        let mut kept = 0;
        for at in places(whole.len(), first) {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << dice.below(8);
            kept += found(&scratch, &segment, &bytes, &answers).len();
        }
        let share = kept as f64 / (places(whole.len(), first).count() * 5) as f64;
        assert!(share > 0.4, "{share} of the records are still served");
    }
}

#[test]
fn a_segment_torn_anywhere_keeps_what_lies_before() {
    let scratch = Scratch::new();
    let (answers, segment, sealed) = written(&scratch);
    let whole = look(&segment, &sealed).unwrap();
    let ends: Vec<u64> = whole.entries[..5].iter().map(|entry| entry.at + entry.len).collect();
    for end in places(sealed.len(), 11) {
        let numbers = found(&scratch, &segment, &sealed[..end], &answers);
        let before = ends.iter().filter(|it| **it <= end as u64).count() as u64;
        // The last record is filed without the padding behind it, too.
        let padded = ends.iter().filter(|it| **it < end as u64 + 64).count() as u64;
        assert!(numbers == (0..before).collect::<Vec<_>>() || numbers.len() as u64 <= padded);
        assert!(numbers.len() as u64 >= before, "{numbers:?} of {before} at {end}");
    }
}

#[test]
fn pages_of_zeros_never_come_through() {
    let scratch = Scratch::new();
    let (answers, segment, sealed) = written(&scratch);
    for at in (0..sealed.len()).step_by(512) {
        let mut bytes = sealed.clone();
        let end = (at + 4096).min(bytes.len());
        bytes[at..end].fill(0);
        found(&scratch, &segment, &bytes, &answers);
    }
    found(&scratch, &segment, &[], &answers);
    let mut dice = Dice(3);
    for len in [1, 64, 5000, 100_000] {
        assert!(found(&scratch, &segment, &dice.bytes(len), &answers).is_empty());
    }
}

#[test]
fn a_block_that_is_damaged_while_it_is_served_ends_the_answer() {
    let scratch = Scratch::new();
    let disk = scratch.open();
    let answer = Answer::new(1, 1, 200_000);
    answer.put(&disk);
    disk.flush();
    let mut stored = answer.stored(&disk).unwrap();
    let extent = stored.body.extent(0, 1).unwrap();
    // In the third block of four.
    extent.file().write_all_at(&[answer.body()[150_000] ^ 4], extent.at + 150_000).unwrap();
    assert_eq!(stored.body.read(65_536).unwrap(), answer.body()[65_536..131_072]);
    assert_eq!(stored.body.extent(131_072, 10).unwrap_err(), CorruptedBody);
    assert_eq!(stored.body.read(140_000), Err(CorruptedBody));
    assert_eq!(disk.stats().corrupted, 1, "counted once");
    assert!(answer.get(&disk).is_none());
    drop(disk);
    let disk = scratch.open();
    assert!(answer.get(&disk).is_none());
}

#[test]
fn damage_is_not_moved_on_under_a_new_checksum() {
    for len in [3000, 40_000, 300_000] {
        let scratch = Scratch::new();
        let disk = DiskStore::open(&scratch.settings(4 << 20, 1 << 18), NOW).unwrap().0;
        let answer = Answer::new(0, 1, len);
        answer.put(&disk);
        disk.flush();
        let mut stored = answer.stored(&disk).unwrap();
        disk.hit(&stored);
        let extent = stored.body.extent(0, 1).unwrap();
        extent.file().write_all_at(&[answer.body()[2000] ^ 4], extent.at + 2000).unwrap();
        for number in 1..800 {
            Answer::new(number, 1, 10_000).put(&disk);
            if number % 50 == 0 {
                disk.flush();
            }
        }
        disk.flush();
        assert!(disk.stats().reclaimed > 5 && answer.get(&disk).is_none());
    }
}

#[test]
fn a_segment_cut_short_under_a_running_store_is_a_miss() {
    let scratch = Scratch::new();
    let disk = scratch.open();
    let answers = [Answer::new(0, 1, 3000), Answer::new(1, 1, 100_000)];
    put_all(&disk, &answers);
    disk.flush();
    for segment in scratch.segments() {
        fs::OpenOptions::new().write(true).open(segment).unwrap().set_len(200).unwrap();
    }
    assert!(answers.iter().all(|it| it.get(&disk).is_none()));
    assert_eq!(disk.stats().corrupted, 2);
}
