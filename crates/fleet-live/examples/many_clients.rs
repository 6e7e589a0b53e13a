//! Return of many edges to a server that was away: time until all are back, and the most
//! connections that it saw within a tenth of a second. Edges are the real ones, without doors.
//!
//! `cargo run --release -p fleet-live --example many_clients -- [EDGES [SECONDS AWAY]]`
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program for figures prints them, and stops at the first surprise"
)]

use fleet_live::{LeaseBook, LiveParts, LiveReceiver, LiveState, SharedEntry, TicketKeySet};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use test_support::{RedisServer, ScratchFolder};
use vocab::Now;

/// Time between two looks.
const LOOK: Duration = Duration::from_millis(5);

struct DeafReceiver;

impl LiveReceiver for DeafReceiver {
    fn entry(&self, _: &SharedEntry) {}
    fn purge(&self, _: &str) {}
    fn purges_missed(&self) {}
    fn held(&self) -> Vec<SharedEntry> {
        Vec::new()
    }
    fn ticket_keys(&self, _: Option<&TicketKeySet>) {}
}

#[allow(clippy::disallowed_methods, reason = "there is no door here that has the time")]
fn clock() -> Now {
    let unix_ms = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64;
    Now { unix_ms, mono_ms: unix_ms }
}

fn main() {
    let mut args = std::env::args().skip(1);
    let edges: usize = args.next().map_or(1000, |it| it.parse().unwrap());
    let away: f64 = args.next().map_or(1.0, |it| it.parse().unwrap());
    let mut server = RedisServer::start(&[]);
    let folder = ScratchFolder::new();
    let settings = serde_json::json!({ "url": server.url() });
    let states: Vec<LiveState> = (0..edges)
        .map(|number| {
            let state = folder.path().join(number.to_string());
            std::fs::create_dir_all(&state).unwrap();
            let parts = LiveParts {
                base: state.clone(),
                state,
                edge: format!("edge-{number}"),
                clock,
                receiver: Arc::new(DeafReceiver),
                leases: Arc::<LeaseBook>::default(),
                purge_of_everything: "everything".into(),
                cache: Arc::default(),
                questions: Arc::new(fleet_live::LiveQuestions::declining()),
            };
            let settings = serde_json::from_value(settings.clone()).unwrap();
            LiveState::start(&settings, parts).unwrap()
        })
        .collect();
    let away_now = || states.iter().filter(|it| it.health().degraded_since_ms.is_some()).count();
    while away_now() > 0 {
        std::thread::park_timeout(LOOK);
    }
    server.kill();
    std::thread::park_timeout(Duration::from_secs_f64(away));
    let all_away = away_now();
    server.start_again();
    let begun = Instant::now();
    let (mut seen, mut half) = (vec![(Duration::ZERO, 0)], None);
    let mut talk = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    loop {
        let left = away_now();
        seen.push((begun.elapsed(), connections(&mut talk)));
        if left <= edges / 2 {
            half.get_or_insert(begun.elapsed());
        }
        if left == 0 {
            break;
        }
        std::thread::park_timeout(LOOK);
    }
    let tenth = Duration::from_millis(100);
    let within = |(from, (at, count)): (usize, &(Duration, u64))| {
        let later = seen[from..].iter().take_while(|(it, _)| *it <= *at + tenth);
        later.last().map_or(0, |(_, last)| last - count)
    };
    let worst = seen.iter().enumerate().map(within).max().unwrap();
    println!("{all_away} of {edges} edges were away for {away} s");
    println!("half are back after {:?}, all after {:?}", half.unwrap(), begun.elapsed());
    println!("{worst} connections in the worst 100 ms, of {}", seen.last().unwrap().1);
    for state in &states {
        state.finish();
    }
}

/// Connections that the server has taken since its start.
fn connections(talk: &mut TcpStream) -> u64 {
    talk.write_all(b"INFO stats\r\n").unwrap();
    let mut said = String::new();
    let mut bytes = [0; 16_384];
    while !said.ends_with("\r\n\r\n") {
        let count = talk.read(&mut bytes).unwrap();
        said.push_str(std::str::from_utf8(&bytes[..count]).unwrap());
    }
    let line = said.lines().find_map(|it| it.strip_prefix("total_connections_received:"));
    line.unwrap().parse().unwrap()
}
