//! Questions over TCP: several on one connection, answered as they come, within bounds.

use crate::support;

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};
use support::{A, Bench, TXT, query, read_framed, send_framed};
use vocab::{Scheme, Source};

fn bench() -> Bench {
    Bench::start(|settings| {
        settings.local = vec!["near.test A 192.0.2.7".into()];
        settings.tcp_connections_per_client = 3;
    })
}

#[test]
fn a_quick_answer_does_not_wait_for_a_slow_one() {
    let bench = bench();
    let mut stream = bench.connect();
    send_framed(&mut stream, &query(1, "held.test", A));
    send_framed(&mut stream, &query(2, "near.test", A));
    assert_eq!(read_framed(&mut stream).unwrap().id(), 2);
    bench.upstream.release(1);
    assert_eq!(read_framed(&mut stream).unwrap().id(), 1);
}

#[test]
fn a_client_that_has_finished_asking_still_gets_its_answers() {
    let bench = bench();
    let mut stream = bench.connect();
    send_framed(&mut stream, &query(1, "held.test", A));
    send_framed(&mut stream, &query(2, "www.test", A));
    stream.shutdown(Shutdown::Write).unwrap();
    bench.upstream.release(1);
    let mut ids = [read_framed(&mut stream).unwrap().id(), read_framed(&mut stream).unwrap().id()];
    ids.sort_unstable();
    assert_eq!(ids, [1, 2]);
    assert_eq!(read_framed(&mut stream), None);
}

#[test]
fn a_message_may_arrive_byte_by_byte() {
    let bench = bench();
    let mut stream = bench.connect();
    let packet = query(3, "near.test", A);
    for byte in [&(packet.len() as u16).to_be_bytes()[..], &packet].concat() {
        stream.write_all(&[byte]).unwrap();
    }
    assert_eq!(read_framed(&mut stream).unwrap().id(), 3);
}

#[test]
fn many_questions_in_one_write_are_all_answered() {
    let bench = bench();
    let mut stream = bench.connect();
    let framed = |id: u16| {
        let packet = query(id, if id.is_multiple_of(10) { "www.test" } else { "near.test" }, A);
        [&(packet.len() as u16).to_be_bytes()[..], &packet].concat()
    };
    stream.write_all(&(0..1000).flat_map(framed).collect::<Vec<u8>>()).unwrap();
    let mut ids: Vec<_> = (0..1000).map(|_| read_framed(&mut stream).unwrap().id()).collect();
    ids.sort_unstable();
    assert!(ids.into_iter().eq(0..1000));
}

#[test]
fn what_is_no_question_ends_the_connection() {
    let bench = bench();
    for nonsense in [&[0xff, 0xff, 1, 2, 3][..], &[0, 0], &[0, 3, 1, 2, 3]] {
        let mut stream = bench.connect();
        stream.write_all(nonsense).unwrap();
        assert_eq!(read_framed(&mut stream), None);
    }
    assert!(bench.rows().iter().all(|row| row.source == Source::Refused));
    assert_eq!(bench.rows().len(), 3);
}

#[test]
fn what_a_connection_is_owed_still_comes_before_it_ends() {
    let bench = bench();
    let mut stream = bench.connect();
    send_framed(&mut stream, &query(1, "held.test", A));
    send_framed(&mut stream, &query(2, "near.test", A));
    // A response gets no answer.
    let mut response = query(3, "near.test", A);
    response[2] |= 0x80;
    send_framed(&mut stream, &response);
    send_framed(&mut stream, &query(4, "near.test", A));
    assert_eq!(read_framed(&mut stream).unwrap().id(), 2);
    bench.upstream.release(1);
    assert_eq!(read_framed(&mut stream).unwrap().id(), 1);
    assert_eq!(read_framed(&mut stream), None);
}

#[test]
fn one_client_cannot_take_all_connections() {
    let bench = bench();
    let mut open: Vec<_> = (0..3).map(|_| bench.connect()).collect();
    for stream in &mut open {
        send_framed(stream, &query(1, "near.test", A));
        assert!(read_framed(stream).is_some());
    }
    let mut over = bench.connect();
    // It may be closed before or after the write; either way nothing comes back.
    let _ = over.write_all(&[0, 1, 0]);
    assert_eq!(read_framed(&mut over), None);
    send_framed(&mut open[0], &query(2, "near.test", A));
    assert_eq!(read_framed(&mut open[0]).unwrap().id(), 2);
}

