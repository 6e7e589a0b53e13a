//! Who is asked, what is believed, and what happens when nobody answers.

use super::fake::{ADDRESS, DEADLINE, Deed, Fake, Way};
use super::{addresses, ask, error, question, settings, start, udp};
use resolver::{
    NoAddresses, QUESTIONS_MAX, QuerySource, ResolveError, Resolver, ResolverOverloaded,
    SelectionStrategy, StartError, UpstreamDetails, UpstreamSettings, UpstreamStanding,
    WAITING_MAX,
};
use settings::Text;
use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::oneshot;
use vocab::{DomainName, Source, TimeSpan};

const OTHER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 8));

#[tokio::test]
async fn an_answer_comes_from_the_upstream_and_says_so() {
    let fake = Fake::start(Deed::Answer(300));
    let resolver = start(&settings(&[udp(&fake)]));
    let found = ask(&resolver, "www.example").await;
    assert_eq!(addresses(&found), [ADDRESS]);
    assert_eq!((found.source, &*found.upstream), (Source::Upstream, udp(&fake).as_str()));
    let stats = resolver.stats();
    assert_eq!((stats.upstreams[0].sent, stats.upstreams[0].answered), (1, 1));
    assert!(stats.upstreams[0].mean_time.is_some());
}

#[tokio::test]
async fn what_has_the_wrong_number_question_or_source_is_not_believed() {
    for deed in [Deed::WrongId, Deed::WrongQuestion, Deed::WrongSource] {
        let fake = Fake::start(deed);
        let resolver = start(&settings(&[udp(&fake)]));
        assert_eq!(addresses(&ask(&resolver, "www.example").await), [ADDRESS], "{deed:?}");
    }
}

#[tokio::test]
async fn numbers_and_ports_cannot_be_guessed_from_the_last() {
    let fake = Fake::start(Deed::Answer(300));
    let resolver = start(&settings(&[udp(&fake)]));
    for i in 0..32 {
        ask(&resolver, &format!("{i}.example")).await;
    }
    let asked = fake.asked();
    let ports: HashSet<_> = asked.iter().map(|it| it.from.port()).collect();
    let steps: HashSet<_> = asked.windows(2).map(|it| it[1].id.wrapping_sub(it[0].id)).collect();
    assert!(ports.len() >= 8, "{ports:?}");
    assert!(steps.len() >= 25, "{steps:?}");
}

#[tokio::test]
async fn a_truncated_answer_is_fetched_over_tcp() {
    let fake = Fake::start(Deed::Truncate);
    let resolver = start(&settings(&[udp(&fake)]));
    assert_eq!(addresses(&ask(&resolver, "www.example").await), [ADDRESS]);
    let ways: Vec<_> = fake.asked().iter().map(|it| it.way).collect();
    assert_eq!(ways, [Way::Udp, Way::Tcp]);
}

#[tokio::test]
async fn a_silent_upstream_is_asked_again_and_then_given_up() {
    let fake = Fake::start(Deed::Nothing);
    let resolver = start(&settings(&[udp(&fake)]));
    let found = ask(&resolver, "www.example").await;
    assert_eq!((error(&found), found.source), (ResolveError::Timeout, Source::Failed));
    assert!(fake.asked().len() >= 2, "a packet may be lost: {:?}", fake.asked());
    assert_eq!(resolver.stats().upstreams[0].timeouts, 1);
}

#[tokio::test]
async fn a_closed_port_fails_at_once() {
    let fake = Fake::start(Deed::Nothing);
    // Nobody speaks UDP on the TLS port.
    let resolver =
        start(&settings(&[format!("udp://{}", fake.tls), format!("tcp://{}", fake.plain)]));
    fake.deed(Deed::Answer(300));
    assert_eq!(addresses(&ask(&resolver, "www.example").await), [ADDRESS]);
    let stats = resolver.stats();
    assert_eq!((stats.upstreams[0].failed, stats.upstreams[0].timeouts), (1, 0));
}

#[tokio::test]
async fn the_next_is_asked_when_one_fails_or_is_silent() {
    for deed in [Deed::ServFail, Deed::Nothing] {
        let (first, second) = (Fake::start(deed), Fake::start(Deed::AnswerWith(OTHER)));
        let resolver = start(&settings(&[udp(&first), udp(&second)]));
        let found = ask(&resolver, "www.example").await;
        assert_eq!(addresses(&found), [OTHER], "{deed:?}");
        assert_eq!(&*found.upstream, udp(&second));
    }
}

