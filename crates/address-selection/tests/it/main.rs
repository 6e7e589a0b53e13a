//! Selectors against addresses of this machine: at one somebody listens, at the others nobody does.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

use address_selection::{
    AddressSelector, ProbeMethod, ProbeScope, ScoreMemory, SelectionMode, SelectionState,
    SelectorSettings, SignedAnswer, SignedPolicy,
};
use dns_wire::{DnsQuery, reply, synthesize};
use std::net::{IpAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::{Builder, LocalOptions};
use vocab::NameBuffer;

const OPEN: &str = "127.0.0.2";
const CLOSED: &str = "127.0.0.3";
const CLOSED_TOO: &str = "127.0.0.4";

fn listener() -> TcpListener {
    let listener = TcpListener::bind((OPEN, 0)).unwrap();
    listener.set_nonblocking(true).unwrap();
    listener
}

fn connected(listener: &TcpListener) -> usize {
    std::iter::from_fn(|| listener.accept().ok()).count()
}

/// Long enough for a busy machine: what decides is who listens, not how soon.
fn settings(at: &TcpListener) -> SelectorSettings {
    SelectorSettings {
        methods: vec![ProbeMethod::Tcp(at.local_addr().unwrap().port())],
        timeout: Duration::from_secs(5),
        max_wait: Duration::from_secs(10),
        scope: ProbeScope::Any,
        ..SelectorSettings::default()
    }
}

/// An answer for `www.test` with these addresses.
fn answer(addresses: &[&str]) -> Vec<u8> {
    let addresses: Vec<IpAddr> = addresses.iter().map(|it| it.parse().unwrap()).collect();
    let message = b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x03www\x04test\0\0\x01\0\x01".to_vec();
    let mut text = NameBuffer::new();
    let query = DnsQuery::parse(&message, &mut text).unwrap();
    let mut out = Vec::new();
    synthesize::addresses(&query, &addresses, 300, None, &mut out);
    out
}

fn shown(message: &[u8]) -> Vec<String> {
    reply::addresses(message).map(|it| it.to_string()).collect()
}

/// Fate of an answer that waits for what is measured.
fn settled(selector: &Arc<AddressSelector>, addresses: &[&str]) -> Vec<String> {
    let mut message = answer(addresses);
    let now = transport::clock::now();
    if let SelectionState::Wait(unknown) = selector.settle(&mut message, SignedAnswer::No, now) {
        let runtime =
            Builder::new_current_thread().enable_all().build_local(LocalOptions::default());
        let measured =
            Arc::clone(selector).measure_and_settle(&unknown, &mut message, SignedAnswer::No);
        runtime.unwrap().block_on(measured);
    }
    shown(&message)
}

#[test]
fn the_address_that_lets_us_in_stays_alone_and_is_remembered() {
    let open = listener();
    let selector = Arc::new(AddressSelector::new(settings(&open)));
    assert_eq!(settled(&selector, &[CLOSED, OPEN, CLOSED_TOO]), [OPEN]);
    assert_eq!(connected(&open), 1);
    // What is known is not measured again, and does not wait.
    let mut message = answer(&[CLOSED_TOO, OPEN]);
    let now = transport::clock::now();
    assert_eq!(selector.settle(&mut message, SignedAnswer::No, now), SelectionState::Settled);
    assert_eq!((shown(&message), connected(&open)), (vec![OPEN.to_owned()], 0));
}

#[test]
fn all_stay_where_it_is_said_so_or_the_answer_is_signed() {
    let open = listener();
    let all = SelectorSettings { keep: 0, ..settings(&open) };
    let selector = Arc::new(AddressSelector::new(all));
    assert_eq!(settled(&selector, &[CLOSED, OPEN, CLOSED_TOO]), [OPEN, CLOSED, CLOSED_TOO]);
    let two = SelectorSettings { keep: 2, ..settings(&open) };
    let selector = Arc::new(AddressSelector::new(two.clone()));
    assert_eq!(settled(&selector, &[CLOSED, OPEN, CLOSED_TOO]), [OPEN, CLOSED]);
    let now = transport::clock::now();
    let mut message = answer(&[CLOSED, OPEN, CLOSED_TOO]);
    assert_eq!(selector.settle(&mut message, SignedAnswer::Yes, now), SelectionState::Settled);
    assert_eq!(shown(&message), [OPEN, CLOSED, CLOSED_TOO]);
    let left = SelectorSettings { signed: SignedPolicy::Leave, ..two };
    let selector = AddressSelector::new(left);
    let mut message = answer(&[CLOSED, OPEN]);
    assert_eq!(selector.settle(&mut message, SignedAnswer::Yes, now), SelectionState::Settled);
    assert_eq!(shown(&message), [CLOSED, OPEN]);
}

#[test]
fn where_nobody_listens_an_answer_stays_as_it_came_and_is_not_tried_again_at_once() {
    let open = listener();
    let selector = Arc::new(AddressSelector::new(settings(&open)));
    assert_eq!(settled(&selector, &[CLOSED_TOO, CLOSED]), [CLOSED_TOO, CLOSED]);
    let now = transport::clock::now();
    let mut message = answer(&[CLOSED, CLOSED_TOO]);
    assert_eq!(selector.settle(&mut message, SignedAnswer::No, now), SelectionState::Settled);
    assert_eq!(shown(&message), [CLOSED, CLOSED_TOO]);
}

#[test]
fn one_address_failures_and_many_addresses_are_left_alone() {
    let open = listener();
    let selector = AddressSelector::new(settings(&open));
    let now = transport::clock::now();
    let settle = |mut message: Vec<u8>| {
        let before = message.clone();
        let state = selector.settle(&mut message, SignedAnswer::No, now);
        assert_eq!((state, message), (SelectionState::Settled, before));
    };
    settle(answer(&[OPEN]));
    settle(answer(&[OPEN, OPEN]));
    let mut failed = answer(&[OPEN, CLOSED]);
    failed[3] |= 2;
    settle(failed);
    let mut many = answer(&[OPEN]);
    for last in 0..=u8::MAX {
        many.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 1, 44, 0, 4, 127, 0, 1, last]);
    }
    many[6..8].copy_from_slice(&257_u16.to_be_bytes());
    assert_eq!(shown(&many).len(), 257);
    settle(many);
    settle(vec![0; 5]);
}

