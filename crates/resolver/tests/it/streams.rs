//! Upstreams over TCP, TLS and HTTPS: connections that are shared, break, and are opened again.

use super::fake::{ADDRESS, DEADLINE, Deed, Fake, Way};
use super::{TIMEOUT, addresses, ask, error, question, settings, start, trusting};
use resolver::{ResolveError, Resolver};
use settings::Text;
use transport::ClientTls;
use vocab::TimeSpan;

async fn many(resolver: &Resolver, from: usize, count: usize) {
    let mut asking = tokio::task::JoinSet::new();
    for i in from..from + count {
        let resolver = resolver.clone();
        asking.spawn(async move { resolver.resolve(question(&format!("{i}.example"))).await });
    }
    while let Some(found) = asking.join_next().await {
        assert_eq!(addresses(&found.unwrap()), [ADDRESS]);
    }
}

fn ways(fake: &Fake) -> Vec<Way> {
    let mut ways: Vec<_> =
        fake.asked().iter().filter(|it| it.name != "dns.test").map(|it| it.way).collect();
    ways.dedup();
    ways
}

/// The same resolver over each encrypted or plain stream; the fake is `dns.test` at 127.0.0.1.
fn each_way(fake: &Fake) -> Vec<Resolver> {
    vec![
        start(&settings(&[format!("tcp://{}", fake.plain)])),
        trusting(fake, format!("tls://127.0.0.1:{}", fake.tls.port())),
        trusting(fake, format!("https://127.0.0.1:{}", fake.https.port())),
    ]
}

#[tokio::test]
async fn many_questions_share_one_connection() {
    for way in 0..3 {
        let fake = Fake::start(Deed::Answer(300));
        let resolver = each_way(&fake).swap_remove(way);
        many(&resolver, 0, 50).await;
        many(&resolver, 50, 50).await;
        assert_eq!(fake.connections(), 1, "way {way}");
        assert_eq!(ways(&fake), [[Way::Tcp, Way::Tls, Way::Http2][way]]);
    }
}

#[tokio::test]
async fn a_connection_that_broke_is_opened_again_and_nothing_is_lost() {
    for way in 0..3 {
        let fake = Fake::start(Deed::Answer(300));
        let resolver = each_way(&fake).swap_remove(way);
        many(&resolver, 0, 1).await;
        // The server closes the connection on the next question.
        fake.deed(Deed::HangUp);
        assert_eq!(addresses(&ask(&resolver, "broken.example").await), [ADDRESS], "way {way}");
        assert_eq!(fake.connections(), 2, "way {way}");
    }
}

#[tokio::test]
async fn a_connection_that_went_silent_is_replaced_within_the_question() {
    for way in 0..3 {
        let fake = Fake::start(Deed::Answer(300));
        let resolver = each_way(&fake).swap_remove(way);
        many(&resolver, 0, 1).await;
        fake.deed(Deed::Nothing);
        let asking = tokio::spawn({
            let resolver = resolver.clone();
            async move { resolver.resolve(question("silent.example")).await }
        });
        fake.asked_times(2).await;
        fake.deed(Deed::Answer(300));
        assert_eq!(addresses(&asking.await.unwrap()), [ADDRESS], "way {way}");
        assert_eq!(fake.connections(), 2, "way {way}");
    }
}

#[tokio::test]
async fn lies_on_a_stream_are_not_believed() {
    for deed in [Deed::WrongId, Deed::WrongQuestion] {
        let fake = Fake::start(deed);
        let resolver = start(&settings(&[format!("tcp://{}", fake.plain)]));
        assert_eq!(addresses(&ask(&resolver, "www.example").await), [ADDRESS], "{deed:?}");
        let resolver = trusting(&fake, format!("https://127.0.0.1:{}", fake.https.port()));
        assert_eq!(
            error(&ask(&resolver, "www.example").await),
            ResolveError::BadAnswer,
            "{deed:?}"
        );
    }
}

#[tokio::test]
async fn an_upstream_by_name_is_found_through_the_bootstrap_server() {
    let fake = Fake::start(Deed::AnswerWith("127.0.0.1".parse().unwrap()));
    for url in [
        format!("tls://dns.test:{}", fake.tls.port()),
        format!("https://dns.test:{}/dns-query", fake.https.port()),
    ] {
        let resolver = trusting(&fake, url);
        ask(&resolver, "www.example").await.result.unwrap();
        ask(&resolver, "more.example").await.result.unwrap();
    }
    let searches = fake.asked().iter().filter(|it| it.name == "dns.test").count();
    assert_eq!(searches, 4, "A and AAAA, once for each resolver");
}

#[tokio::test]
async fn a_certificate_that_is_not_trusted_is_an_error() {
    let fake = Fake::start(Deed::Answer(300));
    for url in [format!("tls://{}", fake.tls), format!("https://{}", fake.https)] {
        let resolver =
            Resolver::start(&settings(std::slice::from_ref(&url)), ClientTls::new()).unwrap();
        assert_eq!(error(&ask(&resolver, "www.example").await), ResolveError::Tls, "{url}");
    }
    // Right authority, wrong name.
    fake.deed(Deed::AnswerWith("127.0.0.1".parse().unwrap()));
    let resolver = trusting(&fake, format!("tls://other.test:{}", fake.tls.port()));
    assert_eq!(error(&ask(&resolver, "www.example").await), ResolveError::Tls);
}

#[tokio::test]
async fn a_page_instead_of_a_message_is_a_bad_answer() {
    let fake = Fake::start(Deed::Page);
    let resolver = trusting(&fake, format!("https://{}", fake.https));
    assert_eq!(error(&ask(&resolver, "www.example").await), ResolveError::BadAnswer);
}

#[tokio::test]
async fn a_server_that_never_finishes_a_handshake_is_given_up_in_time() {
    // Accepts and says nothing.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    for scheme in ["tls", "https", "tcp"] {
        let mut settings = settings(&[format!("{scheme}://{address}")]);
        settings.groups[0].timeout = Text(TimeSpan(TIMEOUT / 3));
        let resolver = start(&settings);
        let found = tokio::time::timeout(DEADLINE, ask(&resolver, "www.example")).await.unwrap();
        assert_eq!(error(&found), ResolveError::Timeout, "{scheme}");
    }
}
