//! Files of an older version are taken over.

use super::*;
use crate::LogRow;
use crate::report::RowCause;
use vocab::{Caching, RequestKind};

/// The tables of version 2.
const VERSION_2: &str = "
    CREATE TABLE names (
        id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE, last_hour INTEGER NOT NULL);
    CREATE TABLE clients (
        id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE, last_hour INTEGER NOT NULL);
    CREATE TABLE rules (
        id INTEGER PRIMARY KEY, list TEXT NOT NULL, line INTEGER NOT NULL, text TEXT NOT NULL,
        last_hour INTEGER NOT NULL, UNIQUE (list, line, text));
    CREATE TABLE events (
        id INTEGER PRIMARY KEY, time_ms INTEGER NOT NULL, door INTEGER NOT NULL,
        client INTEGER NOT NULL, subject INTEGER NOT NULL, url TEXT, kind INTEGER NOT NULL,
        action INTEGER NOT NULL, cause INTEGER NOT NULL, rule INTEGER, source INTEGER NOT NULL,
        status INTEGER NOT NULL, bytes INTEGER NOT NULL, took_us INTEGER NOT NULL,
        caching INTEGER NOT NULL DEFAULT 0);
    CREATE TABLE minutes (
        minute INTEGER, door INTEGER, action INTEGER, source INTEGER, count INTEGER NOT NULL,
        PRIMARY KEY (minute, door, action, source)) WITHOUT ROWID;
    CREATE TABLE hour_names (
        hour INTEGER, name INTEGER, passed INTEGER NOT NULL, blocked INTEGER NOT NULL,
        PRIMARY KEY (hour, name)) WITHOUT ROWID;
    CREATE TABLE hour_clients (
        hour INTEGER, client INTEGER, passed INTEGER NOT NULL, blocked INTEGER NOT NULL,
        PRIMARY KEY (hour, client)) WITHOUT ROWID;
    INSERT INTO names VALUES (1, 'ads.example', 0), (2, 'shop.example', 0), (3, 'gone.example', 0);
    INSERT INTO clients VALUES (1, '192.168.1.77', 0), (2, '2001:db8::7', 0);
    INSERT INTO rules VALUES (5, 'ads', 12, '||ads.example^', 0);
    INSERT INTO events VALUES
        (41, 1795262400000, 0, 1, 1, NULL, 65537, 1, 1, 5, 0, 0, 120, 41, 0),
        (42, 1795262400001, 2, 2, 2, 'https://Shop.example/', 0, 0, 0, NULL, 5, 200, 9000, 77, 513),
        (44, 1795262400002, 0, 1, 3, NULL, 65564, 1, 1, 6, 0, 0, 60, 40, 0);
    INSERT INTO minutes VALUES (29921040, 0, 1, 0, 2), (29921040, 2, 0, 5, 1);
    PRAGMA user_version = 2;
";

fn begin(folder: &Folder, more: &str) {
    let connection = Connection::open(folder.path().join(crate::FILE_NAME)).unwrap();
    connection.execute_batch(VERSION_2).unwrap();
    connection.execute_batch(more).unwrap();
}

fn rows(folder: &Folder) -> Vec<LogRow> {
    reader(folder).rows(&RowFilter::default(), 500).unwrap().rows
}

fn convert_all(store: &mut LedgerStore) {
    while store.has_older_rows() {
        store.convert_step().unwrap();
    }
}

#[test]
fn rows_of_the_second_version_become_blocks_with_their_numbers() {
    let folder = Folder::new();
    begin(&folder, "");
    let (mut store, warning) = LedgerStore::open(folder.path(), NOON).unwrap();
    assert_eq!(warning, None);
    // New rows do not wait, and stand behind the old ones.
    store_names(&mut store, &["new.example"], NOON + 9).unwrap();
    assert_eq!(rows(&folder)[0].id, 45);
    convert_all(&mut store);
    let rows = rows(&folder);
    assert_eq!(rows.iter().map(|row| row.id).collect::<Vec<_>>(), [45, 44, 42, 41]);
    let rule = RowCause::Rule { list: "ads".into(), line: 12, text: "||ads.example^".into() };
    assert_eq!((&rows[3].cause, rows[3].kind), (&rule, RequestKind::Lookup(1)));
    assert_eq!(rows[3].client.to_string(), "192.168.1.77");
    let page = &rows[2];
    assert_eq!((page.subject.as_str(), page.door), ("https://Shop.example/", Door::Proxy));
    assert_eq!((page.status, page.bytes, page.duration_us), (200, 9000, 77));
    assert_eq!(page.caching, Caching::from_code(513));
    assert_eq!(rows[1].cause, RowCause::NoRule, "the rule is gone");
    let top = reader(&folder).top(TopKind::Names, ReportRange::Day, 10, AT_NOON).unwrap();
    assert_eq!((top.len(), top[0].text.as_str()), (1, "shop.example"));
    assert_eq!(reader(&folder).totals(ReportRange::Hour, AT_NOON).unwrap().of(Action::Block), 3);
    assert_eq!(reader(&folder).sizes()["tables"], 5, "blocks, minutes and statistics are left");
    drop(store);
    let (store, _) = LedgerStore::open(folder.path(), NOON).unwrap();
    assert!(!store.has_older_rows());
    assert_eq!(reader(&folder).rows(&RowFilter::default(), 9).unwrap().rows.len(), 4);
}

#[test]
fn a_file_of_the_first_version_keeps_its_rows() {
    let folder = Folder::new();
    begin(&folder, "ALTER TABLE events DROP COLUMN caching; PRAGMA user_version = 1");
    let (mut store, warning) = LedgerStore::open(folder.path(), NOON).unwrap();
    assert_eq!(warning, None);
    convert_all(&mut store);
    let rows = rows(&folder);
    assert_eq!(rows.len(), 3);
    assert!(rows.iter().all(|row| row.caching == Caching::NONE));
}

#[test]
fn a_conversion_that_was_killed_goes_on_where_it_was() {
    let folder = Folder::new();
    let many = "WITH RECURSIVE n(i) AS (SELECT 45 UNION ALL SELECT i + 1 FROM n WHERE i < 9999)
        INSERT INTO events SELECT i, 1795262400000 + i, 0, 1, 1, NULL, 65537, 1, 1, 5, 0, 0, 1, 1, 0
        FROM n";
    begin(&folder, many);
    for converted in [4096, 8192] {
        let (mut store, _) = LedgerStore::open(folder.path(), NOON).unwrap();
        assert_eq!(store.convert_step().unwrap(), CleanupProgress::More);
        assert_eq!(reader(&folder).sizes()["rows"], converted);
        assert_eq!(rows(&folder)[0].id, 9999);
    }
    let (mut store, _) = LedgerStore::open(folder.path(), NOON).unwrap();
    convert_all(&mut store);
    let oldest = RowFilter { before: Some(45), ..RowFilter::default() };
    let page = reader(&folder).rows(&oldest, 10).unwrap();
    assert_eq!(page.rows.iter().map(|row| row.id).collect::<Vec<_>>(), [44, 42, 41]);
    assert_eq!((reader(&folder).sizes()["rows"], page.next), (9958, None));
}

#[test]
fn an_older_file_without_rows_loses_its_tables_alone() {
    let folder = Folder::new();
    begin(&folder, "DELETE FROM events");
    let (mut store, _) = LedgerStore::open(folder.path(), NOON).unwrap();
    convert_all(&mut store);
    store_names(&mut store, &["new.example"], NOON).unwrap();
    assert_eq!((rows(&folder).len(), reader(&folder).sizes()["tables"]), (1, 5));
}
