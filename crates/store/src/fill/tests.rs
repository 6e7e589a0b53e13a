//! What a fill promises: every reader gets every byte of its range, the account holds, and nobody
//! is kept waiting by those who left.

use super::*;
use crate::budget::ByteClass;
use bytes::Bytes;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

const ALL: Range<u64> = 0..u64::MAX;

fn plan(length: Option<u64>, keep_bytes_max: u64) -> FillPlan {
    FillPlan {
        length,
        keep_bytes_max,
        purpose: FillPurpose::Clients,
        resume: ResumeSupport::Possible,
        other_copy: OtherCopy::Absent,
        finish_percent: 50,
        prefix: FillBody::default(),
    }
}

/// The byte at an offset, so that a wrong one is seen wherever it stands.
fn byte(at: u64) -> u8 {
    (at.wrapping_mul(2_654_435_761) >> 13) as u8
}

fn bytes(range: Range<u64>) -> Vec<u8> {
    range.map(byte).collect()
}

/// What a reader has at once: a piece, its end, or nothing yet.
fn poll(reader: &mut FillReader) -> Poll<Option<Result<Bytes, FillBroken>>> {
    reader.poll_next(&mut Context::from_waker(Waker::noop()))
}

/// Writes as far as it goes without waiting; says whether all went.
fn push(writer: &mut FillWriter, bytes: &[u8]) -> Poll<Result<(), FillBroken>> {
    pin!(writer.write(bytes)).poll(&mut Context::from_waker(Waker::noop()))
}

fn drain(reader: &mut FillReader) -> Vec<u8> {
    let mut all = Vec::new();
    while let Poll::Ready(Some(Ok(piece))) = poll(reader) {
        all.extend_from_slice(&piece);
    }
    all
}

#[test]
fn readers_of_a_kept_body_come_at_any_time_and_get_all_of_it() {
    let budget = Budget::new(4 << 20);
    let (fill, mut writer) = Fill::start(&budget, plan(None, 1 << 20)).unwrap();
    let mut first = fill.attach(ALL).unwrap();
    assert!(poll(&mut first).is_pending());
    assert_eq!(push(&mut writer, &bytes(0..100_000)), Poll::Ready(Ok(())));
    let mut late = fill.attach(50_000..150_000).unwrap();
    assert_eq!(drain(&mut late), bytes(50_000..100_000));
    assert_eq!(push(&mut writer, &bytes(100_000..300_000)), Poll::Ready(Ok(())));
    let body = writer.finish().unwrap().body.unwrap();
    assert_eq!((body.len(), fill.length()), (300_000, Some(300_000)));
    assert_eq!(drain(&mut first), bytes(0..300_000));
    assert_eq!(drain(&mut late), bytes(100_000..150_000));
    assert!(matches!(poll(&mut late), Poll::Ready(None)));
    let found: Vec<u8> = body.chunks(70_000..70_010).flatten().collect();
    assert_eq!(found, bytes(70_000..70_010));
    drop((body, first, late, fill));
    assert_eq!(budget.total(), 0);
}

#[test]
fn a_small_body_takes_what_it_is_long_and_is_one_piece() {
    for (length, known) in [(0, true), (4096, true), (1, false), (4096, false), (60_000, false)] {
        let budget = Budget::new(4 << 20);
        let plan = plan(known.then_some(length), 1 << 20);
        let (fill, mut writer) = Fill::start(&budget, plan).unwrap();
        for chunk in bytes(0..length).chunks(700) {
            assert_eq!(push(&mut writer, chunk), Poll::Ready(Ok(())));
        }
        let body = writer.finish().unwrap().body.unwrap();
        drop(fill);
        assert_eq!(body.as_single().unwrap(), bytes(0..length));
        assert!(budget.total() <= length * 4 / 3 + 400, "{length}: {}", budget.total());
    }
}

#[tokio::test]
async fn a_passing_body_stays_within_its_window_and_frees_what_all_have() {
    let budget = Budget::new(4 << 20);
    let (fill, mut writer) = Fill::start(&budget, plan(Some(10 << 20), 1 << 20)).unwrap();
    assert_eq!(fill.mode(), FillMode::Streaming);
    let (mut quick, mut slow) = (fill.attach(ALL).unwrap(), fill.attach(ALL).unwrap());
    let all = bytes(0..10 << 20);
    assert!(push(&mut writer, &all[..1 << 20]).is_pending());
    let window = fill.written();
    assert!((256 << 10..=320 << 10).contains(&window), "{window}");
    assert_eq!(drain(&mut quick), all[..window as usize]);
    assert!(push(&mut writer, &all[window as usize..][..1]).is_pending());
    assert_eq!(fill.attach(ALL).err(), None);
    assert_eq!(drain(&mut slow), all[..window as usize]);
    let (now, next) = (window as usize, window as usize + 100_000);
    assert_eq!(push(&mut writer, &all[now..next]), Poll::Ready(Ok(())));
    assert_eq!(fill.attach(ALL).err(), Some(ReadRefused::Freed));
    assert_eq!(fill.attach(9 << 20..10 << 20).err(), Some(ReadRefused::TooFarAhead));
    assert!(budget.peak() < 400 << 10, "{}", budget.peak());
    drop(quick);
    assert_eq!(drain(&mut slow), all[now..next]);
    assert!(writer.finish().is_err_and(|why| why == FillBroken::Short));
    assert!(matches!(poll(&mut slow), Poll::Ready(Some(Err(FillBroken::Short)))));
}

