//! Proofs over UDP: letters of random case, cookies, and what happens where they are missing.

use super::messages::{answer, answer_with_options, option, question};
use super::stream_server::{Step, StreamServer};
use super::{ADDRESS, addresses, ask, at, start_plain};
use dns_wire::ask_options::OPTION_COOKIE;
use resolver::{QueryLetters, Resolver, UpstreamCookieMode, UpstreamDetails};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::net::UdpSocket;

/// A server that sends these messages for a question over UDP, and the truth over TCP.
struct Server {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Vec<u8>>>>,
    tcp: StreamServer,
}

impl Server {
    async fn start(behave: impl Fn(&[u8]) -> Vec<Vec<u8>> + Send + 'static) -> Self {
        let (udp, tcp) = loop {
            let udp = UdpSocket::bind("127.0.0.1:0").await.unwrap();
            let address = udp.local_addr().unwrap();
            // The port may be another's for TCP.
            if std::net::TcpListener::bind(address).is_ok() {
                let behave =
                    |it: &super::stream_server::Asked| vec![Step::Send(answer(&it.message))];
                break (udp, StreamServer::start_at(address, None, behave).await);
            }
        };
        let (address, asked) = (udp.local_addr().unwrap(), Arc::default());
        let notes: Arc<Mutex<Vec<Vec<u8>>>> = Arc::clone(&asked);
        tokio::spawn(async move {
            let mut packet = [0; 4096];
            loop {
                let (length, from) = udp.recv_from(&mut packet).await.unwrap();
                notes.lock().unwrap().push(packet[..length].to_vec());
                for message in behave(&packet[..length]) {
                    udp.send_to(&message, from).await.unwrap();
                }
            }
        });
        Self { address, asked, tcp }
    }

    fn asked(&self) -> Vec<Vec<u8>> {
        self.asked.lock().unwrap().clone()
    }

    fn resolver(&self, case: QueryLetters, cookies: UpstreamCookieMode) -> Resolver {
        start_plain(UpstreamDetails { case, cookies, ..at(format!("udp://{}", self.address)) })
    }
}

const LONG: &str = "abcdefghijklmnopqrstuvwxyz.abcdefghijklmnopqrstuvwxyz.example";

/// The answer with another address, as whoever forges one would like it.
fn forged(mut answer: Vec<u8>) -> Vec<u8> {
    // The last byte of an answer without OPT is its address's; with OPT, flags do as well.
    let at = answer.windows(4).rposition(|it| it == [192, 0, 2, 7]).unwrap();
    answer[at..at + 4].copy_from_slice(&[203, 0, 113, 66]);
    answer
}

#[tokio::test]
async fn letters_are_sent_in_random_case_and_their_repetition_is_believed() {
    let server = Server::start(|query| vec![answer(query)]).await;
    let resolver = server.resolver(QueryLetters::Random, UpstreamCookieMode::Off);
    assert_eq!(addresses(&ask(&resolver, LONG).await), [ADDRESS]);
    assert_eq!(addresses(&ask(&resolver, &format!("b.{LONG}")).await), [ADDRESS]);
    for query in server.asked() {
        let sent = question(&query);
        assert!(sent.iter().any(u8::is_ascii_uppercase), "{sent:?}");
        assert!(sent.iter().any(u8::is_ascii_lowercase), "{sent:?}");
    }
    assert_eq!(server.tcp.asked().len(), 0);
}

#[tokio::test]
async fn an_answer_in_other_letters_is_not_believed_and_the_truth_comes_by_tcp() {
    let server = Server::start(|query| {
        let mut lower = forged(answer(query));
        let end = 12 + question(query).len();
        lower[12..end].make_ascii_lowercase();
        vec![lower]
    })
    .await;
    let resolver = server.resolver(QueryLetters::Random, UpstreamCookieMode::Off);
    assert_eq!(addresses(&ask(&resolver, LONG).await), [ADDRESS]);
    assert_eq!(resolver.stats().upstreams[0].unverified, 1);
    let by_tcp = server.tcp.asked();
    assert_eq!(by_tcp.len(), 1);
    assert!(!question(&by_tcp[0].message).iter().any(u8::is_ascii_uppercase));
}

/// What a server that knows cookies answers: ours, and eight bytes of its own.
fn with_cookie(query: &[u8], rcode: u16) -> Vec<u8> {
    let cookie = option(query, OPTION_COOKIE).unwrap();
    let options = [&[0, 10, 0, 16][..], &cookie[..8], &[9; 8]].concat();
    answer_with_options(query, rcode, &options)
}

#[tokio::test]
async fn the_servers_cookie_is_sent_back_with_the_next_question() {
    let server = Server::start(|query| vec![with_cookie(query, 0)]).await;
    let resolver = server.resolver(QueryLetters::Kept, UpstreamCookieMode::On);
    assert_eq!(addresses(&ask(&resolver, "a.example").await), [ADDRESS]);
    assert_eq!(addresses(&ask(&resolver, "b.example").await), [ADDRESS]);
    let cookies: Vec<_> =
        server.asked().iter().map(|it| option(it, OPTION_COOKIE).unwrap()).collect();
    assert_eq!(cookies[0].len(), 8);
    assert_eq!(cookies[1], [&cookies[0][..], &[9; 8]].concat());
}

#[tokio::test]
async fn an_answer_with_a_wrong_cookie_is_ignored_and_the_wait_goes_on() {
    let server = Server::start(|query| {
        let wrong = answer_with_options(query, 0, &[0, 10, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8]);
        let malformed = answer_with_options(query, 0, &[0, 10, 0, 1, 1]);
        vec![forged(wrong), forged(malformed), with_cookie(query, 0)]
    })
    .await;
    let resolver = server.resolver(QueryLetters::Kept, UpstreamCookieMode::On);
    assert_eq!(addresses(&ask(&resolver, "a.example").await), [ADDRESS]);
    assert_eq!(server.tcp.asked().len(), 0);
}

#[tokio::test]
async fn a_cookie_that_is_missing_all_of_a_sudden_sends_the_question_over_tcp() {
    let count = Mutex::new(0);
    let server = Server::start(move |query| {
        let mut count = count.lock().unwrap();
        *count += 1;
        vec![if *count == 1 { with_cookie(query, 0) } else { forged(answer(query)) }]
    })
    .await;
    let resolver = server.resolver(QueryLetters::Kept, UpstreamCookieMode::On);
    assert_eq!(addresses(&ask(&resolver, "a.example").await), [ADDRESS]);
    assert_eq!(addresses(&ask(&resolver, "b.example").await), [ADDRESS]);
    assert_eq!(server.tcp.asked().len(), 1);
}

#[tokio::test]
async fn a_server_that_knows_no_cookies_is_believed_without() {
    let server = Server::start(|query| vec![answer(query)]).await;
    let resolver = server.resolver(QueryLetters::Kept, UpstreamCookieMode::On);
    assert_eq!(addresses(&ask(&resolver, "a.example").await), [ADDRESS]);
    assert_eq!(addresses(&ask(&resolver, "b.example").await), [ADDRESS]);
    assert_eq!(server.tcp.asked().len(), 0);
}

#[tokio::test]
async fn a_server_that_does_not_like_our_cookie_gives_its_answer_by_tcp() {
    let server = Server::start(|query| vec![with_cookie(query, 23)]).await;
    let resolver = server.resolver(QueryLetters::Kept, UpstreamCookieMode::On);
    assert_eq!(addresses(&ask(&resolver, "a.example").await), [ADDRESS]);
    assert_eq!(server.tcp.asked().len(), 1);
}
