//! What is remembered, for how long, and what it is good for when the upstreams are gone.

use super::fake::{ADDRESS, DEADLINE, Deed, Fake};
use super::{addresses, ask, error, question, settings, start, udp};
use resolver::Resolution;
use resolver::{
    CacheId, CacheLook, CachedState, FlushIn, FlushScope, QuerySource, RenewAdvice, ResolveError,
    Resolver, StaleMode,
};
use settings::Text;
use std::net::IpAddr;
use std::time::Duration;
use tokio::sync::oneshot;
use vocab::{ByteSize, Now, Source, TimeSpan};

fn look(resolver: &Resolver, name: &str, later: Duration) -> CachedState {
    look_for_renewal(resolver, name, later).cached
}

fn look_for_renewal(resolver: &Resolver, name: &str, later: Duration) -> CacheLook {
    let now = transport::clock::now();
    let later = later.as_millis() as u64;
    let then = Now { unix_ms: now.unix_ms + later, mono_ms: now.mono_ms + later };
    resolver.cached(CacheId(0), question(name).key(), then)
}

/// Waits until an answer of one second's life is past it.
async fn until_old(resolver: &Resolver, name: &str) {
    let waited = tokio::time::timeout(DEADLINE, async {
        while matches!(look(resolver, name, Duration::ZERO), CachedState::Fresh { .. }) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    waited.await.unwrap();
}

#[tokio::test]
async fn an_answer_is_asked_for_once_and_then_remembered_for_its_time() {
    let fake = Fake::start(Deed::Answer(300));
    let resolver = start(&settings(&[udp(&fake)]));
    ask(&resolver, "www.example").await;
    let again = ask(&resolver, "WWW.example").await;
    assert_eq!((again.source, addresses(&again)), (Source::Cache, vec![ADDRESS]));
    assert_eq!(fake.asked().len(), 1);
    let later = look(&resolver, "www.example", Duration::from_secs(200));
    assert!(matches!(later, CachedState::Fresh { age_s: 200 | 201, .. }), "{later:?}");
    let too_late = look(&resolver, "www.example", Duration::from_secs(301));
    assert!(matches!(too_late, CachedState::Miss), "{too_late:?}");
    let stats = resolver.stats().cache;
    assert_eq!((stats.entries, stats.hits, stats.misses), (1, 2, 2));
    assert!(stats.bytes > 100 && stats.bytes < stats.bytes_max);
}

#[tokio::test]
async fn that_a_name_does_not_exist_is_remembered_too() {
    let fake = Fake::start(Deed::NxDomain);
    let resolver = start(&settings(&[udp(&fake)]));
    ask(&resolver, "www.example").await;
    let again = ask(&resolver, "www.example").await;
    assert_eq!((again.source, again.result.unwrap().0.rcode()), (Source::Cache, 3));
    assert_eq!(fake.asked().len(), 1);
}

#[tokio::test]
async fn an_answer_for_now_only_is_not_remembered() {
    let fake = Fake::start(Deed::Answer(0));
    let resolver = start(&settings(&[udp(&fake)]));
    ask(&resolver, "www.example").await;
    assert_eq!(ask(&resolver, "www.example").await.source, Source::Upstream);
    assert_eq!(fake.asked().len(), 2);
}

#[tokio::test]
async fn equal_questions_share_one_exchange() {
    let fake = Fake::start(Deed::WaitForGate);
    let mut settings = settings(&[udp(&fake)]);
    settings.groups[0].timeout = Text(TimeSpan(DEADLINE));
    let resolver = start(&settings);
    let mut asking = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let resolver = resolver.clone();
        asking.spawn(async move { resolver.resolve(question("www.example")).await });
    }
    fake.asked_times(1).await;
    while resolver.stats().waiting < 100 {
        tokio::task::yield_now().await;
    }
    fake.open_gate();
    while let Some(found) = asking.join_next().await {
        assert_eq!(addresses(&found.unwrap()), [ADDRESS]);
    }
    let ids: std::collections::HashSet<_> = fake.asked().iter().map(|it| it.id).collect();
    assert_eq!(ids.len(), 1, "one exchange, sent again at most");
}

#[tokio::test]
async fn an_old_answer_serves_while_the_upstreams_are_gone() {
    let fake = Fake::start(Deed::Answer(1));
    let resolver = start(&settings(&[udp(&fake)]));
    ask(&resolver, "www.example").await;
    until_old(&resolver, "www.example").await;
    fake.deed(Deed::ServFail);
    let stale = ask(&resolver, "www.example").await;
    assert_eq!((stale.source, addresses(&stale)), (Source::Stale, vec![ADDRESS]));
    // The next does not have to wait for the upstream to fail once more.
    let asked = fake.asked().len();
    assert!(matches!(look(&resolver, "www.example", Duration::ZERO), CachedState::Stale { .. }));
    assert_eq!(ask(&resolver, "www.example").await.source, Source::Stale);
    assert_eq!(fake.asked().len(), asked);
    // But then it is tried again.
    let later = look(&resolver, "www.example", Duration::from_secs(31));
    assert!(matches!(later, CachedState::Miss), "{later:?}");
    assert!(resolver.stats().cache.stale >= 2);
}

#[tokio::test]
async fn an_old_answer_serves_while_the_upstream_is_slow_and_is_then_renewed() {
    let fake = Fake::start(Deed::Answer(1));
    let mut settings = settings(&[udp(&fake)]);
    settings.groups[0].timeout = Text(TimeSpan(DEADLINE));
    let resolver = start(&settings);
    ask(&resolver, "www.example").await;
    until_old(&resolver, "www.example").await;
    fake.deed(Deed::WaitForGate);
    assert_eq!(ask(&resolver, "www.example").await.source, Source::Stale);
    // Whoever comes while the search goes on need not wait at all.
    assert_eq!(ask(&resolver, "www.example").await.source, Source::Stale);
    fake.deed(Deed::Answer(300));
    fake.open_gate();
    let renewed = tokio::time::timeout(DEADLINE, async {
        while !matches!(look(&resolver, "www.example", Duration::ZERO), CachedState::Fresh { .. }) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    renewed.await.unwrap();
}

#[tokio::test]
async fn old_answers_are_not_used_where_that_is_switched_off() {
    let fake = Fake::start(Deed::Answer(1));
    let mut settings = settings(&[udp(&fake)]);
    settings.caches[0].stale = Text(TimeSpan(Duration::ZERO));
    let resolver = start(&settings);
    ask(&resolver, "www.example").await;
    until_old(&resolver, "www.example").await;
    fake.deed(Deed::Nothing);
    assert_eq!(error(&ask(&resolver, "www.example").await), ResolveError::Timeout);
}

#[tokio::test]
async fn an_answer_in_use_is_renewed_before_its_time_is_over() {
    let fake = Fake::start(Deed::Answer(300));
    let resolver = start(&settings(&[udp(&fake)]));
    ask(&resolver, "www.example").await;
    let soon = Duration::from_secs(280);
    let looked = look_for_renewal(&resolver, "www.example", soon);
    assert!(matches!(looked.cached, CachedState::Fresh { .. }) && looked.renew == RenewAdvice::Now);
    // One is told so, nobody else.
    let looked = look_for_renewal(&resolver, "www.example", soon);
    assert!(matches!(looked.cached, CachedState::Fresh { .. }) && looked.renew == RenewAdvice::No);
    // Whoever was told asks like anyone else, and is not given what is to be renewed.
    let (sender, receiver) = oneshot::channel();
    let tell = Box::new(|resolution| drop(sender.send(resolution)));
    resolver.submit(question("www.example"), QuerySource::INTERNAL, tell).unwrap();
    let renewed: Resolution = tokio::time::timeout(DEADLINE, receiver).await.unwrap().unwrap();
    assert_eq!(renewed.source, Source::Upstream);
    let looked = look_for_renewal(&resolver, "www.example", Duration::from_secs(200));
    assert_eq!(looked.renew, RenewAdvice::No);
    assert_eq!(fake.asked().len(), 2);
    resolver.renew(question("www.example"));
    fake.asked_times(3).await;
}

#[tokio::test]
async fn an_old_answer_is_given_at_once_where_that_is_set_and_one_renews_it() {
    let fake = Fake::start(Deed::Answer(1));
    let mut settings = settings(&[udp(&fake)]);
    settings.caches[0].stale_mode = StaleMode::AtOnce;
    let resolver = start(&settings);
    ask(&resolver, "www.example").await;
    fake.deed(Deed::Answer(300));
    let soon = Duration::from_secs(2);
    let told: Vec<CacheLook> =
        (0..10).map(|_| look_for_renewal(&resolver, "www.example", soon)).collect();
    assert!(told.iter().all(|it| matches!(it.cached, CachedState::Stale { .. })), "{told:?}");
    let renewers = told.iter().filter(|it| it.renew == RenewAdvice::Now).count();
    assert_eq!(renewers, 1);
    // If nothing comes of that, the next one is told some seconds later.
    let later = look_for_renewal(&resolver, "www.example", Duration::from_secs(13));
    assert_eq!(later.renew, RenewAdvice::Now);
    resolver.renew(question("www.example"));
    let renewed = tokio::time::timeout(DEADLINE, async {
        let later = Duration::from_secs(200);
        while !matches!(look(&resolver, "www.example", later), CachedState::Fresh { .. }) {
            tokio::task::yield_now().await;
        }
    });
    renewed.await.unwrap();
}

#[tokio::test]
async fn an_old_answer_is_given_without_waiting_where_every_upstream_is_put_aside() {
    let fake = Fake::start(Deed::Answer(1));
    let mut settings = settings(&[udp(&fake)]);
    settings.groups[0].timeout = Text(TimeSpan(Duration::from_millis(200)));
    settings.caches[0].stale_after = settings.groups[0].timeout;
    let resolver = start(&settings);
    ask(&resolver, "www.example").await;
    until_old(&resolver, "www.example").await;
    fake.deed(Deed::Nothing);
    // Each failure after the third puts it aside for twice as long.
    for i in 0..6 {
        assert_eq!(error(&ask(&resolver, &format!("{i}.example")).await), ResolveError::Timeout);
    }
    // From now on every question takes very long, and would wait as long for an old answer.
    settings.groups[0].timeout = Text(TimeSpan(3 * DEADLINE));
    settings.caches[0].stale_after = Text(TimeSpan(3 * DEADLINE));
    resolver.reload(&settings).unwrap();
    let stale = ask(&resolver, "www.example").await;
    assert_eq!((stale.source, addresses(&stale)), (Source::Stale, vec![ADDRESS]));
}

#[tokio::test]
async fn the_cache_stays_within_its_size() {
    let fake = Fake::start(Deed::Answer(300));
    let mut settings = settings(&[udp(&fake)]);
    settings.caches[0].size = Text(ByteSize(64 << 10));
    let resolver = start(&settings);
    for i in 0..1000 {
        ask(&resolver, &format!("{i}.example")).await;
    }
    let stats = resolver.stats().cache;
    assert!(stats.bytes <= 64 << 10 && stats.entries > 20, "{stats:?}");
}

#[tokio::test]
async fn other_upstreams_take_over_at_reload_and_the_cache_is_kept() {
    let other: IpAddr = "192.0.2.8".parse().unwrap();
    let (old, new) = (Fake::start(Deed::Answer(300)), Fake::start(Deed::AnswerWith(other)));
    let resolver = start(&settings(&[udp(&old)]));
    ask(&resolver, "www.example").await;
    resolver.reload(&settings(&[udp(&new)])).unwrap();
    assert_eq!(ask(&resolver, "www.example").await.source, Source::Cache);
    assert_eq!(addresses(&ask(&resolver, "new.example").await), [other]);
    assert_eq!(resolver.stats().upstreams.len(), 1);
    assert_eq!(&*resolver.stats().upstreams[0].name, udp(&new));
    let wrong = resolver.reload(&settings(&[])).unwrap_err();
    assert_eq!(wrong[0].path, "upstreams");
    assert_eq!(addresses(&ask(&resolver, "more.example").await), [other]);
    assert_eq!(resolver.flush(FlushIn::Every, &FlushScope::All), 3);
    assert_eq!(addresses(&ask(&resolver, "www.example").await), [other]);
}

#[tokio::test]
async fn what_is_under_way_at_reload_is_finished() {
    let (old, new) = (Fake::start(Deed::WaitForGate), Fake::start(Deed::Answer(300)));
    let mut first = settings(&[udp(&old)]);
    first.groups[0].timeout = Text(TimeSpan(DEADLINE));
    let resolver = start(&first);
    let asking = tokio::spawn({
        let resolver = resolver.clone();
        async move { resolver.resolve(question("www.example")).await }
    });
    old.asked_times(1).await;
    resolver.reload(&settings(&[udp(&new)])).unwrap();
    ask(&resolver, "other.example").await;
    old.open_gate();
    assert_eq!(addresses(&asking.await.unwrap()), [ADDRESS]);
}
