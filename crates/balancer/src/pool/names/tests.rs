//! Servers found by name, without a resolver: who comes, who stays, who goes.

#![allow(clippy::unwrap_used, reason = "a failed step should stop the test")]

use super::*;
use crate::outlier_ejection::AttemptOutcome;
use crate::pool::{PickOutcome, PickRequest, PoolChange, PoolUnchanged};
use crate::settings::{BalanceMethod, PoolSettings, ServerSettings};
use crate::tried::TriedServers;
use origins::ConnectionPolicy;
use std::net::SocketAddr;
use vocab::DomainName;

const NAME: &str = "http://app.test:8080";
const SERVICE: &str = "http://_http._tcp.app.test";

fn at(mono_ms: u64) -> Now {
    Now { unix_ms: 0, mono_ms }
}

fn named(url: &str, how: ResolveChoice) -> ServerSettings {
    let details = ServerDetails { url: url.into(), resolve: Some(how), ..Default::default() };
    ServerSettings::Detailed(details)
}

fn settings(servers: Vec<ServerSettings>) -> PoolSettings {
    PoolSettings { servers, balance: BalanceMethod::RoundRobin, ..Default::default() }
}

fn pool_of(servers: Vec<ServerSettings>) -> Arc<ServerPool> {
    let settings = settings(servers);
    assert_eq!(settings.check(), []);
    Arc::new(ServerPool::new(&settings, ConnectionPolicy::default(), None))
}

/// Address, priority, weight.
fn sought(rows: &[(&str, u16, u16)]) -> SeekResult {
    let name = DomainName::parse("app.test").unwrap();
    let base: Address = NAME.parse().unwrap();
    let found = rows.iter().map(|(address, priority, weight)| {
        let address: SocketAddr = address.parse().unwrap();
        let server = base.found_at(address, &name).unwrap();
        FoundServer { server, name: name.clone(), priority: *priority, weight: *weight }
    });
    let mut sought = SeekResult::default();
    sought.found.extend(found);
    sought
}

fn entry(pool: &ServerPool) -> Arc<ResolvedEntry> {
    Arc::clone(&pool.members.load().entries[0])
}

/// What a look-up does.
fn finds(pool: &ServerPool, rows: &[(&str, u16, u16)], now: Now) -> usize {
    let entry = entry(pool);
    let untaken = pool.apply_lookup(&entry, &sought(rows), now);
    entry.ended(Duration::from_mins(1), None, untaken, now);
    untaken
}

/// URL, weight and rank of each server.
fn told(pool: &ServerPool) -> Vec<(String, u32, bool)> {
    let members = pool.members.load();
    let told = members.servers.iter();
    told.map(|it| (it.url.to_string(), it.weight(), it.is_backup())).collect()
}

fn urls(pool: &ServerPool) -> Vec<String> {
    told(pool).into_iter().map(|it| it.0).collect()
}

fn pick(pool: &Arc<ServerPool>, now: Now) -> PickOutcome {
    pool.pick(&PickRequest::default(), &mut TriedServers::default(), now)
}

#[test]
fn until_the_first_answer_requests_wait_and_then_each_address_serves() {
    let pool = pool_of(vec![named(NAME, ResolveChoice::Addresses)]);
    assert!(matches!(pick(&pool, at(0)), PickOutcome::Full));
    finds(&pool, &[("10.0.0.1:8080", 0, 0), ("10.0.0.2:8080", 0, 0)], at(0));
    assert_eq!(urls(&pool), ["http://10.0.0.1:8080", "http://10.0.0.2:8080"]);
    let mut picked: Vec<_> = (0..2)
        .map(|_| match pick(&pool, at(0)) {
            PickOutcome::Server(lease) => lease.address().address().unwrap().to_string(),
            other => panic!("{other:?}"),
        })
        .collect();
    picked.sort_unstable();
    assert_eq!(picked, ["10.0.0.1:8080", "10.0.0.2:8080"]);
    // An answer that there is nobody is an answer.
    finds(&pool, &[], at(0));
    assert!(matches!(pick(&pool, at(0)), PickOutcome::NoneUp(_)));
}

