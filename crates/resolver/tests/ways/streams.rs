//! TCP and TLS: servers that close, hang, babble and set terms; pins; one question at a time.

use super::certificate::Certificate;
use super::messages::{answer, answer_to_another, answer_with_options, largest_answer, option};
use super::stream_server::{Step, StreamServer};
use super::{ADDRESS, addresses, ask, ask_many, at, error, eventually, start, start_plain};
use dns_wire::ask_options::{OPTION_KEEPALIVE, OPTION_PADDING, PADDING_BLOCK_BYTES};
use resolver::{CertificateCheck, KeyPin, PipelineMode, ResolveError, UpstreamDetails};
use settings::Text;
use std::collections::HashSet;
use std::time::{Duration, Instant};
use vocab::TimeSpan;

/// An answer that tells how long the connection may stay open, in tenths of a second.
fn keepalive(query: &[u8], tenths: u8) -> Step {
    Step::Send(answer_with_options(query, 0, &[0, 11, 0, 2, 0, tenths]))
}

#[tokio::test]
async fn a_server_that_closes_after_each_answer_is_no_trouble() {
    let server =
        StreamServer::start(None, |it| vec![Step::Send(answer(&it.message)), Step::Close]).await;
    let resolver = start_plain(at(format!("tcp://{}", server.address)));
    for i in 0..10 {
        assert_eq!(addresses(&ask(&resolver, &format!("{i}.example")).await), [ADDRESS]);
    }
    // Where several share a connection that closes after the first answer, the others are asked
    // again, and from then on one by one.
    ask_many(&resolver, "many", 50).await;
}

#[tokio::test]
async fn connections_are_kept_open_before_anything_is_asked() {
    // Each question costs its connection, so that one is missing then.
    let server =
        StreamServer::start(None, |it| vec![Step::Send(answer(&it.message)), Step::Close]).await;
    let resolver = start_plain(UpstreamDetails {
        min_connections: 3,
        idle: Some(Text(TimeSpan(Duration::from_secs(1)))),
        ..at(format!("tcp://{}", server.address))
    });
    eventually("three stand open", || server.connections() == (3, 0)).await;
    assert_eq!(addresses(&ask(&resolver, "a.example").await), [ADDRESS]);
    assert!(server.asked()[0].connection <= 3, "one that was there is used");
    eventually("the closed one is replaced", || server.connections() == (4, 1)).await;
    assert!(server.asked().len() == 1, "nothing is asked to keep them open");
    drop(resolver);
    eventually("all are closed with the resolver", || server.connections() == (4, 4)).await;
}

#[tokio::test]
async fn a_server_that_was_away_has_its_connections_when_it_is_back() {
    let address = {
        let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        gone.local_addr().unwrap()
    };
    let certificate = Certificate::new();
    let details = UpstreamDetails { min_connections: 2, ..at(format!("tls://{address}")) };
    let resolver = start(details, &certificate);
    assert_eq!(error(&ask(&resolver, "a.example").await), ResolveError::Unreachable);
    let server = StreamServer::start_at(address, Some(certificate.server()), |it| {
        vec![Step::Send(answer(&it.message))]
    })
    .await;
    eventually("two stand open", || server.connections() == (2, 0)).await;
    ask_many(&resolver, "b", 20).await;
    assert_eq!(server.connections(), (2, 0));
}

#[tokio::test]
async fn one_at_a_time_is_one_at_a_time_and_the_rest_wait_their_turn() {
    let server = StreamServer::start(None, |it| vec![Step::Send(answer(&it.message))]).await;
    let resolver = start_plain(UpstreamDetails {
        pipeline: PipelineMode::Off,
        connections: Some(3),
        ..at(format!("tcp://{}", server.address))
    });
    ask_many(&resolver, "q", 30).await;
    let used: HashSet<_> = server.asked().iter().map(|it| it.connection).collect();
    assert!(used.len() <= 3, "{used:?}");
    assert_eq!(server.connections().0, used.len());
}

