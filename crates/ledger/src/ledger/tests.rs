//! Behaviour of the handle, on real files.

use super::*;
use crate::report::RowCause;
use crate::tests::{AT_NOON, Folder, NOON, OneList, event};
use crate::{AnonymiseMode, EventSubject, ReportRange};
use settings::Text;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;
use vocab::{
    ByteSize, CacheUse, Caching, Cause, ListId, NotStored, RequestKind, RuleRef, TimeSpan,
};

#[path = "follow_tests.rs"]
mod follow_tests;
#[path = "rows_tests.rs"]
mod rows_tests;
#[path = "statistics_tests.rs"]
mod statistics_tests;

fn noon() -> u64 {
    NOON
}

fn start(folder: &Folder, settings: &Settings) -> Ledger {
    open_with_clock(settings, folder.path(), Arc::new(OneList), noon).unwrap()
}

fn subjects(ledger: &Ledger, filter: &RowFilter) -> Vec<String> {
    let page = ledger.rows(filter, 500).unwrap();
    page.rows.into_iter().map(|row| row.subject).collect()
}

#[test]
fn a_recorded_request_is_a_row_a_count_and_a_point() {
    let folder = Folder::new();
    let ledger = start(&folder, &Settings::default());
    ledger.record(event("www.example", Action::Pass));
    ledger.record(event("ads.example", Action::Block));
    let page = ledger.rows(&RowFilter::default(), 50).unwrap();
    assert_eq!(page.next, None);
    let row = &page.rows[0];
    assert_eq!((row.subject.as_str(), row.action), ("ads.example", Action::Block));
    let rule = RowCause::Rule { list: "ads".into(), line: 12, text: "||ads.example^".into() };
    assert_eq!(row.cause, rule);
    assert_eq!(
        (row.at_ms, row.kind, row.bytes, row.duration_us),
        (NOON, RequestKind::Lookup(1), 120, 41)
    );
    assert_eq!(ledger.row(row.id).unwrap().as_ref(), Some(row));
    assert_eq!(ledger.row(999).unwrap(), None);

    let totals = ledger.totals(ReportRange::Hour, AT_NOON).unwrap();
    assert_eq!((totals.of(Action::Pass), totals.of(Action::Block)), (1, 1));
    let series = ledger.series(ReportRange::Hour, AT_NOON).unwrap();
    assert_eq!((series.step_s, series.points.len()), (60, 60));
    let last = series.points.last().unwrap();
    assert_eq!((last.at_ms, last.passed, last.blocked), (NOON, 1, 1));
    assert_eq!(ledger.health().stored, 2);
}

#[test]
fn a_row_says_why_the_cache_did_not_answer() {
    let folder = Folder::new();
    let ledger = start(&folder, &Settings::default());
    let all = NotStored::ALL.iter().map(|why| (CacheUse::UriMiss, Some(*why)));
    let all: Vec<_> = all
        .chain(CacheUse::ALL.iter().map(|used| (*used, None)))
        .map(|(used, not_stored)| Caching { outcome: used, not_stored })
        .collect();
    for caching in &all {
        ledger.record(RequestEvent { caching: *caching, ..event("www.example", Action::Pass) });
    }
    let mut rows = ledger.rows(&RowFilter::default(), 500).unwrap().rows;
    rows.reverse();
    assert_eq!(rows.iter().map(|row| row.caching).collect::<Vec<_>>(), all);
}

#[test]
fn tops_rank_names_and_clients() {
    let folder = Folder::new();
    let ledger = start(&folder, &Settings::default());
    for _ in 0..3 {
        ledger.record(event("ads.example", Action::Block));
    }
    ledger.record(event("tracker.example", Action::Block));
    ledger.record(event("www.example", Action::Pass));
    let page = EventSubject::url("https://WWW.example:8443/index.html");
    ledger.record(RequestEvent { subject: page, ..event("www.example", Action::Pass) });
    let top = |what| {
        let lines = ledger.top(what, ReportRange::Day, 10, AT_NOON).unwrap();
        lines.into_iter().map(|line| (line.text, line.count)).collect::<Vec<_>>()
    };
    assert_eq!(top(TopKind::Blocked), [("ads.example".into(), 3), ("tracker.example".into(), 1)]);
    assert_eq!(top(TopKind::Names), [("www.example".into(), 2)]);
    assert_eq!(top(TopKind::Clients), [("192.168.1.77".into(), 6)]);
    let clients = ledger.top(TopKind::Clients, ReportRange::Hour, 1, AT_NOON).unwrap();
    assert_eq!(clients[0].blocked, 4);
}

