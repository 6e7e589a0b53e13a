//! Pools without sockets: who is picked, who rests, who stands by.

#![allow(clippy::unwrap_used, reason = "a failed step should stop the test")]

use super::*;
use crate::settings::{PassiveSettings, ServerDetails, ServerSettings};

fn settings(count: usize, balance: BalanceMethod) -> PoolSettings {
    let url = |index| ServerSettings::Url(format!("http://10.0.0.{}", index + 1));
    PoolSettings { servers: (0..count).map(url).collect(), balance, ..Default::default() }
}

fn detailed(settings: &mut PoolSettings, index: usize, change: impl FnOnce(&mut ServerDetails)) {
    let mut details = settings.servers[index].details();
    change(&mut details);
    settings.servers[index] = ServerSettings::Detailed(details);
}

fn pool(settings: &PoolSettings) -> Arc<ServerPool> {
    assert_eq!(settings.check(), []);
    Arc::new(ServerPool::new(settings, ConnectionPolicy::default(), None))
}

fn at(mono_ms: u64) -> Now {
    Now { unix_ms: 0, mono_ms }
}

/// The last byte of a server's address.
fn name(lease: &ServerLease) -> usize {
    lease.address().authority().rsplit('.').next().unwrap().parse().unwrap()
}

/// Picks without holding the place; `dice` differs from one to the next.
fn picks(pool: &Arc<ServerPool>, count: usize, now: Now) -> Vec<usize> {
    let one = |turn: usize| {
        let asking = PickRequest {
            random: 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(turn as u64 + 1),
            ..Default::default()
        };
        match pool.pick(&asking, &mut TriedServers::default(), now) {
            PickOutcome::Server(lease) => name(&lease),
            other => panic!("{other:?}"),
        }
    };
    (0..count).map(one).collect()
}

fn hold(pool: &Arc<ServerPool>, now: Now) -> ServerLease {
    match pool.pick(&PickRequest::default(), &mut TriedServers::default(), now) {
        PickOutcome::Server(lease) => lease,
        other => panic!("{other:?}"),
    }
}

fn meets(pool: &Arc<ServerPool>, server: usize, met: AttemptOutcome, now: Now) {
    pool.record(&pool.members.load().servers[server - 1], met, now);
}

#[test]
fn servers_are_taken_in_turn_by_weight() {
    let mut settings = settings(3, BalanceMethod::RoundRobin);
    assert_eq!(picks(&pool(&settings), 6, at(0)), [1, 2, 3, 1, 2, 3]);
    detailed(&mut settings, 0, |it| it.weight = 2);
    assert_eq!(picks(&pool(&settings), 8, at(0)), [1, 2, 3, 1, 1, 2, 3, 1]);
}

#[test]
fn chance_follows_the_weights() {
    let mut settings = settings(3, BalanceMethod::Random);
    detailed(&mut settings, 0, |it| it.weight = 2);
    let spread = picks(&pool(&settings), 4_000, at(0));
    for (server, share) in [(1, 2_000), (2, 1_000), (3, 1_000)] {
        let count = spread.iter().filter(|&&it| it == server).count();
        assert!((share - 200..share + 200).contains(&count), "{server}: {count}");
    }
}

#[test]
fn one_request_tries_each_server_once() {
    for balance in [BalanceMethod::P2c, BalanceMethod::RoundRobin, BalanceMethod::ConsistentHash] {
        let pool = pool(&settings(3, balance));
        let (mut tried, mut picked) = (TriedServers::default(), Vec::new());
        while let PickOutcome::Server(lease) = pool.pick(&PickRequest::default(), &mut tried, at(0))
        {
            picked.push(name(&lease));
        }
        picked.sort_unstable();
        assert_eq!(picked, [1, 2, 3], "{balance:?}");
        assert!(matches!(
            pool.pick(&PickRequest::default(), &mut tried, at(0)),
            PickOutcome::AllTried
        ));
    }
}

