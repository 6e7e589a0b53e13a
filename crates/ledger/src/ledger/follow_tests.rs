//! The log as it is followed by whoever sends its rows on.

use super::*;

const ALL: FollowBounds =
    FollowBounds { rows: 10_000, bytes: 1 << 20, looked: 100_000, backlog: u64::MAX };

fn record(ledger: &Ledger, names: std::ops::Range<u64>) {
    for number in names {
        let at = Now { unix_ms: NOON + number, mono_ms: 0 };
        ledger.record(RequestEvent { at, ..event(&format!("n{number}.example"), Action::Pass) });
    }
    ledger.flush();
}

fn names(found: &FollowedRows) -> Vec<&str> {
    found.rows.iter().map(|row| row.subject.as_str()).collect()
}

#[test]
fn rows_are_followed_in_their_order_and_each_once() {
    let folder = Folder::new();
    let ledger = start(&folder, &Settings::default());
    let nothing = ledger.follow(FollowPlace::default(), ALL, |_| true).unwrap();
    assert_eq!(nothing, FollowedRows::default());
    record(&ledger, 1..6);
    record(&ledger, 6..10);
    let two = FollowBounds { rows: 2, ..ALL };
    let (mut place, mut seen) = (FollowPlace::default(), Vec::new());
    loop {
        let found = ledger.follow(place, two, |_| true).unwrap();
        assert_eq!((found.newest, found.gone), (9, 0));
        if found.rows.is_empty() {
            break;
        }
        seen.extend(found.rows.iter().map(|row| row.id));
        place = found.place;
    }
    assert_eq!(seen, (1..10).collect::<Vec<_>>());
    assert_eq!(place, FollowPlace { row: 9, at_ms: NOON + 9 });
    let third = ledger.follow(FollowPlace::default(), ALL, |row| row % 3 == 0).unwrap();
    assert_eq!(names(&third), ["n3.example", "n6.example", "n9.example"]);
    let few = FollowBounds { bytes: 1, ..ALL };
    assert_eq!(ledger.follow(place, few, |_| true).unwrap().rows.len(), 0);
    let first = ledger.follow(FollowPlace::default(), few, |_| true).unwrap();
    assert_eq!(names(&first), ["n1.example"], "one at least, or nobody would get on");
    let looked = FollowBounds { looked: 4, ..ALL };
    let none = ledger.follow(FollowPlace::default(), looked, |_| false).unwrap();
    assert_eq!((none.place.row, none.rows.len()), (4, 0));
}

#[test]
fn rows_too_far_behind_and_rows_that_are_gone_are_counted() {
    let folder = Folder::new();
    let ledger = start(&folder, &Settings::default());
    record(&ledger, 1..101);
    let near = FollowBounds { backlog: 10, ..ALL };
    let found = ledger.follow(FollowPlace::default(), near, |row| row % 2 == 0).unwrap();
    assert_eq!((found.rows.len(), found.gone, found.place.row), (5, 45, 100));
    let behind = FollowPlace { row: 40, at_ms: NOON + 40 };
    assert_eq!(ledger.follow(behind, near, |_| true).unwrap().gone, 50);
    assert_eq!(ledger.clear(), RowsCleared::All);
    record(&ledger, 101..103);
    let found = ledger.follow(behind, ALL, |_| true).unwrap();
    assert_eq!((names(&found), found.gone), (vec!["n101.example", "n102.example"], 60));
    let new = ledger.follow(FollowPlace::default(), ALL, |_| true).unwrap();
    assert_eq!((new.rows.len(), new.gone), (2, 0), "a log never followed begins where it begins");
}

#[test]
fn a_log_that_was_begun_anew_is_followed_from_its_first_row() {
    let (before, folder) = (Folder::new(), Folder::new());
    let ledger = start(&before, &Settings::default());
    record(&ledger, 1..4);
    let place = ledger.follow(FollowPlace::default(), ALL, |_| true).unwrap().place;
    let ledger = start(&folder, &Settings::default());
    record(&ledger, 11..13);
    // It has fewer rows, and then other ones of the same numbers.
    assert_eq!(ledger.follow(place, ALL, |_| true).unwrap().rows.len(), 2);
    record(&ledger, 13..17);
    let found = ledger.follow(place, ALL, |_| true).unwrap();
    assert_eq!((found.rows.len(), found.gone, found.place.row), (6, 0, 6));
    let known = FollowPlace { row: 3, at_ms: NOON + 13 };
    assert_eq!(ledger.follow(known, ALL, |_| true).unwrap().rows.len(), 3);
}

#[test]
fn minutes_are_followed_with_their_counts_up_to_now() {
    let folder = Folder::new();
    let ledger = start(&folder, &Settings::default());
    ledger.record(event("www.example", Action::Pass));
    ledger.record(event("ads.example", Action::Block));
    ledger.flush();
    ledger.record(event("ads.example", Action::Block));
    ledger.flush();
    let minutes = ledger.minutes_since(NOON / 60_000, 10).unwrap();
    let counts: Vec<_> = minutes.iter().map(|it| (it.action, it.count)).collect();
    assert_eq!(counts, [(Action::Pass, 1), (Action::Block, 2)]);
    assert_eq!(ledger.minutes_since(NOON / 60_000 + 1, 10).unwrap(), []);
    assert_eq!(ledger.minutes_since(0, 1).unwrap().len(), 1);
}