#[tokio::test]
async fn no_such_name_is_an_answer_and_the_next_is_not_asked() {
    let (first, second) = (Fake::start(Deed::NxDomain), Fake::start(Deed::Answer(300)));
    let resolver = start(&settings(&[udp(&first), udp(&second)]));
    assert_eq!(ask(&resolver, "www.example").await.result.unwrap().0.rcode(), 3);
    assert_eq!(second.asked().len(), 0);
}

#[tokio::test]
async fn a_failure_is_told_when_all_say_it() {
    let (first, second) = (Fake::start(Deed::ServFail), Fake::start(Deed::ServFail));
    for strategy in [SelectionStrategy::Ordered, SelectionStrategy::Race] {
        let mut settings = settings(&[udp(&first), udp(&second)]);
        settings.groups[0].strategy = strategy;
        let resolver = start(&settings);
        assert_eq!(ask(&resolver, "www.example").await.result.unwrap().0.rcode(), 2);
    }
}

#[tokio::test]
async fn in_a_race_the_first_good_answer_wins() {
    let (silent, failing) = (Fake::start(Deed::Nothing), Fake::start(Deed::ServFail));
    let good = Fake::start(Deed::AnswerWith(OTHER));
    let mut settings = settings(&[udp(&silent), udp(&failing), udp(&good)]);
    settings.groups[0].strategy = SelectionStrategy::Race;
    let resolver = start(&settings);
    assert_eq!(addresses(&ask(&resolver, "www.example").await), [OTHER]);
    silent.asked_times(1).await;
    failing.asked_times(1).await;
}

#[tokio::test]
async fn the_fastest_is_asked_once_all_are_known() {
    let (slow, quick) = (Fake::start(Deed::Nothing), Fake::start(Deed::AnswerWith(OTHER)));
    let mut settings = settings(&[udp(&slow), udp(&quick)]);
    settings.groups[0].strategy = SelectionStrategy::Fastest;
    let resolver = start(&settings);
    for i in 0..40 {
        assert_eq!(addresses(&ask(&resolver, &format!("{i}.example")).await), [OTHER]);
    }
    assert!(quick.asked().len() >= 40 && slow.asked().len() < 20, "{}", slow.asked().len());
}

#[tokio::test]
async fn at_random_every_one_is_asked() {
    let (one, two) = (Fake::start(Deed::Answer(300)), Fake::start(Deed::Answer(300)));
    let mut settings = settings(&[udp(&one), udp(&two)]);
    settings.groups[0].strategy = SelectionStrategy::Random;
    let resolver = start(&settings);
    for i in 0..40 {
        ask(&resolver, &format!("{i}.example")).await;
    }
    assert!(!one.asked().is_empty() && !two.asked().is_empty());
}

#[tokio::test]
async fn who_fails_again_and_again_is_put_aside_but_asked_when_no_one_else_is_left() {
    let (bad, good) = (Fake::start(Deed::Nothing), Fake::start(Deed::Answer(300)));
    let closed = format!("udp://{}", bad.tls);
    let resolver = start(&settings(&[closed, udp(&good)]));
    for i in 0..4 {
        ask(&resolver, &format!("{i}.example")).await;
    }
    let stats = resolver.stats();
    assert_eq!(stats.upstreams[0].status, UpstreamStanding::Ejected);
    assert_eq!(stats.upstreams[0].sent, 3, "the fourth question went past it");

    let alone = start(&settings(&[format!("udp://{}", bad.tls)]));
    for i in 0..5 {
        assert_eq!(error(&ask(&alone, &format!("{i}.example")).await), ResolveError::Unreachable);
    }
    assert_eq!(alone.stats().upstreams[0].sent, 5);
}

#[tokio::test]
async fn names_go_to_the_upstream_that_is_responsible_for_them() {
    let (general, corp) = (Fake::start(Deed::Answer(300)), Fake::start(Deed::AnswerWith(OTHER)));
    let mut settings = settings(&[udp(&general)]);
    settings.groups[0].upstreams.push(UpstreamSettings::Detailed(UpstreamDetails {
        address: udp(&corp),
        name: Some("corp".into()),
        domains: vec![DomainName::parse("Corp.example").unwrap().into()],
        ..UpstreamDetails::default()
    }));
    let resolver = start(&settings);
    assert_eq!(addresses(&ask(&resolver, "a.b.corp.example").await), [OTHER]);
    assert_eq!(addresses(&ask(&resolver, "corp.example").await), [OTHER]);
    assert_eq!(addresses(&ask(&resolver, "notcorp.example").await), [ADDRESS]);
    assert_eq!(addresses(&ask(&resolver, "example").await), [ADDRESS]);
    assert_eq!(&*resolver.stats().upstreams[1].name, "corp");
}

