//! Purged is purged: by every kind of pattern, hard and soft, after a restart, and at the caps.

use crate::support::{Answer, NOW, Scratch, put_all};
use disk_store::{
    DiskStore, NotStored, PATTERN_BYTES_MAX, PURGES_MAX, Purge, PurgeEffect, PurgeError,
    PurgeHistory, PurgeStrength,
};
use std::fs;

fn filled(scratch: &Scratch) -> (DiskStore, Vec<Answer>) {
    let disk = scratch.open();
    let answers: Vec<Answer> = (0..30).map(|number| Answer::new(number, 1, 300)).collect();
    put_all(&disk, &answers);
    disk.flush();
    (disk, answers)
}

fn purged(disk: &DiskStore, answers: &[Answer]) -> Vec<u64> {
    answers.iter().filter(|it| it.get(disk).is_none()).map(|it| it.number).collect()
}

/// Whether a pattern names the answer with a number.
type Names = fn(u64) -> bool;

#[test]
fn each_kind_of_pattern_purges_what_it_names_and_nothing_else() {
    let like = Answer::new(8, 1, 300);
    let patterns: [(Purge, Names); 6] = [
        (Purge::Key(like.key().hash()), |it| it == 8),
        (Purge::Prefix("http://h3.example/1/".into()), |it| it % 5 == 3 && it % 7 == 1),
        (Purge::Host("h3.example".into()), |it| it % 5 == 3),
        (Purge::Tag("tag 2".into()), |it| it % 3 == 2),
        (Purge::Tag("tag".into()), |_| false),
        (Purge::Everything, |_| true),
    ];
    for (purge, is_named) in patterns {
        let scratch = Scratch::new();
        let (disk, answers) = filled(&scratch);
        let named: Vec<u64> = (0..30).filter(|it| is_named(*it)).collect();
        disk.purge(std::slice::from_ref(&purge), PurgeStrength::Soft).unwrap();
        for answer in &answers {
            let soft =
                if named.contains(&answer.number) { PurgeEffect::Soft } else { PurgeEffect::No };
            assert_eq!(answer.get(&disk), Some((*answer, soft)), "{purge:?}");
        }
        disk.purge(std::slice::from_ref(&purge), PurgeStrength::Hard).unwrap();
        assert_eq!(purged(&disk, &answers), named, "{purge:?}");
        drop(disk);
        let disk = scratch.open();
        assert_eq!(purged(&disk, &answers), named, "{purge:?} after a restart");
        // What is learned later is not concerned.
        put_all(&disk, &answers);
        disk.flush();
        assert!(
            answers.iter().all(|it| it.get(&disk) == Some((*it, PurgeEffect::No))),
            "{purge:?}"
        );
    }
}

#[test]
fn what_was_fetched_before_a_purge_is_not_stored_after_it() {
    let scratch = Scratch::new();
    let disk = scratch.open();
    for len in [100, 500_000] {
        let answer = Answer::new(1, 1, len);
        let moment = disk.moment();
        disk.purge(&[Purge::Host(answer.host())], PurgeStrength::Hard).unwrap();
        answer.put_at(&disk, moment).unwrap();
        disk.flush();
        assert!(answer.get(&disk).is_none());
    }
    assert_eq!((disk.stats().stored, disk.stats().not_stored), (0, 2));
}

#[test]
fn a_soft_purge_ends_with_a_newer_head() {
    let scratch = Scratch::new();
    let (disk, answers) = filled(&scratch);
    disk.purge(&[Purge::Everything], PurgeStrength::Soft).unwrap();
    let stored = answers[3].stored(&disk).unwrap();
    assert_eq!(stored.purged, PurgeEffect::Soft);
    let newer = Answer { renewal: 1, ..answers[3] };
    newer.renew(&disk, &stored);
    disk.flush();
    assert_eq!(newer.get(&disk), Some((newer, PurgeEffect::No)));
    assert_eq!(answers[4].get(&disk), Some((answers[4], PurgeEffect::Soft)));
}

#[test]
fn purges_are_forgotten_when_nothing_is_left_that_they_concern() {
    let scratch = Scratch::new();
    let settings = scratch.settings(4 << 20, 64 << 10);
    let disk = DiskStore::open(&settings, NOW).unwrap().0;
    let moment = disk.moment();
    Answer::new(1, 1, 300).put(&disk);
    disk.flush();
    let purges: Vec<Purge> = (0..3000).map(|it| Purge::Prefix(format!("http://{it}/"))).collect();
    disk.purge(&purges, PurgeStrength::Hard).unwrap();
    assert_eq!(disk.stats().purges, 3000);
    let log = fs::metadata(scratch.0.join("purges")).unwrap().len();
    for number in 0..300 {
        Answer::new(number, 2, 30_000).put(&disk);
        disk.flush();
    }
    assert_eq!(disk.stats().purges, 0);
    assert!(fs::metadata(scratch.0.join("purges")).unwrap().len() < log / 10);
    // Whoever has fetched since before those purges can no longer be judged by them.
    Answer::new(1, 3, 300).put_at(&disk, moment).unwrap();
    disk.flush();
    assert_ne!(Answer::new(1, 3, 300).get(&disk).map(|it| it.0.version), Some(3));
}

