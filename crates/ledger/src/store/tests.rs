//! Behaviour of the store: damage, foreign files, and what is past its time.

use super::read::LedgerReader;
use super::retain::{CleanupProgress, RetentionBounds};
use super::statistics::tidy::CountedClients;
use super::write::RowBatch;
use super::*;
use crate::counters::LedgerCounters;
use crate::queue::RowQueue;
use crate::tests::{AT_NOON, Folder, NOON, OneList, event};
use crate::{AnonymiseMode, ReportRange, RequestEvent, RowFilter, TopKind};
use vocab::{Action, Door, Now, Source};

#[path = "tests/block_life.rs"]
mod block_life;
#[path = "tests/older.rs"]
mod older;
#[path = "tests/row_search.rs"]
mod row_search;
#[path = "tests/statistics.rs"]
mod statistics;

const HOUR: u64 = 3_600_000;

/// Stores look-ups of these names, made at one moment.
fn store_names(store: &mut LedgerStore, names: &[&str], at_ms: u64) -> Result<(), StoreError> {
    let (queue, counters) = (RowQueue::new(), LedgerCounters::new());
    for name in names {
        let at = Now { unix_ms: at_ms, mono_ms: 0 };
        queue.push(0, &RequestEvent { at, ..event(name, Action::Block) }).unwrap();
        let request = crate::CountedRequest {
            door: Door::Dns,
            action: Action::Block,
            source: Source::Policy,
            took_us: 1,
            status: 0,
            bytes: 0,
        };
        counters.count(0, &request);
    }
    let mut buffers = Vec::new();
    queue.drain(&mut buffers);
    store.write(&RowBatch {
        buffers: &buffers,
        counts: &counters.counted(),
        minute: at_ms / 60_000,
        hour: (at_ms / HOUR * HOUR / 1000).cast_signed(),
        clients: CountedClients::Each,
        upstreams: &[],
        anonymise: AnonymiseMode::None,
        rules: &OneList,
    })
}

fn reader(folder: &Folder) -> LedgerReader {
    LedgerReader::open(&folder.path().join(crate::FILE_NAME)).unwrap()
}

fn retain_all(store: &mut LedgerStore, now_ms: u64, bounds: RetentionBounds) {
    let cut = store.cut(now_ms, bounds).unwrap();
    while store.retain_step(now_ms, cut).unwrap() == CleanupProgress::More {}
}

#[test]
fn a_damaged_file_is_set_aside_and_a_new_one_begun() {
    let folder = Folder::new();
    let path = folder.path().join(crate::FILE_NAME);
    std::fs::write(&path, "this was never a database, but somebody may want it back").unwrap();
    let (mut store, warning) = LedgerStore::open(folder.path(), NOON).unwrap();
    assert!(warning.unwrap().contains("ledger.db.damaged-1795262400"));
    store_names(&mut store, &["a.example"], NOON).unwrap();
    let aside = folder.path().join("ledger.db.damaged-1795262400");
    assert!(std::fs::read_to_string(aside).unwrap().starts_with("this was never"));
    assert_eq!(reader(&folder).sizes()["rows"], 1);
}

