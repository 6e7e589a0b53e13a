//! Upstreams and strangers that lie, cut, flood and vanish.

use super::fake::{ADDRESS, DEADLINE, Deed, FORGED, Fake, Way};
use super::{TIMEOUT, addresses, ask, error, question, settings, start, udp};
use resolver::{
    QUESTIONS_MAX, QuerySource, Resolution, ResolveError, Resolver, TrustAd, UpstreamDetails,
    UpstreamSettings,
};
use settings::Text;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::oneshot;
use vocab::{Source, TimeSpan};

#[tokio::test]
async fn what_comes_to_another_port_of_ours_is_not_believed() {
    let fake = Fake::start(Deed::Answer(300));
    let resolver = start(&settings(&[udp(&fake)]));
    // So that there are other ports.
    for i in 0..8 {
        ask(&resolver, &format!("{i}.example")).await;
    }
    fake.deed(Deed::WrongPort);
    for i in 0..20 {
        assert_eq!(addresses(&ask(&resolver, &format!("x{i}.example")).await), [ADDRESS]);
    }
    let ports: std::collections::HashSet<_> = fake.asked().iter().map(|it| it.from).collect();
    assert!(ports.len() >= 8, "{}", ports.len());
}

#[tokio::test]
async fn a_second_answer_changes_nothing() {
    let fake = Fake::start(Deed::Twice);
    let resolver = start(&settings(&[udp(&fake)]));
    for i in 0..20 {
        let name = format!("{}.example", i % 10);
        assert_eq!(addresses(&ask(&resolver, &name).await), [ADDRESS]);
    }
    assert_eq!(fake.asked().len(), 10);
}

#[tokio::test]
async fn an_answer_that_comes_too_late_is_not_taken_for_another() {
    let (slow, quick) = (Fake::start(Deed::WaitForGate), Fake::start(Deed::AnswerWith(FORGED)));
    let mut settings = settings(&[udp(&slow)]);
    settings.groups[0].timeout = Text(TimeSpan(Duration::from_millis(100)));
    settings.caches[0].stale_after = settings.groups[0].timeout;
    let resolver = start(&settings);
    assert_eq!(error(&ask(&resolver, "www.example").await), ResolveError::Timeout);
    slow.open_gate();
    slow.deed(Deed::Nothing);
    // What was asked in vain is asked anew, and nothing of the past is in its way.
    settings.groups[0].upstreams = vec![udp(&quick).as_str().into()];
    settings.groups[0].timeout = Text(TimeSpan(DEADLINE));
    resolver.reload(&settings).unwrap();
    assert_eq!(addresses(&ask(&resolver, "www.example").await), [FORGED]);
    assert_eq!(resolver.stats().waiting, 0);
}

#[tokio::test]
async fn an_answer_of_64_kilobytes_comes_by_stream() {
    let fake = Fake::start(Deed::Huge);
    let resolver = start(&settings(&[udp(&fake)]));
    let answer = ask(&resolver, "www.example").await;
    assert_eq!(addresses(&answer).len(), 4094);
    assert_eq!(ask(&resolver, "www.example").await.source, Source::Cache);
    let ways: Vec<_> = fake.asked().iter().map(|it| it.way).collect();
    assert_eq!(ways, [Way::Udp, Way::Tcp]);
}

#[tokio::test]
async fn a_server_that_closes_after_each_answer_is_asked_again_each_time() {
    let fake = Fake::start(Deed::CloseAfter);
    let resolver = start(&settings(&[format!("tcp://{}", fake.plain)]));
    for i in 0..5 {
        assert_eq!(addresses(&ask(&resolver, &format!("{i}.example")).await), [ADDRESS]);
    }
}

/// Submits `count` different questions at once, waits until all are told, and says how many have an
/// answer.
async fn flood(resolver: &Resolver, count: usize) -> usize {
    let answered = Arc::new(AtomicUsize::new(0));
    let left = Arc::new(AtomicUsize::new(count));
    let (all, done) = oneshot::channel();
    let all = Arc::new(Mutex::new(Some(all)));
    for i in 0..count {
        let (answered, left, all) = (Arc::clone(&answered), Arc::clone(&left), Arc::clone(&all));
        let tell = move |resolution: Resolution| {
            answered.fetch_add(usize::from(resolution.result.is_ok()), Ordering::SeqCst);
            if left.fetch_sub(1, Ordering::SeqCst) == 1 {
                all.lock().unwrap().take().unwrap().send(()).unwrap();
            }
        };
        resolver
            .submit(question(&format!("{i}.flood.example")), QuerySource::INTERNAL, Box::new(tell))
            .unwrap();
    }
    tokio::time::timeout(3 * DEADLINE, done).await.unwrap().unwrap();
    answered.load(Ordering::SeqCst)
}