#[test]
fn clients_are_told_with_their_first_and_last_moment_and_what_each_asked() {
    let folder = Folder::new();
    let ledger = start(&folder, &Settings::default());
    let before = |minutes: u64, name: &str, action| RequestEvent {
        at: Now { unix_ms: NOON - minutes * 60_000, ..AT_NOON },
        ..event(name, action)
    };
    // The first is older than the range, and in the same block as the others.
    for (minutes, name, action) in [
        (90, "old.example", Action::Pass),
        (50, "www.example", Action::Pass),
        (20, "ads.example", Action::Block),
        (1, "www.example", Action::Pass),
    ] {
        ledger.record(before(minutes, name, action));
    }
    let other = "2001:db8::7".parse().unwrap();
    ledger.record(RequestEvent { client: other, ..before(5, "www.example", Action::Pass) });
    let page = ledger.clients(ReportRange::Hour, 10, AT_NOON).unwrap();
    let told: Vec<_> = page
        .lines
        .iter()
        .map(|it| (it.passed, it.blocked, (NOON - it.first_ms) / 60_000, NOON - it.last_ms))
        .collect();
    assert_eq!((told, page.more), (vec![(2, 1, 50, 60_000), (1, 0, 5, 300_000)], 0));
    let first = ledger.clients(ReportRange::Day, 1, AT_NOON).unwrap();
    assert_eq!((first.lines[0].passed, first.more), (3, 1));

    let client = page.lines[0].client;
    let activity = ledger.activity(client, ReportRange::Hour, 10, AT_NOON).unwrap();
    assert_eq!((activity.step_s, activity.points.len()), (60, 60));
    let at = |minutes: usize| {
        (activity.points[59 - minutes].passed, activity.points[59 - minutes].blocked)
    };
    assert_eq!((at(50), at(20), at(5), at(1)), ((1, 0), (0, 1), (0, 0), (1, 0)));
    let names: Vec<_> = activity.names.iter().map(|it| (it.text.as_str(), it.count)).collect();
    assert_eq!(names, [("www.example", 2)]);
    assert_eq!(activity.blocked[0].text, "ads.example");
}

#[test]
fn rows_are_found_by_part_of_name_url_and_client() {
    let folder = Folder::new();
    let ledger = start(&folder, &Settings::default());
    ledger.record(event("www.example", Action::Pass));
    ledger.record(event("a_b.example", Action::Block));
    ledger.record(event("axb.example", Action::Pass));
    let page = RequestEvent {
        subject: EventSubject::url("https://shop.example/Basket?id=7"),
        client: "2001:db8::7".parse().unwrap(),
        door: Door::Proxy,
        ..event("shop.example", Action::Pass)
    };
    ledger.record(page);
    let by_text =
        |text: &str| subjects(&ledger, &RowFilter { text: text.into(), ..RowFilter::default() });
    assert_eq!(by_text("basket"), ["https://shop.example/Basket?id=7"]);
    assert_eq!(by_text("2001:db8"), ["https://shop.example/Basket?id=7"]);
    assert_eq!(by_text("a_b"), ["a_b.example"], "an underscore is no wildcard");
    assert_eq!(by_text("%"), Vec::<String>::new());
    assert_eq!(by_text("example").len(), 4);
    let blocked = RowFilter { action: Some(Action::Block), ..RowFilter::default() };
    assert_eq!(subjects(&ledger, &blocked), ["a_b.example"]);
    let proxied = RowFilter { door: Some(Door::Proxy), ..RowFilter::default() };
    assert_eq!(subjects(&ledger, &proxied).len(), 1);
}

