//! A request is one row, whatever becomes of it.

use http_front::RequestTicket;
use ledger::{EventSubject, Ledger, LogRow, RowFilter, RuleTexts};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use vocab::{Action, Cause, Door, Now, RequestKind, RuleRef, Source};

const CLIENT: &str = "192.0.2.7";

struct NoTexts;

impl RuleTexts for NoTexts {
    fn text(&self, _: RuleRef, _: &str) -> Option<(String, u32, String)> {
        None
    }
}

/// A ledger in a folder that goes with it.
struct Bench {
    ledger: Ledger,
    folder: PathBuf,
}

impl Bench {
    fn start() -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let name =
            format!("tidegate-ticket-{}-{}", std::process::id(), NUMBER.fetch_add(1, Relaxed));
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let ledger =
            ledger::open(&ledger::Settings::default(), &folder, Arc::new(NoTexts)).unwrap();
        Self { ledger, folder }
    }

    fn open(&self) -> RequestTicket {
        let unix_ms = std::time::UNIX_EPOCH.elapsed().unwrap().as_millis() as u64;
        let at = Now { unix_ms, mono_ms: 1 };
        RequestTicket::open(&self.ledger, Door::Proxy, at, CLIENT.parse().unwrap())
    }

    /// The only row that there is.
    fn row(&self) -> LogRow {
        self.ledger.flush();
        let rows = self.ledger.rows(&RowFilter::default(), 10).unwrap().rows;
        let [row] = <[LogRow; 1]>::try_from(rows).unwrap();
        row
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.ledger.close();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Lets `ms` pass: the tickets' clock is the system's.
fn spend(ms: u64) {
    let until = Instant::now() + Duration::from_millis(ms);
    while Instant::now() < until {
        std::thread::yield_now();
    }
}

#[test]
fn a_client_that_leaves_before_its_answer_is_a_row_with_499_and_the_time_it_waited() {
    let bench = Bench::start();
    let mut ticket = bench.open();
    ticket.asked(RequestKind::Script, EventSubject::url("http://a.example/x.js"));
    assert!(ticket.is_unanswered());
    spend(2);
    drop(ticket);
    let row = bench.row();
    assert_eq!((row.status, row.source, row.bytes), (499, Source::Failed, 0));
    assert_eq!(
        (row.subject.as_str(), row.client),
        ("http://a.example/x.js", CLIENT.parse().unwrap())
    );
    assert!(row.duration_us >= 2000, "{}", row.duration_us);
}

#[test]
fn an_answers_time_ends_when_it_begins_to_go_out() {
    let bench = Bench::start();
    let mut ticket = bench.open();
    ticket.decided(Action::Pass, Cause::NoRule);
    ticket.answered(Source::Origin, 200);
    assert!(!ticket.is_unanswered());
    spend(20);
    ticket.close(4711);
    let row = bench.row();
    assert_eq!((row.status, row.source, row.bytes), (200, Source::Origin, 4711));
    assert!(row.duration_us < 20_000, "{}", row.duration_us);
}

#[test]
fn an_answer_that_its_client_leaves_keeps_its_status_and_time() {
    let bench = Bench::start();
    let mut ticket = bench.open();
    ticket.answered(Source::Origin, 206);
    spend(20);
    drop(ticket);
    let row = bench.row();
    assert_eq!((row.status, row.source), (206, Source::Origin));
    assert!(row.duration_us < 20_000, "{}", row.duration_us);
}

#[test]
fn a_server_that_answers_499_has_answered() {
    let bench = Bench::start();
    let mut ticket = bench.open();
    ticket.answered(Source::Origin, 499);
    spend(20);
    ticket.close(3);
    let row = bench.row();
    assert_eq!((row.status, row.source, row.bytes), (499, Source::Origin, 3));
    assert!(row.duration_us < 20_000, "{}", row.duration_us);
}

#[test]
fn an_answer_that_broke_off_came_from_nowhere_in_the_end() {
    let bench = Bench::start();
    let mut ticket = bench.open();
    ticket.answered(Source::Origin, 200);
    ticket.broke_off();
    ticket.close(12);
    assert_eq!((bench.row().source, bench.row().bytes), (Source::Failed, 12));
}
