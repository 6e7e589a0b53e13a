//! DNS over QUIC (RFC 9250): one connection, a stream each, early data, and servers that break the
//! rules.

use super::certificate::Certificate;
use super::messages::{answer, largest_answer, option};
use super::quic_server::{Asked, Deed, QuicServer, Relay};
use super::{ADDRESS, TIMEOUT, addresses, ask, ask_many, at, error, eventually, settings, start};
use dns_wire::ask_options::{OPTION_KEEPALIVE, PADDING_BLOCK_BYTES};
use resolver::{
    CertificateCheck, KeyPin, ResolveError, Resolver, UpstreamDetails, UpstreamStanding,
};
use settings::Text;
use std::net::SocketAddr;
use transport::ClientTls;
use vocab::TimeSpan;

fn framed(message: &[u8]) -> Vec<u8> {
    [&(message.len() as u16).to_be_bytes()[..], message].concat()
}

fn truth(it: &Asked) -> Deed {
    Deed::Send(framed(&answer(&it.bytes[2..])))
}

fn quic(address: SocketAddr) -> UpstreamDetails {
    at(format!("quic://{address}"))
}

#[tokio::test]
async fn many_questions_share_one_connection_each_on_a_stream_with_number_0() {
    let certificate = Certificate::new();
    let server = QuicServer::start(&certificate, b"doq", truth);
    let resolver = start(quic(server.address), &certificate);
    // More than the 100 streams that the server allows at once.
    ask_many(&resolver, "a", 300).await;
    ask_many(&resolver, "b", 50).await;
    assert_eq!((server.connections(), server.asked().len()), (1, 350));
    for it in server.asked() {
        let (length, message) = it.bytes.split_first_chunk().unwrap();
        assert_eq!(usize::from(u16::from_be_bytes(*length)), message.len());
        assert_eq!(message[..2], [0, 0]);
        assert_eq!(message.len() % PADDING_BLOCK_BYTES, 0);
        assert!(option(message, OPTION_KEEPALIVE).is_none(), "RFC 9250 §5.5.2");
    }
}

#[tokio::test]
async fn a_connection_that_the_server_closed_is_opened_again_and_nothing_is_lost() {
    let certificate = Certificate::new();
    let server = QuicServer::start(&certificate, b"doq", |it| {
        Deed::SendAndClose(framed(&answer(&it.bytes[2..])))
    });
    let resolver = start(quic(server.address), &certificate);
    for i in 0..20 {
        assert_eq!(addresses(&ask(&resolver, &format!("{i}.example")).await), [ADDRESS]);
    }
    assert!(server.connections() >= 2);
}