#[test]
fn a_server_that_takes_no_connection_rests_and_is_tried_by_one_request() {
    let pool = pool(&settings(2, BalanceMethod::RoundRobin));
    meets(&pool, 1, AttemptOutcome::NoConnection, at(0));
    assert_eq!(picks(&pool, 4, at(999)), [2; 4]);
    let mut held: Vec<_> = (0..4).map(|_| hold(&pool, at(1_000))).collect();
    assert_eq!(held.iter().filter(|it| name(it) == 1).count(), 1);
    held.retain(|it| name(it) == 1);
    held[0].record(AttemptOutcome::Answer, at(1_000));
    assert!(picks(&pool, 4, at(1_000)).iter().filter(|&&it| it == 1).count() >= 2);
}

#[test]
fn where_all_rest_the_client_is_told_when_to_come_again() {
    let pool = pool(&settings(2, BalanceMethod::P2c));
    for (server, now_ms) in [(1, 0), (2, 0), (1, 1_000), (2, 1_000), (2, 3_000), (1, 3_000)] {
        meets(&pool, server, AttemptOutcome::NoConnection, at(now_ms));
    }
    let pick = pool.pick(&PickRequest::default(), &mut TriedServers::default(), at(3_050));
    assert!(matches!(pick, PickOutcome::NoneUp(3_950)), "{pick:?}");
}

#[test]
fn where_all_rest_each_is_tried_by_one_request_now_and_then() {
    let pool = pool(&settings(2, BalanceMethod::P2c));
    for server in [1, 2] {
        meets(&pool, server, AttemptOutcome::NoConnection, at(0));
    }
    let pick = |now| pool.pick(&PickRequest::default(), &mut TriedServers::default(), now);
    let held = [hold(&pool, at(100)), hold(&pool, at(100))];
    assert_ne!(name(&held[0]), name(&held[1]));
    assert!(matches!(pick(at(100)), PickOutcome::NoneUp(_)), "one at a time");
    for lease in held {
        lease.record(AttemptOutcome::NoConnection, at(120));
    }
    assert!(matches!(pick(at(219)), PickOutcome::NoneUp(_)), "they failed just now");
    let back = hold(&pool, at(220));
    back.record(AttemptOutcome::Answer, at(220));
    assert_eq!(picks(&pool, 4, at(220)), [name(&back); 4], "back before its rest is over");
    assert!(matches!(pick(at(220)), PickOutcome::Server(_)));
}

#[test]
fn a_trial_ends_with_the_head_of_its_answer_whatever_the_server_works_on_else() {
    let pool = pool(&settings(1, BalanceMethod::P2c));
    let pick = |now| pool.pick(&PickRequest::default(), &mut TriedServers::default(), now);
    let _socket_of_before = hold(&pool, at(0));
    meets(&pool, 1, AttemptOutcome::NoConnection, at(0));
    let trial = hold(&pool, at(1_000));
    assert!(matches!(pick(at(1_000)), PickOutcome::Full), "one at a time");
    trial.record(AttemptOutcome::Answer, at(1_001));
    assert_eq!(picks(&pool, 2, at(1_001)), [1, 1], "though its answer goes on");
    meets(&pool, 1, AttemptOutcome::NoConnection, at(2_000));
    assert!(matches!(pick(at(2_050)), PickOutcome::NoneUp(_)), "it failed just now");
    let early = hold(&pool, at(2_100));
    assert!(matches!(pick(at(2_100)), PickOutcome::NoneUp(_)), "one at a time");
    drop(early);
    let another = hold(&pool, at(2_100));
    another.record(AttemptOutcome::NoConnection, at(2_100));
    let last = hold(&pool, at(2_200));
    last.record(AttemptOutcome::Answer, at(2_200));
    assert_eq!(picks(&pool, 2, at(2_200)), [1, 1]);
}

