//! A server that is not what it was: whatever it says, the edge says why, and does not grow.

use crate::edge::{TestEdge, clock, settings};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use test_support::{RedisServer, ScratchFolder, until};

/// Most that the process may grow by, in bytes: far less than is sent.
const GROWTH_MAX: u64 = 96 << 20;
/// Bytes that a hostile server sends at most.
const SENT_MAX: usize = 1 << 30;

/// A way to a server on which somebody else answers from some moment on.
struct TakenWay {
    port: u16,
    answer: Arc<Mutex<Option<Vec<u8>>>>,
}

impl TakenWay {
    fn to(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let answer = Arc::<Mutex<Option<Vec<u8>>>>::default();
        let said = Arc::clone(&answer);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let onward = TcpStream::connect(("127.0.0.1", server)).unwrap();
                let (asked, asks) = (client.try_clone().unwrap(), onward.try_clone().unwrap());
                let said = Arc::clone(&said);
                std::thread::spawn(move || carry(asked, asks));
                std::thread::spawn(move || answers(onward, client, &said));
            }
        });
        Self { port, answer }
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream) {
    let _ = std::io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Both);
}

fn answers(mut from: TcpStream, mut to: TcpStream, said: &Mutex<Option<Vec<u8>>>) {
    let mut bytes = [0; 16_384];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        let other = said.lock().unwrap().clone();
        if let Some(other) = other {
            let mut sent = 0;
            while sent < SENT_MAX && to.write_all(&other).is_ok() {
                sent += other.len();
            }
            break;
        }
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
    let _ = from.shutdown(Shutdown::Both);
}

/// Memory of this process that is in use, in bytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|it| it.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

#[test]
fn whatever_a_server_answers_is_told_and_fills_no_memory() {
    let (server, folder) = (RedisServer::start(&[]), ScratchFolder::new());
    let text = [&b"$1000000\r\n"[..], &b"x".repeat(1_000_000), b"\r\n"].concat();
    let endless_line = [&b"+"[..], &b"x".repeat(65_536)].concat();
    for (answer, reason) in [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(), "no RESP"),
        (b"$536870912\r\n".to_vec(), "over 1 MiB"),
        (b"*2147483647\r\n".to_vec(), "65,536 values"),
        (b"*1\r\n".repeat(4096), "nested"),
        (b"+x\r\n".repeat(4096), ""),
        (b":7\r\n".to_vec(), ""),
        (endless_line, "4,096 bytes"),
        (text, ""),
        (b"*65000\r\n".iter().chain(&b"_\r\n".repeat(65_000)).copied().collect(), ""),
        (b">2\r\n+message\r\n$4\r\nword\r\n".repeat(999), "65,536 values"),
    ] {
        let way = TakenWay::to(server.port());
        let url = format!("redis://127.0.0.1:{}", way.port);
        let one = TestEdge::start_with(&settings(&url, ""), "one", folder.path(), clock);
        one.connected();
        let before = resident();
        let said = String::from_utf8_lossy(&answer[..answer.len().min(20)]).into_owned();
        *way.answer.lock().unwrap() = Some(answer);
        one.lost();
        let told = one.live.health().trouble.unwrap();
        assert!(told.contains(reason) && !told.is_empty() && told.len() < 600, "{said:?}: {told}");
        let growth = resident().saturating_sub(before);
        assert!(growth < GROWTH_MAX, "{said:?}: {growth} bytes");
        // It is tried again, and goes on where it is itself again.
        *way.answer.lock().unwrap() = None;
        one.say("k", &said, None);
        until("what was said", || one.live.health().waiting == 0);
    }
}

#[test]
fn a_value_of_another_type_is_told() {
    let (server, folder) = (RedisServer::start(&[]), ScratchFolder::new());
    server.cli(&["SET", "tidegate:entries", "a text"]);
    let one = TestEdge::start(&server, "one", folder.path());
    until("the reason", || one.live.health().trouble.is_some_and(|it| it.contains("WRONGTYPE")));
    assert!(one.live.health().degraded_since_ms.is_some());
    server.cli(&["DEL", "tidegate:entries"]);
    one.connected();
}

#[test]
fn entries_that_are_too_long_are_passed_over_and_too_many_are_told() {
    let (server, folder) = (RedisServer::start(&[]), ScratchFolder::new());
    let long = "for i=1,40 do redis.call('HSET', KEYS[1], 'long'..i, '1 -1 x '..string.rep('x', 900000)) \
                end redis.call('HSET', KEYS[1], string.rep('y', 900000), '1 -1 x v')";
    server.cli(&["EVAL", long, "1", "tidegate:entries"]);
    server.cli(&["HSET", "tidegate:entries", "short", "1 -1 x v"]);
    let one = TestEdge::start(&server, "one", folder.path());
    one.hears("short", Some("v"));
    one.connected();
    assert_eq!(one.heard.held_entry("long1"), None);
    drop(one);
    let many = "for i=1,9000 do redis.call('HSET', KEYS[1], 'k'..i, '1 -1 x v') end";
    server.cli(&["EVAL", many, "1", "tidegate:entries"]);
    let one = TestEdge::start(&server, "one", folder.path());
    until("the reason", || {
        one.live.health().trouble.is_some_and(|it| it.contains("more entries than there can be"))
    });
}

#[test]
fn a_purge_that_cannot_be_read_is_one_of_everything_and_is_read_once() {
    let (server, folder) = (RedisServer::start(&[]), ScratchFolder::new());
    let (one, two) = TestEdge::pair(&server, &folder);
    one.live.purge("first".into());
    until("a purge", || two.heard.purges() == ["first"]);
    server.cli(&["XADD", "tidegate:purges", "*", "other", "field"]);
    until("all", || two.heard.purges() == ["first", "MISSED"]);
    let long = "redis.call('XADD', KEYS[1], '*', 'l', 'a', 'n', '2', 'b', string.rep('x', 9000))";
    server.cli(&["EVAL", long, "1", "tidegate:purges"]);
    until("all", || two.heard.purges() == ["first", "MISSED", "MISSED"]);
    one.live.purge("second".into());
    until("a purge", || two.heard.purges().last().is_some_and(|it| it == "second"));
    one.live.purge("x".repeat(5000));
    until("one of everything", || two.heard.purges().last().is_some_and(|it| it == "everything"));
    assert_eq!(two.live.health().connected, 1, "no session was lost by it");
}