#[test]
fn a_body_that_outgrows_what_may_be_kept_passes_on() {
    for (limit, keep) in [(4 << 20, 300_000), (300 << 10, 1 << 30)] {
        let budget = Budget::new(limit);
        let (fill, mut writer) = Fill::start(&budget, plan(None, keep)).unwrap();
        let mut reader = fill.attach(ALL).unwrap();
        let all = bytes(0..2_000_000);
        let (mut sent, mut got) = (0, Vec::new());
        while sent < all.len() {
            // A write that waits has taken a part: it goes on from there.
            let _ = push(&mut writer, &all[sent..(sent + 50_000).min(all.len())]);
            sent = fill.written() as usize;
            got.extend_from_slice(&drain(&mut reader));
        }
        assert!(got == all && fill.mode() == FillMode::Streaming);
        assert!(writer.finish().unwrap().body.is_none());
        assert!(budget.peak() <= limit, "{}", budget.peak());
    }
}

/// Many readers at random paces, ranges and moments, some of which leave: whatever happens, each
/// one gets its bytes in order, and the account stays within its limit.
#[tokio::test]
async fn no_byte_is_freed_before_every_reader_has_it() {
    for seed in 1..=60_u64 {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut random = move |below: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % below
        };
        let limit = 300_000 + random(1 << 20);
        let budget = Budget::new(limit);
        let length = 1 + random(3_000_000);
        let known = (random(2) == 0).then_some(length);
        let (fill, mut writer) = Fill::start(&budget, plan(known, random(4_000_000))).unwrap();
        let mut readers = vec![(fill.attach(ALL).unwrap(), 0)];
        while fill.written() < length {
            match random(10) {
                0 => {
                    let start = random(length);
                    let end = start + 1 + random(length);
                    readers.extend(fill.attach(start..end).map(|reader| (reader, start)));
                }
                1 if readers.len() > 1 => {
                    drop(readers.swap_remove(random(readers.len() as u64) as usize));
                }
                2..=5 => {
                    let at = fill.written();
                    let _ = push(&mut writer, &bytes(at..(at + 1 + random(200_000)).min(length)));
                }
                _ => {
                    let index = random(readers.len() as u64) as usize;
                    step(&mut readers[index]);
                }
            }
            assert!(budget.peak() <= limit);
            if fill.attach(u64::MAX..u64::MAX).err()
                == Some(ReadRefused::Broken(FillBroken::Abandoned))
            {
                break;
            }
        }
        let is_abandoned = fill.written() < length;
        assert_eq!(writer.finish().is_err(), is_abandoned);
        for (mut reader, mut at) in readers {
            let until = (reader.position() + reader.remaining().unwrap()).min(fill.written());
            while step_from(&mut reader, &mut at) {}
            assert!(at >= until, "seed {seed}: {at} of {until}");
        }
        drop(fill);
        assert_eq!(budget.total(), 0);
    }
}

fn step((reader, at): &mut (FillReader, u64)) {
    step_from(reader, at);
}

fn step_from(reader: &mut FillReader, at: &mut u64) -> bool {
    let Poll::Ready(Some(Ok(piece))) = poll(reader) else { return false };
    assert_eq!(piece, bytes(*at..*at + piece.len() as u64));
    *at += piece.len() as u64;
    true
}

#[test]
fn when_the_last_reader_leaves_it_is_finished_only_where_that_is_cheap() {
    let outcome = |length, written, keep, purpose| {
        let budget = Budget::new(64 << 20);
        let plan = FillPlan { purpose, ..plan(length, keep) };
        let (fill, mut writer) = Fill::start(&budget, plan).unwrap();
        let reader = fill.attach(ALL).unwrap();
        assert_eq!(push(&mut writer, &bytes(0..written)), Poll::Ready(Ok(())));
        drop(reader);
        push(&mut writer, &[0])
    };
    let (goes_on, stops) = (Poll::Ready(Ok(())), Poll::Ready(Err(FillBroken::Abandoned)));
    let (kept, large) = (16 << 20, 8 << 20);
    assert_eq!(outcome(Some(large), 1000, kept, FillPurpose::Clients), stops, "an eighth is there");
    assert_eq!(
        outcome(Some(large), large / 2, kept, FillPurpose::Clients),
        goes_on,
        "half is there"
    );
    assert_eq!(
        outcome(Some(large), 1000, kept, FillPurpose::Store),
        goes_on,
        "nobody waited for it"
    );
    assert_eq!(outcome(Some(1 << 20), 1000, kept, FillPurpose::Clients), goes_on, "it is small");
    assert_eq!(outcome(None, 1000, kept, FillPurpose::Clients), goes_on, "it may be small");
    assert_eq!(outcome(None, 2 << 20, kept, FillPurpose::Clients), stops, "it is not small");
    assert_eq!(outcome(Some(large), 1000, 1000, FillPurpose::Clients), stops, "it is not kept");
}

