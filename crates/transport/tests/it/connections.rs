//! Accepting, dialling, caps, drain.

use crate::support::{DEADLINE, accepting, run};
use std::cell::Cell;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::rc::Rc;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy, split};
use tokio::sync::mpsc::unbounded_channel;
use transport::{
    ConnectionLimits, DialReason, Drain, StillOpen, Stream, WaitForData, dial, readable,
};

#[test]
fn a_request_that_has_arrived_is_answered_without_the_reactor() {
    run(async {
        let (report, mut reported) = unbounded_channel();
        let address = accepting(
            WaitForData::Yes,
            ConnectionLimits::default(),
            Drain::new(),
            move |mut stream: Stream| {
                let report = report.clone();
                async move {
                    let mut word = [0; 16];
                    let count = stream.read(&mut word).await.unwrap();
                    stream.write_all(&word[..count]).await.unwrap();
                    report.send((stream.is_registered(), stream.peer())).unwrap();
                }
            },
        );
        let mut client = TcpStream::connect(address).unwrap();
        client.write_all(b"ping").unwrap();
        let (registered, peer) = reported.recv().await.unwrap();
        assert!(!registered);
        assert_eq!(peer, client.local_addr().unwrap());
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        assert_eq!(answer, "ping");
    });
}

#[test]
fn a_connection_that_must_wait_is_served_too() {
    run(async {
        let (report, mut reported) = unbounded_channel();
        let address = accepting(
            WaitForData::No,
            ConnectionLimits::default(),
            Drain::new(),
            move |mut stream: Stream| {
                let report = report.clone();
                async move {
                    report.send(stream.local().unwrap()).unwrap();
                    let mut word = [0; 4];
                    stream.read_exact(&mut word).await.unwrap();
                    stream.write_all(&word).await.unwrap();
                }
            },
        );
        let mut client = dial(address, DEADLINE).await.unwrap();
        // Nothing is sent before the other side is known to wait.
        assert_eq!(reported.recv().await.unwrap(), address);
        client.write_all(b"pi").await.unwrap();
        tokio::task::yield_now().await;
        client.write_all(b"ng").await.unwrap();
        readable(&mut client).await.unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        assert_eq!(answer, "ping");
    });
}

#[test]
fn more_than_fits_the_socket_gets_through_both_ways() {
    run(async {
        let address = accepting(
            WaitForData::Yes,
            ConnectionLimits::default(),
            Drain::new(),
            |stream: Stream| async {
                let (mut from, mut to) = split(stream);
                copy(&mut from, &mut to).await.unwrap();
            },
        );
        let client = dial(address, DEADLINE).await.unwrap();
        let sent: Vec<u8> = (0..8 << 20).map(|it: u32| (it % 251) as u8).collect();
        let (mut from, mut to) = split(client);
        let mut back = vec![0; sent.len()];
        let (wrote, read) = tokio::join!(to.write_all(&sent), from.read_exact(&mut back));
        wrote.unwrap();
        read.unwrap();
        assert!(back == sent);
    });
}

#[test]
fn a_tunnel_ends_one_side_at_a_time() {
    run(async {
        let address = accepting(
            WaitForData::Yes,
            ConnectionLimits::default(),
            Drain::new(),
            |mut stream: Stream| async move {
                let mut all = String::new();
                stream.read_to_string(&mut all).await.unwrap();
                stream.write_all(format!("{} bytes", all.len()).as_bytes()).await.unwrap();
            },
        );
        let mut client = dial(address, DEADLINE).await.unwrap();
        client.write_all(b"hello").await.unwrap();
        // hyper and others call shutdown on the way to close: it must not end anything.
        client.shutdown().await.unwrap();
        client.write_all(b" again").await.unwrap();
        client.shutdown_write().unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        assert_eq!(answer, "11 bytes");
    });
}

