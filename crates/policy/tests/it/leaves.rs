//! Leaves and pauses: what passes for a while, and for whom.

use crate::support::{CLIENT, NOW, blocks, name, policy};
use policy::{
    ALLOWS_MAX, AllowUntil, AllowedClients, AllowsFull, Ask, Policy, RuleOutcome, TemporaryAllow,
};
use std::net::IpAddr;
use vocab::{Cause, DomainName, Now};

const MINUTE_MS: u64 = 60_000;

fn leave(host: Option<&str>, whom: AllowedClients, minutes: u64) -> TemporaryAllow {
    let host = host.map(|host| DomainName::parse(host).expect("tests name valid hosts"));
    TemporaryAllow {
        host,
        clients: whom,
        until: AllowUntil::Time(NOW.unix_ms + minutes * MINUTE_MS),
    }
}

fn after(minutes: u64) -> Now {
    Now { unix_ms: NOW.unix_ms + minutes * MINUTE_MS, ..NOW }
}

fn check(policy: &Policy, host: &str, client: IpAddr, now: Now, blocked: bool) {
    let ask = Ask::lookup(name(host), 1, client);
    let verdict = policy.decide(&ask, now);
    assert_eq!(blocks(verdict), blocked, "{host} for {client}");
    assert_eq!(policy.explain(&ask, now).verdict, verdict);
}

#[test]
fn a_leave_is_for_a_name_and_those_below_and_ends() {
    let policy = policy("||example^\n||other.test^$dnsrewrite=NXDOMAIN");
    policy.allow(leave(Some("a.example"), AllowedClients::Everyone, 5), NOW).unwrap();
    policy.allow(leave(Some("other.test"), AllowedClients::Everyone, 1), NOW).unwrap();
    check(&policy, "a.example", CLIENT, NOW, false);
    check(&policy, "www.a.example", CLIENT, NOW, false);
    check(&policy, "b.example", CLIENT, NOW, true);
    check(&policy, "other.test", CLIENT, NOW, false);
    check(&policy, "other.test", CLIENT, after(1), true);
    check(&policy, "a.example", CLIENT, after(4), false);
    check(&policy, "a.example", CLIENT, after(5), true);
    assert_eq!(policy.temporary_allows(NOW).len(), 2);
    assert!(policy.temporary_allows(after(5)).is_empty());
}

#[test]
fn a_leave_may_be_for_one_client_or_one_profile() {
    let policy = policy("||example^");
    let other = IpAddr::from([192, 168, 1, 8]);
    policy.allow(leave(Some("a.example"), AllowedClients::Address(CLIENT), 5), NOW).unwrap();
    policy.allow(leave(None, AllowedClients::Profile("kids".into()), 5), NOW).unwrap();
    check(&policy, "a.example", CLIENT, NOW, false);
    check(&policy, "a.example", other, NOW, true);
    policy.allow(leave(None, AllowedClients::Profile("default".into()), 5), NOW).unwrap();
    check(&policy, "b.example", other, NOW, false);
}

#[test]
fn the_same_leave_again_replaces_the_first() {
    let policy = policy("||example^");
    policy.allow(leave(Some("a.example"), AllowedClients::Everyone, 60), NOW).unwrap();
    policy.allow(leave(Some("a.example"), AllowedClients::Everyone, 0), NOW).unwrap();
    check(&policy, "a.example", CLIENT, NOW, true);
}

#[test]
fn there_is_room_for_so_many_and_what_has_ended_makes_room() {
    let policy = policy("||example^");
    for number in 0..ALLOWS_MAX {
        let host = format!("n{number}.example");
        policy.allow(leave(Some(&host), AllowedClients::Everyone, 1), NOW).unwrap();
    }
    let one_more = || leave(Some("a.example"), AllowedClients::Everyone, 9);
    assert_eq!(policy.allow(one_more(), NOW), Err(AllowsFull));
    check(&policy, "n7.example", CLIENT, NOW, false);
    assert_eq!(policy.allow(one_more(), after(1)), Ok(()));
    check(&policy, "a.example", CLIENT, after(2), false);
}

#[test]
fn an_explanation_names_the_leave_and_the_rule_it_holds_off() {
    let policy = policy("||a.example^");
    let granted = leave(Some("a.example"), AllowedClients::Everyone, 5);
    policy.allow(granted.clone(), NOW).unwrap();
    let told = policy.explain(&Ask::lookup(name("a.example"), 1, CLIENT), NOW);
    assert_eq!((told.verdict.cause, told.allow), (Cause::Paused, Some(granted)));
    assert_eq!(told.considered[0].outcome, RuleOutcome::Paused);
    policy.pause_until(NOW.unix_ms + 1);
    let told = policy.explain(&Ask::lookup(name("a.example"), 1, CLIENT), NOW);
    assert_eq!(told.allow.unwrap().host, None);
}

#[test]
fn a_leave_that_is_withdrawn_ends_at_once_and_others_stay() {
    let policy = policy("||example^");
    let host = DomainName::parse("a.example").unwrap();
    let mine = AllowedClients::Address(CLIENT);
    policy.allow(leave(Some("a.example"), mine.clone(), 60), NOW).unwrap();
    policy.allow(leave(Some("b.example"), AllowedClients::Everyone, 60), NOW).unwrap();
    assert!(!policy.revoke(Some(&host), &AllowedClients::Everyone, NOW), "that is another leave");
    assert!(policy.revoke(Some(&host), &mine, NOW));
    assert!(!policy.revoke(Some(&host), &mine, NOW), "it is gone");
    check(&policy, "a.example", CLIENT, NOW, true);
    check(&policy, "b.example", CLIENT, NOW, false);
}

#[test]
fn a_leave_without_an_end_holds_until_it_is_withdrawn() {
    let policy = policy("||example^");
    let host = DomainName::parse("a.example").unwrap();
    let always = TemporaryAllow {
        host: Some(host.clone()),
        clients: AllowedClients::Everyone,
        until: AllowUntil::Revoked,
    };
    policy.allow(always.clone(), NOW).unwrap();
    let late = Now { unix_ms: u64::MAX - 1, ..NOW };
    check(&policy, "a.example", CLIENT, late, false);
    policy.allow(leave(Some("b.example"), AllowedClients::Everyone, 1), NOW).unwrap();
    assert_eq!(policy.temporary_allows(late), [always]);
    assert!(policy.revoke(Some(&host), &AllowedClients::Everyone, late));
    check(&policy, "a.example", CLIENT, late, true);
}

#[test]
fn what_passes_for_a_leave_alone_is_told_from_what_no_rule_blocks() {
    let policy = policy("||example^\n@@||good.example^");
    let spares = |host: &str, now| policy.is_exempt(&Ask::lookup(name(host), 1, CLIENT), now);
    assert!(!policy.has_exemptions(NOW) && !spares("a.example", NOW));
    policy.allow(leave(Some("a.example"), AllowedClients::Everyone, 5), NOW).unwrap();
    assert!(policy.has_exemptions(NOW) && spares("www.a.example", NOW));
    assert!(!spares("b.example", NOW), "blocked");
    assert!(!spares("a.example", after(5)) && !policy.has_exemptions(after(5)), "ended");
    policy.pause_until(after(1).unix_ms);
    assert!(spares("b.example", NOW), "paused");
    assert!(!spares("good.example", NOW) && !spares("other.test", NOW), "no rule blocks them");
    assert!(!spares("b.example", after(1)));
}