#[test]
fn who_stays_keeps_what_is_known_and_who_goes_is_gone() {
    let pool = pool_of(vec![named(NAME, ResolveChoice::Addresses)]);
    finds(&pool, &[("10.0.0.1:8080", 0, 0), ("10.0.0.2:8080", 0, 0)], at(0));
    let before = pool.members.load_full();
    pool.record(&before.servers[1], AttemptOutcome::NoConnection, at(0));
    before.servers[1].took(7_000, at(0));
    finds(&pool, &[("10.0.0.2:8080", 0, 0), ("10.0.0.3:8080", 0, 0)], at(1));
    let after = pool.members.load_full();
    assert_eq!(urls(&pool), ["http://10.0.0.2:8080", "http://10.0.0.3:8080"]);
    assert!(Arc::ptr_eq(&after.servers[0], &before.servers[1]));
    // The same again changes nothing.
    finds(&pool, &[("10.0.0.2:8080", 0, 0), ("10.0.0.3:8080", 0, 0)], at(2));
    assert!(Arc::ptr_eq(&pool.members.load_full(), &after));
    // Other settings of the pool: what was found stays, with what is known of it.
    let mut other = settings(vec![named(NAME, ResolveChoice::Addresses)]);
    other.balance = BalanceMethod::Random;
    let reloaded = Arc::new(ServerPool::new(&other, ConnectionPolicy::default(), Some(&pool)));
    assert_eq!(urls(&reloaded), urls(&pool));
    assert_eq!(reloaded.members.load().servers[0].counts().failures, 1);
}

#[test]
fn a_look_up_that_fails_keeps_the_servers_and_comes_again_later_and_later() {
    let pool = pool_of(vec![named(NAME, ResolveChoice::Addresses)]);
    let entry = entry(&pool);
    let ended = |ttl, failure: Option<&str>| {
        let news = entry.ended(Duration::from_secs(ttl), failure.map(Into::into), 0, at(0));
        (news, entry.due_ms())
    };
    let failed = || ended(300, Some("no answer"));
    let (news, wait) = failed();
    assert!((1_000..=1_100).contains(&wait), "{wait}");
    assert_eq!(news, [LookupNews::Failed("no answer".into())]);
    assert!(matches!(pick(&pool, at(0)), PickOutcome::NoneUp(1_000..=1_100)));
    finds(&pool, &[("10.0.0.1:8080", 0, 0)], at(0));
    assert_eq!(entry.failure(), None);
    assert_eq!(failed().0.len(), 1);
    let (news, wait) = failed();
    assert!(news.is_empty() && (2_000..=2_200).contains(&wait), "{wait}");
    let last = (0..10).fold(0, |_, _| failed().1);
    assert!((30_000..=33_000).contains(&last), "{last}");
    assert_eq!((urls(&pool).len(), entry.failure().as_deref()), (1, Some("no answer")));
    // What was answered is asked for again in its time, whatever failed beside it.
    assert!((5_000..=5_500).contains(&ended(5, Some("no answer")).1));
    for (ttl, expected) in [(0, 1_000), (60, 60_000), (86_400, 300_000)] {
        let wait = ended(ttl, None).1;
        assert!((expected..=expected * 11 / 10).contains(&wait), "{ttl}: {wait}");
    }
}

#[test]
fn records_of_the_lowest_priority_serve_by_weight_and_the_others_stand_by() {
    let pool = pool_of(vec![named(SERVICE, ResolveChoice::Srv)]);
    let rows = [("10.0.0.1:80", 10, 60), ("10.0.0.2:81", 10, 0), ("10.0.0.3:80", 20, 65_535)];
    finds(&pool, &rows, at(0));
    let row = |url: &str, weight, backup| (url.to_owned(), weight, backup);
    let expected = [
        row("http://10.0.0.1", 60, false),
        row("http://10.0.0.2:81", 1, false),
        row("http://10.0.0.3", 100, true),
    ];
    assert_eq!(told(&pool), expected);
    // A weight given by hand stays until the record's changes.
    pool.change(&PoolChange::SetWeight("http://10.0.0.1".into(), 7)).unwrap();
    finds(&pool, &rows, at(1));
    assert_eq!(told(&pool)[0].1, 7);
    finds(&pool, &[("10.0.0.1:80", 10, 1_000), ("10.0.0.2:81", 10, 500)], at(2));
    assert_eq!(
        told(&pool),
        [row("http://10.0.0.1", 100, false), row("http://10.0.0.2:81", 50, false)]
    );
    finds(&pool, &[("10.0.0.3:80", 20, 5)], at(3));
    assert_eq!(told(&pool), [row("http://10.0.0.3", 5, false)]);
}