#[test]
fn a_client_over_its_cap_is_closed_at_once_and_counted() {
    run(async {
        let limits = ConnectionLimits::new(100, 2);
        let (report, mut accepted) = unbounded_channel();
        let address =
            accepting(WaitForData::No, limits.clone(), Drain::new(), move |stream: Stream| {
                report.send(stream).unwrap();
                async {}
            });
        let _first = dial(address, DEADLINE).await.unwrap();
        let _second = dial(address, DEADLINE).await.unwrap();
        let (held, _also_held) = (accepted.recv().await.unwrap(), accepted.recv().await.unwrap());
        let mut third = dial(address, DEADLINE).await.unwrap();
        assert_eq!(third.read(&mut [0]).await.unwrap(), 0);
        assert_eq!(limits.counts().refused_client, 1);
        drop(held);
        let _fourth = dial(address, DEADLINE).await.unwrap();
        let _served = accepted.recv().await.unwrap();
        assert_eq!((limits.counts().open, limits.counts().accepted), (2, 3));
    });
}

#[test]
fn draining_stops_accepting_and_waits_for_the_open_ones() {
    run(async {
        let drain = Drain::new();
        let (watched, (report, mut accepted)) = (drain.clone(), unbounded_channel());
        let address = accepting(
            WaitForData::No,
            ConnectionLimits::default(),
            drain.clone(),
            move |mut stream: Stream| {
                report.send(()).unwrap();
                let drain = watched.clone();
                async move {
                    drain.started().await;
                    let mut word = [0; 4];
                    stream.read_exact(&mut word).await.unwrap();
                }
            },
        );
        let mut client = dial(address, DEADLINE).await.unwrap();
        accepted.recv().await.unwrap();
        drain.start();
        assert!(drain.is_started());
        let early = drain.finished(std::time::Duration::from_millis(1)).await;
        assert_eq!(early, Err(StillOpen(1)));
        client.write_all(b"last").await.unwrap();
        drain.finished(DEADLINE).await.unwrap();
        let refused = dial(address, DEADLINE).await.unwrap_err();
        assert_eq!(refused.reason, DialReason::Refused);
        assert!(refused.to_string().contains(&address.to_string()));
    });
}

/// Bytes that the connections of the two tests below move: far more than sockets hold.
const MUCH: usize = 64 << 20;
/// Turns that others of the core must have had meanwhile.
const TURNS_MIN: usize = MUCH / (256 << 10);

/// Counts the turns that another task of this core has while `moving` goes on.
async fn turns_during(moving: impl Future<Output = ()>) -> usize {
    let turns = Rc::new(Cell::new(0));
    let counted = Rc::clone(&turns);
    let other = tokio::task::spawn_local(async move {
        loop {
            counted.set(counted.get() + 1);
            tokio::task::yield_now().await;
        }
    });
    moving.await;
    other.abort();
    turns.get()
}

#[test]
fn a_reader_that_keeps_up_does_not_hold_the_core() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut reader = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let mut stream = Stream::from_std(listener.accept().unwrap().0).unwrap();
    let reading = std::thread::spawn(move || {
        let mut room = vec![0; 1 << 20];
        let mut left = MUCH;
        while left > 0 {
            left -= reader.read(&mut room).unwrap();
        }
    });
    let turns = run(async move {
        let sending = tokio::task::spawn_local(async move {
            stream.write_all(&vec![7; MUCH]).await.unwrap();
        });
        turns_during(async { sending.await.unwrap() }).await
    });
    reading.join().unwrap();
    assert!(turns >= TURNS_MIN, "the other task had {turns} turns only");
}

#[test]
fn a_sender_that_never_rests_does_not_hold_the_core() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let mut stream = Stream::from_std(listener.accept().unwrap().0).unwrap();
    let sending = std::thread::spawn(move || sender.write_all(&vec![7; MUCH]).unwrap());
    let turns = run(async move {
        let receiving = tokio::task::spawn_local(async move {
            let (mut room, mut left) = (vec![0; 64 << 10], MUCH);
            while left > 0 {
                left -= stream.read(&mut room).await.unwrap();
            }
        });
        turns_during(async { receiving.await.unwrap() }).await
    });
    sending.join().unwrap();
    assert!(turns >= TURNS_MIN, "the other task had {turns} turns only");
}