#[test]
fn a_file_with_torn_pages_is_set_aside_whole() {
    let folder = Folder::new();
    let (mut store, _) = LedgerStore::open(folder.path(), NOON).unwrap();
    let names: Vec<String> = (0..2000).map(|n| format!("n{n}.example")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    store_names(&mut store, &names, NOON).unwrap();
    store.checkpoint().unwrap();
    drop(store);
    let path = folder.path().join(crate::FILE_NAME);
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2 / 4096 * 4096;
    bytes[middle..middle + 8192].fill(0xa5);
    std::fs::write(&path, &bytes).unwrap();
    let (_store, warning) = LedgerStore::open(folder.path(), NOON).unwrap();
    assert!(warning.is_some());
    let aside = folder.path().join("ledger.db.damaged-1795262400");
    assert_eq!(std::fs::read(aside).unwrap(), bytes);
}

#[test]
fn a_file_that_turns_out_damaged_while_running_is_set_aside_too() {
    let folder = Folder::new();
    let (mut store, _) = LedgerStore::open(folder.path(), NOON).unwrap();
    store_names(&mut store, &["a.example"], NOON).unwrap();
    let warning = store.renew("torn", NOON).unwrap();
    assert!(warning.contains("torn"));
    store_names(&mut store, &["b.example"], NOON).unwrap();
    let page = reader(&folder).rows(&RowFilter::default(), 10).unwrap();
    assert_eq!(page.rows.len(), 1);
    assert_eq!(page.rows[0].subject, "b.example");
    // What was set aside is a whole store, with its write-ahead log.
    let aside = LedgerReader::open(&folder.path().join("ledger.db.damaged-1795262400")).unwrap();
    assert_eq!(aside.sizes()["rows"], 1);
}

#[test]
fn a_newer_file_is_left_alone_and_another_begun_beside_it() {
    let folder = Folder::new();
    drop(LedgerStore::open(folder.path(), NOON).unwrap());
    let path = folder.path().join(crate::FILE_NAME);
    let connection = Connection::open(&path).unwrap();
    connection.pragma_update(None, "user_version", 7).unwrap();
    drop(connection);
    for _ in 0..2 {
        let (mut store, warning) = LedgerStore::open(folder.path(), NOON).unwrap();
        let warning = warning.unwrap();
        assert!(warning.contains("newer Tidegate") && warning.contains("version-4"), "{warning}");
        assert_ne!(store.path(), path);
        store_names(&mut store, &["a.example"], NOON).unwrap();
    }
    let left = Connection::open(&path).unwrap();
    let version: u32 = left.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
    assert_eq!((version, reader(&folder).sizes()["rows"]), (7, 0));
    assert!(folder.files().iter().all(|name| !name.contains("damaged")));
}

#[test]
fn another_programs_database_is_left_alone() {
    let folder = Folder::new();
    let path = folder.path().join(crate::FILE_NAME);
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch("CREATE TABLE theirs (x)").unwrap();
    drop(connection);
    let (_store, warning) = LedgerStore::open(folder.path(), NOON).unwrap();
    assert!(warning.unwrap().contains("another program's database"));
    let left = Connection::open(&path).unwrap();
    assert!(left.execute_batch("SELECT x FROM theirs").is_ok());
}

#[test]
fn a_batch_that_fails_leaves_nothing_and_the_next_one_is_whole() {
    let folder = Folder::new();
    let (mut store, _) = LedgerStore::open(folder.path(), NOON).unwrap();
    let pages: i64 = store.connection.query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap();
    // The same error as on a full disk: the file may not grow.
    let limit = format!("PRAGMA max_page_count={}", pages + 4);
    store.connection.query_row(&limit, [], |_| Ok(())).unwrap();
    let names: Vec<String> = (0..5000).map(|n| format!("n{n}.example")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let error = store_names(&mut store, &names, NOON).unwrap_err();
    assert_eq!(error.remedy, StoreRemedy::Retry);
    assert_eq!(reader(&folder).sizes()["rows"], 0);
    store.connection.query_row("PRAGMA max_page_count=100000", [], |_| Ok(())).unwrap();
    store_names(&mut store, &["n1.example"], NOON).unwrap();
    let page = reader(&folder).rows(&RowFilter::default(), 10).unwrap();
    assert_eq!(page.rows[0].subject, "n1.example");
}

#[test]
fn rows_words_and_tops_past_their_time_go_and_the_rest_stays() {
    let folder = Folder::new();
    let (mut store, _) = LedgerStore::open(folder.path(), NOON).unwrap();
    let day = 24 * HOUR;
    store_names(&mut store, &["old.example", "both.example"], NOON - 2 * day).unwrap();
    store_names(&mut store, &["both.example", "new.example"], NOON).unwrap();
    let bounds = RetentionBounds { keep: Duration::from_hours(24), bytes_max: u64::MAX };
    retain_all(&mut store, NOON, bounds);
    let reader = reader(&folder);
    let page = reader.rows(&RowFilter::default(), 10).unwrap();
    let left: Vec<_> = page.rows.iter().map(|row| row.subject.as_str()).collect();
    assert_eq!(left, ["new.example", "both.example"]);
    let sizes = reader.sizes();
    assert_eq!((sizes["rows"], sizes["minutes"]), (2, 2));
    let top = reader.top(TopKind::Blocked, ReportRange::Month, 10, AT_NOON).unwrap();
    assert!(top.iter().all(|line| line.count == 1 && line.text != "old.example"), "{top:?}");
    // The chart keeps its month, whatever happens to the rows.
    let week = reader.totals(ReportRange::Week, AT_NOON).unwrap();
    assert_eq!(week.of(Action::Block), 4);
}

#[test]
fn a_file_over_its_size_loses_its_oldest_rows() {
    let folder = Folder::new();
    let (mut store, _) = LedgerStore::open(folder.path(), NOON).unwrap();
    for hour in 0..40 {
        let names: Vec<String> = (0..250).map(|n| format!("h{hour}-n{n}.example")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        store_names(&mut store, &names, NOON + hour * HOUR).unwrap();
    }
    let now_ms = NOON + 40 * HOUR;
    let before = store.bytes().unwrap();
    let bounds = RetentionBounds { keep: Duration::from_hours(30 * 24), bytes_max: before / 2 };
    for _ in 0..20 {
        retain_all(&mut store, now_ms, bounds);
    }
    assert!(store.bytes().unwrap() <= before / 2);
    let reader = reader(&folder);
    let newest = reader.rows(&RowFilter::default(), 1).unwrap();
    assert_eq!(newest.rows[0].subject, "h39-n249.example");
    let sizes = reader.sizes();
    assert!((2000..6000).contains(&sizes["rows"]), "{sizes:?}");
    assert_eq!(reader.integrity(), "ok");
}

#[test]
fn a_search_without_a_find_says_where_to_go_on() {
    let folder = Folder::new();
    let (mut store, _) = LedgerStore::open(folder.path(), NOON).unwrap();
    store_names(&mut store, &["needle.example"], NOON).unwrap();
    // A gap in the numbers stands for many rows.
    store.next_row = i64::try_from(crate::SCAN_ROWS_MAX).unwrap() + 10;
    store_names(&mut store, &["hay.example"], NOON).unwrap();
    let reader = reader(&folder);
    let mut filter = RowFilter { text: "needle".into(), ..RowFilter::default() };
    let first = reader.rows(&filter, 10).unwrap();
    assert_eq!(first.rows, []);
    filter.before = first.next;
    let second = reader.rows(&filter, 10).unwrap();
    assert_eq!((second.rows.len(), second.next), (1, None));
}

#[test]
fn an_empty_store_has_empty_answers() {
    let folder = Folder::new();
    let (_store, warning) = LedgerStore::open(folder.path(), NOON).unwrap();
    assert_eq!(warning, None);
    let reader = reader(&folder);
    assert_eq!(reader.rows(&RowFilter::default(), 10).unwrap().rows, []);
    assert_eq!(reader.totals(ReportRange::Day, AT_NOON).unwrap().counts, []);
    for range in ReportRange::ALL {
        let series = reader.series(range, AT_NOON).unwrap();
        assert!(series.points.iter().all(|point| point.passed + point.blocked == 0));
        assert!(series.points.last().unwrap().at_ms <= NOON);
        let end = series.points.last().unwrap().at_ms + u64::from(series.step_s) * 1000;
        assert!(end > NOON, "the last step of {} holds now", range.as_str());
    }
}

#[test]
fn rows_of_a_moment_are_found_in_a_long_log_with_late_rows() {
    let folder = Folder::new();
    let (mut store, _) = LedgerStore::open(folder.path(), NOON).unwrap();
    assert_eq!(reader(&folder).rows_at(NOON).unwrap(), []);
    for minute in 0..300 {
        let at_ms = NOON + minute * 60_000;
        store_names(&mut store, &["a.example", "b.example"], at_ms).unwrap();
        // A tunnel that was opened long before, and ended now.
        store_names(&mut store, &["tunnel.example"], NOON - HOUR).unwrap();
    }
    let found = |at_ms: u64| -> Vec<String> {
        let rows = reader(&folder).rows_at(at_ms).unwrap();
        assert!(rows.iter().all(|row| row.at_ms == at_ms));
        rows.into_iter().map(|row| row.subject).collect()
    };
    for minute in [0, 1, 77, 150, 298, 299] {
        assert_eq!(found(NOON + minute * 60_000), ["b.example", "a.example"], "{minute}");
    }
    for none in [0, NOON + 1, NOON + 300 * 60_000, u64::MAX] {
        assert_eq!(found(none), Vec::<String>::new(), "{none}");
    }
}
