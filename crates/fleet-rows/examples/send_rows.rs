//! Rows a second from a request log into a PostgreSQL or ClickHouse: `send_rows URL ROWS`.
//!
//! Fills a log first, then sends all of it, so that what is measured is the sending alone. Prints
//! the time from the start of the sender to the last row. How it is used is in
//! docs/performance/fleet-rows.md.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a tool for measuring")]

use fleet_rows::{FleetRows, RowSettings, RowWiring};
use ledger::{EventSubject, Ledger, RequestEvent, RuleTexts};
use origins::Dialer;
use resolver::{Resolver, ResolverSettings};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use transport::ClientTls;
use vocab::{Action, Caching, Cause, Door, ListId, Name, RequestKind, RuleRef, Source};

/// Rows that are recorded before the writer is waited for: fewer than its queue holds.
const BURST: usize = 2_000;
/// Names and clients, as an office has them.
const NAMES: usize = 20_000;
const CLIENTS: u32 = 300;

struct OneRule;

impl RuleTexts for OneRule {
    fn text(&self, rule: RuleRef, host: &str) -> Option<(String, u32, String)> {
        Some(("ads".into(), rule.line, format!("||{host}^")))
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (url, rows) = (arguments.next().unwrap(), arguments.next().unwrap().parse().unwrap());
    let folder = std::env::temp_dir().join(format!("tidegate-send-rows-{}", std::process::id()));
    let ledger = ledger::open(&ledger::Settings::default(), &folder, Arc::new(OneRule)).unwrap();
    fill(&ledger, rows);
    let sample = 1;
    let settings = RowSettings { url, sample, backlog: 1_000_000_000, ..RowSettings::default() };
    let edge = format!("bench-{}", std::process::id());
    let (ledger_handle, tls) = (ledger.clone(), ClientTls::new());
    let resolver = Resolver::start(&ResolverSettings::default(), tls.clone()).unwrap();
    let dialer = Dialer::new(resolver, tls.clone());
    let wiring =
        RowWiring { edge, version: "bench", started_ms: 0, ledger: ledger_handle, tls, dialer };
    let begun = Instant::now();
    let sender = FleetRows::start(&settings, wiring).unwrap();
    while sender.figures().sent < rows as u64 {
        std::thread::sleep(Duration::from_millis(5));
    }
    let took = begun.elapsed().as_secs_f64();
    println!("{rows} rows in {took:.2} s: {:.0} rows/s", rows as f64 / took);
    sender.stop(Duration::from_secs(5));
    remove(ledger, &folder);
}

fn fill(ledger: &Ledger, rows: usize) {
    for number in 0..rows {
        let blocked = number % 5 == 0;
        let name = format!("host{}.example.org", number * 7_919 % NAMES);
        ledger.record(RequestEvent {
            at: transport::clock::now(),
            duration_us: 40,
            door: Door::Dns,
            client: std::net::Ipv4Addr::from_bits(0xc0a8_0000 + number as u32 % CLIENTS).into(),
            kind: RequestKind::Lookup(1),
            subject: EventSubject::name(Name::from_lowercase(&name).unwrap()),
            action: if blocked { Action::Block } else { Action::Pass },
            cause: if blocked {
                Cause::Rule(RuleRef { list: ListId(0), line: number as u32 % 5_000 })
            } else {
                Cause::NoRule
            },
            source: if blocked { Source::Policy } else { Source::Cache },
            caching: Caching::NONE,
            status: 0,
            bytes: 120,
        });
        if number % BURST == BURST - 1 {
            ledger.flush();
        }
    }
    ledger.flush();
    assert_eq!(ledger.health().stored, rows as u64, "every row is in the log");
}

fn remove(ledger: Ledger, folder: &Path) {
    ledger.close();
    drop(ledger);
    std::fs::remove_dir_all(folder).unwrap();
}
