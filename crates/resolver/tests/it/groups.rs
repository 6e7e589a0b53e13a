//! Several groups of upstreams and several caches: what is told apart, and what is shared.

use super::fake::{ADDRESS, DEADLINE, Deed, Fake};
use super::{addresses, ask, error, question, settings, start, udp};
use resolver::{
    CacheId, CacheSettings, FlushIn, FlushScope, GroupId, GroupSettings, ResolveError, Resolver,
    ResolverSettings, SelectionStrategy,
};
use settings::Text;
use std::net::IpAddr;
use vocab::{DomainName, Source, TimeSpan};

const OTHER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 8));

/// Two groups of one upstream each, and two caches.
fn two(one: &Fake, other: &Fake) -> ResolverSettings {
    let mut settings = settings(&[udp(one)]);
    let mut second = GroupSettings { name: "second".into(), ..settings.groups[0].clone() };
    second.upstreams = vec![udp(other).as_str().into()];
    settings.groups.push(second);
    settings.caches.push(CacheSettings::default());
    settings
}

#[tokio::test]
async fn a_question_goes_to_its_group_and_its_answer_to_its_cache() {
    let (one, other) = (Fake::start(Deed::Answer(300)), Fake::start(Deed::AnswerWith(OTHER)));
    let resolver = start(&two(&one, &other));
    let second = || question("www.example").to(GroupId(1)).with_cache(Some(CacheId(1)));
    assert_eq!(addresses(&ask(&resolver, "www.example").await), [ADDRESS]);
    assert_eq!(addresses(&resolver.resolve(second()).await), [OTHER]);
    assert_eq!(resolver.resolve(second()).await.source, Source::Cache);
    assert_eq!((one.asked().len(), other.asked().len()), (1, 1));
    let nowhere = question("www.example").with_cache(None);
    assert_eq!(resolver.resolve(nowhere.clone()).await.source, Source::Upstream);
    assert_eq!(resolver.resolve(nowhere).await.source, Source::Upstream);
    assert_eq!(one.asked().len(), 3);
    let stats = resolver.stats();
    assert_eq!(stats.upstreams.len(), 2);
    let entries: Vec<_> = stats.caches.iter().map(|it| it.entries).collect();
    assert_eq!((entries, stats.cache.entries), (vec![1, 1], 2));
    let unknown = question("www.example").to(GroupId(9)).with_cache(None);
    assert_eq!(error(&resolver.resolve(unknown).await), ResolveError::Unreachable);
}

#[tokio::test]
async fn options_tell_questions_apart_and_reach_the_upstream() {
    const SUBNET: [u8; 11] = [0, 8, 0, 7, 0, 1, 24, 0, 198, 51, 100];
    let fake = Fake::start(Deed::Answer(300));
    let resolver = start(&settings(&[udp(&fake)]));
    let near = || question("www.example").with_options(SUBNET.into());
    ask(&resolver, "www.example").await;
    assert_eq!(resolver.resolve(near()).await.source, Source::Upstream);
    assert_eq!(resolver.resolve(near()).await.source, Source::Cache);
    let options: Vec<_> = fake.asked().into_iter().map(|it| it.options).collect();
    assert_eq!(options, [vec![], SUBNET.to_vec()]);
    // All that is known of a name goes together.
    let name = FlushScope::Name(DomainName::parse("www.example").unwrap());
    assert_eq!(resolver.flush(FlushIn::Every, &name), 2);
}

#[tokio::test]
async fn at_most_so_many_are_asked_at_once() {
    let fakes: Vec<_> = (0..5).map(|_| Fake::start(Deed::Nothing)).collect();
    let mut settings = settings(&fakes.iter().map(udp).collect::<Vec<_>>());
    settings.groups[0].strategy = SelectionStrategy::Race;
    for (concurrent, expected) in [(1, 1), (2, 2), (32, 5)] {
        settings.groups[0].concurrent = concurrent;
        settings.groups[0].timeout = Text(TimeSpan(std::time::Duration::from_millis(100)));
        settings.caches[0].stale_after = settings.groups[0].timeout;
        let resolver = start(&settings);
        assert_eq!(error(&ask(&resolver, "www.example").await), ResolveError::Timeout);
        let sent: u64 = resolver.stats().upstreams.iter().map(|it| it.sent).sum();
        assert_eq!(sent, expected, "{concurrent}");
    }
}

#[tokio::test]
async fn reload_adds_groups_and_takes_them_away() {
    let (one, other) = (Fake::start(Deed::Answer(300)), Fake::start(Deed::AnswerWith(OTHER)));
    let all = two(&one, &other);
    let resolver = start(&settings(&[udp(&one)]));
    let second = |name| question(name).to(GroupId(1)).with_cache(Some(CacheId(1)));
    assert_eq!(error(&resolver.resolve(second("a.example")).await), ResolveError::Unreachable);
    resolver.reload(&all).unwrap();
    assert_eq!(addresses(&resolver.resolve(second("a.example")).await), [OTHER]);
    assert_eq!(resolver.resolve(second("a.example")).await.source, Source::Cache);
    resolver.reload(&settings(&[udp(&one)])).unwrap();
    assert_eq!(error(&resolver.resolve(second("b.example")).await), ResolveError::Unreachable);
    assert_eq!(resolver.stats().caches[1].entries, 0);
    assert_eq!(addresses(&ask(&resolver, "c.example").await), [ADDRESS]);
}

async fn fill(resolver: &Resolver, names: &[&str]) {
    for name in names {
        tokio::time::timeout(DEADLINE, resolver.resolve(question(name))).await.unwrap();
    }
}

#[tokio::test]
async fn a_name_or_all_below_it_is_forgotten() {
    let fake = Fake::start(Deed::Answer(300));
    let resolver = start(&settings(&[udp(&fake)]));
    let names = ["example", "a.example", "b.a.example", "aa.example", "a.test"];
    fill(&resolver, &names).await;
    let name = |text| DomainName::parse(text).unwrap();
    let first = FlushIn::One(CacheId(0));
    assert_eq!(resolver.flush(first, &FlushScope::Name(name("A.example"))), 1);
    assert_eq!(resolver.flush(first, &FlushScope::Name(name("A.example"))), 0);
    assert_eq!(resolver.flush(first, &FlushScope::Subtree(name("a.example"))), 1);
    assert_eq!(resolver.flush(FlushIn::One(CacheId(7)), &FlushScope::All), 0);
    assert_eq!(resolver.flush(FlushIn::Every, &FlushScope::Subtree(name("example"))), 2);
    assert_eq!(ask(&resolver, "a.test").await.source, Source::Cache);
    assert_eq!(resolver.flush(FlushIn::Every, &FlushScope::All), 1);
    assert_eq!(resolver.stats().cache.entries, 0);
}
