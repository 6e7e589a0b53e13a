//! The guard as a whole: what a query gets, by who asks, how, and how much.

#![allow(clippy::unwrap_used)] // A test fails by panicking.

use super::*;
use crate::caller::QueryTransport;
use crate::settings::Settings;
use crate::settings::client_subnet::SubnetMode;
use crate::settings::cookies::CookieMode;
use dns_wire::UDP_BYTES_MAX;
use dns_wire::ask_options::{OPTION_COOKIE, ResponseOpt};
use std::net::IpAddr;
use std::time::Instant;
use vocab::{NameBuffer, Now};

/// A client that asks at the beginning of 2026.
pub(super) fn caller(client: &str, way: QueryTransport) -> DnsCaller<'static> {
    at(client, way, 0)
}

fn at(client: &str, way: QueryTransport, mono_ms: u64) -> DnsCaller<'static> {
    let now = Now { unix_ms: 1_767_225_600_000 + mono_ms, mono_ms };
    let client: IpAddr = client.parse().unwrap();
    DnsCaller {
        client,
        transport: way,
        now,
        started: Instant::now(),
        ..DnsCaller::now(client, way)
    }
}

fn guard_of(settings: &Settings) -> QueryGuard {
    assert_eq!(settings.guard().check(), []);
    let secrets = GuardSecrets::from_bytes([7; 48]);
    QueryGuard::new(settings.guard(), &secrets, Duration::from_secs(10), None)
}

/// A query for `www.example` with EDNS and `options`.
fn packet(options: &[u8]) -> Vec<u8> {
    let mut packet = b"\x12\x34\x01\0\0\x01\0\0\0\0\0\x01\x03www\x07example\0\0\x01\0\x01".to_vec();
    packet.extend(b"\0\0\x29\x04\xd0\0\0\0\0");
    packet.extend((options.len() as u16).to_be_bytes());
    packet.extend(options);
    packet
}

/// What `guard` says to a query with `options`, and the answer if it is turned away.
fn ask(guard: &QueryGuard, caller: &DnsCaller<'_>, options: &[u8]) -> (Admission, Vec<u8>) {
    let packet = packet(options);
    let mut text = NameBuffer::new();
    let query = DnsQuery::parse(&packet, &mut text).unwrap();
    let seen = guard.read(&query, caller);
    let admission = guard.admit(caller, seen.as_ref().map_err(|bad| *bad));
    let mut out = Vec::new();
    if let Admission::Refused(why) = admission {
        why.write(&query, seen.ok().as_ref(), UDP_BYTES_MAX, &mut out);
    }
    (admission, out)
}

/// The response code and TC of an answer.
fn head(answer: &[u8]) -> (u16, bool) {
    (ResponseOpt::of(answer).unwrap().rcode, answer[2] & 2 != 0)
}

fn networks_of(list: &[&str]) -> Vec<Text<Network>> {
    list.iter().map(|it| Text(it.parse().unwrap())).collect()
}

#[test]
fn by_default_everybody_is_welcome_until_they_flood() {
    for way in [
        QueryTransport::Udp,
        QueryTransport::Tcp,
        QueryTransport::Tls,
        QueryTransport::Https,
        QueryTransport::Quic,
    ] {
        let guard = guard_of(&Settings::default());
        let stranger = caller("203.0.113.1", way);
        for _ in 0..900 {
            assert_eq!(ask(&guard, &stranger, b"").0, Admission::Admitted);
        }
        let flood = ask(&guard, &stranger, b"").0;
        assert_eq!(
            flood,
            Admission::Refused(AdmissionRefusal::RateLimited),
            "three seconds at once"
        );
        let neighbour = caller("203.0.113.2", way);
        assert_eq!(ask(&guard, &neighbour, b"").0, Admission::Admitted);
        assert_eq!(
            guard.reply_fate(&neighbour, SenderProof::Claimed, &[0; 12]),
            OutgoingFate::Send
        );
    }
}

#[test]
fn who_may_not_ask_is_refused_or_hears_nothing() {
    let mut all = Settings::default();
    all.access.allow = networks_of(&["192.168.0.0/16"]);
    let guard = guard_of(&all);
    assert_eq!(
        ask(&guard, &caller("192.168.1.1", QueryTransport::Udp), b"").0,
        Admission::Admitted
    );
    let (admission, answer) = ask(&guard, &caller("203.0.113.1", QueryTransport::Udp), b"");
    assert_eq!(admission, Admission::Refused(AdmissionRefusal::Forbidden));
    assert_eq!(head(&answer), (5, false));
    let opt = ResponseOpt::of(&answer).unwrap();
    assert_eq!(opt.option(15), Some(&[0, 18][..]), "extended error prohibited");
    all.access.action = AccessAction::Drop;
    let guard = guard_of(&all);
    assert_eq!(ask(&guard, &caller("203.0.113.1", QueryTransport::Udp), b"").0, Admission::Dropped);
    let (_, answer) = ask(&guard, &caller("203.0.113.1", QueryTransport::Tls), b"");
    assert_eq!(head(&answer), (5, false), "nobody waits on a connection for nothing");
}

