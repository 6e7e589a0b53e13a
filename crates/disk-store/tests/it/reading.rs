//! What comes back: variants, newer heads, blocks, extents, and what is refused.

use crate::support::{Answer, NOW, Scratch, put_all, read_all};
use disk_store::{
    BLOCK_BYTES, BODY_ALIGN, DiskStore, INLINE_BODY_BYTES_MAX, NotStored, PurgeEffect, VARIANTS_MAX,
};
use std::os::unix::fs::FileExt;

#[test]
fn bodies_of_every_size_come_back_after_a_restart_too() {
    let scratch = Scratch::new();
    let inline = INLINE_BODY_BYTES_MAX as usize;
    let block = BLOCK_BYTES as usize;
    let lens =
        [0, 1, 100, inline, inline + 1, block - 1, block, block + 1, 262_144, 262_145, 3_000_000];
    let answers: Vec<Answer> =
        lens.iter().zip(1..).map(|(len, number)| Answer::new(number, 1, *len)).collect();
    let disk = scratch.open();
    put_all(&disk, &answers);
    disk.flush();
    let found =
        |disk: &DiskStore| answers.iter().all(|it| it.get(disk) == Some((*it, PurgeEffect::No)));
    assert!(found(&disk));
    drop(disk);
    let disk = scratch.open();
    assert!(found(&disk));
    assert_eq!(disk.stats().objects, lens.len() as u64);
}

#[test]
fn what_is_not_committed_never_was() {
    let scratch = Scratch::new();
    let disk = scratch.open();
    for len in [100, 1_000_000] {
        let answer = Answer::new(1, 1, len);
        answer.drafted(disk.moment(), u64::MAX, |draft| {
            let mut writer = disk.writer(draft, NOW).unwrap();
            writer.write(&answer.body()).unwrap();
        });
    }
    disk.flush();
    assert!(Answer::new(1, 1, 0).get(&disk).is_none());
    assert_eq!(disk.stats().stored, 0);
}

#[test]
fn extents_are_parts_of_the_file_with_the_bytes_of_the_body() {
    let scratch = Scratch::new();
    let disk = scratch.open();
    for (number, len) in [(1, 5000), (2, 200_000), (3, 1_000_000)] {
        let answer = Answer::new(number, 1, len);
        answer.put(&disk);
        disk.flush();
        let body = answer.body();
        // The first pass compares block by block, the second may take all at once.
        for _ in 0..2 {
            let mut stored = answer.stored(&disk).unwrap();
            let (mut at, mut parts) = (0, 0);
            while at < stored.body.len() {
                let extent = stored.body.extent(at, 1 << 30).unwrap();
                let mut bytes = vec![0; extent.len as usize];
                extent.file().read_exact_at(&mut bytes, extent.at).unwrap();
                assert_eq!(bytes, body[at as usize..][..bytes.len()]);
                assert!(
                    len <= INLINE_BODY_BYTES_MAX as usize
                        || (extent.at - at).is_multiple_of(BODY_ALIGN)
                );
                (at, parts) = (at + extent.len, parts + 1);
            }
            assert!(parts == 1 || parts == len.div_ceil(BLOCK_BYTES as usize));
            assert_eq!(stored.body.extent(at, 10).unwrap().len, 0);
            // Somewhere in the middle, and no more than was asked for.
            let extent = stored.body.extent(len as u64 / 2, 77).unwrap();
            assert_eq!(extent.len, 77);
        }
    }
}

#[test]
fn a_newer_head_leaves_the_body_where_it_is() {
    let scratch = Scratch::new();
    let disk = scratch.open();
    let first = Answer::new(1, 1, 500_000);
    first.put(&disk);
    disk.flush();
    let before = disk.stats().bytes;
    for renewal in 1..4 {
        let stored = first.stored(&disk).unwrap();
        Answer { renewal, ..first }.renew(&disk, &stored);
        disk.flush();
    }
    let latest = Answer { renewal: 3, ..first };
    assert_eq!(latest.get(&disk), Some((latest, PurgeEffect::No)));
    let figures = disk.stats();
    assert!(figures.bytes < before + 5000, "{} bytes more", figures.bytes - before);
    assert_eq!((figures.objects, figures.renewed), (1, 1));
    drop(disk);
    let disk = scratch.open();
    assert_eq!(latest.get(&disk), Some((latest, PurgeEffect::No)));
    // A head for a body that was replaced meanwhile is not filed.
    let stored = first.stored(&disk).unwrap();
    let second = Answer::new(1, 2, 100);
    second.put(&disk);
    Answer { renewal: 4, ..first }.renew(&disk, &stored);
    disk.flush();
    assert_eq!(second.get(&disk), Some((second, PurgeEffect::No)));
    assert_eq!(disk.stats().renewed, 0);
}

