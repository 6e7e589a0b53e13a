//! A second-level cache in memory: asked where the own cache has nothing, before an upstream.

use super::fake::{ADDRESS, Deed, Fake};
use super::{addresses, ask, question, settings, start, udp};
use dns_wire::{DnsQuery, synthesize, write_query};
use resolver::{Resolver, SecondLevelAnswer, SecondLevelCache, SecondLevelKey, SecondLevelLook};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use vocab::{NameBuffer, Now, Source};

const SHARED: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 99));

/// A cache that holds what it is given, and counts looks.
#[derive(Default)]
struct MemoryCache {
    held: Mutex<HashMap<Box<[u8]>, SecondLevelAnswer>>,
    kept: Mutex<Vec<(SecondLevelKey, u32)>>,
    looks: Mutex<usize>,
}

impl SecondLevelCache for MemoryCache {
    fn look(&self, key: SecondLevelKey) -> Option<SecondLevelLook> {
        *self.looks.lock().unwrap() += 1;
        let found = self.held.lock().unwrap().get(&key.question).cloned();
        Some(Box::pin(async move {
            tokio::task::yield_now().await;
            found
        }))
    }

    fn keep(&self, key: SecondLevelKey, _: &[u8], ttl_s: u32, _: Now) {
        self.kept.lock().unwrap().push((key, ttl_s));
    }
}

/// The response to a question with this address and a TTL of 300 s.
fn response(key: &[u8]) -> Vec<u8> {
    let (mut query, mut message) = (Vec::new(), Vec::new());
    write_query(7, key, &mut query);
    let query = DnsQuery::parse(&query, &mut NameBuffer::new()).unwrap();
    let query = DnsQuery { edns: None, ..query };
    synthesize::addresses(&query, &[SHARED], 300, None, &mut message);
    message
}

fn with_cache(fake: &Fake, held: &[(&str, &str, u64)]) -> (Resolver, Arc<MemoryCache>) {
    let resolver = start(&settings(&[udp(fake)]));
    let cache = Arc::<MemoryCache>::default();
    for (name, answered, age_ms) in held {
        let message = response(question(answered).key());
        let answer = SecondLevelAnswer { message, age_ms: *age_ms };
        cache.held.lock().unwrap().insert(question(name).key().into(), answer);
    }
    resolver.share_answers(Some(Arc::clone(&cache) as _));
    (resolver, cache)
}

#[tokio::test]
async fn what_it_holds_is_answered_without_an_upstream_and_ages_on() {
    let fake = Fake::start(Deed::Answer(300));
    let (resolver, cache) = with_cache(&fake, &[("a.example", "a.example", 100_000)]);
    let told = ask(&resolver, "a.example").await;
    assert_eq!(addresses(&told), [SHARED]);
    assert_eq!((told.source, told.result.unwrap().1), (Source::Cache, 100));
    let again = ask(&resolver, "a.example").await;
    assert!(again.result.unwrap().1 >= 100, "its own cache has it with its age");
    assert_eq!(*cache.looks.lock().unwrap(), 1);
    assert!(fake.asked().is_empty());
    assert!(cache.kept.lock().unwrap().is_empty(), "it is not told what it told");
}

#[tokio::test]
async fn what_it_does_not_hold_is_asked_of_the_upstream_and_told_to_it() {
    let fake = Fake::start(Deed::Answer(300));
    let old = [("a.example", "a.example", 300_000), ("b.example", "other.example", 0)];
    let (resolver, cache) = with_cache(&fake, &old);
    for name in ["a.example", "b.example", "c.example"] {
        let told = ask(&resolver, name).await;
        assert_eq!(addresses(&told), [ADDRESS], "{name}");
        assert_eq!(told.source, Source::Upstream);
    }
    let kept = cache.kept.lock().unwrap().clone();
    assert_eq!(kept.len(), 3);
    assert_eq!(kept[2].0.question[..], *question("c.example").key());
    assert!(kept.iter().all(|(key, ttl_s)| key.scope == kept[0].0.scope && *ttl_s > 0));
}

#[tokio::test]
async fn a_renewal_is_not_answered_by_the_old_answer_of_another_machine() {
    let fake = Fake::start(Deed::Answer(300));
    let (resolver, cache) = with_cache(&fake, &[("a.example", "a.example", 1_000)]);
    ask(&resolver, "a.example").await;
    resolver.renew(question("a.example"));
    fake.asked_times(1).await;
    assert_eq!(*cache.looks.lock().unwrap(), 1);
}

#[tokio::test]
async fn other_upstreams_are_another_scope_and_without_a_cache_nobody_is_asked() {
    let fakes = [Fake::start(Deed::Answer(300)), Fake::start(Deed::Answer(300))];
    let scopes = async |fake: &Fake| {
        let (resolver, cache) = with_cache(fake, &[]);
        ask(&resolver, "a.example").await;
        resolver.share_answers(None);
        ask(&resolver, "b.example").await;
        let kept = cache.kept.lock().unwrap().clone();
        assert_eq!(kept.len(), 1);
        kept[0].0.scope
    };
    assert_ne!(scopes(&fakes[0]).await, scopes(&fakes[1]).await);
}