const BURST: usize = 2000;

#[tokio::test]
async fn a_burst_of_different_questions_is_answered_whole() {
    let fake = Fake::start(Deed::Answer(300));
    let mut settings = settings(&[udp(&fake)]);
    // The fake's buffer holds a part of the burst; the rest is lost and sent again.
    settings.groups[0].timeout = Text(TimeSpan(DEADLINE));
    let resolver = start(&settings);
    let answered = Arc::new(AtomicUsize::new(0));
    let (all, done) = oneshot::channel();
    let all = Arc::new(std::sync::Mutex::new(Some(all)));
    for i in 0..BURST {
        let (answered, all) = (Arc::clone(&answered), Arc::clone(&all));
        let tell = move |resolution: resolver::Resolution| {
            assert!(resolution.result.is_ok(), "{resolution:?}");
            if answered.fetch_add(1, Ordering::SeqCst) + 1 == BURST {
                all.lock().unwrap().take().unwrap().send(()).unwrap();
            }
        };
        resolver
            .submit(question(&format!("{i}.example")), QuerySource::INTERNAL, Box::new(tell))
            .unwrap();
    }
    tokio::time::timeout(2 * DEADLINE, done).await.unwrap().unwrap();
    assert_eq!(resolver.stats().waiting, 0);
}

#[tokio::test]
async fn too_many_questions_are_refused_and_forgotten() {
    let fake = Fake::start(Deed::Nothing);
    let resolver = start(&settings(&[udp(&fake)]));
    for i in 0..QUESTIONS_MAX {
        resolver
            .submit(question(&format!("{i}.example")), QuerySource::INTERNAL, Box::new(drop))
            .unwrap();
    }
    assert_eq!(error(&ask(&resolver, "one.more.example").await), ResolveError::Overloaded);
    // An equal question needs no place of its own, until too many wait.
    while resolver.stats().waiting < WAITING_MAX / 2 {
        resolver.submit(question("0.example"), QuerySource::INTERNAL, Box::new(drop)).unwrap();
    }
    assert_eq!(
        resolver.submit(question("0.example"), QuerySource::INTERNAL, Box::new(drop)),
        Err(ResolverOverloaded)
    );
    // Nobody takes more than is left to the others.
    let other = QuerySource::client("192.0.2.1".parse().unwrap(), 0);
    for _ in 0..WAITING_MAX / 4 {
        resolver.submit(question("0.example"), other, Box::new(drop)).unwrap();
    }
}

#[tokio::test]
async fn whoever_waits_is_told_when_the_resolver_ends() {
    let fake = Fake::start(Deed::Nothing);
    let resolver = start(&settings(&[udp(&fake)]));
    let (sender, receiver) = oneshot::channel();
    let tell = Box::new(|resolution| drop(sender.send(resolution)));
    resolver.submit(question("www.example"), QuerySource::INTERNAL, tell).unwrap();
    fake.asked_times(1).await;
    drop(resolver);
    let told = tokio::time::timeout(DEADLINE, receiver).await.unwrap().unwrap();
    assert_eq!(error(&told), ResolveError::Stopped);
}

#[tokio::test]
async fn a_name_has_addresses_or_a_reason() {
    let fake = Fake::start(Deed::Answer(300));
    let resolver = start(&settings(&[udp(&fake)]));
    let name = DomainName::parse("www.example").unwrap();
    let addresses =
        async |name: &DomainName| resolver.addresses(name.as_name()).await.map(|host| host.found);
    assert_eq!(addresses(&name).await, Ok(vec![ADDRESS]));
    fake.deed(Deed::NxDomain);
    let name = DomainName::parse("none.example").unwrap();
    assert_eq!(addresses(&name).await, Err(NoAddresses::NoSuchName));
    fake.deed(Deed::AnswerWith("2001:db8::1".parse().unwrap()));
    let name = DomainName::parse("six.example").unwrap();
    assert_eq!(addresses(&name).await, Ok(vec!["2001:db8::1".parse().unwrap()]));
    fake.deed(Deed::ServFail);
    let name = DomainName::parse("fails.example").unwrap();
    assert_eq!(addresses(&name).await, Err(NoAddresses::UpstreamFailed));
}

#[tokio::test]
async fn wrong_settings_start_nothing() {
    let Err(StartError::Settings(complaints)) =
        Resolver::start(&settings(&["ftp://9.9.9.9".into()]), transport::ClientTls::new())
    else {
        panic!("it must not start");
    };
    assert_eq!(complaints[0].path, "upstreams.0");
}