#[tokio::test]
async fn as_many_misses_as_there_may_be_are_all_answered_by_a_slow_upstream() {
    let fake = Fake::start(Deed::Delayed(300));
    let mut settings = settings(&[udp(&fake)]);
    settings.groups[0].timeout = Text(TimeSpan(2 * DEADLINE));
    let resolver = start(&settings);
    assert_eq!(flood(&resolver, QUESTIONS_MAX).await, QUESTIONS_MAX);
    let stats = resolver.stats();
    assert_eq!((stats.waiting, stats.upstreams[0].failed), (0, 0));
    assert_eq!(stats.cache.entries, QUESTIONS_MAX);
}

#[tokio::test]
async fn a_flood_past_a_silent_upstream_ends_in_time_and_leaves_nothing() {
    let silent = Fake::start(Deed::Nothing);
    let resolver = start(&settings(&[udp(&silent)]));
    assert_eq!(flood(&resolver, QUESTIONS_MAX).await, 0);
    assert_eq!(resolver.stats().waiting, 0);
    silent.deed(Deed::Answer(300));
    assert_eq!(addresses(&ask(&resolver, "www.example").await), [ADDRESS]);
}

/// A client.
fn client(last: u8) -> QuerySource {
    QuerySource::client(std::net::IpAddr::from([192, 0, 2, last]), 0)
}

async fn ask_for(resolver: &Resolver, name: &str, source: QuerySource) -> Resolution {
    let (sender, receiver) = oneshot::channel();
    let tell = Box::new(|resolution| drop(sender.send(resolution)));
    resolver.submit(question(name), source, tell).unwrap();
    tokio::time::timeout(DEADLINE, receiver).await.unwrap().unwrap()
}

/// A resolver whose time-out is longer than any of this takes, so that nothing makes room by
/// itself.
fn patient(upstreams: &[UpstreamSettings]) -> Resolver {
    let mut settings = settings(&[]);
    settings.groups[0].upstreams = upstreams.to_vec();
    settings.groups[0].timeout = Text(TimeSpan(3 * DEADLINE));
    start(&settings)
}

fn fill(resolver: &Resolver, count: usize, end: &str, source: QuerySource) {
    for i in 0..count {
        resolver.submit(question(&format!("{i}.{end}")), source, Box::new(drop)).unwrap();
    }
}

#[tokio::test]
async fn a_client_that_floods_leaves_room_for_every_other() {
    let fake = Fake::start(Deed::SilentAbout("flood.example"));
    let resolver = patient(&[udp(&fake).as_str().into()]);
    fill(&resolver, 6000, "flood.example", client(1));
    for i in 0..8 {
        let found = ask_for(&resolver, &format!("{i}.new.example"), client(2)).await;
        assert_eq!(addresses(&found), [ADDRESS]);
    }
    // As the second of two that flood, too.
    fill(&resolver, 6000, "flood.example.flood.example", client(3));
    for last in 4..40 {
        let found = ask_for(&resolver, &format!("{last}.newer.example"), client(last)).await;
        assert_eq!(addresses(&found), [ADDRESS]);
    }
}

#[tokio::test]
async fn an_upstream_that_is_dead_leaves_room_for_zones_with_one_of_their_own() {
    let (dead, corp) = (Fake::start(Deed::Nothing), Fake::start(Deed::Answer(300)));
    let zone = UpstreamSettings::Detailed(UpstreamDetails {
        address: udp(&corp),
        domains: vec![Text("corp.test".parse().unwrap())],
        ..UpstreamDetails::default()
    });
    let resolver = patient(&[udp(&dead).as_str().into(), zone]);
    // The very client that waits for the dead one.
    fill(&resolver, 6000, "flood.example", client(1));
    for i in 0..4 {
        let found = ask_for(&resolver, &format!("{i}.corp.test"), client(1)).await;
        assert_eq!(addresses(&found), [ADDRESS]);
    }
}

#[tokio::test]
async fn a_client_is_in_its_own_way_only_until_its_questions_have_had_their_chance() {
    let fake = Fake::start(Deed::SilentAbout("flood.example"));
    let resolver = patient(&[udp(&fake).as_str().into()]);
    fill(&resolver, QUESTIONS_MAX, "flood.example", client(1));
    let begun = std::time::Instant::now();
    let found = loop {
        let found = ask_for(&resolver, "new.example", client(1)).await;
        if found.result.is_ok() {
            break found;
        }
        assert_eq!(error(&found), ResolveError::Overloaded);
        assert!(begun.elapsed() < DEADLINE);
        tokio::task::yield_now().await;
    };
    assert_eq!(addresses(&found), [ADDRESS]);
}