#[tokio::test]
async fn with_pipelining_off_no_question_is_sent_before_the_last_is_answered() {
    // Never answers the first question of a connection: a second one there would be seen.
    let server = StreamServer::start(None, |_| vec![]).await;
    let resolver = start_plain(UpstreamDetails {
        pipeline: PipelineMode::Off,
        connections: Some(2),
        ..at(format!("tcp://{}", server.address))
    });
    let mut asking = tokio::task::JoinSet::new();
    for i in 0..6 {
        let resolver = resolver.clone();
        asking.spawn(async move { ask(&resolver, &format!("{i}.example")).await });
    }
    while let Some(found) = asking.join_next().await {
        assert_eq!(error(&found.unwrap()), ResolveError::Timeout);
    }
    let asked = server.asked();
    assert!(asked.iter().all(|it| it.nth == 1), "{asked:?}");
}

#[tokio::test]
async fn keepalive_is_asked_for_once_and_an_end_at_once_is_obeyed() {
    let server = StreamServer::start(None, |it| {
        vec![if it.nth == 3 { keepalive(&it.message, 0) } else { keepalive(&it.message, 100) }]
    })
    .await;
    let resolver = start_plain(at(format!("tcp://{}", server.address)));
    for i in 0..4 {
        assert_eq!(addresses(&ask(&resolver, &format!("{i}.example")).await), [ADDRESS]);
    }
    let asked = server.asked();
    let places: Vec<_> = asked.iter().map(|it| (it.connection, it.nth)).collect();
    assert_eq!(places, [(1, 1), (1, 2), (1, 3), (2, 1)]);
    let options: Vec<_> =
        asked.iter().map(|it| option(&it.message, OPTION_KEEPALIVE).is_some()).collect();
    assert_eq!(options, [true, false, false, true]);
    eventually("the connection is closed", || server.connections().1 == 1).await;
}

#[tokio::test]
async fn an_unused_connection_is_closed_when_the_server_or_the_settings_say() {
    let told = StreamServer::start(None, |it| vec![keepalive(&it.message, 2)]).await;
    let set = StreamServer::start(None, |it| vec![keepalive(&it.message, 100)]).await;
    let of_told = start_plain(at(format!("tcp://{}", told.address)));
    let of_set = start_plain(UpstreamDetails {
        idle: Some(Text(TimeSpan(Duration::from_secs(1)))),
        ..at(format!("tcp://{}", set.address))
    });
    let begun = Instant::now();
    ask(&of_told, "a.example").await.result.unwrap();
    ask(&of_set, "a.example").await.result.unwrap();
    eventually("both are closed", || told.connections() == (1, 1) && set.connections() == (1, 1))
        .await;
    assert!(begun.elapsed() < Duration::from_secs(10), "that is the default");
    assert_eq!(addresses(&ask(&of_told, "b.example").await), [ADDRESS]);
}

#[tokio::test]
async fn answers_that_come_twice_or_for_others_change_nothing() {
    let server = StreamServer::start(None, |it| {
        let true_one = Step::Send(answer(&it.message));
        vec![Step::Send(answer_to_another(&it.message)), true_one.clone(), true_one]
    })
    .await;
    let resolver = start_plain(at(format!("tcp://{}", server.address)));
    for i in 0..5 {
        assert_eq!(addresses(&ask(&resolver, &format!("{i}.example")).await), [ADDRESS]);
    }
    assert_eq!(server.connections().0, 1);
}

#[tokio::test]
async fn an_answer_of_64_kilobytes_is_taken_whole() {
    let certificate = Certificate::new();
    for scheme in ["tcp", "tls"] {
        let tls = (scheme == "tls").then(|| certificate.server());
        let server =
            StreamServer::start(tls, |it| vec![Step::Send(largest_answer(&it.message))]).await;
        let resolver = start(at(format!("{scheme}://{}", server.address)), &certificate);
        assert!(addresses(&ask(&resolver, "large.example").await).len() > 4000, "{scheme}");
    }
}

