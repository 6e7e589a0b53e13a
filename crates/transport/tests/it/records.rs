//! How answers are cut into TLS records, seen by whoever carries them; and the handshakes' cap.

use crate::support::{DEADLINE, accepting, run};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io::IoSlice;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex, split};
use transport::tls::{Alpn, HANDSHAKES_PER_CORE_MAX};
use transport::{
    ClientTls, ConnectionLimits, Drain, HandshakeError, ServerTls, Stream, WaitForData, dial,
};

/// A server that sends these pieces in one go, and what a client needs to trust it.
fn sending(pieces: Vec<Vec<u8>>) -> (SocketAddr, ClientTls) {
    let made = rcgen::generate_simple_self_signed(["www.example".to_owned()]).unwrap();
    let (chain, key) = (made.cert.pem(), made.signing_key.serialize_pem());
    let tls = ServerTls::with_pem(chain.as_bytes(), key.as_bytes()).unwrap();
    let limits = ConnectionLimits::default();
    let address = accepting(WaitForData::No, limits, Drain::new(), move |stream: Stream| {
        let (tls, pieces) = (tls.clone(), pieces.clone());
        async move {
            let mut stream = tls.accept(stream, DEADLINE).await.unwrap();
            let mut word = [0; 4];
            stream.read_exact(&mut word).await.unwrap();
            let mut slices: Vec<_> = pieces.iter().map(|piece| IoSlice::new(piece)).collect();
            let mut slices = &mut slices[..];
            while !slices.is_empty() {
                let written = stream.write_vectored(slices).await.unwrap();
                IoSlice::advance_slices(&mut slices, written);
            }
            stream.shutdown().await.unwrap();
        }
    });
    (address, ClientTls::new().trusting(chain.as_bytes()).unwrap())
}

/// Asks once; the answer, and the lengths of the records that it came in.
async fn answer((address, client): (SocketAddr, ClientTls)) -> (Vec<u8>, Vec<usize>) {
    let (near, far) = duplex(1 << 20);
    let tcp = dial(address, DEADLINE).await.unwrap();
    let seen: Arc<Mutex<Vec<u8>>> = Arc::default();
    let tap = Arc::clone(&seen);
    tokio::task::spawn_local(async move {
        let ((mut from_client, mut to_client), (mut from_server, mut to_server)) =
            (split(far), split(tcp));
        let listen = async {
            let mut bytes = vec![0; 1 << 16];
            while let Ok(count @ 1..) = from_server.read(&mut bytes).await {
                tap.lock().unwrap().extend_from_slice(&bytes[..count]);
                to_client.write_all(&bytes[..count]).await.unwrap();
            }
        };
        let speak = async {
            drop(tokio::io::copy(&mut from_client, &mut to_server).await);
            std::future::pending::<()>().await;
        };
        tokio::select! { () = listen => {}, () = speak => {} }
    });
    let mut stream = client.connect(near, "www.example", &[Alpn::Http1]).await.unwrap();
    let before = seen.lock().unwrap().len();
    stream.write_all(b"ping").await.unwrap();
    stream.flush().await.unwrap();
    let mut got = Vec::new();
    stream.read_to_end(&mut got).await.unwrap();
    let seen = seen.lock().unwrap();
    (got, lengths(&seen, before))
}

/// The lengths of the records of data that begin at `from` or later, the last one, which is
/// `close_notify`, and the two of tickets left out.
fn lengths(bytes: &[u8], from: usize) -> Vec<usize> {
    let (mut at, mut lengths) = (0, Vec::new());
    while at < bytes.len() {
        let length = usize::from(u16::from_be_bytes([bytes[at + 3], bytes[at + 4]]));
        if at >= from && bytes[at] == 23 {
            lengths.push(length);
        }
        at += 5 + length;
    }
    lengths.pop();
    lengths
}

#[test]
fn head_and_body_of_a_small_answer_make_one_record() {
    run(async {
        let (head, body) = (vec![b'h'; 200], vec![b'b'; 300]);
        let (got, lengths) = answer(sending(vec![head, body])).await;
        assert_eq!(got.len(), 500);
        // Its type and its tag besides; tickets may have come late, and are no longer than this.
        let data: Vec<_> = lengths.into_iter().filter(|length| *length == 500 + 17).collect();
        assert_eq!(data.len(), 1);
    });
}

#[test]
fn records_are_small_at_first_and_large_later() {
    run(async {
        let content: Vec<u8> = (0..600_000_u32).map(|it| (it % 251) as u8).collect();
        let (head, body) = content.split_at(333);
        let (got, lengths) = answer(sending(vec![head.to_vec(), body.to_vec()])).await;
        assert_eq!(got, content);
        let early = lengths.iter().take_while(|length| **length <= 1399 + 17).count();
        let early_bytes: usize = lengths[..early].iter().sum();
        assert!((60_000..70_000).contains(&early_bytes), "{early} records: {early_bytes}");
        assert!(lengths[..early].iter().filter(|length| **length == 1399 + 17).count() >= 46);
        assert!(lengths[early..].iter().filter(|length| **length > 16_000).count() >= 20);
    });
}

#[test]
fn more_handshakes_than_a_core_may_have_are_refused_at_once() {
    run(async {
        let made = rcgen::generate_simple_self_signed(["www.example".to_owned()]).unwrap();
        let (chain, key) = (made.cert.pem(), made.signing_key.serialize_pem());
        let tls = ServerTls::with_pem(chain.as_bytes(), key.as_bytes()).unwrap();
        // Two descriptors for each; the soft limit is often no more than 1024.
        let maximum = getrlimit(Resource::Nofile).maximum;
        setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).unwrap();
        // Clients that have said half a word, as pairs of sockets on this one core.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let pair = || {
            let client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            std::io::Write::write_all(&mut &client, &[0x16, 3, 1, 0, 200]).unwrap();
            (client, Stream::from_std(listener.accept().unwrap().0).unwrap())
        };
        let mut halves = Vec::new();
        for _ in 0..HANDSHAKES_PER_CORE_MAX {
            let (client, server) = pair();
            let tls = tls.clone();
            let mut handshake = Box::pin(async move { tls.accept(server, DEADLINE).await.err() });
            assert!(asked_once(&mut handshake).await.is_none());
            halves.push((client, handshake));
        }
        let (_client, server) = pair();
        assert_eq!(tls.accept(server, DEADLINE).await.err(), Some(HandshakeError::Busy));
        // One that goes away makes room.
        let (client, handshake) = halves.remove(0);
        drop(client);
        assert_eq!(handshake.await, Some(HandshakeError::Closed));
        let (client, server) = pair();
        drop(client);
        assert_eq!(tls.accept(server, DEADLINE).await.err(), Some(HandshakeError::Closed));
    });
}

/// What a future has come to when it is asked once.
async fn asked_once<T>(future: &mut (impl Future<Output = T> + Unpin)) -> Option<T> {
    std::future::poll_fn(|cx| {
        std::task::Poll::Ready(match std::pin::Pin::new(&mut *future).poll(cx) {
            std::task::Poll::Ready(done) => Some(done),
            std::task::Poll::Pending => None,
        })
    })
    .await
}
