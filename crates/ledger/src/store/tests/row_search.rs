//! Rows found by what each of them has.

use super::*;
use crate::{EventSubject, LogRow, RowCause, StatusPattern};
use std::net::IpAddr;
use vocab::{Cause, ListId, RequestKind, RuleRef};

/// Rows of five batches, a minute each: names and URLs, of all doors, for several clients.
fn store_mixed(folder: &Folder) -> LedgerStore {
    let (mut store, _) = LedgerStore::open(folder.path(), NOON).unwrap();
    for batch in 0..5_u64 {
        let (queue, counters) = (RowQueue::new(), LedgerCounters::new());
        for place in 0..60_u64 {
            queue.push(0, &mixed_event(batch, place)).unwrap();
        }
        let mut buffers = Vec::new();
        queue.drain(&mut buffers);
        let written = RowBatch {
            buffers: &buffers,
            counts: &counters.counted(),
            minute: NOON / 60_000 + batch,
            hour: (NOON / HOUR * HOUR / 1000).cast_signed(),
            clients: CountedClients::Each,
            upstreams: &[],
            anonymise: AnonymiseMode::None,
            rules: &OneList,
        };
        store.write(&written).unwrap();
    }
    store
}

fn mixed_event(batch: u64, place: u64) -> RequestEvent {
    let door = Door::ALL[(place % 5) as usize];
    let name = ["ads.example", "x.ads.example", "bads.example", "www.example"][place as usize % 4];
    let plain = event(name, Action::Pass);
    let url = format!("https://{}:8443/ads.example?q={place}", name.to_uppercase());
    RequestEvent {
        at: Now { unix_ms: NOON + batch * 60_000 + place, mono_ms: 0 },
        door,
        subject: if door == Door::Dns { plain.subject } else { EventSubject::url(&url) },
        client: IpAddr::from([192, 0, 2, (place % 7) as u8]),
        kind: if place.is_multiple_of(3) { RequestKind::Script } else { RequestKind::Lookup(28) },
        action: if place.is_multiple_of(6) { Action::Block } else { Action::Pass },
        cause: match place % 6 {
            0 => Cause::Rule(RuleRef { list: ListId(0), line: 1 }),
            3 => Cause::Rule(RuleRef { list: ListId(9), line: 2 }),
            _ => Cause::NoRule,
        },
        source: Source::ALL[(place % 9) as usize],
        status: [0, 3, 200, 404, 503][(place % 5) as usize],
        duration_us: (place * 100) as u32,
        ..plain
    }
}

fn ids(rows: &[LogRow]) -> Vec<u64> {
    rows.iter().map(|row| row.id).collect()
}

fn filters(all: &[LogRow]) -> Vec<RowFilter> {
    let none = RowFilter::default;
    let list = all.iter().find_map(|row| match &row.cause {
        RowCause::Rule { list, .. } => Some(list.clone()),
        _ => None,
    });
    vec![
        RowFilter { client: Some(IpAddr::from([192, 0, 2, 3])), ..none() },
        RowFilter { name: Some("ads.example".into()), ..none() },
        RowFilter { name: Some("example".into()), door: Some(Door::Web), ..none() },
        RowFilter { kind: Some(RequestKind::Lookup(28)), ..none() },
        RowFilter { list, ..none() },
        RowFilter { source: Some(Source::Cache), ..none() },
        RowFilter { statuses: vec![StatusPattern::Dns(0)], ..none() },
        RowFilter {
            statuses: vec![StatusPattern::Http(404), StatusPattern::HttpClass(5)],
            ..none()
        },
        RowFilter { from_ms: Some(NOON + 2 * 60_000 + 30), ..none() },
        RowFilter { to_ms: Some(NOON + 2 * 60_000 + 30), ..none() },
        RowFilter { from_ms: Some(NOON + 60_000), to_ms: Some(NOON + 60_010), ..none() },
        RowFilter { slower_than_us: Some(4_000), faster_than_us: Some(4_500), ..none() },
        RowFilter { after: Some(100), before: Some(140), ..none() },
        RowFilter {
            action: Some(Action::Block),
            name: Some("ads.example".into()),
            after: Some(60),
            ..none()
        },
    ]
}

