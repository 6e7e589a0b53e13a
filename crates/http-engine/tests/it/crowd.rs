//! Good clients amid a crowd of bad ones, over real sockets and on one thread.
//!
//! The clock stands still until the test moves it: what the good clients get done is counted in
//! requests, and what the bad ones cost in steps of their connections, never in seconds of a
//! machine that may be busy.

use crate::support::{Asked, DEADLINE, note, status};
use bytes::Bytes;
use http_engine::fast_path::{FastPath, FastReply, SimpleRequest};
use http_engine::{HttpVersions, Limits, ServeError, serve_with_fast_path};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::cell::RefCell;
use std::future::{pending, poll_fn};
use std::net::SocketAddr;
use std::pin::pin;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{LocalSet, spawn_local, yield_now};
use tokio::time::advance;

const SILENT: usize = 1000;
/// Of each kind: heads that drip, bodies that drip, answers that are hardly read.
const SLOW: usize = 50;
const GOOD: usize = 20;
const REQUESTS: usize = 200;
/// More than a socket's two buffers hold.
const LARGE_BYTES: usize = 16 << 20;
/// Turns of the thread in which nothing moves: then all has come to rest.
const QUIET_TURNS: u32 = 2000;

/// Answers `/page` and `/large` from memory; the rest is the handler's.
struct Pages(Bytes);

impl FastPath for Pages {
    fn answer(&self, request: &SimpleRequest<'_>, out: &mut Vec<u8>) -> FastReply {
        let length = match request.path() {
            "/page" => 5,
            "/large" => self.0.len(),
            _ => return FastReply::Decline,
        };
        out.extend_from_slice(
            format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n").as_bytes(),
        );
        request.end_head(out);
        if length == 5 {
            out.extend_from_slice(b"hello");
            return FastReply::Done;
        }
        FastReply::DoneWithBody(self.0.clone())
    }
}

/// One connection as the server has it, in the order in which they came.
#[derive(Default)]
struct Served {
    steps: u64,
    ended: Option<&'static str>,
}

type All = Rc<RefCell<Vec<Served>>>;

fn why(ended: &Result<(), ServeError>) -> &'static str {
    match ended {
        Ok(()) => "in order",
        Err(ServeError::HeadTooSlow) => "head",
        Err(ServeError::TooSlow) => "rate",
        Err(ServeError::Stalled) => "stall",
        Err(ServeError::Io(_)) => "io",
        Err(ServeError::Answer(_)) => "answer",
        Err(ServeError::Http(_)) => "http",
    }
}

async fn server() -> (SocketAddr, All) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let all = All::default();
    let noted = Rc::clone(&all);
    let large = Bytes::from(vec![b'x'; LARGE_BYTES]);
    spawn_local(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let number = noted.borrow().len();
            noted.borrow_mut().push(Served::default());
            let (all, asked, pages) = (Rc::clone(&noted), Asked::default(), Pages(large.clone()));
            let handler = move |request| note(Rc::clone(&asked), request);
            spawn_local(async move {
                let limits = Limits::default();
                let serving = serve_with_fast_path(
                    stream,
                    HttpVersions::Http1,
                    limits,
                    pending(),
                    pages,
                    handler,
                );
                let mut serving = pin!(serving);
                let ended = poll_fn(|cx| {
                    all.borrow_mut()[number].steps += 1;
                    serving.as_mut().poll(cx)
                });
                let ended = why(&ended.await);
                all.borrow_mut()[number].ended = Some(ended);
            });
        }
    });
    (address, all)
}

/// Waits for a state of the server while the clock stands still.
async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < DEADLINE, "waited for {what}");
        yield_now().await;
    }
}

/// Waits until no connection has had anything to do for [`QUIET_TURNS`]; all their steps.
async fn at_rest(all: &All) -> u64 {
    let sum = || all.borrow().iter().map(|it| it.steps).sum::<u64>();
    let (mut before, mut turns) = (sum(), 0);
    until("the crowd to come to rest", || {
        let now = sum();
        turns = if now == before { turns + 1 } else { 0 };
        before = now;
        turns == QUIET_TURNS
    })
    .await;
    before
}

async fn connect(address: SocketAddr, first: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(first.as_bytes()).await.unwrap();
    stream
}