#[test]
fn at_the_cap_the_older_half_of_the_purges_becomes_one() {
    let scratch = Scratch::new();
    let (disk, answers) = filled(&scratch);
    let purges: Vec<Purge> = (0..PURGES_MAX).map(|it| Purge::Tag(format!("nobody {it}"))).collect();
    disk.purge(&purges[..PURGES_MAX - 10], PurgeStrength::Hard).unwrap();
    let late = Answer::new(100, 1, 300);
    late.put(&disk);
    disk.flush();
    disk.purge(&[Purge::Host(answers[1].host())], PurgeStrength::Hard).unwrap();
    assert_eq!(purged(&disk, &answers).len(), 6);
    disk.purge(&purges[PURGES_MAX - 10..], PurgeStrength::Hard).unwrap();
    // What was stored before the older half is gone, what came later is judged one by one.
    let check = |disk: &DiskStore| {
        assert_eq!(purged(disk, &answers).len(), 30);
        assert_eq!(late.get(disk), Some((late, PurgeEffect::No)));
        let count = disk.stats().purges as usize;
        assert!(count > PURGES_MAX / 3 && count < PURGES_MAX * 2 / 3, "{count}");
    };
    check(&disk);
    drop(disk);
    check(&scratch.open());
}

#[test]
fn a_pattern_without_bound_is_refused() {
    let scratch = Scratch::new();
    let (disk, answers) = filled(&scratch);
    let long = Purge::Prefix("x".repeat(PATTERN_BYTES_MAX + 1));
    let refused = disk.purge(&[long, Purge::Everything], PurgeStrength::Hard);
    assert!(matches!(refused, Err(PurgeError::PatternTooLong)));
    assert!(purged(&disk, &answers).is_empty());
}

#[test]
fn where_the_log_of_purges_is_damaged_or_gone_everything_counts_as_purged() {
    let scratch = Scratch::new();
    let (disk, answers) = filled(&scratch);
    disk.purge(&[Purge::Tag("tag 1".into())], PurgeStrength::Hard).unwrap();
    drop(disk);
    let log = scratch.0.join("purges");
    let whole = fs::read(&log).unwrap();
    let identity = fs::read(scratch.0.join("identity")).unwrap();
    for round in 0..3 {
        match round {
            0 => fs::remove_file(&log).unwrap(),
            1 => {
                let mut flipped = whole.clone();
                flipped[40] ^= 1;
                fs::write(&log, flipped).unwrap();
            }
            _ => fs::write(&log, &whole[..whole.len() - 3]).unwrap(),
        }
        let (disk, recovered) = DiskStore::open(&scratch.settings(64 << 20, 1 << 20), NOW).unwrap();
        if round < 2 {
            assert_eq!(recovered.purges, PurgeHistory::Lost);
            assert_eq!(purged(&disk, &answers).len(), 30);
        } else {
            // Cut off within its last entry: that purge had never returned.
            assert_eq!(recovered.purges, PurgeHistory::Complete);
        }
        // From then on it works as ever.
        put_all(&disk, &answers);
        disk.flush();
        disk.purge(&[Purge::Host("h0.example".into())], PurgeStrength::Hard).unwrap();
        drop(disk);
        assert_eq!(purged(&scratch.open(), &answers).len(), 6);
        assert_eq!(fs::read(scratch.0.join("identity")).unwrap(), identity);
    }
}

#[test]
fn a_purge_that_cannot_be_written_holds_until_the_end_and_says_so() {
    let scratch = Scratch::new();
    let (disk, answers) = filled(&scratch);
    let elsewhere = scratch.0.with_extension("moved");
    // The open log can still be appended to; a new one cannot be made.
    fs::rename(&scratch.0, &elsewhere).unwrap();
    let many: Vec<Purge> = (0..3000).map(|_| Purge::Host(answers[1].host())).collect();
    let kept = disk.purge(&many, PurgeStrength::Hard);
    assert!(matches!(kept, Err(PurgeError::NotKept(_))), "{kept:?}");
    assert_eq!(purged(&disk, &answers).len(), 6);
    fs::rename(&elsewhere, &scratch.0).unwrap();
    disk.purge(&[Purge::Host(answers[2].host())], PurgeStrength::Hard).unwrap();
    drop(disk);
    assert_eq!(purged(&scratch.open(), &answers).len(), 12);
}

#[test]
fn nothing_is_taken_once_the_store_is_closed() {
    let scratch = Scratch::new();
    let disk = scratch.open();
    let answer = Answer::new(1, 1, 300);
    let writer = answer.drafted(disk.moment(), u64::MAX, |draft| disk.writer(draft, NOW).unwrap());
    drop(disk);
    assert_eq!(writer.commit(), Err(NotStored::Closed));
}