#[test]
fn variants_of_a_key_stand_side_by_side_up_to_the_cap() {
    let scratch = Scratch::new();
    let disk = scratch.open();
    let variants = VARIANTS_MAX as u64 + 10;
    for variant in 0..variants {
        Answer { variant, ..Answer::new(1, 1, 200) }.put(&disk);
    }
    disk.flush();
    let found = disk.find(Answer::new(1, 1, 0).key().hash());
    assert_eq!(found.len(), VARIANTS_MAX);
    let last = Answer { variant: variants - 1, ..Answer::new(1, 1, 200) };
    assert_eq!(last.get(&disk), Some((last, PurgeEffect::No)));
}

#[test]
fn what_is_too_large_is_refused_at_once() {
    let scratch = Scratch::new();
    let disk = DiskStore::open(&scratch.settings(2 << 20, 128 << 10), NOW).unwrap().0;
    let refused = |answer: Answer| answer.put_at(&disk, disk.moment());
    assert_eq!(refused(Answer::new(1, 1, 300_000)), Err(NotStored::BodyTooLarge));
    let (url, head) = ("x".repeat(70_000), vec![0; 600_000]);
    Answer::new(1, 1, 1).drafted(disk.moment(), u64::MAX, |draft| {
        let mut draft = *draft;
        draft.head = &head;
        assert_eq!(disk.writer(&draft, NOW).err(), Some(NotStored::HeadTooLarge));
        draft.url = &url;
        draft.head = b"";
        assert_eq!(disk.writer(&draft, NOW).err(), Some(NotStored::LabelsTooLarge));
    });
    assert_eq!(disk.stats().not_stored, 3);
}

#[test]
fn more_large_bodies_at_once_than_there_are_lanes_are_refused() {
    let scratch = Scratch::new();
    let disk = scratch.open();
    let answers: Vec<Answer> = (0..9).map(|number| Answer::new(number, 1, 300_000)).collect();
    let write = |answer: &Answer| {
        answer.drafted(disk.moment(), u64::MAX, |draft| {
            let mut writer = disk.writer(draft, NOW).unwrap();
            writer.write(&answer.body()).map(|()| writer)
        })
    };
    // 64 MiB in segments of 1 MiB: eight large writes.
    let mut writers: Vec<_> = answers[..8].iter().map(|it| write(it).unwrap()).collect();
    assert_eq!(write(&answers[8]).err(), Some(NotStored::TooManyLargeWrites));
    drop(writers.pop());
    for writer in writers {
        writer.commit().unwrap();
    }
    disk.flush();
    assert_eq!(answers.iter().filter(|it| it.get(&disk).is_some()).count(), 7);
    assert!(write(&answers[8]).is_ok());
}

#[test]
fn a_flood_of_records_is_dropped_beyond_the_queue_and_counted() {
    let scratch = Scratch::new();
    let disk = scratch.open();
    let mut refused = 0;
    for number in 0..3000 {
        match Answer::new(number, 1, 60_000).put_at(&disk, disk.moment()) {
            Ok(()) => {}
            Err(why) => {
                assert_eq!(why, NotStored::QueueFull);
                refused += 1;
            }
        }
    }
    disk.flush();
    let figures = disk.stats();
    assert_eq!((figures.not_stored, figures.stored), (refused, 3000 - refused));
    assert_eq!(figures.waiting_bytes, 0);
}

#[test]
fn several_threads_may_store_and_read_at_once() {
    let scratch = Scratch::new();
    let disk = scratch.open();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let disk = &disk;
            scope.spawn(move || {
                for step in 0..150 {
                    let answer =
                        Answer::new(step % 10, thread, 1000 + 20_000 * (step as usize % 5));
                    if answer.put_at(disk, disk.moment()).is_ok() && step % 7 == 0 {
                        disk.flush();
                    }
                    answer.get(disk);
                }
            });
        }
    });
    assert_eq!(disk.stats().corrupted, 0);
    let stored = Answer::new(3, 1, 0).stored(&disk);
    assert!(read_all(&mut stored.unwrap()).is_some());
}