#[test]
fn who_asks_too_much_gets_what_was_set() {
    let second = |action, way| {
        let mut all = Settings::default();
        all.rate_limit.queries_per_second = Some(1);
        all.rate_limit.burst = Some(1);
        all.rate_limit.action = action;
        let guard = guard_of(&all);
        assert_eq!(ask(&guard, &caller("192.0.2.1", way), b"").0, Admission::Admitted);
        let second = ask(&guard, &caller("192.0.2.1", way), b"");
        assert_eq!(ask(&guard, &at("192.0.2.1", way, 1000), b"").0, Admission::Admitted);
        second
    };
    assert_eq!(head(&second(RateAction::Refuse, QueryTransport::Udp).1), (5, false));
    assert_eq!(head(&second(RateAction::Truncate, QueryTransport::Udp).1), (0, true));
    assert_eq!(second(RateAction::Drop, QueryTransport::Udp).0, Admission::Dropped);
    for action in [RateAction::Refuse, RateAction::Truncate, RateAction::Drop] {
        assert_eq!(head(&second(action, QueryTransport::Tcp).1), (5, false), "{action:?}");
    }
}

#[test]
fn a_malformed_option_is_a_malformed_query() {
    let guard = guard_of(&Settings::default());
    let (admission, answer) =
        ask(&guard, &caller("192.0.2.1", QueryTransport::Udp), b"\0\x0a\0\x03abc");
    assert_eq!(admission, Admission::Refused(AdmissionRefusal::BadOption(BadOption::Cookie)));
    assert_eq!(head(&answer), (1, false));
    assert_eq!(answer[6..10], [0; 4]);
}

/// A server under attack: a client of cookies learns ours by BADCOOKIE and gets in with it, one
/// without has to come over TCP, and neither uses up what the other may ask.
#[test]
fn required_cookies_let_real_clients_in() {
    let mut all = Settings::default();
    all.cookies.mode = CookieMode::Require;
    all.rate_limit.queries_per_second = Some(1);
    all.rate_limit.burst = Some(1);
    let guard = guard_of(&all);
    let client = caller("192.0.2.1", QueryTransport::Udp);
    for _ in 0..100 {
        assert_eq!(head(&ask(&guard, &client, b"").1), (0, true));
    }
    let (admission, answer) = ask(&guard, &client, b"\0\x0a\0\x08COOKIE!!");
    assert_eq!(admission, Admission::Refused(AdmissionRefusal::CookieRequired));
    assert_eq!(head(&answer), (23, false));
    let opt = ResponseOpt::of(&answer).unwrap();
    let cookie = opt.option(OPTION_COOKIE).unwrap();
    assert!(cookie.starts_with(b"COOKIE!!") && cookie.len() == 24);
    let shown = [b"\0\x0a\0\x18", cookie].concat();
    assert_eq!(ask(&guard, &client, &shown).0, Admission::Admitted);
    assert_eq!(ask(&guard, &caller("192.0.2.9", QueryTransport::Tcp), b"").0, Admission::Admitted);
}

#[test]
fn floods_are_cut_but_not_for_who_has_proven_its_address() {
    let mut all = Settings::default();
    all.response_rate_limit.responses_per_second = 5;
    let guard = guard_of(&all);
    let client = caller("192.0.2.1", QueryTransport::Udp);
    let reply = packet(b"");
    let judge = |sender| guard.reply_fate(&client, sender, &reply);
    assert!((0..5).all(|_| judge(SenderProof::Claimed) == OutgoingFate::Send));
    assert!((0..50).all(|_| judge(SenderProof::Claimed) != OutgoingFate::Send));
    assert_eq!(judge(SenderProof::Verified), OutgoingFate::Send);
    assert_eq!(judge(SenderProof::Connected), OutgoingFate::Send);
    let query = packet(b"");
    let mut text = NameBuffer::new();
    let query = DnsQuery::parse(&query, &mut text).unwrap();
    let mut out = Vec::new();
    write_truncated(&query, None, UDP_BYTES_MAX, &mut out);
    assert_eq!(head(&out), (0, true));
    assert!(out.len() <= packet(b"").len(), "never longer than what was asked");
}

#[test]
fn a_reload_keeps_what_is_known() {
    let mut all = Settings::default();
    all.rate_limit.queries_per_second = Some(1);
    all.rate_limit.burst = Some(1);
    let guard = guard_of(&all);
    let client = caller("192.0.2.1", QueryTransport::Udp);
    let (_, _) = ask(&guard, &client, b"");
    let secrets = GuardSecrets::from_bytes([7; 48]);
    let idle = Duration::from_secs(10);
    let reloaded = QueryGuard::new(all.guard(), &secrets, idle, Some(&guard));
    assert_ne!(ask(&reloaded, &client, b"").0, Admission::Admitted);
}

#[test]
fn complaints_say_which_section_they_are_about() {
    let mut all = Settings::default();
    all.rate_limit.ipv4_prefix = 40;
    all.response_rate_limit.slip = 200;
    all.cookies.secret = Some("short".into());
    all.client_subnet.mode = SubnetMode::Fixed;
    let paths: Vec<_> = all.guard().check().into_iter().map(|it| it.path).collect();
    assert_eq!(
        paths,
        [
            "rate_limit.ipv4_prefix",
            "response_rate_limit.slip",
            "cookies.secret",
            "client_subnet.address"
        ]
    );
}