#[test]
fn pages_follow_one_another_without_a_gap() {
    let folder = Folder::new();
    let ledger = start(&folder, &Settings::default());
    for index in 0..25 {
        ledger.record(event(&format!("n{index}.example"), Action::Pass));
    }
    let (mut filter, mut seen) = (RowFilter::default(), Vec::new());
    loop {
        let page = ledger.rows(&filter, 10).unwrap();
        seen.extend(page.rows.iter().map(|row| row.subject.clone()));
        let Some(next) = page.next else { break };
        filter.before = Some(next);
    }
    let expected: Vec<_> = (0..25).rev().map(|index| format!("n{index}.example")).collect();
    assert_eq!(seen, expected);
}

#[test]
fn the_settings_say_what_becomes_a_row_and_everything_is_counted() {
    let folder = Folder::new();
    let blocked = Settings { log: LogScope::Blocked, ..Settings::default() };
    let ledger = start(&folder, &blocked);
    assert!(ledger.wants_row(Action::Block) && !ledger.wants_row(Action::Pass));
    ledger.record(event("www.example", Action::Pass));
    ledger.record(event("ads.example", Action::Block));
    ledger.count(&CountedRequest {
        door: Door::Dns,
        action: Action::Pass,
        source: vocab::Source::Cache,
        took_us: 7,
        status: 0,
        bytes: 60,
    });
    assert_eq!(subjects(&ledger, &RowFilter::default()), ["ads.example"]);
    ledger.apply(&Settings { log: LogScope::None, ..Settings::default() });
    ledger.record(event("ads.example", Action::Block));
    assert_eq!(subjects(&ledger, &RowFilter::default()).len(), 1);
    let totals = ledger.totals(ReportRange::Day, AT_NOON).unwrap();
    assert_eq!((totals.of(Action::Pass), totals.of(Action::Block)), (2, 2));
    let latency = ledger.latencies();
    assert_eq!((latency.len(), latency[0].door, latency[0].count), (1, Door::Dns, 4));
}

#[test]
fn keeping_nothing_deletes_what_was_kept() {
    let folder = Folder::new();
    let ledger = start(&folder, &Settings::default());
    for index in 0..100 {
        ledger.record(event(&format!("n{index}.example"), Action::Block));
    }
    assert_eq!(subjects(&ledger, &RowFilter::default()).len(), 100);
    ledger.apply(&Settings { keep: Text(TimeSpan(Duration::ZERO)), ..Settings::default() });
    wait_until(|| {
        let sizes = LedgerReader::open(ledger.inner.shared.path.get().unwrap()).unwrap().sizes();
        sizes["rows"] == 0 && sizes["blocks"] == 0
    });
    assert_eq!(ledger.totals(ReportRange::Day, AT_NOON).unwrap().of(Action::Block), 100);
}

#[test]
fn a_file_that_cannot_shrink_takes_no_more_rows() {
    let folder = Folder::new();
    // Less than the empty tables take.
    let tiny = Settings { max_size: Text(ByteSize(4 << 10)), ..Settings::default() };
    let ledger = start(&folder, &tiny);
    wait_until(|| {
        ledger.apply(&tiny);
        ledger.record(event("late.example", Action::Pass));
        ledger.flush();
        ledger.health().dropped_store > 0
    });
}

#[test]
fn an_anonymised_client_is_stored_as_its_network() {
    let folder = Folder::new();
    let network = Settings { anonymise: AnonymiseMode::Network, ..Settings::default() };
    let ledger = start(&folder, &network);
    ledger.record(event("www.example", Action::Pass));
    let page = ledger.rows(&RowFilter::default(), 1).unwrap();
    assert_eq!(page.rows[0].client.to_string(), "192.168.1.0");
    assert!(
        !std::fs::read(ledger.inner.shared.path.get().unwrap())
            .unwrap()
            .windows(4)
            .any(|four| four == b"1.77" || four == [192, 168, 1, 77])
    );
}

#[test]
fn a_rule_that_is_gone_leaves_its_place() {
    let folder = Folder::new();
    let ledger = start(&folder, &Settings::default());
    let cause = Cause::Rule(RuleRef { list: ListId(9), line: 3 });
    ledger.record(RequestEvent { cause, ..event("ads.example", Action::Block) });
    let page = ledger.rows(&RowFilter::default(), 1).unwrap();
    let RowCause::Rule { list, line, .. } = &page.rows[0].cause else { panic!("no rule") };
    assert_eq!((list.as_str(), *line), ("list 9, gone", 3));
}