#[tokio::test]
async fn a_connection_whose_packets_are_lost_is_replaced_within_the_question() {
    let certificate = Certificate::new();
    let server = QuicServer::start(&certificate, b"doq", truth);
    let relay = Relay::start(server.address).await;
    let resolver = start(quic(relay.address), &certificate);
    assert_eq!(addresses(&ask(&resolver, "a.example").await), [ADDRESS]);
    relay.lose();
    assert_eq!(addresses(&ask(&resolver, "b.example").await), [ADDRESS]);
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn a_slow_answer_is_waited_for_on_a_connection_that_lives() {
    let certificate = Certificate::new();
    let server = QuicServer::start(&certificate, b"doq", |it| {
        if it.bytes.windows(4).any(|it| it == b"slow") { Deed::Hang } else { truth(it) }
    });
    let resolver = start(quic(server.address), &certificate);
    ask(&resolver, "a.example").await.result.unwrap();
    assert_eq!(error(&ask(&resolver, "slow.example").await), ResolveError::Timeout);
    assert_eq!(addresses(&ask(&resolver, "b.example").await), [ADDRESS]);
    assert_eq!(server.connections(), 1);
    // DOQ_REQUEST_CANCELLED (RFC 9250 §4.3.1).
    eventually("the slow one is called off", || server.stopped() == [3]).await;
}

#[tokio::test]
async fn a_remembered_server_is_asked_with_the_first_packet() {
    let certificate = Certificate::new();
    let server = QuicServer::start(&certificate, b"doq", |it| {
        Deed::SendAndClose(framed(&answer(&it.bytes[2..])))
    });
    let resolver = start(quic(server.address), &certificate);
    // A ticket comes after the handshake, and a question may still find the old connection.
    for i in 0..20 {
        assert_eq!(addresses(&ask(&resolver, &format!("{i}.example")).await), [ADDRESS]);
    }
    let early: Vec<_> = server.asked().iter().map(|it| it.early).collect();
    assert!(!early[0] && early.contains(&true), "{early:?}");
}

#[tokio::test]
async fn early_data_that_the_server_does_not_take_is_sent_again() {
    let certificate = Certificate::new();
    let server = QuicServer::start(&certificate, b"doq", |it| {
        Deed::SendAndClose(framed(&answer(&it.bytes[2..])))
    });
    let resolver = start(quic(server.address), &certificate);
    for i in 0..5 {
        assert_eq!(addresses(&ask(&resolver, &format!("a{i}.example")).await), [ADDRESS]);
    }
    server.forget_sessions(&certificate);
    for i in 0..5 {
        assert_eq!(addresses(&ask(&resolver, &format!("b{i}.example")).await), [ADDRESS]);
    }
}

#[tokio::test]
async fn an_answer_of_64_kilobytes_is_taken_whole_and_more_is_not() {
    let certificate = Certificate::new();
    let server = QuicServer::start(&certificate, b"doq", |it| {
        let mut answer = framed(&largest_answer(&it.bytes[2..]));
        if it.bytes.windows(4).any(|it| it == b"more") {
            answer.resize(70_000, 0);
        }
        Deed::Send(answer)
    });
    let resolver = start(quic(server.address), &certificate);
    assert!(addresses(&ask(&resolver, "large.example").await).len() > 4000);
    assert_eq!(error(&ask(&resolver, "more.example").await), ResolveError::BadAnswer);
}

/// Its name, what the server does, and what is made of it.
type Case = (&'static str, fn(&Asked) -> Deed, ResolveError);

#[tokio::test]
async fn servers_that_break_the_rules_give_bad_answers() {
    let certificate = Certificate::new();
    let cases: [Case; 7] = [
        ("empty", |_| Deed::Send(vec![]), ResolveError::BadAnswer),
        ("short", |it| Deed::Send(answer(&it.bytes[2..])), ResolveError::BadAnswer),
        (
            "twice",
            |it| Deed::Send([framed(&answer(&it.bytes[2..])), framed(&[0; 12])].concat()),
            ResolveError::BadAnswer,
        ),
        (
            "number",
            |it| {
                let mut answer = answer(&it.bytes[2..]);
                answer[1] = 1;
                Deed::Send(framed(&answer))
            },
            ResolveError::BadAnswer,
        ),
        (
            "question",
            |it| {
                let mut answer = answer(&it.bytes[2..]);
                answer[13] ^= 1;
                Deed::Send(framed(&answer))
            },
            ResolveError::BadAnswer,
        ),
        ("reset", |_| Deed::Reset(5), ResolveError::BadAnswer),
        ("close", |_| Deed::Close(1), ResolveError::Unreachable),
    ];
    for (name, deed, expected) in cases {
        let server = QuicServer::start(&certificate, b"doq", deed);
        let resolver = start(quic(server.address), &certificate);
        assert_eq!(error(&ask(&resolver, "a.example").await), expected, "{name}");
    }
}

#[tokio::test]
async fn a_server_must_have_the_certificate_and_speak_the_protocol() {
    let (certificate, stranger) = (Certificate::new(), Certificate::new());
    let server = QuicServer::start(&certificate, b"doq", truth);
    let pinned = |pin| UpstreamDetails { pins: vec![Text(pin)], ..quic(server.address) };
    let unverified = UpstreamDetails { verify: CertificateCheck::None, ..pinned(certificate.pin) };
    let cases = [
        (pinned(certificate.pin), &certificate, None),
        (pinned(KeyPin([7; 32])), &certificate, Some(ResolveError::Tls)),
        (quic(server.address), &stranger, Some(ResolveError::Tls)),
        (unverified, &stranger, None),
    ];
    for (index, (details, trusted, expected)) in cases.into_iter().enumerate() {
        let found = ask(&start(details, trusted), "a.example").await;
        assert_eq!(found.result.as_ref().err().copied(), expected, "case {index}");
    }
    let other = QuicServer::start(&certificate, b"h3", truth);
    let found = ask(&start(quic(other.address), &certificate), "a.example").await;
    assert_eq!(error(&found), ResolveError::Tls);
}

#[tokio::test]
async fn nobody_there_is_noticed_in_time_and_does_not_stop_the_resolver() {
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut settings = settings(quic(silent.local_addr().unwrap()), None);
    settings.groups[0].timeout = Text(TimeSpan(TIMEOUT / 4));
    let resolver = Resolver::start(&settings, ClientTls::new()).unwrap();
    // A question that has just failed is not asked again at once.
    for name in ["a.example", "b.example", "c.example"] {
        assert_eq!(error(&ask(&resolver, name).await), ResolveError::Timeout);
    }
    // The question may end a moment before the exchange does, which is what is kept record of.
    let ejected = || resolver.stats().upstreams[0].status == UpstreamStanding::Ejected;
    eventually("the upstream is put aside", ejected).await;
}
