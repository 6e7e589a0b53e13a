//! HTTP/2 clients that mean harm, frame by frame: each costs a bounded amount and is cut.

use crate::support::{Asked, note, run_in_simulated_time};
use http::{Request, Response};
use http_engine::{Body, HttpVersions, Incoming, Limits, ServeError, serve};
use std::cell::RefCell;
use std::future::pending;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf, duplex, split};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;
const ACK: u8 = 1;
pub(crate) const END_STREAM: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;
const ENHANCE_YOUR_CALM: u32 = 11;
const REFUSED_STREAM: u32 = 7;
/// `GET http://a/`: three entries of the static table and a literal authority.
pub(crate) const GET: &[u8] = &[0x82, 0x84, 0x86, 0x41, 1, b'a'];
/// Far beyond every limit of time.
const LONG: Duration = Duration::from_mins(30);

pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut frame = vec![length[1], length[2], length[3], kind, flags];
    frame.extend_from_slice(&stream.to_be_bytes());
    frame.extend_from_slice(payload);
    frame
}

pub(crate) struct Peer {
    pub(crate) from: ReadHalf<DuplexStream>,
    pub(crate) to: WriteHalf<DuplexStream>,
    pub(crate) ended: oneshot::Receiver<Result<(), ServeError>>,
    pub(crate) asked: Asked,
}

/// A client that has sent its preface and `settings`.
pub(crate) async fn peer(settings: &[u8], answer_bytes: usize) -> Peer {
    let (client, server) = duplex(64 << 10);
    let (done, ended) = oneshot::channel();
    let asked = Asked::default();
    let noted = Rc::clone(&asked);
    let handler = move |request| {
        let noted = Rc::clone(&noted);
        async move {
            let answer = note(noted, request).await;
            if answer_bytes == 0 {
                answer
            } else {
                Response::new(Body::full(vec![b'x'; answer_bytes]))
            }
        }
    };
    let serving = serve(server, HttpVersions::Http2, Limits::default(), pending(), handler);
    tokio::task::spawn_local(async move { done.send(serving.await) });
    let (from, mut to) = split(client);
    to.write_all(PREFACE).await.unwrap();
    to.write_all(&frame(SETTINGS, 0, 0, settings)).await.unwrap();
    Peer { from, to, ended, asked }
}

impl Peer {
    /// Sends as much of `wire` as the server takes, while nothing is read.
    async fn flood(&mut self, wire: &[u8]) {
        drop(timeout(LONG, self.to.write_all(wire)).await);
    }

    /// The frames that come until the server closes, as kind, stream and payload. Pings are
    /// answered where they should be.
    pub(crate) async fn frames(&mut self, pings: Pings) -> Vec<(u8, u32, Vec<u8>)> {
        let mut frames = Vec::new();
        let start = Instant::now();
        while start.elapsed() < LONG {
            let mut head = [0; 9];
            match timeout(LONG, self.from.read_exact(&mut head)).await {
                Ok(Ok(_)) => {}
                Ok(Err(_)) | Err(_) => break,
            }
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
            let mut payload = vec![0; length as usize];
            if self.from.read_exact(&mut payload).await.is_err() {
                break;
            }
            if head[3] == PING && head[4] & ACK == 0 && pings == Pings::Answered {
                let pong = frame(PING, ACK, 0, &payload);
                if self.to.write_all(&pong).await.is_err() {
                    break;
                }
            }
            let stream = u32::from_be_bytes([head[5] & 0x7f, head[6], head[7], head[8]]);
            frames.push((head[3], stream, payload));
        }
        frames
    }

    /// Why the server said that it goes away.
    fn reason(frames: &[(u8, u32, Vec<u8>)]) -> Option<u32> {
        let (.., payload) = frames.iter().rev().find(|(kind, ..)| *kind == GOAWAY)?;
        Some(u32::from_be_bytes(payload[4..8].try_into().unwrap()))
    }
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Pings {
    Answered,
    Ignored,
}

/// A field of HPACK that is written out (RFC 7541 section 6.2.2).
fn literal(name: &str, value: &str) -> Vec<u8> {
    let mut field = vec![0, u8::try_from(name.len()).unwrap()];
    field.extend_from_slice(name.as_bytes());
    field.push(u8::try_from(value.len()).unwrap());
    field.extend_from_slice(value.as_bytes());
    field
}

/// Refusal of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refusal {
    /// With status 400.
    BadRequest,
    /// By a reset of its stream.
    Reset,
}

