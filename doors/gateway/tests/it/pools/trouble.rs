//! Servers in trouble: silence, garbage, floods, deaths in the middle; and that they come back.

use super::{pool_of, span, until};
use crate::support::{Origin, Reply, ask, get, ok, parts, start};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// A server that does this with every connection.
fn doing(what: impl Fn(TcpStream) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || listener.incoming().for_each(|stream| what(stream.unwrap())));
    address
}

fn heard(stream: &mut TcpStream) {
    let mut piece = [0; 4096];
    let _ = stream.read(&mut piece).unwrap();
}

#[test]
fn trouble_is_a_502_and_never_a_server_behind_bars_for_good() {
    let garbage = doing(|mut stream| {
        heard(&mut stream);
        let _ = stream.write_all(b"220 smtp.example ready\r\n\r\n");
    });
    let closing = doing(drop);
    let flooding = doing(|mut stream| {
        heard(&mut stream);
        let mut line = b"X-Flood: ".to_vec();
        line.resize(1 << 16, b'x');
        line.extend_from_slice(b"\r\n");
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n");
        // 100 MB, or until nobody listens.
        for _ in 0..1_600 {
            if stream.write_all(&line).is_err() {
                return;
            }
        }
    });
    for (what, server) in [("garbage", garbage), ("closing", closing), ("flooding", flooding)] {
        let gateway = start(pool_of(&[server], |_| {}), parts(""));
        for _ in 0..6 {
            let answer = get(&gateway, "/");
            assert!(answer.starts_with("HTTP/1.1 502"), "{what}: {answer}");
        }
        let state = &gateway.door.pools()[0].servers[0];
        assert_eq!((state.state, state.failures), ("up", 6), "{what}: it stands alone");
    }
}

#[test]
fn a_silent_server_rests_after_a_few_and_the_others_serve() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let good = Origin::start(|_, _, _| ok("good"));
    let mut settings = pool_of(&[silent.local_addr().unwrap(), good.address], |pool| {
        pool.passive.failures = 1;
        pool.passive.ejection_time = span("5m");
    });
    settings.response_timeout = span("1s");
    let gateway = start(settings, parts(""));
    assert!(get(&gateway, "/").starts_with("HTTP/1.1 504"));
    for _ in 0..4 {
        assert!(get(&gateway, "/").ends_with("good"));
    }
    assert_eq!(gateway.door.pools()[0].servers[0].state, "resting");
}

#[test]
fn a_server_that_dies_in_the_middle_cuts_the_answer_and_is_blamed() {
    let dying = Origin::start(|_, _, _| {
        Reply::Close("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf".into())
    });
    let gateway = start(pool_of(&[dying.address], |_| {}), parts(""));
    let answer = get(&gateway, "/");
    assert_eq!(answer, "", "a message that never ends is no message");
    until("it is blamed", || gateway.door.pools()[0].servers[0].failures == 1);
}

#[test]
fn an_early_answer_is_passed_on_though_the_upload_goes_on() {
    let early = doing(|mut stream| {
        heard(&mut stream);
        let _ = stream.write_all(b"HTTP/1.1 413 Enough\r\nContent-Length: 6\r\n\r\nenough");
        // Closing with something unread would take the answer along.
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let gateway = start(pool_of(&[early], |_| {}), parts(""));
    let upload = "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nthe beginning";
    let answer = ask(gateway.address, upload);
    assert!(answer.starts_with("HTTP/1.1 413") && answer.ends_with("enough"), "{answer}");
}

#[test]
fn a_server_that_recovers_is_used_again() {
    let turn = AtomicUsize::new(0);
    let moody = Origin::start(move |_, _, _| {
        if turn.fetch_add(1, SeqCst) < 2 {
            return Reply::Keep("HTTP/1.1 500 Ill\r\nContent-Length: 0\r\n\r\n".into());
        }
        ok("well")
    });
    let good = Origin::start(|_, _, _| ok("good"));
    let settings = pool_of(&[moody.address, good.address], |pool| {
        pool.passive.failures = 2;
        pool.passive.ejection_time = span("100ms");
    });
    let gateway = start(settings, parts(""));
    until("it is used again", || get(&gateway, "/").ends_with("well"));
    assert_eq!(gateway.door.pools()[0].servers[0].failures, 2);
}