#[test]
fn one_that_rests_is_left_alone_while_another_is_up() {
    let pool = pool(&settings(2, BalanceMethod::P2c));
    meets(&pool, 1, AttemptOutcome::NoConnection, at(0));
    assert_eq!(picks(&pool, 8, at(500)), [2; 8]);
    let mut tried = TriedServers::default();
    assert!(matches!(
        pool.pick(&PickRequest::default(), &mut tried, at(500)),
        PickOutcome::Server(_)
    ));
    assert!(matches!(
        pool.pick(&PickRequest::default(), &mut tried, at(500)),
        PickOutcome::AllTried
    ));
}

#[test]
fn bad_answers_make_some_rest_but_not_more_than_their_share() {
    let mut settings = settings(4, BalanceMethod::RoundRobin);
    settings.passive = PassiveSettings { failures: 2, share: 50, ..Default::default() };
    let pool = pool(&settings);
    for server in [1, 1, 2, 2, 3, 3, 4, 4] {
        meets(&pool, server, AttemptOutcome::Failure, at(0));
    }
    assert_eq!(picks(&pool, 4, at(0)), [3, 3, 3, 4], "in turn, and the next where one rests");
    let alone = self::pool(&self::settings(1, BalanceMethod::P2c));
    for _ in 0..20 {
        meets(&alone, 1, AttemptOutcome::Failure, at(0));
    }
    assert_eq!(picks(&alone, 1, at(0)), [1]);
}

#[test]
fn backups_serve_only_while_no_other_is_up() {
    let mut settings = settings(3, BalanceMethod::RoundRobin);
    detailed(&mut settings, 1, |it| it.backup = true);
    detailed(&mut settings, 0, |it| it.max_requests = 1);
    detailed(&mut settings, 2, |it| it.max_requests = 1);
    let pool = pool(&settings);
    let held = [hold(&pool, at(0)), hold(&pool, at(0))];
    assert!(held.iter().all(|it| name(it) != 2));
    let pick = pool.pick(&PickRequest::default(), &mut TriedServers::default(), at(0));
    assert!(matches!(pick, PickOutcome::Full), "busy is not down: {pick:?}");
    drop(held);
    meets(&pool, 1, AttemptOutcome::NoConnection, at(0));
    meets(&pool, 3, AttemptOutcome::NoConnection, at(0));
    assert_eq!(picks(&pool, 3, at(0)), [2, 2, 2]);
}

#[test]
fn the_least_busy_gets_the_next_by_weight() {
    let mut settings = settings(2, BalanceMethod::LeastConnections);
    detailed(&mut settings, 0, |it| it.weight = 3);
    let pool = pool(&settings);
    let held: Vec<_> = (0..8).map(|_| hold(&pool, at(0))).collect();
    assert_eq!(held.iter().filter(|it| name(it) == 1).count(), 6);
}

#[test]
fn two_choices_leave_a_slow_server_alone() {
    let pool = pool(&settings(8, BalanceMethod::P2c));
    let servers = pool.members.load_full();
    for server in &servers.servers {
        server.took(1_000, at(0));
    }
    servers.servers[2].took(200_000, at(0));
    assert!(!picks(&pool, 1_000, at(100)).contains(&3));
    let spread = picks(&pool, 7_000, at(100));
    for server in [1, 2, 4, 5, 6, 7, 8] {
        let share = spread.iter().filter(|&&it| it == server).count();
        assert!((600..1_500).contains(&share), "{server}: {share}");
    }
}

#[test]
fn two_choices_of_idle_servers_follow_the_weights() {
    let mut settings = settings(2, BalanceMethod::P2c);
    detailed(&mut settings, 0, |it| it.weight = 3);
    let pool = pool(&settings);
    let of_second = |now| picks(&pool, 4_000, now).iter().filter(|&&it| it == 2).count();
    let share = of_second(at(0));
    assert!((800..1_200).contains(&share), "nobody has answered: {share}");
    let servers = pool.members.load_full();
    servers.servers[0].took(1_000, at(0));
    let share = of_second(at(0));
    assert!((800..1_200).contains(&share), "one has: {share}");
    servers.servers[1].took(1_500, at(0));
    let share = of_second(at(0));
    assert!((800..1_200).contains(&share), "both have: {share}");
    servers.servers[1].took(2_500, at(0));
    assert_eq!(of_second(at(0)), 0, "it is much slower");
}