#[test]
fn every_key_finds_what_a_look_at_each_row_finds() {
    let folder = Folder::new();
    let _store = store_mixed(&folder);
    let reader = reader(&folder);
    let all = reader.rows(&RowFilter::default(), 500).unwrap().rows;
    assert_eq!(all.len(), 300);
    for filter in filters(&all) {
        let wanted: Vec<_> = all.iter().filter(|row| filter.fits_but_text(row)).cloned().collect();
        assert!((1..300).contains(&wanted.len()), "{filter:?} tells rows apart");
        assert_eq!(ids(&reader.rows(&filter, 500).unwrap().rows), ids(&wanted), "{filter:?}");
        // Page by page, the same.
        let (mut asked, mut seen) = (filter.clone(), Vec::new());
        loop {
            let page = reader.rows(&asked, 7).unwrap();
            seen.extend(ids(&page.rows));
            let Some(next) = page.next else { break };
            asked.before = Some(next);
        }
        assert_eq!(seen, ids(&wanted), "{filter:?}");
        let news = reader.new_rows(&filter, 5).unwrap();
        let newest: Vec<_> = ids(&wanted).into_iter().take(5).rev().collect();
        let left_out = wanted.len() - newest.len();
        assert_eq!((ids(&news.rows), news.left_out), (newest, left_out as u64), "{filter:?}");
        assert_eq!(news.newest, 300);
    }
}

#[test]
fn a_name_is_no_part_of_another_name_and_no_path() {
    let folder = Folder::new();
    let _store = store_mixed(&folder);
    let filter = RowFilter { name: Some("ads.example".into()), ..RowFilter::default() };
    let found = reader(&folder).rows(&filter, 500).unwrap().rows;
    assert_eq!(found.len(), 150);
    let is_there = |part: &str| found.iter().any(|row| row.subject.contains(part));
    assert!(is_there("X.ADS.EXAMPLE:8443") && !is_there("BADS") && !is_there("WWW"));
}

#[test]
fn bounds_of_time_and_number_say_where_a_search_begins_and_ends() {
    let folder = Folder::new();
    let (mut store, _) = LedgerStore::open(folder.path(), NOON).unwrap();
    store_names(&mut store, &["needle.example"], NOON).unwrap();
    // A gap in the numbers stands for more rows than one question looks through.
    let gap = i64::try_from(crate::SCAN_ROWS_MAX).unwrap();
    store.next_row = gap * 2;
    store_names(&mut store, &["hay.example"], NOON + HOUR).unwrap();
    let reader = reader(&folder);
    let far = RowFilter { name: Some("needle.example".into()), ..RowFilter::default() };
    assert_eq!(reader.rows(&far, 10).unwrap().rows, [], "beyond what one question looks through");
    let timed = RowFilter { to_ms: Some(NOON + 1), ..far.clone() };
    let page = reader.rows(&timed, 10).unwrap();
    assert_eq!((page.rows.len(), page.next), (1, None), "the search begins at the moment");
    let late = RowFilter { from_ms: Some(NOON + 1), ..RowFilter::default() };
    let page = reader.rows(&late, 10).unwrap();
    assert_eq!((page.rows.len(), page.next), (1, None), "and ends there");
    let newer = RowFilter { after: Some(gap.cast_unsigned() + 9), ..RowFilter::default() };
    let page = reader.rows(&newer, 10).unwrap();
    assert_eq!((ids(&page.rows), page.next), (vec![(gap * 2).cast_unsigned()], None));
    for nothing in [
        RowFilter { to_ms: Some(NOON), ..RowFilter::default() },
        RowFilter { from_ms: Some(NOON + HOUR + 1), ..RowFilter::default() },
        RowFilter { after: Some(u64::MAX), ..RowFilter::default() },
        RowFilter { from_ms: Some(u64::MAX), to_ms: Some(0), ..RowFilter::default() },
    ] {
        let page = reader.rows(&nothing, 10).unwrap();
        assert_eq!((page.rows, page.next), (Vec::new(), None), "{nothing:?}");
        assert_eq!(reader.new_rows(&nothing, 10).unwrap().rows, []);
    }
}
