//! Rows at a glance, of one client, as they are stored, and all of them deleted.

use super::*;

#[test]
fn a_glimpse_tells_wanted_names_alone_and_stops_at_its_bound() {
    let folder = Folder::new();
    let ledger = start(&folder, &Settings::default());
    for name in ["www.example", "dns.example", "www.example"] {
        ledger.record(event(name, Action::Pass));
    }
    ledger.flush();
    let old = Now { unix_ms: NOON - 7_200_000, mono_ms: 0 };
    ledger.record(RequestEvent { at: old, ..event("old.example", Action::Block) });
    let (mut seen, mut asked) = (Vec::new(), 0);
    let span = GlimpseSpan { since_ms: NOON - 60_000, rows_max: 1000 };
    let wants = |name: &str| {
        asked += 1;
        name == "dns.example"
    };
    let end = ledger.glimpses(span, wants, |row| seen.push(row.wanted.map(str::to_owned)));
    assert_eq!(end.unwrap().since_ms, NOON - 60_000);
    assert_eq!(seen.iter().flatten().collect::<Vec<_>>(), ["dns.example"]);
    assert_eq!((seen.len(), asked), (3, 2), "each word once");
    let all = GlimpseSpan { since_ms: 0, rows_max: 1 };
    let mut rows = 0;
    let end = ledger.glimpses(all, |_| false, |_| rows += 1).unwrap();
    assert_eq!((end.rows, rows, end.since_ms), (3, 3, old.unix_ms), "to the end of a block");
}

#[test]
fn rows_of_a_client_in_a_while_are_found_in_order() {
    let folder = Folder::new();
    let ledger = start(&folder, &Settings::default());
    let other = "192.168.1.8".parse().unwrap();
    for ms in 0..6 {
        let at = Now { unix_ms: NOON + ms * 10, mono_ms: 0 };
        ledger.record(RequestEvent { at, ..event(&format!("n{ms}.example"), Action::Pass) });
        ledger.record(RequestEvent { at, client: other, ..event("x.example", Action::Pass) });
        ledger.flush();
    }
    let client = event("x", Action::Pass).client;
    let found = ledger.rows_of(client, NOON + 10..NOON + 50, 3).unwrap();
    let found: Vec<_> = found.into_iter().map(|row| row.subject).collect();
    assert_eq!(found, ["n2.example", "n3.example", "n4.example"]);
    assert_eq!(ledger.rows_of(other, 0..NOON, 10).unwrap(), []);
}

#[test]
fn whoever_waits_for_rows_is_told_when_they_are_stored() {
    let folder = Folder::new();
    let ledger = start(&folder, &Settings::default());
    let mut newest = ledger.newest_row();
    assert_eq!(*newest.borrow_and_update(), 0);
    ledger.record(event("www.example", Action::Pass));
    ledger.record(event("ads.example", Action::Block));
    ledger.flush();
    assert!(newest.has_changed().unwrap());
    assert_eq!(*newest.borrow_and_update(), 2);
    let news = ledger.new_rows(&RowFilter { after: Some(1), ..RowFilter::default() }, 10).unwrap();
    assert_eq!((news.rows[0].subject.as_str(), news.newest), ("ads.example", 2));
    ledger.flush();
    assert!(!newest.has_changed().unwrap(), "nothing new, nothing told");
    drop(ledger);
    assert!(newest.has_changed().is_err(), "nobody waits for a ledger that is closed");
    let again = start(&folder, &Settings::default());
    assert_eq!(*again.newest_row().borrow(), 2);
}

#[test]
fn cleared_rows_are_gone_from_the_file_and_counts_stay() {
    let folder = Folder::new();
    let ledger = start(&folder, &Settings::default());
    for _ in 0..5_000 {
        ledger.record(event("private.example", Action::Block));
    }
    ledger.flush();
    assert_eq!(ledger.clear(), RowsCleared::All);
    assert!(ledger.rows(&RowFilter::default(), 500).unwrap().rows.is_empty());
    assert_eq!(ledger.totals(ReportRange::Day, AT_NOON).unwrap().of(Action::Block), 5_000);
    let has_name = || {
        let files = std::fs::read_dir(folder.path()).unwrap();
        let mut files = files.map(|it| std::fs::read(it.unwrap().path()).unwrap());
        files.any(|bytes| bytes.windows(15).any(|it| it == b"private.example"))
    };
    assert!(!has_name(), "nothing of it lies in a free page");
    // What comes later is kept.
    ledger.record(event("later.example", Action::Pass));
    assert_eq!(subjects(&ledger, &RowFilter::default()), ["later.example"]);
    ledger.close();
    assert_eq!(ledger.clear(), RowsCleared::NotNow);
}