/// The fields that a handler sees of a request with these, or how it is refused.
async fn seen(fields: &[(&str, &str)], body: &[u8]) -> Result<Vec<String>, Refusal> {
    let (client, server) = duplex(64 << 10);
    let seen = Rc::new(RefCell::new(None));
    let noted = Rc::clone(&seen);
    let handler = move |request: Request<Incoming>| {
        let fields = request.headers().iter();
        let lines = fields.map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()));
        *noted.borrow_mut() = Some(lines.collect::<Vec<_>>());
        async { Response::new(Body::empty()) }
    };
    let serving = serve(server, HttpVersions::Http2, Limits::default(), pending(), handler);
    tokio::task::spawn_local(async move { drop(serving.await) });
    let (from, mut to) = split(client);
    let mut block = GET.to_vec();
    block[0] = 0x83;
    for (name, value) in fields {
        block.extend(literal(name, value));
    }
    to.write_all(PREFACE).await.unwrap();
    to.write_all(&frame(SETTINGS, 0, 0, b"")).await.unwrap();
    to.write_all(&frame(HEADERS, END_HEADERS, 1, &block)).await.unwrap();
    to.write_all(&frame(DATA, END_STREAM, 1, body)).await.unwrap();
    let (_, ended) = oneshot::channel();
    let mut peer = Peer { from, to, ended, asked: Asked::default() };
    let frames = peer.frames(Pings::Ignored).await;
    let seen = seen.borrow_mut().take();
    // The status of a refusal stands in the static table, or behind its name.
    seen.ok_or_else(|| {
        match frames.iter().find(|(kind, ..)| [HEADERS, RST_STREAM].contains(kind)) {
            Some((HEADERS, _, block)) if block.first() == Some(&0x8c) => Refusal::BadRequest,
            Some((RST_STREAM, ..)) => Refusal::Reset,
            Some(_) | None => panic!("it is neither seen nor refused: {frames:?}"),
        }
    })
}

#[test]
fn cookies_come_in_one_field() {
    run_in_simulated_time(async {
        let crumbs = [("cookie", "a=b"), ("x", "y"), ("cookie", "c=d"), ("cookie", "e=f")];
        let expected = vec!["cookie: a=b; c=d; e=f".to_owned(), "x: y".to_owned()];
        assert_eq!(seen(&crumbs, b"").await, Ok(expected));
    });
}

#[test]
fn a_length_goes_on_as_one_plain_number() {
    run_in_simulated_time(async {
        let plain = Ok(vec!["content-length: 5".to_owned()]);
        assert_eq!(seen(&[("content-length", "05")], b"abcde").await, plain);
        for second in ["5", "05", "6"] {
            let two = [("content-length", "5"), ("content-length", second)];
            let refusal = seen(&two, b"abcde").await.unwrap_err();
            // A length that the body contradicts is the library's to refuse.
            let expected = if second == "6" { Refusal::Reset } else { Refusal::BadRequest };
            assert_eq!(refusal, expected, "{second}");
        }
    });
}

#[test]
fn a_name_that_is_none_is_refused() {
    run_in_simulated_time(async {
        assert_eq!(seen(&[("x\"y", "1")], b"").await, Err(Refusal::BadRequest));
    });
}