#[test]
fn closing_stores_what_waits() {
    let folder = Folder::new();
    let ledger = start(&folder, &Settings::default());
    ledger.record(event("www.example", Action::Pass));
    let handle = ledger.clone();
    ledger.close();
    handle.record(event("late.example", Action::Pass));
    handle.flush();
    drop((ledger, handle));
    let again = start(&folder, &Settings::default());
    assert_eq!(subjects(&again, &RowFilter::default()), ["www.example"]);
    assert_eq!(again.totals(ReportRange::Hour, AT_NOON).unwrap().of(Action::Pass), 1);
}

#[test]
fn a_second_process_is_told_that_the_ledger_is_held() {
    let folder = Folder::new();
    let first = start(&folder, &Settings::default());
    let second = open(&Settings::default(), folder.path(), Arc::new(OneList));
    let error = second.err().unwrap();
    assert_eq!(error, OpenError::Locked { path: folder.path().join("ledger.db") });
    assert!(error.to_string().contains("stop it"));
    drop(first);
    assert!(open(&Settings::default(), folder.path(), Arc::new(OneList)).is_ok());
}

#[test]
fn a_ledger_that_cannot_be_opened_yet_counts_and_is_opened_as_soon_as_it_can_be() {
    let folder = Folder::new();
    let path = folder.path().join(crate::FILE_NAME);
    // As on a full disk, but for the reason: a folder is no file.
    std::fs::create_dir(&path).unwrap();
    let ledger = start(&folder, &Settings::default());
    ledger.record(event("early.example", Action::Pass));
    assert!(ledger.rows(&RowFilter::default(), 10).is_err());
    let warnings = ledger.health().warnings;
    assert!(warnings[0].contains("ledger.db") && warnings[0].contains("opened"), "{warnings:?}");
    std::fs::remove_dir(&path).unwrap();
    let begun = std::time::Instant::now();
    while ledger.rows(&RowFilter::default(), 10).is_err() {
        assert!(begun.elapsed() < std::time::Duration::from_secs(30), "it is not opened again");
        std::thread::yield_now();
    }
    ledger.record(event("late.example", Action::Pass));
    assert_eq!(subjects(&ledger, &RowFilter::default()), ["late.example"]);
    assert_eq!(ledger.totals(ReportRange::Hour, AT_NOON).unwrap().of(Action::Pass), 2);
    assert!(ledger.health().warnings.is_empty());
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let folder = Folder::new();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let error = open(&Settings::default(), &file.join("state"), Arc::new(OneList)).err().unwrap();
    assert!(matches!(error, OpenError::Folder { .. }), "{error:?}");
    assert!(error.to_string().contains("--state"));
}

#[test]
fn the_metrics_page_has_counters_and_cumulative_histograms() {
    let folder = Folder::new();
    let ledger = start(&folder, &Settings::default());
    for took_us in [10, 20, 3000] {
        ledger.record(RequestEvent { duration_us: took_us, ..event("www.example", Action::Pass) });
    }
    let page = ledger.metrics_text(&[]);
    let has = |line: &str| assert!(page.lines().any(|l| l == line), "{line} not in\n{page}");
    has("tidegate_requests_total{door=\"dns\",action=\"pass\",source=\"cache\"} 3");
    has("tidegate_request_seconds_bucket{le=\"0.000016\",door=\"dns\"} 1");
    has("tidegate_request_seconds_bucket{le=\"0.000032\",door=\"dns\"} 2");
    has("tidegate_request_seconds_bucket{le=\"+Inf\",door=\"dns\"} 3");
    has("tidegate_request_seconds_count{door=\"dns\"} 3");
    has("tidegate_request_seconds_sum{door=\"dns\"} 0.00303");
    has("tidegate_ledger_dropped_total{reason=\"queue_full\"} 0");
}

#[test]
fn rows_past_the_cap_are_dropped_and_counted() {
    let folder = Folder::new();
    let ledger = start(&folder, &Settings::default());
    // A writer that has ended drains nothing: the queue stays as full as it gets.
    ledger.close();
    for _ in 0..20_000 {
        ledger.record(event("www.example", Action::Pass));
    }
    assert_eq!(ledger.health().dropped_queue, 20_000 - 16_384);
    assert_eq!(ledger.latencies()[0].count, 20_000);
}

