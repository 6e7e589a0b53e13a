//! Upstreams and strangers that lie, cut, flood and vanish.

use super::fake::{ADDRESS, DEADLINE, Deed, FORGED, Fake, Way};
use super::{addresses, ask, error, question, settings, start, udp};
use settings::Text;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::oneshot;
use upstream::resolver::{QUESTIONS_MAX, Resolution, ResolveError, Resolver};
use vocab::{Source, Span};

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
    settings.groups[0].timeout = Text(Span(Duration::from_millis(100)));
    settings.caches[0].stale_after = settings.groups[0].timeout;
    let resolver = start(&settings);
    assert_eq!(error(&ask(&resolver, "www.example").await), ResolveError::Timeout);
    slow.open_gate();
    slow.deed(Deed::Nothing);
    // What was asked in vain is asked anew, and nothing of the past is in its way.
    settings.groups[0].upstreams = vec![udp(&quick).as_str().into()];
    settings.groups[0].timeout = Text(Span(DEADLINE));
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
        resolver.submit(question(&format!("{i}.flood.example")), Box::new(tell)).unwrap();
    }
    tokio::time::timeout(3 * DEADLINE, done).await.unwrap().unwrap();
    answered.load(Ordering::SeqCst)
}

#[tokio::test]
async fn as_many_misses_as_there_may_be_are_all_answered_by_a_slow_upstream() {
    let fake = Fake::start(Deed::Delayed(300));
    let mut settings = settings(&[udp(&fake)]);
    settings.groups[0].timeout = Text(Span(2 * DEADLINE));
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
        resolver.submit(question(&format!("{i}.example")), Box::new(tell)).unwrap();
    }
    let all = sent_in_all.wait_for(|(_, all)| *all == COUNT);
    let rounds = tokio::time::timeout(DEADLINE, all).await.unwrap().unwrap().0;
    assert!((1..=COUNT).contains(&rounds), "{rounds}");
}