#[test]
fn frames_that_bring_nothing_forward_have_an_end() {
    run_in_simulated_time(async {
        let floods = [
            frame(PING, 0, 0, b"12345678"),
            frame(SETTINGS, 0, 0, b""),
            frame(WINDOW_UPDATE, 0, 0, &[0, 0, 0, 1]),
            // Of a kind that nobody knows.
            frame(0x42, 0, 0, b"12345678"),
        ];
        for flood in floods {
            let Peer { mut from, mut to, ended, .. } = peer(b"", 0).await;
            let wire = flood.repeat(1000);
            let flooding = async {
                for _ in 0..10_000 {
                    if to.write_all(&wire).await.is_err() {
                        return;
                    }
                }
                panic!("frames of kind {} are taken for ever", flood[3]);
            };
            let reading = async {
                let mut room = vec![0; 64 << 10];
                while from.read(&mut room).await.is_ok_and(|count| count > 0) {}
            };
            tokio::join!(flooding, reading);
            assert!(ended.await.unwrap().is_err());
        }
    });
}

/// The server stops within some minutes, though the client reads nothing.
async fn is_cut(peer: Peer) {
    let ended = timeout(Duration::from_mins(5), peer.ended).await.expect("the connection is cut");
    assert!(ended.unwrap().is_err());
    assert!(peer.asked.borrow().is_empty());
}

#[test]
fn rapid_reset_is_answered_with_go_away() {
    run_in_simulated_time(async {
        let mut peer = peer(&[], 0).await;
        let mut wire = Vec::new();
        for stream in (1..20_000).step_by(2) {
            wire.extend(frame(HEADERS, END_HEADERS | END_STREAM, stream, GET));
            wire.extend(frame(RST_STREAM, 0, stream, &8_u32.to_be_bytes()));
        }
        let mut to = peer.to;
        let (replaced, _) = duplex(1);
        peer.to = split(replaced).1;
        let sending = tokio::task::spawn_local(async move { drop(to.write_all(&wire).await) });
        let frames = peer.frames(Pings::Ignored).await;
        assert_eq!(Peer::reason(&frames), Some(ENHANCE_YOUR_CALM));
        assert!(peer.asked.borrow().len() < 2000, "{}", peer.asked.borrow().len());
        assert!(peer.ended.await.unwrap().is_err());
        sending.abort();
    });
}

#[test]
fn a_head_that_continues_for_ever_is_cut() {
    run_in_simulated_time(async {
        let mut peer = peer(&[], 0).await;
        // Literal fields without indexing: a name and a value of 100 bytes each.
        let mut field = vec![0, 100];
        field.extend([b'x'; 100]);
        field.push(100);
        field.extend([b'y'; 100]);
        let mut wire = frame(HEADERS, END_STREAM, 1, GET);
        for _ in 0..10_000 {
            wire.extend(frame(CONTINUATION, 0, 1, &field));
        }
        peer.flood(&wire).await;
        is_cut(peer).await;
    });
}

#[test]
fn settings_that_nobody_reads_the_answers_of_are_cut() {
    run_in_simulated_time(async {
        let mut peer = peer(&[], 0).await;
        peer.flood(&frame(SETTINGS, 0, 0, &[]).repeat(500_000)).await;
        is_cut(peer).await;
    });
}

#[test]
fn pings_that_nobody_reads_the_answers_of_are_cut() {
    run_in_simulated_time(async {
        let mut peer = peer(&[], 0).await;
        peer.flood(&frame(PING, 0, 0, &[0; 8]).repeat(500_000)).await;
        is_cut(peer).await;
    });
}

#[test]
fn a_header_bomb_reaches_no_handler() {
    run_in_simulated_time(async {
        let mut peer = peer(&[], 0).await;
        // One entry of 3,000 bytes goes into the table; each further byte stands for all of it.
        let mut block = GET.to_vec();
        block.extend([0x40, 1, b'x', 0x7f]);
        block.extend([0xb9, 0x16]); // 3,000 - 127 in seven-bit pieces
        block.extend([b'y'; 3000]);
        block.extend([0xbe; 10_000]);
        peer.to.write_all(&frame(HEADERS, END_HEADERS | END_STREAM, 1, &block)).await.unwrap();
        let frames = peer.frames(Pings::Ignored).await;
        assert!(frames.iter().any(|(kind, ..)| matches!(*kind, HEADERS | RST_STREAM | GOAWAY)));
        assert!(peer.asked.borrow().is_empty());
    });
}