#[test]
fn a_hash_keeps_its_keys_when_a_server_goes_and_passes_by_the_overloaded() {
    let settings = settings(5, BalanceMethod::ConsistentHash);
    let pool = pool(&settings);
    let pick = |key: u64| {
        let asking = PickRequest { key, ..Default::default() };
        match pool.pick(&asking, &mut TriedServers::default(), at(0)) {
            PickOutcome::Server(lease) => lease,
            other => panic!("{other:?}"),
        }
    };
    let all = |pick: &dyn Fn(u64) -> ServerLease| {
        (0..1_000).map(|key| name(&pick(key))).collect::<Vec<_>>()
    };
    let before = all(&pick);
    for server in 1..=5 {
        let share = before.iter().filter(|&&it| it == server).count();
        assert!((140..260).contains(&share), "{server}: {share}");
    }
    let busy: Vec<_> = (0..10).map(|_| pick(7)).collect();
    let favourite = name(&busy[0]);
    let there = busy.iter().filter(|it| name(it) == favourite).count();
    assert!((1..=4).contains(&there), "{there} of 10 for one key");
    drop(busy);
    meets(&pool, 3, AttemptOutcome::NoConnection, at(0));
    let moved = before.iter().zip(all(&pick)).filter(|(before, after)| *before != after);
    assert!(moved.into_iter().all(|(before, _)| *before == 3));
}

#[test]
fn a_client_sticks_to_its_server_even_while_that_drains() {
    let mut settings = settings(3, BalanceMethod::RoundRobin);
    settings.sticky = Some(crate::settings::StickySettings { cookie: "tg".into() });
    let pool = pool(&settings);
    let first = hold(&pool, at(0));
    let set = first.cookie(None, CookieScope::Any).unwrap();
    let set = set.to_str().unwrap();
    assert!(set.starts_with("tg=") && set.ends_with("; Path=/; HttpOnly; SameSite=Lax"), "{set}");
    let secure = first.cookie(None, CookieScope::Secure).unwrap();
    assert_eq!(secure.to_str().unwrap(), format!("{set}; Secure"));
    let pair = set.split(';').next().unwrap();
    let request = Request::builder().header("cookie", format!("a=b; {pair}")).body(()).unwrap();
    let asking = pool.pick_request(&request, "::1".parse().unwrap(), 0);
    pool.members.load().servers[name(&first) - 1].drain();
    for _ in 0..3 {
        let PickOutcome::Server(lease) = pool.pick(&asking, &mut TriedServers::default(), at(0))
        else {
            panic!()
        };
        assert_eq!(name(&lease), name(&first));
        assert_eq!(lease.cookie(asking.sticky_to, CookieScope::Any), None);
    }
    assert!(!picks(&pool, 6, at(0)).contains(&name(&first)), "no new clients");
}

#[test]
fn a_server_that_comes_back_begins_slowly() {
    let mut settings = settings(2, BalanceMethod::RoundRobin);
    settings.slow_start = settings::Text("30s".parse().unwrap());
    let pool = pool(&settings);
    meets(&pool, 1, AttemptOutcome::NoConnection, at(0));
    meets(&pool, 1, AttemptOutcome::Answer, at(1_000));
    let share = |now| picks(&pool, 1_000, at(now)).iter().filter(|&&it| it == 1).count();
    let (early, late, done) = (share(1_000), share(16_000), share(31_000));
    assert!((10..150).contains(&early) && (150..400).contains(&late), "{early} {late}");
    assert_eq!(done, 500);
}

#[test]
fn a_reload_forgets_nothing_of_a_server_that_stays() {
    let before = pool(&settings(2, BalanceMethod::RoundRobin));
    meets(&before, 2, AttemptOutcome::NoConnection, at(0));
    let after = Arc::new(ServerPool::new(
        &settings(3, BalanceMethod::RoundRobin),
        ConnectionPolicy::default(),
        Some(&before),
    ));
    assert!(!picks(&after, 6, at(500)).contains(&2));
}