#[test]
fn what_has_no_room_is_not_taken() {
    let fixed = ServerSettings::Url("http://10.0.0.1:8080".into());
    let pool = pool_of(vec![fixed, named(NAME, ResolveChoice::Addresses)]);
    let addresses: Vec<_> =
        (0..300).map(|n| format!("10.0.{}.{}:8080", n / 200, n % 200)).collect();
    let rows: Vec<_> = addresses.iter().map(|it| (it.as_str(), 0, 0)).collect();
    // The written one is among them, and stands for itself.
    assert_eq!(finds(&pool, &rows, at(0)), 300 - SERVERS_MAX);
    assert_eq!(urls(&pool).len(), SERVERS_MAX);
    finds(&pool, &[], at(0));
    assert_eq!(urls(&pool), ["http://10.0.0.1:8080"]);
    // It is told once, until there was room.
    let told = [5, 7, 0, 6].map(|left| entry(&pool).ended(Duration::ZERO, None, left, at(0)));
    assert_eq!(told, [vec![LookupNews::NoRoom(5)], vec![], vec![], vec![LookupNews::NoRoom(6)]]);
}

#[test]
fn a_name_comes_and_goes_with_all_that_it_stands_for() {
    let pool = pool_of(vec![ServerSettings::Url("http://10.0.0.9".into())]);
    let details = named(NAME, ResolveChoice::Addresses).details();
    pool.change(&PoolChange::Add(details.clone())).unwrap();
    assert_eq!(
        pool.change(&PoolChange::Add(details)),
        Err(PoolUnchanged::AlreadyThere(NAME.into()))
    );
    finds(&pool, &[("10.0.0.1:8080", 0, 0), ("10.0.0.2:8080", 0, 0)], at(0));
    assert_eq!(urls(&pool).len(), 3);
    let url = "http://10.0.0.1:8080".to_owned();
    let refused = pool.change(&PoolChange::Remove(url.clone()));
    assert_eq!(refused, Err(PoolUnchanged::Found(url.clone(), NAME.into())));
    assert_eq!(pool.change(&PoolChange::Drain(NAME.into())), Err(PoolUnchanged::Name(NAME.into())));
    pool.change(&PoolChange::Drain(url.clone())).unwrap();
    let state = pool.state("app", at(0));
    assert_eq!((state.names[0].servers, state.names[0].resolve), (2, "addresses"));
    let first = state.servers.iter().find(|it| it.url == url).unwrap();
    assert_eq!((first.state, first.found_by.as_deref()), ("draining", Some(NAME)));
    let old = entry(&pool);
    pool.change(&PoolChange::Remove(NAME.into())).unwrap();
    assert_eq!(urls(&pool), ["http://10.0.0.9"]);
    // An answer that comes too late finds nobody who has asked.
    pool.apply_lookup(&old, &sought(&[("10.0.0.1:8080", 0, 0)]), at(0));
    assert_eq!(urls(&pool), ["http://10.0.0.9"]);
}

#[test]
fn a_name_tells_when_it_was_looked_up_and_when_it_will_be() {
    let pool = pool_of(vec![named(NAME, ResolveChoice::Addresses)]);
    let told = |now: Now| {
        let name = pool.state("app", now).names.remove(0);
        (name.looked_up_ms, name.next_ms)
    };
    let now = Now { unix_ms: 1_000_000, mono_ms: 5_000 };
    assert_eq!(told(now), (None, Some(1_000_000)));
    finds(&pool, &[("10.0.0.1:8080", 0, 0)], now);
    let later = Now { unix_ms: 1_030_000, mono_ms: 35_000 };
    let (last, next) = told(later);
    assert_eq!(last, Some(1_000_000));
    assert!(next.is_some_and(|at| (1_060_000..=1_066_000).contains(&at)), "{next:?}");
    entry(&pool).look_up_at(UNDER_WAY);
    assert_eq!(told(later), (Some(1_000_000), None));
}

#[test]
fn all_servers_are_replaced_at_once() {
    let urls_of = |urls: &[&str]| -> Vec<ServerDetails> {
        urls.iter().map(|url| ServerSettings::from(*url).details()).collect()
    };
    let pool = pool_of(vec!["http://10.0.0.1".into(), "http://10.0.0.2".into()]);
    pool.record(&pool.members.load().servers[1], AttemptOutcome::Failure, at(0));
    let held = pick(&pool, at(0));
    let green = urls_of(&["http://10.0.0.2", "http://10.0.0.3"]);
    pool.change(&PoolChange::Replace(green)).unwrap();
    assert_eq!(urls(&pool), ["http://10.0.0.2", "http://10.0.0.3"]);
    assert_eq!(pool.members.load().servers[0].counts().failures, 1);
    drop(held);
    for wrong in [&[][..], &["http://10.0.0.1", "http://10.0.0.1"], &["http://10.0.0.1", "app"]] {
        let refused = pool.change(&PoolChange::Replace(urls_of(wrong)));
        assert!(matches!(refused, Err(PoolUnchanged::Wrong(_))), "{wrong:?}: {refused:?}");
    }
    assert_eq!(urls(&pool), ["http://10.0.0.2", "http://10.0.0.3"]);
}
