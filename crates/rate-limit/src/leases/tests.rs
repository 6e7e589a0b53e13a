//! Leases against a server in memory: what passes is within the bound that the manual states.

use super::*;
use std::collections::HashMap;

/// The script `lease.lua`, in Rust.
#[derive(Default)]
struct ScriptedServer(HashMap<u128, u64>);

impl ScriptedServer {
    fn answer(&mut self, ask: &LeaseAsk, now_us: u64) -> LeaseGrant {
        let interval = ask.rate.interval_us();
        let span = interval * u64::from(ask.rate.burst());
        let held = self.0.entry(ask.bucket.0).or_default();
        let debt = (*held).max(now_us) + u64::from(ask.spent) * interval;
        let room = (now_us + span).saturating_sub(debt) / interval;
        let granted = room.min(u64::from(ask.wanted));
        *held = debt + granted * interval;
        LeaseGrant {
            granted: granted as u32,
            left: (room - granted) as u32,
            wait_us: (*held + interval).saturating_sub(now_us + span),
        }
    }

    fn answer_all(&mut self, book: &LeaseBook, ms: u64) {
        for ask in book.asks(usize::MAX) {
            let grant = self.answer(&ask, ms * 1000);
            book.grant(&ask, grant, ms);
        }
    }
}

fn books(edges: u32) -> Vec<LeaseBook> {
    let book = |_| {
        let book = LeaseBook::default();
        book.set_standing(FleetStanding { edges, away: None });
        book
    };
    (0..edges).map(book).collect()
}

const ONE: BucketName = BucketName(1);

fn per_second(rate: u64, burst: u32) -> SharedRate {
    SharedRate::new(1_000_000 / rate, burst)
}

/// Requests that pass when each edge gets one every `every_ms`, for `secs`, and answers come
/// `late_ms` later.
fn passed(edges: u32, rate: SharedRate, every_ms: u64, secs: u64, late_ms: u64) -> u64 {
    let (books, mut server) = (books(edges), ScriptedServer::default());
    let mut passed = 0;
    for ms in 0..secs * 1000 {
        if ms % every_ms == 0 {
            let taken = books.iter().filter(|book| book.take(ONE, rate, ms).is_taken);
            passed += taken.count() as u64;
        }
        if ms % late_ms == 0 {
            for book in &books {
                server.answer_all(book, ms);
            }
        }
    }
    passed
}

#[test]
fn together_they_let_pass_what_the_limit_says_and_at_most_the_stated_more() {
    for (edges, rate, burst) in [(1, 10, 10), (2, 10, 10), (5, 100, 20), (7, 2, 1), (3, 50, 500)] {
        for late_ms in [1, 5, 40] {
            let secs = 20;
            let count = passed(edges, per_second(rate, burst), 1, secs, late_ms);
            let fair = rate * secs + u64::from(burst);
            let most = fair + u64::from(edges * burst.div_ceil(edges));
            assert!(count <= most, "{edges} × {rate}/s, {burst}, {late_ms} ms: {count} > {most}");
            assert!(count * 100 >= fair * 90, "{edges} × {rate}/s, {burst}: {count} of {fair}");
        }
    }
}

#[test]
fn whoever_stays_below_the_limit_is_never_refused() {
    for edges in [1, 2, 4] {
        // Each of them has half of its part of 100 a second.
        let count = passed(edges, per_second(100, 100), 20 * u64::from(edges), 10, 3);
        assert_eq!(count, 10_000 / (20 * u64::from(edges)) * u64::from(edges), "{edges}");
    }
}

#[test]
fn a_client_of_one_edge_has_the_whole_limit_there() {
    let (books, mut server) = (books(4), ScriptedServer::default());
    let rate = per_second(100, 100);
    let mut taken = 0;
    for ms in 0..10_000 {
        taken += u64::from(books[0].take(ONE, rate, ms).is_taken);
        server.answer_all(&books[0], ms);
    }
    assert!((1_050..=1_125).contains(&taken), "{taken}: 100/s × 10 s, a burst of 100, a quarter");
}

#[test]
fn whoever_comes_seldom_leaves_no_token_unused() {
    let (books, mut server) = (books(1), ScriptedServer::default());
    let rate = SharedRate::new(60_000_000, 3);
    let left: Vec<bool> = (0..6)
        .map(|turn| {
            let ms = turn * 2_000;
            let outcome = books[0].take(ONE, rate, ms);
            server.answer_all(&books[0], ms + 1);
            outcome.is_taken
        })
        .collect();
    assert_eq!(left, [true, true, true, false, false, false]);
    let refused = books[0].take(ONE, rate, 12_000);
    assert_eq!((refused.is_taken, refused.left), (false, 0));
    assert!((40_000..=60_000).contains(&refused.wait_ms), "{refused:?}");
}