#[test]
fn a_broken_fetch_goes_on_where_it_broke() {
    let budget = Budget::new(4 << 20);
    let (fill, mut writer) = Fill::start(&budget, plan(Some(200_000), 1 << 20)).unwrap();
    let mut reader = fill.attach(ALL).unwrap();
    assert_eq!(writer.resume_from(), None);
    assert!(push(&mut writer, &bytes(0..90_000)).is_ready());
    assert_eq!(writer.resume_from(), Some(90_000));
    assert!(push(&mut writer, &bytes(90_000..100_000)).is_ready());
    let prefix = writer.fail(FillBroken::Origin).unwrap();
    assert_eq!((drain(&mut reader), prefix.len()), (bytes(0..100_000), 100_000));
    assert!(matches!(poll(&mut reader), Poll::Ready(Some(Err(FillBroken::Origin)))));
    assert_eq!(fill.attach(ALL).err(), Some(ReadRefused::Broken(FillBroken::Origin)));

    let again = FillPlan { prefix, ..plan(Some(200_000), 1 << 20) };
    let (fill, mut writer) = Fill::start(&budget, again).unwrap();
    let mut reader = fill.attach(ALL).unwrap();
    assert_eq!(fill.written(), 100_000);
    assert!(push(&mut writer, &bytes(100_000..200_000)).is_ready());
    assert_eq!(writer.finish().unwrap().body.unwrap().len(), 200_000);
    assert_eq!(drain(&mut reader), bytes(0..200_000));
}

#[test]
fn a_writer_that_vanishes_or_lies_breaks_the_body() {
    let budget = Budget::new(4 << 20);
    let (fill, writer) = Fill::start(&budget, plan(Some(10), 1 << 20)).unwrap();
    let mut reader = fill.attach(ALL).unwrap();
    drop(writer);
    assert!(matches!(poll(&mut reader), Poll::Ready(Some(Err(FillBroken::Origin)))));
    let (fill, mut writer) = Fill::start(&budget, plan(Some(10), 1 << 20)).unwrap();
    let mut reader = fill.attach(ALL).unwrap();
    assert_eq!(push(&mut writer, &[0; 11]), Poll::Ready(Err(FillBroken::Overlong)));
    assert!(matches!(poll(&mut reader), Poll::Ready(Some(Err(FillBroken::Overlong)))));
}

#[tokio::test(start_paused = true)]
async fn who_keeps_others_waiting_for_long_is_sent_to_fetch_the_rest_alone() {
    let budget = Budget::new(4 << 20);
    let (fill, mut writer) = Fill::start(&budget, plan(Some(4 << 20), 0)).unwrap();
    let (mut quick, mut asleep) = (fill.attach(ALL).unwrap(), fill.attach(ALL).unwrap());
    let first = asleep.next();
    let sending = async {
        writer.write(&bytes(0..4 << 20)).await.unwrap();
        writer.finish().unwrap();
    };
    let receiving = async {
        let mut at = 0;
        while let Some(piece) = quick.next().await {
            at += piece.unwrap().len() as u64;
        }
        at
    };
    let ((), got, first) = tokio::join!(sending, receiving, first);
    let at = first.unwrap().unwrap().len() as u64;
    assert_eq!(got, 4 << 20);
    assert!(matches!(asleep.next().await, Some(Err(FillBroken::Detached(found))) if found == at));
}

#[test]
fn heads_and_windows_are_counted_as_what_they_are() {
    let budget = Budget::new(4 << 20);
    let (_fill, mut writer) = Fill::start(&budget, plan(Some(100_000), 1 << 20)).unwrap();
    assert_eq!((budget.held(ByteClass::Heads), budget.held(ByteClass::Windows)), (FILL_BYTES, 0));
    assert!(push(&mut writer, &bytes(0..100_000)).is_ready());
    let body = writer.finish().unwrap().body.unwrap();
    assert_eq!(budget.held(ByteClass::Windows), body.cost());
    body.move_to(ByteClass::Cache);
    assert_eq!((budget.held(ByteClass::Windows), budget.held(ByteClass::Cache)), (0, body.cost()));
}
