//! Questions over TCP: several on one connection, answered as they come, within bounds.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod support;

use std::io::Write;
use std::net::Shutdown;
use support::{A, Bench, query, read_framed, send_framed};
use vocab::Source;

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