#[tokio::test]
async fn a_server_that_babbles_or_hangs_costs_one_question_its_time_and_no_more() {
    let babble: [&[u8]; 3] = [b"\xff", b"\x00\x00\x00\x03abc", b"HTTP/1.1 400 Bad Request\r\n\r\n"];
    let case = async |bytes: &'static [u8]| {
        let server = StreamServer::start(None, move |it| {
            if it.connection == 1 {
                vec![Step::Raw(bytes.to_vec())]
            } else {
                vec![Step::Send(answer(&it.message))]
            }
        })
        .await;
        let resolver = start_plain(at(format!("tcp://{}", server.address)));
        ask(&resolver, "a.example").await.result.unwrap_err();
        assert_eq!(addresses(&ask(&resolver, "b.example").await), [ADDRESS], "{bytes:?}");
    };
    tokio::join!(case(babble[0]), case(babble[1]), case(babble[2]));
}

#[tokio::test]
async fn a_pinned_key_must_be_there_besides_trust() {
    let certificate = Certificate::new();
    let behave = |it: &super::stream_server::Asked| vec![Step::Send(answer(&it.message))];
    let server = StreamServer::start(Some(certificate.server()), behave).await;
    let stranger = Certificate::new();
    let cases = [
        (vec![certificate.pin], CertificateCheck::Full, &certificate, None),
        (
            vec![KeyPin([7; 32]), certificate.authority_pin],
            CertificateCheck::Full,
            &certificate,
            None,
        ),
        (vec![KeyPin([7; 32])], CertificateCheck::Full, &certificate, Some(ResolveError::Tls)),
        (vec![certificate.pin], CertificateCheck::Full, &stranger, Some(ResolveError::Tls)),
        (vec![certificate.pin], CertificateCheck::None, &stranger, None),
        (vec![KeyPin([7; 32])], CertificateCheck::None, &stranger, Some(ResolveError::Tls)),
        (vec![], CertificateCheck::None, &stranger, None),
        (vec![], CertificateCheck::Full, &stranger, Some(ResolveError::Tls)),
    ];
    for (index, (pins, verify, trusted, expected)) in cases.into_iter().enumerate() {
        let details = UpstreamDetails {
            pins: pins.into_iter().map(Text).collect(),
            verify,
            ..at(format!("tls://{}", server.address))
        };
        let found = ask(&start(details, trusted), "a.example").await;
        assert_eq!(found.result.as_ref().err().copied(), expected, "case {index}");
    }
}

#[tokio::test]
async fn questions_over_tls_are_padded_and_others_are_not() {
    let certificate = Certificate::new();
    for (scheme, padded) in [("tls", true), ("tcp", false)] {
        let tls = (scheme == "tls").then(|| certificate.server());
        let server = StreamServer::start(tls, |it| vec![Step::Send(answer(&it.message))]).await;
        let resolver = start(at(format!("{scheme}://{}", server.address)), &certificate);
        ask(&resolver, "a.example").await.result.unwrap();
        ask(&resolver, "somewhat.longer.example").await.result.unwrap();
        for it in server.asked() {
            assert_eq!(it.message.len() % PADDING_BLOCK_BYTES == 0, padded, "{scheme}");
            assert_eq!(option(&it.message, OPTION_PADDING).is_some(), padded, "{scheme}");
        }
    }
}

#[tokio::test]
async fn an_upstream_is_reached_at_the_address_that_is_set_from_the_one_that_is_set() {
    let certificate = Certificate::new();
    let behave = |it: &super::stream_server::Asked| vec![Step::Send(answer(&it.message))];
    let server = StreamServer::start(Some(certificate.server()), behave).await;
    // Nobody could find this name; it still is what the certificate must be for.
    let details = UpstreamDetails {
        dial: Some(Text("127.0.0.1".parse().unwrap())),
        source: Some(Text("127.0.0.5".parse().unwrap())),
        interface: Some("lo".into()),
        ..at(format!("tls://dns.test:{}", server.address.port()))
    };
    assert_eq!(
        addresses(&ask(&start(details.clone(), &certificate), "a.example").await),
        [ADDRESS]
    );
    let missing = UpstreamDetails { interface: Some("no-such-one".into()), ..details };
    let found = ask(&start(missing, &certificate), "a.example").await;
    assert_eq!(error(&found), ResolveError::Unreachable);
}