/// Longer than a connection may go without a whole question or a taken answer: 10 s.
const PATIENCE: Duration = Duration::from_secs(25);

#[test]
fn a_client_that_sends_a_byte_a_second_is_cut_off() {
    let bench = bench();
    let mut stream = bench.connect();
    stream.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    let packet = query(1, "near.test", A);
    let bytes = [&(packet.len() as u16).to_be_bytes()[..], &packet].concat();
    let begun = Instant::now();
    for byte in bytes {
        // Reading for a second is the pause between two bytes.
        let gone = stream.write_all(&[byte]).is_err()
            || !matches!(stream.read(&mut [0]), Err(why) if why.kind() == ErrorKind::WouldBlock);
        if gone {
            assert!(begun.elapsed() > Duration::from_secs(5));
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "it is still served");
    }
    panic!("it was let to finish");
}

#[test]
fn a_client_that_never_reads_is_cut_off_and_holds_up_nobody() {
    // Without a cap of three: connections that were closed a moment ago still count.
    let bench = Bench::start(|settings| settings.local = vec!["near.test A 192.0.2.7".into()]);
    let mut deaf = bench.connect();
    deaf.set_write_timeout(Some(Duration::from_secs(1))).unwrap();
    let packet = query(1, "big.test", TXT);
    let many = [&(packet.len() as u16).to_be_bytes()[..], &packet].concat().repeat(500);
    let begun = Instant::now();
    loop {
        match deaf.write_all(&many) {
            // Both buffers are full: the door reads no more while it cannot answer.
            Err(why) if why.kind() == ErrorKind::WouldBlock => {}
            Err(_reset) => break,
            Ok(()) => {}
        }
        let mut other = bench.connect();
        send_framed(&mut other, &query(2, "near.test", A));
        assert_eq!(read_framed(&mut other).unwrap().id(), 2);
        assert!(begun.elapsed() < PATIENCE, "it is still served");
    }
}

#[test]
fn where_connections_are_short_idle_ones_make_room_sooner() {
    let bench = Bench::start(|settings| {
        settings.local = vec!["near.test A 192.0.2.7".into()];
        settings.tcp_connections = 8;
        settings.tcp_connections_per_client = 8;
    });
    let open = |count| -> Vec<TcpStream> {
        let open = || {
            let mut stream = bench.connect();
            send_framed(&mut stream, &query(1, "near.test", A));
            assert!(read_framed(&mut stream).is_some());
            stream
        };
        (0..count).map(|_| open()).collect()
    };
    let _roomy = open(5);
    let mut crowded = open(3);
    let begun = Instant::now();
    for stream in &mut crowded {
        assert_eq!(read_framed(stream), None);
    }
    // Nobody else had to wait as long as a connection that is alone may idle.
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
}

/// The most descriptors that this process may have.
fn descriptors_max() -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    line.split_whitespace().nth(3).unwrap().parse().unwrap_or(1024)
}

#[test]
#[allow(
    clippy::print_stderr,
    reason = "how many it were depends on the machine, and is worth knowing"
)]
fn ten_thousand_idle_connections_keep_nobody_from_asking() {
    let bench = Bench::start(|settings| {
        settings.local = vec!["near.test A 192.0.2.7".into()];
        settings.tcp_connections = 100_000;
        settings.tcp_connections_per_client = 100_000;
    });
    // Both ends are in this process, and the other tests of this door need some too.
    let count = (descriptors_max().saturating_sub(4_000) / 2).min(10_000);
    let address = bench.address(Scheme::Tcp);
    let connect = || {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(support::DEADLINE)).unwrap();
        stream
    };
    let (begun, mut idle) = (Instant::now(), Vec::with_capacity(count));
    for id in 0..count {
        let mut stream = connect();
        send_framed(&mut stream, &query(id as u16, "near.test", A));
        idle.push(stream);
    }
    for (id, stream) in idle.iter_mut().enumerate() {
        assert_eq!(read_framed(stream).map(|reply| reply.id()), Some(id as u16));
    }
    let opened = begun.elapsed();
    let begun = Instant::now();
    let mut fresh = connect();
    send_framed(&mut fresh, &query(7, "near.test", A));
    assert_eq!(read_framed(&mut fresh).unwrap().id(), 7);
    assert_eq!(bench.ask("near.test", A).rcode(), 0);
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    eprintln!("{count} connections were open after {opened:?}");
    // All of them end by themselves when nothing more is asked.
    for stream in &mut idle {
        assert_eq!(read_framed(stream), None);
    }
}