/// One request on a kept connection, which must be answered well.
async fn good(stream: &mut TcpStream, path: &str) {
    let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let expected: &[u8] = if path == "/page" { b"hello" } else { b"GET /other 0" };
    let mut answer = Vec::new();
    while !answer.ends_with(expected) {
        assert_ne!(stream.read_buf(&mut answer).await.unwrap(), 0, "a good client was cut");
    }
    assert_eq!(status(&String::from_utf8_lossy(&answer)), 200);
}

/// Whom good clients have to live with.
struct Crowd {
    _silent: Vec<TcpStream>,
    heads: Vec<TcpStream>,
    bodies: Vec<TcpStream>,
    readers: Vec<TcpStream>,
}

impl Crowd {
    async fn gather(address: SocketAddr) -> Self {
        let (mut silent, mut heads) = (Vec::new(), Vec::new());
        let (mut bodies, mut readers) = (Vec::new(), Vec::new());
        for _ in 0..SILENT {
            silent.push(connect(address, "").await);
        }
        for _ in 0..SLOW {
            heads.push(connect(address, "GET /page HTTP/1.1\r\nHost: a\r\n").await);
        }
        for _ in 0..SLOW {
            let head = "POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n";
            bodies.push(connect(address, head).await);
        }
        for _ in 0..SLOW {
            readers.push(connect(address, "GET /large HTTP/1.1\r\nHost: a\r\n\r\n").await);
        }
        Self { _silent: silent, heads, bodies, readers }
    }

    /// A second's worth of each: what no deadline between two bytes would ever find.
    fn drip(&self) {
        for head in &self.heads {
            drop(head.try_write(b"X: y\r\n"));
        }
        for body in &self.bodies {
            drop(body.try_write(b"x"));
        }
        for reader in &self.readers {
            drop(reader.try_read(&mut [0; 10]));
        }
    }
}

#[test]
fn good_clients_are_served_amid_a_thousand_bad_ones() {
    let wanted = 4 * (SILENT + 3 * SLOW + GOOD) as u64;
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|it| it < wanted) {
        setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum: limit.maximum })
            .expect("4,880 open files are allowed: ulimit -Hn");
    }
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().start_paused(true).build().unwrap();
    LocalSet::new().block_on(&runtime, async {
        // While one task is always ready, the clock moves only where it is told to.
        let ticking = spawn_local(async {
            loop {
                yield_now().await;
            }
        });
        let (address, all) = server().await;
        let crowd = Crowd::gather(address).await;
        let bad = SILENT + 3 * SLOW;
        until("all to be accepted", || all.borrow().len() == bad).await;
        let before = at_rest(&all).await;

        // Whatever the good ones do, the bad ones cost not a step, and none of them is gone.
        let start = tokio::time::Instant::now();
        let mut good_ones = Vec::new();
        for _ in 0..GOOD {
            good_ones.push(connect(address, "").await);
        }
        let work = good_ones.into_iter().map(|mut stream| {
            spawn_local(async move {
                for number in 0..REQUESTS {
                    // The second half of them is the handler's.
                    good(&mut stream, if number < REQUESTS / 2 { "/page" } else { "/other" }).await;
                }
                stream
            })
        });
        let mut good_ones = Vec::new();
        for done in work.collect::<Vec<_>>() {
            good_ones.push(done.await.unwrap());
        }
        assert_eq!(start.elapsed(), Duration::ZERO);
        let steps: u64 = all.borrow()[..bad].iter().map(|it| it.steps).sum();
        assert_eq!(steps, before, "the crowd was looked at without a reason");
        assert!(all.borrow().iter().all(|it| it.ended.is_none()));

        // Then time goes by: the good ones go on, the others drip, and are cut one and all; last
        // those who took what fits two sockets, and with that the longest credit there is.
        for _ in 0..90 {
            crowd.drip();
            for stream in &mut good_ones {
                good(stream, "/other").await;
            }
            advance(Duration::from_secs(1)).await;
        }
        until("the bad ones to be cut", || all.borrow()[..bad].iter().all(|it| it.ended.is_some()))
            .await;
        let (heads, rates) = (SILENT + SLOW, 2 * SLOW);
        let count = |reason| all.borrow().iter().filter(|it| it.ended == Some(reason)).count();
        // Who takes nothing for a minute is at the end of its credit and of our patience at once.
        assert_eq!((count("head"), count("rate") + count("stall")), (heads, rates));
        for stream in &mut good_ones {
            good(stream, "/other").await;
        }
        ticking.abort();
    });
}