#[test]
fn private_addresses_are_not_tried_unless_it_is_said() {
    let open = listener();
    let public = SelectorSettings { scope: ProbeScope::Public, ..settings(&open) };
    let selector = Arc::new(AddressSelector::new(public));
    assert_eq!(settled(&selector, &[CLOSED, OPEN]), [CLOSED, OPEN]);
    assert_eq!(connected(&open), 0);
}

#[test]
fn nothing_is_measured_beyond_the_cap_and_nobody_waits_for_it() {
    let open = listener();
    let max_wait = Duration::from_hours(1);
    let none = SelectorSettings { parallel: 0, max_wait, ..settings(&open) };
    let selector = Arc::new(AddressSelector::new(none));
    assert_eq!(settled(&selector, &[CLOSED, OPEN]), [CLOSED, OPEN]);
    assert_eq!(connected(&open), 0);
}

#[test]
fn the_background_measures_for_those_that_follow() {
    let open = listener();
    let later = SelectorSettings { mode: SelectionMode::Background, ..settings(&open) };
    let selector = Arc::new(AddressSelector::new(later));
    let mut message = answer(&[CLOSED, OPEN]);
    let now = transport::clock::now();
    let state = selector.settle(&mut message, SignedAnswer::No, now);
    let SelectionState::Later(unknown) = state else { panic!("{state:?}") };
    assert_eq!(shown(&message), [CLOSED, OPEN]);
    let runtime = Builder::new_current_thread().enable_all().build_local(LocalOptions::default());
    runtime.unwrap().block_on(Arc::clone(&selector).measure(&unknown));
    assert_eq!(settled(&selector, &[CLOSED, OPEN]), [OPEN]);
}

#[test]
fn what_was_measured_is_believed_for_its_time_alone() {
    let open = listener();
    let memory = ScoreMemory { success: Duration::from_secs(9), ..ScoreMemory::default() };
    let selector = Arc::new(AddressSelector::new(SelectorSettings { memory, ..settings(&open) }));
    assert_eq!(settled(&selector, &[CLOSED, OPEN]), [OPEN]);
    let mut later = transport::clock::now();
    later.mono_ms += 10_000;
    let mut message = answer(&[CLOSED, OPEN]);
    let state = selector.settle(&mut message, SignedAnswer::No, later);
    assert_eq!(state, SelectionState::Wait([OPEN.parse().unwrap()].into()));
}

#[test]
fn an_echo_measures_too_where_the_system_allows_it() {
    let open = listener();
    let pinged = SelectorSettings {
        methods: vec![ProbeMethod::Ping],
        keep: 0,
        mode: SelectionMode::BestWithinBudget,
        ..settings(&open)
    };
    let selector = Arc::new(AddressSelector::new(pinged));
    // Both answer, or the system allows neither: none is lost.
    let mut given = settled(&selector, &[CLOSED, OPEN]);
    given.sort();
    assert_eq!(given, [OPEN, CLOSED]);
}
