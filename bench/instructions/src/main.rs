//! The pure functions that every request passes through, each called so often that it can be
//! counted.
//!
//! `instructions NAME COUNT` calls one of them COUNT times and prints what it made of it. `gate.py`
//! runs it under a counter with two counts; the difference is what the calls alone cost, whatever
//! starting costs. It measures no time, opens no socket, and draws its names from a fixed seed.
//! `fields`, `lane`, `stored` and `traces` hold what is HTTP's.

mod fields;
mod lane;
mod names;
mod stored;
mod traces;

use dns_wire::{DnsQuery, KeyBuffer, WireAnswer};
use policy::{Ask, ClientProfiles, ListKind, ListSource, Policy};
use std::hint::black_box;
use std::process::ExitCode;
use vocab::{Action, Door, Name, NameBuffer, Now, RequestKind};

const NOW: Now = Now { unix_ms: 1, mono_ms: 1 };
const LISTED: usize = 20_000;
/// Rules about URLs, each with a literal of its own, as those of real lists.
const URL_RULES: usize = 2_000;
const UDP_LIMIT: usize = 1232;
const AGE_S: u32 = 7;

/// What can be counted: its name and what it is.
const FUNCTIONS: &[(&str, fn(usize) -> usize)] = &[
    ("query-read", query_read),
    ("answer-read", answer_read),
    ("answer-write", answer_write),
    ("decide-listed", decide_listed),
    ("decide-unlisted", decide_unlisted),
    ("decide-url", decide_url),
    ("fields-kind", fields::kind),
    ("fields-strip", fields::strip),
    ("head-read", lane::head_read),
    ("cache-hit", lane::cache_hit),
    ("store-look-up", stored::look_up),
    ("freshness", stored::freshness),
    ("trace-dormant", traces::dormant),
];

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let (Some(name), Some(count)) = (words.next(), words.next()) else {
        for (name, _) in FUNCTIONS {
            println!("{name}");
        }
        return ExitCode::SUCCESS;
    };
    let known = FUNCTIONS.iter().find(|(it, _)| *it == name);
    let (Some((_, call)), Ok(count)) = (known, count.parse()) else {
        eprintln!("usage: instructions NAME COUNT; without words, the names");
        return ExitCode::from(2);
    };
    println!("{}", call(count));
    ExitCode::SUCCESS
}

/// A query for `www.example.com A` with an OPT record, as a resolver sends it.
fn query() -> Vec<u8> {
    let mut packet = vec![0x12, 0x34, 1, 0x20, 0, 1, 0, 0, 0, 0, 0, 1];
    packet.extend(b"\x03www\x07example\x03com\x00\x00\x01\x00\x01");
    packet.extend([0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0]);
    packet
}

/// Its answer: four addresses.
fn response() -> Vec<u8> {
    let mut packet = vec![0x12, 0x34, 0x81, 0x80, 0, 1, 0, 4, 0, 0, 0, 0];
    packet.extend(b"\x03www\x07example\x03com\x00\x00\x01\x00\x01");
    for last in 1..=4 {
        packet.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 1, 44, 0, 4, 192, 0, 2, last]);
    }
    packet
}

fn query_read(count: usize) -> usize {
    let packet = query();
    let (mut name, mut key) = (NameBuffer::new(), KeyBuffer::new());
    (0..count)
        .map(|_| match DnsQuery::parse(black_box(&packet), &mut name) {
            Ok(query) => {
                query.key(&mut key);
                key.as_bytes().len()
            }
            Err(_) => 0,
        })
        .sum()
}

/// As it comes from an upstream: with the checks of everything in it.
fn answer_read(count: usize) -> usize {
    let packet = response();
    (0..count).map(|_| WireAnswer::from_upstream(black_box(&packet)).map_or(0, |it| it.len())).sum()
}

fn answer_write(count: usize) -> usize {
    let (asked, told) = (query(), response());
    let mut name = NameBuffer::new();
    let (Ok(query), Ok(answer)) =
        (DnsQuery::parse(&asked, &mut name), WireAnswer::from_response(&told))
    else {
        return 0;
    };
    let mut out = Vec::with_capacity(UDP_LIMIT);
    (0..count)
        .map(|_| {
            out.clear();
            black_box(&answer).write(&query, AGE_S, UDP_LIMIT, &mut out);
            out.len()
        })
        .sum()
}

fn policy_of(text: &str) -> Policy {
    let lists =
        [ListSource { name: "list", kind: ListKind::Block, text: text.as_bytes(), files: &[] }];
    Policy::new(policy::compile(&lists, 7).into(), ClientProfiles::everyone())
}

fn decide_listed(count: usize) -> usize {
    decide(count, "")
}

fn decide_unlisted(count: usize) -> usize {
    decide(count, "www.not-")
}

/// How many of the names, with `before` in front, are blocked.
fn decide(count: usize, before: &str) -> usize {
    let listed = names::made(LISTED);
    let text: String = listed.iter().map(|name| format!("||{name}^\n")).collect();
    let policy = policy_of(&text);
    let asked: Vec<String> = listed.iter().map(|name| format!("{before}{name}")).collect();
    (0..count)
        .filter(|at| {
            let host = Name::from_lowercase(&asked[at * 7919 % LISTED]).expect("made of labels");
            let ask = Ask::lookup(black_box(host), 1, [127, 0, 0, 1].into());
            policy.decide(&ask, NOW).action == Action::Block
        })
        .count()
}

fn decide_url(count: usize) -> usize {
    let words = names::made(URL_RULES);
    let text: String = words.iter().map(|word| format!("/{word}/banner*size=\n")).collect();
    let policy = policy_of(&text);
    let host = Name::from_lowercase("shop.example").expect("a name");
    let urls: Vec<String> = words
        .iter()
        .map(|word| format!("https://shop.example/media/{word}/banner-3.js?colour=blue&size=9"))
        .collect();
    (0..count)
        .filter(|at| {
            let ask = Ask {
                door: Door::Gateway,
                client: [127, 0, 0, 1].into(),
                identity: None,
                host,
                kind: RequestKind::Script,
                url: Some(black_box(&urls[at * 7919 % URL_RULES])),
                page: None,
            };
            policy.decide(&ask, NOW).action == Action::Block
        })
        .count()
}
