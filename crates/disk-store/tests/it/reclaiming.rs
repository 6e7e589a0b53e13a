//! Space: the limit holds, what is in use stays, what is of no use goes first, readers are not cut
//! off.

use crate::support::{Answer, NOW, Scratch, put_all, read_all};
use disk_store::{DiskStore, PurgeEffect};

const BYTES: u64 = 4 << 20;
const SEGMENT: u64 = 128 << 10;

fn small(scratch: &Scratch) -> DiskStore {
    DiskStore::open(&scratch.settings(BYTES, SEGMENT), NOW).unwrap().0
}

/// Bytes of all segments, as the file system counts their lengths.
fn on_disk(scratch: &Scratch) -> u64 {
    scratch.segments().iter().map(|path| path.metadata().unwrap().len()).sum()
}

#[test]
fn the_limit_holds_at_every_step() {
    let scratch = Scratch::new();
    let disk = small(&scratch);
    for number in 0..2000 {
        let len = [200, 3000, 20_000, 100_000, 400_000][number as usize % 5];
        Answer::new(number, 1, len).put(&disk);
        if number % 3 == 0 {
            disk.flush();
            let (counted, there) = (disk.stats().bytes, on_disk(&scratch));
            assert!(there <= counted && counted <= BYTES, "{there} of {counted} counted");
        }
    }
    disk.flush();
    let figures = disk.stats();
    assert!(figures.reclaimed > 100 && figures.evicted > 1000);
    assert!(figures.bytes > BYTES / 2, "most of the space is used: {}", figures.bytes);
}

#[test]
fn objects_have_a_cap_too() {
    let scratch = Scratch::new();
    let settings = disk_store::Settings { objects: 500, ..scratch.settings(BYTES, SEGMENT) };
    let disk = DiskStore::open(&settings, NOW).unwrap().0;
    for number in 0..3000 {
        Answer::new(number, 1, 10).put(&disk);
        if number % 50 == 0 {
            disk.flush();
            assert!(disk.stats().objects <= 500);
        }
    }
}

#[test]
fn what_is_in_use_is_moved_and_what_is_not_goes_in_order() {
    let scratch = Scratch::new();
    let disk = small(&scratch);
    let used = [Answer::new(0, 1, 3000), Answer::new(1, 1, 40_000), Answer::new(2, 1, 300_000)];
    put_all(&disk, &used);
    let last = 1500;
    for number in 10..last {
        Answer::new(number, 1, 10_000).put(&disk);
        if number % 20 == 0 {
            disk.flush();
            // The largest takes a segment for itself, which is spared some times, not for ever.
            for answer in &used[..2] {
                let stored = answer.stored(&disk).expect("it was hit all the time");
                disk.hit(&stored);
            }
        }
    }
    disk.flush();
    for answer in &used[..2] {
        assert_eq!(answer.get(&disk), Some((*answer, PurgeEffect::No)));
    }
    assert!(disk.stats().moved > 2);
    assert!(used[2].get(&disk).is_none() && Answer::new(10, 1, 0).get(&disk).is_none());
    let there = |number: u64| Answer::new(number, 1, 0).get(&disk).is_some();
    assert!((last - 100..last).all(there), "the youngest are there");
    drop(disk);
    let disk = small(&scratch);
    for answer in &used[..2] {
        assert_eq!(answer.get(&disk), Some((*answer, PurgeEffect::No)), "after a restart");
    }
}

#[test]
fn a_large_object_in_use_is_spared_without_a_copy() {
    let scratch = Scratch::new();
    let disk = small(&scratch);
    let large = Answer::new(0, 1, 500_000);
    large.put(&disk);
    disk.flush();
    let mut passes = 0;
    for number in 1..600 {
        Answer::new(number, 1, 10_000).put(&disk);
        disk.flush();
        let Some(stored) = large.stored(&disk) else { break };
        disk.hit(&stored);
        passes = number;
    }
    // 4 MiB hold some 400 of them: more than one whole pass.
    assert!(passes > 450, "gone after {passes}");
    assert_eq!(disk.stats().moved, 0);
}

#[test]
fn segments_of_superseded_and_expired_records_go_first() {
    for useful_until_ms in [u64::MAX, NOW.unix_ms - 24 * 3_600_000] {
        let scratch = Scratch::new();
        let disk = small(&scratch);
        let old: Vec<Answer> = (0..100).map(|number| Answer::new(number, 1, 10_000)).collect();
        put_all(&disk, &old);
        // A megabyte that is of no use any more: replaced, or out of date.
        for version in 0..10 {
            for number in 200..210 {
                let answer = Answer::new(
                    if useful_until_ms == u64::MAX { number } else { number + version * 10 },
                    version,
                    10_000,
                );
                answer.put_until(&disk, disk.moment(), useful_until_ms).unwrap();
            }
        }
        for number in 400..650 {
            Answer::new(number, 1, 10_000).put(&disk);
        }
        disk.flush();
        assert!(disk.stats().reclaimed > 2);
        assert!(old.iter().all(|it| it.get(&disk).is_some()), "the oldest are of more use");
    }
}

#[test]
fn a_reader_keeps_what_it_reads() {
    let scratch = Scratch::new();
    let disk = small(&scratch);
    let answers = [Answer::new(0, 1, 3000), Answer::new(1, 1, 300_000)];
    put_all(&disk, &answers);
    disk.flush();
    let mut readers: Vec<_> = answers.iter().map(|it| it.stored(&disk).unwrap()).collect();
    let first = readers[1].body.read(0).unwrap();
    for number in 10..1000 {
        Answer::new(number, 1, 10_000).put(&disk);
        if number % 100 == 0 {
            disk.flush();
        }
    }
    disk.flush();
    assert!(answers.iter().all(|it| it.get(&disk).is_none()), "both are gone for others");
    assert_eq!(first, answers[1].body()[..first.len()]);
    for (reader, answer) in readers.iter_mut().zip(&answers) {
        assert!(read_all(reader).unwrap() == answer.body());
    }
}

#[test]
fn a_newer_head_is_moved_with_its_segment_and_goes_with_its_body() {
    let scratch = Scratch::new();
    let disk = small(&scratch);
    let first = Answer::new(0, 1, 200_000);
    first.put(&disk);
    disk.flush();
    let newer = Answer { renewal: 1, ..first };
    newer.renew(&disk, &first.stored(&disk).unwrap());
    let mut last = 10;
    for number in 10..3000 {
        Answer::new(number, 1, 10_000).put(&disk);
        disk.flush();
        let Some((there, _)) = first.get(&disk) else { break };
        assert_eq!(there, newer, "never with its older head");
        if number < 1000 {
            disk.hit(&first.stored(&disk).unwrap());
        }
        last = number;
    }
    assert!(last > 1000 && last < 2900, "it stayed as long as it was hit: {last}");
    assert_eq!((disk.stats().renewed, disk.stats().corrupted), (0, 0));
}