#[tokio::test]
async fn what_gives_way_over_a_stream_is_asked_no_more() {
    let fake = Fake::start(Deed::SilentAbout("flood.example"));
    let resolver = patient(&[format!("tcp://{}", fake.plain).as_str().into()]);
    fill(&resolver, QUESTIONS_MAX, "flood.example", client(1));
    for i in 0..50 {
        let found = ask_for(&resolver, &format!("{i}.new.example"), client(2)).await;
        assert_eq!(addresses(&found), [ADDRESS]);
    }
    assert_eq!(resolver.stats().waiting, QUESTIONS_MAX - 1);
}

#[tokio::test]
async fn rfc9520_3_2_what_failed_is_not_asked_again_at_once() {
    let fake = Fake::start(Deed::Nothing);
    let resolver = start(&settings(&[udp(&fake)]));
    let begun = std::time::Instant::now();
    assert_eq!(error(&ask(&resolver, "www.example").await), ResolveError::Timeout);
    fake.deed(Deed::Answer(300));
    // The upstream would answer now, but for a second nobody asks it.
    while ask(&resolver, "www.example").await.result.is_err() {
        assert!(begun.elapsed() < DEADLINE);
        tokio::task::yield_now().await;
    }
    let took = begun.elapsed();
    assert!(took >= TIMEOUT + Duration::from_secs(1), "{took:?}");
    // Nor another question in its stead.
    assert_eq!(addresses(&ask(&resolver, "other.example").await), [ADDRESS]);
}

#[tokio::test]
async fn a_malformed_answer_is_neither_given_nor_kept_and_the_next_upstream_is_asked() {
    let (bad, good) = (Fake::start(Deed::SixBytes), Fake::start(Deed::AnswerWith(FORGED)));
    let resolver = start(&settings(&[udp(&bad)]));
    assert_eq!(error(&ask(&resolver, "www.example").await), ResolveError::BadAnswer);
    assert_eq!(resolver.stats().cache.entries, 0);
    let both = start(&settings(&[udp(&bad), udp(&good)]));
    assert_eq!(addresses(&ask(&both, "www.example").await), [FORGED]);
    let stream = start(&settings(&[format!("tcp://{}", bad.plain)]));
    assert_eq!(error(&ask(&stream, "www.example").await), ResolveError::BadAnswer);
}

#[tokio::test]
async fn records_of_other_names_are_left_out() {
    let fake = Fake::start(Deed::BesidesAnother);
    let resolver = start(&settings(&[udp(&fake)]));
    for _ in 0..2 {
        assert_eq!(addresses(&ask(&resolver, "www.example").await), [ADDRESS]);
    }
}

#[tokio::test]
async fn the_word_of_an_upstream_on_validation_counts_where_it_is_trusted() {
    let fake = Fake::start(Deed::Validated);
    for (trust_ad, expected) in [(TrustAd::Auto, 0x20), (TrustAd::On, 0x20), (TrustAd::Off, 0)] {
        for address in [udp(&fake), format!("tcp://{}", fake.plain)] {
            let details = UpstreamDetails { address, trust_ad, ..UpstreamDetails::default() };
            let resolver = patient(&[UpstreamSettings::Detailed(details)]);
            let found = ask(&resolver, "www.example").await;
            let flags = found.result.unwrap().0.message()[3];
            assert_eq!(flags & 0x20, expected, "{trust_ad:?}");
        }
    }
}

#[tokio::test]
async fn a_question_at_a_time_has_a_port_of_its_own() {
    let fake = Fake::start(Deed::Answer(300));
    let resolver = start(&settings(&[udp(&fake)]));
    for i in 0..100 {
        ask(&resolver, &format!("{i}.example")).await;
    }
    let ports: std::collections::HashSet<_> = fake.asked().iter().map(|it| it.from).collect();
    // The system chooses them, and may choose one twice.
    assert!(ports.len() >= 95, "{}", ports.len());
}

#[tokio::test]
async fn who_gathers_replies_is_called_after_those_who_are_told() {
    const COUNT: usize = 500;
    let fake = Fake::start(Deed::Answer(300));
    let resolver = start(&settings(&[udp(&fake)]));
    let told = Arc::new(AtomicUsize::new(0));
    let (sent, mut sent_in_all) = tokio::sync::watch::channel((0, 0));
    let gathered = Arc::clone(&told);
    resolver.after_batch(Arc::new(move || {
        let told = gathered.load(Ordering::SeqCst);
        sent.send_modify(|(rounds, all)| (*rounds, *all) = (*rounds + 1, told));
    }));
    for i in 0..COUNT {
        let told = Arc::clone(&told);
        let tell = move |_| {
            told.fetch_add(1, Ordering::SeqCst);
        };
        resolver
            .submit(question(&format!("{i}.example")), QuerySource::INTERNAL, Box::new(tell))
            .unwrap();
    }
    let all = sent_in_all.wait_for(|(_, all)| *all == COUNT);
    let rounds = tokio::time::timeout(DEADLINE, all).await.unwrap().unwrap().0;
    assert!((1..=COUNT).contains(&rounds), "{rounds}");
}