/// What a child process runs: it stores a hundred rows, says so, and goes on until it is killed.
#[test]
fn child_that_records_until_it_is_killed() {
    let Some(dir) = std::env::var_os("LEDGER_TEST_DIR") else { return };
    let ledger = open(&Settings::default(), Path::new(&dir), Arc::new(OneList)).unwrap();
    for _ in 0..100 {
        ledger.record(event("kept.example", Action::Block));
    }
    ledger.flush();
    #[allow(clippy::print_stdout, reason = "the parent waits for this line")]
    {
        println!("\nstored");
    }
    loop {
        for index in 0..1000 {
            ledger.record(event(&format!("n{index}.example"), Action::Pass));
        }
        ledger.flush();
    }
}

#[test]
fn a_killed_process_loses_nothing_that_was_stored() {
    let folder = Folder::new();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "ledger::tests::child_that_records_until_it_is_killed", "--nocapture"])
        .env("LEDGER_TEST_DIR", folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "stored"));
    // Killed while it writes: the batches go on without a pause.
    wait_until(|| {
        let sizes =
            LedgerReader::open(&folder.path().join("ledger.db")).map(|reader| reader.sizes());
        sizes.is_ok_and(|sizes| sizes["rows"] > 3000)
    });
    child.kill().unwrap();
    child.wait().unwrap();

    let ledger = start(&folder, &Settings::default());
    assert_eq!(ledger.health().warnings, Vec::<String>::new());
    let reader = LedgerReader::open(ledger.inner.shared.path.get().unwrap()).unwrap();
    assert_eq!(reader.integrity(), "ok");
    assert!(reader.sizes()["rows"] > 3000);
    let top = ledger.top(TopKind::Blocked, ReportRange::Day, 1, AT_NOON).unwrap();
    assert_eq!((top[0].text.as_str(), top[0].count), ("kept.example", 100));
    statistics_tests::check_rows_are_counted(&ledger, reader.sizes()["rows"]);
}

/// Waits for an event, with a deadline.
fn wait_until(mut happened: impl FnMut() -> bool) {
    let deadline = std::time::Instant::now() + Duration::from_secs(30);
    while !happened() {
        assert!(std::time::Instant::now() < deadline, "it did not happen in time");
        std::thread::yield_now();
    }
}

#[test]
fn two_processes_write_one_file_while_one_takes_the_others_place() {
    let folder = Folder::new();
    let former = start(&folder, &Settings::default());
    former.record(event("before.example", Action::Pass));
    let locked = open_with_clock(&Settings::default(), folder.path(), Arc::new(OneList), noon);
    assert!(matches!(locked, Err(OpenError::Locked { .. })));
    former.share(crate::FileSharing::Shared);
    let next = start(&folder, &Settings::default());
    for turn in 0..3 {
        former.record(event(&format!("former{turn}.example"), Action::Pass));
        former.flush();
        next.record(event(&format!("next{turn}.example"), Action::Pass));
        next.flush();
    }
    former.record(event("last.example", Action::Pass));
    former.close();
    let found = subjects(&next, &RowFilter::default());
    assert_eq!(found.len(), 8, "{found:?}");
    assert_eq!((found[0].as_str(), found[7].as_str()), ("last.example", "before.example"));
    let totals = next.totals(ReportRange::Hour, AT_NOON).unwrap();
    assert_eq!(totals.of(Action::Pass), 8);
    assert_eq!((former.health().dropped_store, next.health().dropped_store), (0, 0));
}

#[test]
fn a_process_whose_place_nobody_took_has_its_file_again() {
    let folder = Folder::new();
    let former = start(&folder, &Settings::default());
    former.share(crate::FileSharing::Shared);
    let next = start(&folder, &Settings::default());
    next.close();
    drop(next);
    former.share(crate::FileSharing::Owned);
    let locked = open_with_clock(&Settings::default(), folder.path(), Arc::new(OneList), noon);
    assert!(matches!(locked, Err(OpenError::Locked { .. })));
}
