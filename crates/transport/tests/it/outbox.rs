//! What a core sends is gathered, and nothing of it is late, lost or out of order.

use crate::support::{DEADLINE, accepting};
use std::future::{Future, poll_fn};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::mpsc::channel;
use std::task::Poll;
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use transport::{ConnectionLimits, Cores, Drain, Stream, WaitForData};

/// Runs `test` on a core of its own, to its end.
fn on_core<S, F, T>(test: S) -> T
where
    S: FnOnce() -> F + Send + 'static,
    F: Future<Output = T> + 'static,
    T: Send + 'static,
{
    let cores = Cores::start(NonZeroUsize::MIN).unwrap();
    let (report, reported) = channel();
    cores.spawn(0, || async move { report.send(test().await).unwrap() }).unwrap();
    reported.recv_timeout(DEADLINE).unwrap()
}

/// A connection that has waited before, and its other end, which does not block.
async fn pair() -> (Stream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let mut stream = Stream::from_std(listener.accept().unwrap().0).unwrap();
    let mut word = [0; 4];
    let reading = async {
        stream.read_exact(&mut word).await.unwrap();
    };
    let writing = async {
        tokio::task::yield_now().await;
        client.write_all(b"ping").unwrap();
    };
    tokio::join!(reading, writing);
    assert!(stream.is_registered());
    client.set_nonblocking(true).unwrap();
    (stream, client)
}

/// What has come by now.
fn arrived(client: &mut TcpStream) -> Vec<u8> {
    let mut bytes = vec![0; 1 << 20];
    match client.read(&mut bytes) {
        Ok(count) => {
            bytes.truncate(count);
            bytes
        }
        Err(why) => {
            assert_eq!(why.kind(), io::ErrorKind::WouldBlock);
            Vec::new()
        }
    }
}