#[test]
fn a_window_kept_shut_is_cut_though_pings_are_answered() {
    run_in_simulated_time(async {
        // SETTINGS_INITIAL_WINDOW_SIZE: nothing, and then one byte.
        for window in [0_u8, 1] {
            let mut peer = peer(&[0, 4, 0, 0, 0, window], 1 << 20).await;
            for stream in [1, 3, 5] {
                let request = frame(HEADERS, END_HEADERS | END_STREAM, stream, GET);
                peer.to.write_all(&request).await.unwrap();
            }
            let start = Instant::now();
            let frames = peer.frames(Pings::Answered).await;
            let data: usize =
                frames.iter().filter(|it| it.0 == DATA).map(|(.., payload)| payload.len()).sum();
            assert_eq!(data, 3 * usize::from(window));
            let reset = frames.iter().filter(|it| it.0 == RST_STREAM).count();
            let ended = peer.ended.await.unwrap();
            // Each stream is cut by itself; then nothing is left to wait for.
            assert!(reset == 3 && matches!(ended, Ok(())), "{window} {reset} {ended:?}");
            assert!((20..=180).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());
        }
    });
}

#[test]
fn windows_that_are_shut_behind_answers_at_hand_end_the_connection() {
    run_in_simulated_time(async {
        let mut peer = peer(b"", 10_000).await;
        let mut wire = frame(WINDOW_UPDATE, 0, 0, &(1_u32 << 30).to_be_bytes());
        for stream in (1..200).step_by(2) {
            wire.extend(frame(HEADERS, END_HEADERS | END_STREAM, stream, GET));
        }
        // Nothing is read while the server answers; what does not fit waits for the client.
        peer.to.write_all(&wire).await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        peer.to.write_all(&frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 0])).await.unwrap();
        let start = Instant::now();
        let frames = peer.frames(Pings::Answered).await;
        let data: usize =
            frames.iter().filter(|it| it.0 == DATA).map(|(.., payload)| payload.len()).sum();
        assert!(data < 100 * 10_000, "{data}");
        assert!(matches!(peer.ended.await.unwrap(), Err(ServeError::Stalled)));
        assert!((20..=180).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());
    });
}

#[test]
fn a_window_that_is_opened_slowly_but_fairly_is_served() {
    run_in_simulated_time(async {
        let mut peer = peer(&[0, 4, 0, 0, 0, 0], 60_000).await;
        peer.to.write_all(&frame(HEADERS, END_HEADERS | END_STREAM, 1, GET)).await.unwrap();
        let mut to = peer.to;
        let (replaced, _) = duplex(1);
        peer.to = split(replaced).1;
        let opening = tokio::task::spawn_local(async move {
            for _ in 0..60 {
                tokio::time::sleep(Duration::from_secs(1)).await;
                to.write_all(&frame(WINDOW_UPDATE, 0, 1, &1000_u32.to_be_bytes())).await.unwrap();
            }
            to
        });
        // The pings of the server are not answered here, so it goes away when all is sent.
        let frames = peer.frames(Pings::Ignored).await;
        let data: usize =
            frames.iter().filter(|it| it.0 == DATA).map(|(.., payload)| payload.len()).sum();
        assert!(data >= 30_000, "{data}");
        drop(opening);
    });
}

#[test]
fn streams_beyond_the_limit_are_refused() {
    run_in_simulated_time(async {
        let mut peer = peer(&[0, 4, 0, 0, 0, 0], 1000).await;
        for stream in (1..=2 * 130).step_by(2) {
            let request = frame(HEADERS, END_HEADERS | END_STREAM, stream, GET);
            peer.to.write_all(&request).await.unwrap();
        }
        let frames = peer.frames(Pings::Answered).await;
        let refused = frames.iter().filter(|(kind, _, payload)| {
            *kind == RST_STREAM && payload[..] == REFUSED_STREAM.to_be_bytes()
        });
        assert_eq!(refused.count(), 2);
        assert_eq!(peer.asked.borrow().len(), 128);
    });
}
