//! Blocks as they live in the store: joined, cut, searched and counted.

use super::*;
use crate::report::RowCause;

/// Every row, newest first.
fn subjects(folder: &Folder, filter: &RowFilter) -> Vec<String> {
    let page = reader(folder).rows(filter, 500).unwrap();
    page.rows.into_iter().map(|row| row.subject).collect()
}

#[test]
fn small_blocks_are_joined_and_keep_their_numbers() {
    let folder = Folder::new();
    let (mut store, _) = LedgerStore::open(folder.path(), NOON).unwrap();
    for second in 0..300 {
        let name = format!("n{second}.example");
        store_names(&mut store, &[&name, "same.example"], NOON + second * 1000).unwrap();
    }
    let reader = reader(&folder);
    let sizes = reader.sizes();
    assert_eq!(sizes["rows"], 600);
    assert!(sizes["blocks"] < 64, "{sizes:?}");
    for second in [0, 1, 62, 63, 64, 299] {
        let row = reader.row(second * 2 + 1).unwrap().unwrap();
        assert_eq!(row.subject, format!("n{second}.example"));
        assert_eq!(row.at_ms, NOON + second * 1000);
        let RowCause::Rule { text, .. } = row.cause else { panic!("no rule") };
        // The rule's text is that of the first row that named it in its batch.
        assert_eq!(text, format!("||n{second}.example^"));
    }
    let top = reader.top(TopKind::Blocked, ReportRange::Day, 1, AT_NOON).unwrap();
    assert_eq!((top[0].text.as_str(), top[0].count), ("same.example", 300));
}

#[test]
fn a_block_that_is_past_its_time_in_part_is_cut() {
    let folder = Folder::new();
    let (mut store, _) = LedgerStore::open(folder.path(), NOON).unwrap();
    for minute in 0..100 {
        let name = format!("n{minute}.example");
        store_names(&mut store, &[&name], NOON + minute * 60_000).unwrap();
        // A tunnel that was opened two hours before.
        store_names(&mut store, &["tunnel.example"], NOON + minute * 60_000 - 2 * HOUR).unwrap();
    }
    let before = reader(&folder).rows(&RowFilter::default(), 500).unwrap().rows;
    let now = NOON + 100 * 60_000;
    let bounds = RetentionBounds { keep: Duration::from_mins(50), bytes_max: u64::MAX };
    retain_all(&mut store, now, bounds);
    let after = reader(&folder).rows(&RowFilter::default(), 500).unwrap().rows;
    let kept: Vec<_> = before.into_iter().filter(|row| row.at_ms >= NOON + 50 * 60_000).collect();
    assert_eq!(kept.len(), 50);
    assert_eq!(after, kept);
    store_names(&mut store, &["new.example"], now).unwrap();
    assert_eq!(subjects(&folder, &RowFilter::default())[0], "new.example");
}

#[test]
fn a_text_is_not_found_across_two_names() {
    let folder = Folder::new();
    let (mut store, _) = LedgerStore::open(folder.path(), NOON).unwrap();
    store_names(&mut store, &["xa", "aay", "b.example"], NOON).unwrap();
    let by_text =
        |text: &str| subjects(&folder, &RowFilter { text: text.into(), ..RowFilter::default() });
    assert_eq!(by_text("aa"), ["aay"]);
    assert_eq!(by_text("aaa"), Vec::<String>::new());
    assert_eq!(by_text("B.EXAMPLE"), ["b.example"]);
    assert_eq!(by_text("192.168.1.7").len(), 3);
}

#[test]
fn a_top_counts_what_is_in_its_range_alone() {
    let folder = Folder::new();
    let (mut store, _) = LedgerStore::open(folder.path(), NOON).unwrap();
    // Joined into blocks that reach over the range's beginning.
    for minute in 0..256 {
        store_names(&mut store, &["a.example"], NOON - minute * 60_000).unwrap();
    }
    let reader = reader(&folder);
    assert!(reader.sizes()["blocks"] < 64);
    let count = |range| reader.top(TopKind::Clients, range, 1, AT_NOON).unwrap()[0].count;
    // From eleven o'clock on: an hour and the minute of noon.
    assert_eq!(count(ReportRange::Hour), 61);
    assert_eq!(count(ReportRange::Day), 256);
}

#[test]
fn a_batch_of_many_rows_becomes_several_blocks() {
    let folder = Folder::new();
    let (mut store, _) = LedgerStore::open(folder.path(), NOON).unwrap();
    let names: Vec<String> = (0..10_000).map(|n| format!("n{n}.example")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    store_names(&mut store, &names, NOON).unwrap();
    let sizes = reader(&folder).sizes();
    assert_eq!((sizes["rows"], sizes["blocks"]), (10_000, 3));
    let (mut filter, mut seen) = (RowFilter::default(), 0);
    filter.text = "9.example".into();
    while let Ok(page) = reader(&folder).rows(&filter, 300) {
        seen += page.rows.len();
        let Some(next) = page.next else { break };
        filter.before = Some(next);
    }
    assert_eq!(seen, 1000);
}

#[test]
fn a_damaged_block_hides_no_other() {
    let folder = Folder::new();
    let (mut store, _) = LedgerStore::open(folder.path(), NOON).unwrap();
    for name in ["a.example", "b.example", "c.example"] {
        store_names(&mut store, &[name], NOON).unwrap();
    }
    store.connection.execute("UPDATE blocks SET body = x'ff' WHERE first = 2", []).unwrap();
    store.connection.execute("UPDATE blocks SET summary = 'text' WHERE first = 1", []).unwrap();
    assert_eq!(subjects(&folder, &RowFilter::default()), ["c.example"]);
    assert_eq!(reader(&folder).rows_at(NOON).unwrap().len(), 1);
    assert_eq!(reader(&folder).row(2).unwrap(), None);
    for _ in 0..100 {
        store_names(&mut store, &["d.example"], NOON).unwrap();
    }
    assert_eq!(subjects(&folder, &RowFilter::default()).len(), 101);
    let top = reader(&folder).top(TopKind::Blocked, ReportRange::Day, 1, AT_NOON).unwrap();
    assert_eq!(top[0].count, 100);
    let nothing = RetentionBounds { keep: Duration::ZERO, bytes_max: u64::MAX };
    retain_all(&mut store, NOON, nothing);
    assert_eq!(reader(&folder).sizes()["blocks"], 0);
}