#[test]
fn without_the_server_each_has_its_part() {
    let away = |rule| FleetStanding { edges: 4, away: Some(rule) };
    let count = |book: &LeaseBook, from: u64, until: u64| {
        let taken = |ms: &u64| book.take(ONE, per_second(100, 40), *ms).is_taken;
        (from..until).filter(taken).count()
    };
    let book = LeaseBook::default();
    book.set_standing(away(AwayRule::Divide));
    let passed = count(&book, 0, 10_000);
    assert!((258..=261).contains(&passed), "25/s × 10 s and a burst of 10: {passed}");
    book.set_standing(away(AwayRule::Open));
    assert_eq!(count(&book, 10_000, 10_100), 100);
    book.set_standing(away(AwayRule::Closed));
    assert_eq!(count(&book, 10_100, 10_200), 0);
    assert!(book.asks(9).is_empty(), "nobody is there to be asked");
}

#[test]
fn a_loss_gives_no_second_burst_and_ends_no_debt() {
    let (books, mut server) = (books(2), ScriptedServer::default());
    let (book, rate) = (&books[0], per_second(10, 10));
    for ms in 0..1000 {
        book.take(ONE, rate, ms);
        server.answer_all(book, ms);
    }
    book.set_standing(FleetStanding { edges: 2, away: Some(AwayRule::Divide) });
    let passed = (1000..3000).filter(|ms| book.take(ONE, rate, *ms).is_taken).count();
    assert!(passed <= 11, "5/s × 2 s, no burst: {passed}");
    book.set_standing(FleetStanding { edges: 2, away: None });
    assert!(book.take(ONE, rate, 3001).is_taken);
    assert_eq!(book.asks(9).len(), 1, "asked anew, though an ask before the loss was not answered");
}

#[test]
fn a_full_table_forgets_the_oldest_and_charges_what_it_spent() {
    let book = LeaseBook::default();
    book.set_standing(FleetStanding { edges: 1, away: None });
    let rate = per_second(10, 10);
    let name = |number: u128| BucketName(number * STRIPES as u128);
    book.take(name(0), rate, 0);
    book.take(name(0), rate, 0);
    for number in 1..=STRIPE_MAX as u128 {
        book.take(name(number), rate, number as u64);
    }
    let asks = book.asks(usize::MAX);
    let spent: u32 = asks.iter().filter(|it| it.bucket == name(0)).map(|it| it.spent).sum();
    assert_eq!(spent, 2, "{asks:?}");
}

#[test]
fn the_live_state_is_woken_once_for_many_asks() {
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;
    let (book, woken) = (LeaseBook::default(), Arc::new(AtomicUsize::new(0)));
    let count = Arc::clone(&woken);
    book.wake_by(Box::new(move || {
        count.fetch_add(1, Relaxed);
    }));
    book.set_standing(FleetStanding { edges: 1, away: None });
    for number in 0..100 {
        book.take(BucketName(number), per_second(1, 1), 0);
    }
    assert_eq!(woken.load(Relaxed), 1);
    assert_eq!(book.asks(60).len(), 60);
    book.take(BucketName(200), per_second(1, 1), 0);
    assert_eq!(woken.load(Relaxed), 2);
    assert_eq!(book.asks(60).len(), 41);
}

#[test]
fn names_are_the_same_for_the_same_seed_alone() {
    let (one, two) = (LeaseBook::default(), LeaseBook::default());
    let name = |book: &LeaseBook| {
        let mut hasher = book.hasher();
        hasher.write(b"client");
        hasher.name()
    };
    one.set_seed([1, 2]);
    two.set_seed([1, 2]);
    assert_eq!(name(&one), name(&two));
    two.set_seed([1, 3]);
    assert_ne!(name(&one), name(&two));
}

#[test]
fn a_part_that_is_away_has_its_rule_and_the_others_are_asked_for() {
    let (book, rate) = (LeaseBook::default(), per_second(100, 40));
    book.set_standing(FleetStanding { edges: 4, away: None });
    let (there, away) = (BucketName(1), BucketName(0xab << 120 | 1));
    assert_eq!((there.part(), away.part()), (0, 0xab));
    book.take(away, rate, 0);
    assert_eq!(book.asks(9).len(), 1);
    let mut parts = PartSet::default();
    parts.insert(0xab);
    assert!(parts.contains(0xab) && !parts.contains(0xaa) && parts.len() == 1);
    for (rule, passes) in [(AwayRule::Open, 200), (AwayRule::Closed, 0)] {
        book.set_parts_away(parts, rule);
        let passed = (0..200).filter(|_| book.take(away, rate, 1).is_taken).count();
        assert_eq!(passed, passes);
        assert!(book.take(there, rate, 1).is_taken || rule == AwayRule::Closed);
    }
    book.set_parts_away(parts, AwayRule::Divide);
    let passed = (0..200).filter(|_| book.take(away, rate, 2).is_taken).count();
    assert!(passed <= 10, "a quarter of the burst: {passed}");
    assert!(book.asks(999).iter().all(|ask| ask.bucket == there));
    parts.remove(0xab);
    assert!(parts.is_empty());
    book.set_parts_away(parts, AwayRule::Divide);
    book.take(away, rate, 3);
    let asks = book.asks(999);
    assert!(asks.iter().any(|ask| ask.bucket == away), "asked anew: {asks:?}");
}