/// Writes once, if that need not wait.
async fn write_now(stream: &mut Stream, bytes: &[u8]) -> Option<usize> {
    poll_fn(|cx| match Pin::new(&mut *stream).poll_write(cx, bytes) {
        Poll::Ready(count) => Poll::Ready(Some(count.unwrap())),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

#[test]
fn a_lone_answer_leaves_when_nothing_else_is_ready() {
    on_core(|| async {
        let (mut stream, mut client) = pair().await;
        stream.write_all(b"pong").await.unwrap();
        assert_eq!(arrived(&mut client), b"");
        // Gathering has its turn before this task has its next.
        tokio::task::yield_now().await;
        assert_eq!(arrived(&mut client), b"pong");
    });
}

#[test]
fn a_lone_exchange_needs_no_timer() {
    let (port, ported) = channel();
    let cores = Cores::start(NonZeroUsize::MIN).unwrap();
    let serve = move || async move {
        let echo = |mut stream: Stream| async move {
            let mut word = [0; 4];
            while stream.read_exact(&mut word).await.is_ok() {
                stream.write_all(&word).await.unwrap();
            }
        };
        let limits = ConnectionLimits::default();
        port.send(accepting(WaitForData::No, limits, Drain::new(), echo)).unwrap();
    };
    cores.spawn(0, serve).unwrap();
    let mut client = TcpStream::connect(ported.recv().unwrap()).unwrap();
    client.set_read_timeout(Some(DEADLINE)).unwrap();
    for number in 0..1000_u32 {
        client.write_all(&number.to_be_bytes()).unwrap();
        let mut back = [0; 4];
        client.read_exact(&mut back).unwrap();
        assert_eq!(u32::from_be_bytes(back), number);
    }
}

#[test]
fn sixteen_connections_are_sent_together() {
    on_core(|| async {
        let mut pairs = Vec::new();
        for _ in 0..16 {
            pairs.push(pair().await);
        }
        let (last, others) = pairs.split_last_mut().unwrap();
        for (stream, _) in &mut *others {
            assert_eq!(write_now(stream, b"a").await, Some(1));
        }
        assert_eq!(write_now(&mut last.0, b"b").await, Some(1));
        for (_, client) in others {
            assert_eq!(arrived(client), b"a");
        }
        assert_eq!(arrived(&mut last.1), b"b");
    });
}

#[test]
fn a_long_write_follows_what_waited_before_it() {
    on_core(|| async {
        let (mut stream, mut client) = pair().await;
        let long = vec![b'.'; 20_000];
        stream.write_all(b"first").await.unwrap();
        stream.write_all(b", second").await.unwrap();
        stream.write_all(&long).await.unwrap();
        let came = arrived(&mut client);
        assert!(came.starts_with(b"first, second...") && came.len() == 13 + long.len());
    });
}

#[test]
fn pieces_stay_in_order_while_the_client_takes_them_slowly() {
    on_core(|| async {
        let (mut stream, mut client) = pair().await;
        let mut sent = Vec::new();
        let mut back = Vec::new();
        for round in 0_usize.. {
            // Lengths on both sides of what is gathered.
            let length = round * 997 % 40_000 + 1;
            let piece: Vec<u8> = (0..length).map(|it| (it + round) as u8).collect();
            let mut left = &piece[..];
            while !left.is_empty() {
                let Some(count) = write_now(&mut stream, left).await else {
                    back.extend(arrived(&mut client));
                    tokio::task::yield_now().await;
                    continue;
                };
                left = &left[count..];
            }
            sent.extend_from_slice(&piece);
            if sent.len() > 24 << 20 {
                break;
            }
        }
        stream.flush().await.unwrap();
        drop(stream);
        while back.len() < sent.len() {
            tokio::task::yield_now().await;
            back.extend(arrived(&mut client));
        }
        assert!(back == sent);
    });
}

/// Writes until the socket has no room, then a little that only waits; all of it.
async fn fill(stream: &mut Stream) -> Vec<u8> {
    let mut taken = Vec::new();
    let piece: Vec<u8> = (0..10_007_u32).map(|it| it as u8).collect();
    while let Some(count) = write_now(stream, &piece).await {
        taken.extend_from_slice(&piece[..count]);
        tokio::task::yield_now().await;
    }
    taken
}

/// Accepts connections that are filled once they have asked, and dropped; says what was taken.
fn accepting_to_fill(
    limits: &ConnectionLimits,
    drain: Drain,
) -> (SocketAddr, UnboundedReceiver<Vec<u8>>) {
    let (report, filled) = unbounded_channel();
    let handle = move |mut stream: Stream| {
        let report = report.clone();
        async move {
            let mut word = [0; 4];
            stream.read_exact(&mut word).await.unwrap();
            report.send(fill(&mut stream).await).unwrap();
        }
    };
    (accepting(WaitForData::No, limits.clone(), drain, handle), filled)
}

#[test]
fn a_dropped_connection_is_closed_after_its_last_byte() {
    let (taken, mut client, limits) = on_core(|| async {
        let limits = ConnectionLimits::new(1, 1);
        let (address, mut filled) = accepting_to_fill(&limits, Drain::new());
        let mut client = TcpStream::connect(address).unwrap();
        tokio::task::yield_now().await;
        client.write_all(b"ping").unwrap();
        let taken = filled.recv().await.unwrap();
        tokio::task::yield_now().await;
        // The connection is dropped, and keeps its place until its last byte is sent.
        assert_eq!(limits.counts().open, 1);
        client.set_nonblocking(true).unwrap();
        let mut back = Vec::new();
        while limits.counts().open > 0 {
            back.extend(arrived(&mut client));
            tokio::task::yield_now().await;
        }
        client.set_nonblocking(false).unwrap();
        client.read_to_end(&mut back).unwrap();
        assert!(back == taken);
        (taken, client, limits)
    });
    assert!(taken.len() > 10_007 && limits.counts().open == 0);
    assert_eq!(client.read(&mut [0]).unwrap(), 0);
}

#[test]
fn writing_ends_after_what_was_written() {
    on_core(|| async {
        let (mut stream, mut client) = pair().await;
        stream.write_all(b"pong").await.unwrap();
        stream.shutdown_write().unwrap();
        assert_eq!(arrived(&mut client), b"pong");
        assert_eq!(client.read(&mut [0]).unwrap(), 0);

        let (mut stream, mut client) = pair().await;
        let taken = fill(&mut stream).await;
        stream.shutdown_write().unwrap();
        let mut back = Vec::new();
        loop {
            let mut bytes = vec![0; 1 << 20];
            match client.read(&mut bytes) {
                Ok(0) => break,
                Ok(count) => back.extend_from_slice(&bytes[..count]),
                Err(_would_block) => tokio::task::yield_now().await,
            }
        }
        assert!(back == taken);
    });
}

#[test]
fn what_a_core_has_gathered_goes_out_when_it_stops() {
    let cores = Cores::start(NonZeroUsize::MIN).unwrap();
    let (report, reported) = channel();
    let task = || async move {
        let (mut stream, client) = pair().await;
        stream.write_all(b"the end").await.unwrap();
        report.send(client).unwrap();
        // The core's jobs end while this waits, and nothing of the core runs again.
        std::future::pending::<()>().await;
    };
    cores.spawn(0, task).unwrap();
    let mut client = reported.recv_timeout(DEADLINE).unwrap();
    drop(cores);
    client.set_nonblocking(false).unwrap();
    let mut word = String::new();
    client.read_to_string(&mut word).unwrap();
    assert_eq!(word, "the end");
}

#[test]
fn a_failed_send_is_told_to_the_next_write() {
    on_core(|| async {
        let (mut stream, client) = pair().await;
        stream.write_all(b"unread").await.unwrap();
        tokio::task::yield_now().await;
        // What it has not read makes the close a reset.
        drop(client);
        stream.write_all(b"to nobody").await.unwrap();
        tokio::task::yield_now().await;
        let told = stream.write_all(b"more").await.unwrap_err();
        assert!(matches!(told.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset));
    });
}

#[test]
fn a_dropped_connection_is_not_held_open_by_a_client_that_takes_nothing() {
    on_core(|| async {
        let (drain, limits) = (Drain::new(), ConnectionLimits::new(1, 1));
        let (address, mut filled) = accepting_to_fill(&limits, drain.clone());
        let mut deaf = TcpStream::connect(address).unwrap();
        deaf.write_all(b"ping").unwrap();
        assert!(filled.recv().await.unwrap().len() > 10_007);
        drain.finished(DEADLINE).await.unwrap();
        let counts = limits.counts();
        assert_eq!((counts.accepted, counts.open), (1, 0));
    });
}
