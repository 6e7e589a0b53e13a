//! A walk comes by everything that is stored, and by nothing else.

use crate::support::{Answer, Scratch, put_all};
use disk_store::{DiskStore, Purge, PurgeEffect, PurgeStrength};
use std::ops::ControlFlow;

/// Each answer that a walk shows: URL, bytes of the body, and what purges made of it.
fn walked(disk: &DiskStore) -> Vec<(String, u64, PurgeEffect)> {
    let mut found = Vec::new();
    let end = disk.walk(|it| {
        found.push((it.url.to_owned(), it.body_len, it.purged));
        ControlFlow::Continue(())
    });
    assert_eq!(end, ControlFlow::Continue(()));
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

fn expected(answers: &[Answer]) -> Vec<(String, u64, PurgeEffect)> {
    let mut all: Vec<_> =
        answers.iter().map(|it| (it.url(), it.len as u64, PurgeEffect::No)).collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

#[test]
fn every_answer_is_shown_once_in_open_and_in_closed_segments() {
    let scratch = Scratch::new();
    let disk = scratch.open();
    // Small ones, some that do not stand beside their head, one that has a segment of its own.
    let answers: Vec<Answer> = (0..40)
        .map(|number| {
            Answer::new(number, 1, if number == 7 { 3_000_000 } else { number as usize * 2000 })
        })
        .collect();
    put_all(&disk, &answers);
    disk.flush();
    assert_eq!(walked(&disk), expected(&answers));
    drop(disk);
    assert_eq!(walked(&scratch.open()), expected(&answers), "after a restart");
}

#[test]
fn what_was_replaced_or_purged_is_not_shown_and_what_is_stale_is_said_to_be() {
    let scratch = Scratch::new();
    let disk = scratch.open();
    let old: Vec<Answer> = (0..30).map(|number| Answer::new(number, 1, 300)).collect();
    put_all(&disk, &old);
    disk.flush();
    let newer = Answer::new(4, 2, 900);
    newer.put(&disk);
    disk.flush();
    disk.purge(&[Purge::Tag("tag 2".into())], PurgeStrength::Hard).unwrap();
    disk.purge(&[Purge::Host("h3.example".into())], PurgeStrength::Soft).unwrap();
    let mut left = expected(&old);
    left.retain(|(url, ..)| old.iter().any(|it| it.url() == *url && it.number % 3 != 2));
    for (url, len, purged) in &mut left {
        if *url == newer.url() {
            *len = 900;
        }
        if url.contains("//h3.example") {
            *purged = PurgeEffect::Soft;
        }
    }
    assert_eq!(walked(&disk), left);
}

#[test]
fn the_newer_head_of_a_body_is_shown_in_place_of_its_own() {
    let scratch = Scratch::new();
    let disk = scratch.open();
    let answer = Answer::new(1, 1, 50_000);
    answer.put(&disk);
    disk.flush();
    let stored = answer.stored(&disk).unwrap();
    Answer { renewal: 3, ..answer }.renew(&disk, &stored);
    disk.flush();
    let mut heads = Vec::new();
    let _ = disk.walk(|it| {
        heads.push((String::from_utf8(it.head.to_vec()).unwrap(), it.body_len));
        ControlFlow::Continue(())
    });
    assert_eq!(heads, [("1 0 1 50000 3".to_owned(), 50_000)]);
}

#[test]
fn a_walk_ends_where_it_is_told_to() {
    let scratch = Scratch::new();
    let disk = scratch.open();
    let answers: Vec<Answer> = (0..30).map(|number| Answer::new(number, 1, 300)).collect();
    put_all(&disk, &answers);
    disk.flush();
    let mut seen = 0;
    let end = disk.walk(|_| {
        seen += 1;
        if seen == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!((end, seen), (ControlFlow::Break(()), 3));
}
