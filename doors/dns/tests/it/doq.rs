//! DNS over QUIC, by a client of ours that also breaks the rules (Debian builds `kdig` without it).

use crate::support;

use door_dns::Settings;
use std::collections::HashMap;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use support::{A, Bench, DEADLINE, Reply, TXT, query, query_edns};
use tokio::runtime::Runtime;
use transport::quic_client::{
    EarlyData, MessageDelivery, QuicClient, QuicConnection, QuicError, QuicProtocol,
};
use transport::tls::VerifyMode;
use transport::{ClientTls, DialOptions};
use vocab::Scheme;

const PROTOCOL: QuicProtocol =
    QuicProtocol { alpn: b"doq", cancelled: 3, idle: Duration::from_secs(30) };

fn bench() -> Bench {
    Bench::listening(&["quic"], |settings| {
        settings.local = vec!["near.test A 192.0.2.7".into()];
        settings.names = vec!["dns.test".parse::<vocab::DomainName>().unwrap().into()];
        settings.tcp_connections_per_client = 300;
    })
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

fn client() -> QuicClient {
    let tls = ClientTls::new().checking(VerifyMode::Nothing, &[]);
    QuicClient::new(&tls, &PROTOCOL, &DialOptions::default())
}

async fn connect(address: SocketAddr) -> Result<QuicConnection, QuicError> {
    let client = client();
    let connecting = client.connect(address, "dns.test", EarlyData::Refused);
    tokio::time::timeout(DEADLINE, connecting).await.unwrap()
}

fn framed(packet: &[u8]) -> Vec<u8> {
    [&(packet.len() as u16).to_be_bytes()[..], packet].concat()
}

/// Sends these bytes on a stream of their own and reads what comes back.
async fn send(connection: &QuicConnection, bytes: &[u8]) -> Result<Vec<u8>, QuicError> {
    let delivery = MessageDelivery::default();
    let exchange = connection.exchange(bytes, 70_000, &delivery);
    tokio::time::timeout(DEADLINE, exchange).await.unwrap()
}

async fn ask(connection: &QuicConnection, packet: &[u8]) -> Result<Reply, QuicError> {
    let bytes = send(connection, &framed(packet)).await?;
    assert_eq!(usize::from(u16::from_be_bytes([bytes[0], bytes[1]])), bytes.len() - 2);
    Ok(Reply { bytes: bytes[2..].to_vec() })
}

#[test]
fn every_stream_is_a_question_and_none_waits_for_another() {
    let bench = bench();
    runtime().block_on(async {
        let connection = connect(bench.address(Scheme::Quic)).await.unwrap();
        let held_query = query(0, "held.test", A);
        let held = ask(&connection, &held_query);
        tokio::pin!(held);
        for round in 0..300 {
            let near_query = query(0, if round % 3 == 0 { "www.test" } else { "near.test" }, A);
            tokio::select! {
                biased;
                near = ask(&connection, &near_query) => {
                    let near = near.unwrap();
                    assert_eq!((near.id(), near.counts().0), (0, 1));
                }
                _ = &mut held => panic!("nobody has answered it yet"),
            }
        }
        bench.upstream.release(1);
        assert_eq!(held.await.unwrap().counts().0, 1);
        let big = ask(&connection, &query(0, "big.test", TXT)).await.unwrap();
        assert_eq!((big.truncated(), big.counts().0), (false, 20));
    });
    assert_eq!(bench.rows().len(), 302);
}

#[test]
fn more_questions_than_streams_wait_their_turn() {
    let bench = bench();
    runtime().block_on(async {
        let connection = connect(bench.address(Scheme::Quic)).await.unwrap();
        let mut all = tokio::task::JoinSet::new();
        for _ in 0..500 {
            let connection = connection.clone();
            all.spawn(async move { ask(&connection, &query(0, "near.test", A)).await });
        }
        while let Some(answered) = all.join_next().await {
            assert_eq!(answered.unwrap().unwrap().rcode(), 0);
        }
    });
}

#[test]
fn what_the_standard_forbids_ends_the_connection() {
    let bench = bench();
    let good = query(0, "near.test", A);
    let mut keepalive = query_edns(0, "near.test", A);
    let length = keepalive.len();
    keepalive[length - 1] = 4;
    keepalive.extend_from_slice(&[0, 11, 0, 0]);
    let mut shorter = framed(&good);
    shorter.pop();
    for (wrong, why) in [
        (framed(&query(7, "near.test", A)), "a number"),
        (framed(&keepalive), "the option for TCP"),
        (shorter, "less than a message"),
        ([framed(&good), framed(&good)].concat(), "two messages"),
        (vec![0], "no message"),
    ] {
        runtime().block_on(async {
            let connection = connect(bench.address(Scheme::Quic)).await.unwrap();
            let refused = send(&connection, &wrong).await.unwrap_err();
            // The code of RFC 9250 §4.3 for it is 2.
            assert!(
                matches!(&refused, QuicError::Closed(text) if text.contains('2')),
                "{why}: {refused}"
            );
            assert!(connection.is_closed(), "{why}");
        });
    }
}

#[test]
fn a_question_that_gets_no_answer_ends_its_stream_alone() {
    let bench = bench();
    runtime().block_on(async {
        let connection = connect(bench.address(Scheme::Quic)).await.unwrap();
        let mut response = query(0, "near.test", A);
        response[2] |= 0x80;
        assert_eq!(ask(&connection, &response).await, Err(QuicError::Reset(5)));
        let long = send(&connection, &[0; 5000]).await;
        assert_eq!(long, Err(QuicError::Reset(5)));
        assert_eq!(ask(&connection, &query(0, "near.test", A)).await.unwrap().rcode(), 0);
    });
}

#[test]
fn who_may_not_ask_is_told_and_keeps_its_connection() {
    let bench = Bench::listening(&["quic"], |settings| {
        settings.access.deny = vec!["127.0.0.0/8".parse::<vocab::Network>().unwrap().into()];
        settings.access.action = door_dns::AccessAction::Drop;
        settings.names = vec!["dns.test".parse::<vocab::DomainName>().unwrap().into()];
    });
    runtime().block_on(async {
        let connection = connect(bench.address(Scheme::Quic)).await.unwrap();
        for _ in 0..2 {
            assert_eq!(ask(&connection, &query(0, "www.test", A)).await.unwrap().rcode(), 5);
        }
    });
}

#[test]
fn one_client_cannot_take_all_connections() {
    let bench = Bench::listening(&["quic"], |settings| {
        settings.local = vec!["near.test A 192.0.2.7".into()];
        settings.tcp_connections_per_client = 3;
    });
    let near = query(0, "near.test", A);
    runtime().block_on(async {
        let mut open = Vec::new();
        for _ in 0..3 {
            let connection = connect(bench.address(Scheme::Quic)).await.unwrap();
            ask(&connection, &near).await.unwrap();
            open.push(connection);
        }
        let over = connect(bench.address(Scheme::Quic)).await;
        let refused = match over {
            Err(why) => why,
            Ok(connection) => ask(&connection, &near).await.unwrap_err(),
        };
        assert!(matches!(refused, QuicError::Closed(_)), "{refused}");
        ask(&open[0], &near).await.unwrap();
    });
}

#[test]
fn draining_answers_what_was_asked_and_says_goodbye() {
    let bench = bench();
    runtime().block_on(async {
        let connection = connect(bench.address(Scheme::Quic)).await.unwrap();
        let held_query = query(0, "held.test", A);
        let held = ask(&connection, &held_query);
        tokio::pin!(held);
        while bench.upstream.asked("held.test") == 0 {
            tokio::select! {
                _ = &mut held => panic!("nobody has answered it yet"),
                () = tokio::task::yield_now() => {}
            }
        }
        bench.drain.start();
        bench.upstream.release(1);
        assert_eq!(held.await.unwrap().rcode(), 0);
        assert_eq!(bench.drain.finished(DEADLINE).await, Ok(()));
    });
}

#[test]
fn a_listener_that_is_gone_frees_its_port_and_one_that_stays_keeps_its_connections() {
    let bench = bench();
    let address = bench.address(Scheme::Quic);
    let near = query(0, "near.test", A);
    runtime().block_on(async {
        let connection = connect(address).await.unwrap();
        bench.door.reload(&bench.settings, &[], &bench.cores, &[]).unwrap();
        assert_eq!(ask(&connection, &near).await.unwrap().rcode(), 0);
        let mut listen = bench.settings.listen.clone();
        listen.retain(|entry| entry.scheme != Scheme::Quic);
        let settings = Settings { listen, ..bench.settings.clone() };
        bench.door.reload(&settings, &[], &bench.cores, &[]).unwrap();
        let begun = std::time::Instant::now();
        while UdpSocket::bind(address).is_err() {
            assert!(begun.elapsed() < DEADLINE, "the port is still taken");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert!(connection.is_closed());
    });
}

/// A relay between clients and the door. Each client has a socket of its own towards the door;
/// what comes back is counted where it is a Retry, and passed on if it shall be.
struct Relay {
    address: SocketAddr,
    retries: Arc<AtomicU32>,
    /// Sockets towards the door that have heard from it.
    answered: Arc<AtomicU32>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Backwards {
    Passed,
    Lost,
}

impl Relay {
    fn start(door: SocketAddr, backwards: Backwards) -> Self {
        let front = UdpSocket::bind("127.0.0.1:0").unwrap();
        let relay = Self {
            address: front.local_addr().unwrap(),
            retries: Arc::default(),
            answered: Arc::default(),
        };
        let (retries, answered) = (Arc::clone(&relay.retries), Arc::clone(&relay.answered));
        let clients: Mutex<HashMap<SocketAddr, UdpSocket>> = Mutex::default();
        std::thread::spawn(move || {
            let mut packet = [0; 2048];
            while let Ok((length, client)) = front.recv_from(&mut packet) {
                let mut clients = clients.lock().unwrap();
                let socket = clients.entry(client).or_insert_with(|| {
                    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
                    socket.connect(door).unwrap();
                    let (back, front) = (socket.try_clone().unwrap(), front.try_clone().unwrap());
                    let (retries, answered) = (Arc::clone(&retries), Arc::clone(&answered));
                    std::thread::spawn(move || {
                        let mut packet = [0; 2048];
                        let mut first = true;
                        while let Ok(length) = back.recv(&mut packet) {
                            // RFC 9000 §17.2.5: a long header of type 3.
                            if packet[0] & 0xb0 == 0xb0 {
                                retries.fetch_add(1, Ordering::Relaxed);
                            }
                            if std::mem::take(&mut first) {
                                answered.fetch_add(1, Ordering::Relaxed);
                            }
                            if backwards == Backwards::Passed {
                                // A client that is gone needs no packet.
                                let _ = front.send_to(&packet[..length], client);
                            }
                        }
                    });
                    socket
                });
                let _ = socket.send(&packet[..length]);
            }
        });
        relay
    }
}

#[test]
fn beyond_some_handshakes_clients_prove_their_address_first_and_still_get_in() {
    let bench = bench();
    let door = bench.address(Scheme::Quic);
    let (lost, passed) =
        (Relay::start(door, Backwards::Lost), Relay::start(door, Backwards::Passed));
    runtime().block_on(async {
        let before = connect(passed.address).await.unwrap();
        ask(&before, &query(0, "near.test", A)).await.unwrap();
        assert_eq!(passed.retries.load(Ordering::Relaxed), 0);
        // Enough that every core has its fill; like clients that claim another's address, they
        // never hear what they are told.
        let mut strangers = tokio::task::JoinSet::new();
        let begun = std::time::Instant::now();
        for stranger in 1..=200 {
            let address = lost.address;
            strangers.spawn(async move {
                let client = client();
                drop(client.connect(address, "dns.test", EarlyData::Refused).await);
            });
            // A few at a time, so that no socket's buffer overflows on a busy machine.
            while stranger % 10 == 0 && lost.answered.load(Ordering::Relaxed) < stranger {
                assert!(begun.elapsed() < DEADLINE, "the door does not take them in");
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
        for _ in 0..8 {
            let honest = connect(passed.address).await.unwrap();
            assert_eq!(ask(&honest, &query(0, "near.test", A)).await.unwrap().rcode(), 0);
        }
        assert!(lost.retries.load(Ordering::Relaxed) >= 100);
        assert!(passed.retries.load(Ordering::Relaxed) >= 1);
    });
}
