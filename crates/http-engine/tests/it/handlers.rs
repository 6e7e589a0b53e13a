//! Answers of handlers within the fast path: framed, in order, and dropped with their clients.
//!
//! That hyper had no part in it is shown by the request behind: only in the fast path is the fast
//! path asked, and it alone answers `/still`.

use crate::support::{DEADLINE, run, run_in_simulated_time};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use http_body_util::BodyExt;
use http_engine::fast_path::{FastPath, FastReply, SimpleRequest};
use http_engine::{Body, HttpVersions, Incoming, Limits, ServeError, serve_with_fast_path};
use std::cell::{Cell, RefCell};
use std::future::{Future, pending};
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout};

/// Answers `/still`, to show that the connection is still in the fast path.
struct Still;

impl FastPath for Still {
    fn answer(&self, request: &SimpleRequest<'_>, out: &mut Vec<u8>) -> FastReply {
        if request.path() != "/still" {
            return FastReply::Decline;
        }
        out.extend_from_slice(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n");
        request.end_head(out);
        out.extend_from_slice(b"still");
        FastReply::Done
    }
}

const LAST: &str = "GET /still HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

/// What the handler has done so far.
#[derive(Default)]
struct Notes {
    asked: RefCell<Vec<String>>,
    at_work: Cell<u32>,
    at_work_most: Cell<u32>,
    dropped: Cell<u32>,
    pieces: Cell<usize>,
    readers_gone: Cell<u32>,
}

/// Counts a request as worked on while it lives.
struct AtWork(Rc<Notes>);

impl AtWork {
    fn begin(notes: &Rc<Notes>) -> Self {
        notes.at_work.set(notes.at_work.get() + 1);
        notes.at_work_most.set(notes.at_work_most.get().max(notes.at_work.get()));
        Self(Rc::clone(notes))
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        self.0.at_work.set(self.0.at_work.get() - 1);
        self.0.dropped.set(self.0.dropped.get() + 1);
    }
}

const PIECE: [u8; 1000] = [b'x'; 1000];
const PIECES: usize = 500;

/// A body of [`PIECES`] pieces, each of which is made when the one before has been taken.
fn pieces(notes: Rc<Notes>) -> Body {
    let (mut feed, body) = Body::channel(1);
    tokio::task::spawn_local(async move {
        for made in 1..=PIECES {
            if feed.send(&PIECE[..]).await.is_err() {
                return;
            }
            notes.pieces.set(made);
        }
        feed.finish();
    });
    body
}

/// Two pieces, and then nothing for ever.
fn stuck(notes: Rc<Notes>) -> Body {
    let (mut feed, body) = Body::channel(2);
    tokio::task::spawn_local(async move {
        feed.send("ab").await.unwrap();
        feed.send("cd").await.unwrap();
        feed.until_reader_gone().await;
        notes.readers_gone.set(notes.readers_gone.get() + 1);
    });
    body
}

/// What a producer does behind its last piece.
#[derive(PartialEq)]
enum Producer {
    Finishes,
    GivesUp,
}

/// These pieces, and then the end or none.
fn fed(pieces: &[&'static str], producer: Producer) -> Body {
    let (mut feed, body) = Body::channel(pieces.len());
    let pieces = pieces.to_vec();
    tokio::task::spawn_local(async move {
        for piece in pieces {
            feed.send(piece).await.unwrap();
        }
        if producer == Producer::Finishes {
            feed.finish();
        }
    });
    body
}

fn with_trailers() -> Body {
    let mut trailers = HeaderMap::new();
    trailers.insert("sum", HeaderValue::from_static("4"));
    let trailers = async move { Some(Ok(trailers)) };
    Body::boxed(fed(&["abcd"], Producer::Finishes).with_trailers(trailers))
}

async fn handle(notes: Rc<Notes>, request: Request<Incoming>) -> Response<Body> {
    let path = request.uri().path().to_owned();
    notes.asked.borrow_mut().push(path.clone());
    let at_work = AtWork::begin(&notes);
    let response = Response::builder();
    let response = match path.as_str() {
        "/slow" => {
            sleep(Duration::from_secs(5)).await;
            response.body(Body::from("slow"))
        }
        "/never" => pending().await,
        "/pieces" => response.body(pieces(Rc::clone(&notes))),
        "/stuck" => response.body(stuck(Rc::clone(&notes))),
        "/fed" => response.body(fed(&["ab", "cd"], Producer::Finishes)),
        "/failing" => {
            tokio::task::yield_now().await;
            response.body(fed(&["ab", "cd"], Producer::GivesUp))
        }
        "/short" => {
            response.header("content-length", "5").body(fed(&["ab", "cd"], Producer::Finishes))
        }
        "/long" => {
            response.header("content-length", "3").body(fed(&["ab", "cd"], Producer::Finishes))
        }
        "/trailers" => response.header("trailer", "sum").body(with_trailers()),
        "/none" => response.status(StatusCode::NO_CONTENT).body(Body::from("no")),
        "/same" => {
            let response = response.status(StatusCode::NOT_MODIFIED).header("etag", "\"a\"");
            response.header("content-length", "4").body(fed(&["no"], Producer::Finishes))
        }
        "/large" => response.body(Body::full(vec![b'y'; 200_000])),
        other => response.body(Body::from(other.to_owned())),
    };
    drop(at_work);
    response.unwrap()
}

struct Served {
    client: DuplexStream,
    ended: oneshot::Receiver<Result<(), ServeError>>,
    notes: Rc<Notes>,
}

fn served_with(pipe_bytes: usize, stop: impl Future<Output = ()> + 'static) -> Served {
    let (client, server) = duplex(pipe_bytes);
    let (done, ended) = oneshot::channel();
    let notes = Rc::new(Notes::default());
    let shared = Rc::clone(&notes);
    let handler = move |request| handle(Rc::clone(&shared), request);
    let (versions, limits) = (HttpVersions::Http1And2, Limits::default());
    let serving = serve_with_fast_path(server, versions, limits, Box::pin(stop), Still, handler);
    tokio::task::spawn_local(async move { done.send(serving.await) });
    Served { client, ended, notes }
}

fn served() -> Served {
    served_with(64 << 10, pending())
}

impl Served {
    async fn send(&mut self, wire: &str) {
        self.client.write_all(wire.as_bytes()).await.unwrap();
    }

    /// All that comes until the server closes.
    async fn rest(&mut self) -> String {
        let mut answer = Vec::new();
        let reading = self.client.read_to_end(&mut answer);
        timeout(DEADLINE, reading).await.expect("the server closes").unwrap();
        String::from_utf8(answer).unwrap()
    }
}

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n")
}

/// What comes for `wire`, behind which the connection must still be in the fast path.
async fn talk(wire: &str) -> String {
    let mut served = served();
    served.send(wire).await;
    served.send(LAST).await;
    let answer = served.rest().await;
    assert!(matches!(served.ended.await.unwrap(), Ok(())));
    let (answers, last) = answer.rsplit_once("HTTP/1.1 200 OK\r\n").unwrap();
    assert!(last.ends_with("\r\n\r\nstill"), "hyper has answered: {answer}");
    answers.to_owned()
}

/// Head and body of the only answer in `answer`.
fn parted(answer: &str) -> (&str, &str) {
    answer.split_once("\r\n\r\n").unwrap()
}

#[test]
fn small_answers_leave_with_one_write_and_the_lane_goes_on() {
    run(async {
        let mut served = served();
        served.send(&get("/page?q")).await;
        let mut answer = vec![0; 4096];
        let count = served.client.read(&mut answer).await.unwrap();
        let answer = String::from_utf8(answer[..count].to_vec()).unwrap();
        let (head, body) = parted(&answer);
        assert!(head.starts_with("HTTP/1.1 200 OK\r\ncontent-length: 5\r\ndate: "), "{head}");
        assert!(!head.contains("connection"), "{head}");
        assert_eq!(body, "/page");
        served.send(LAST).await;
        assert!(served.rest().await.ends_with("\r\n\r\nstill"));
    });
}

#[test]
fn a_body_of_unknown_length_is_chunked_and_its_trailers_follow() {
    run(async {
        let answer = talk(&get("/fed")).await;
        let (head, body) = parted(&answer);
        assert!(head.contains("\r\ntransfer-encoding: chunked\r\n"), "{head}");
        assert!(!head.contains("content-length"), "{head}");
        assert_eq!(body, "2\r\nab\r\n2\r\ncd\r\n0\r\n\r\n");

        let answer = talk("GET /trailers HTTP/1.1\r\nHost: a\r\nTE: trailers\r\n\r\n").await;
        let (head, body) = parted(&answer);
        assert!(head.contains("\r\ntrailer: sum\r\n"), "{head}");
        assert_eq!(body, "4\r\nabcd\r\n0\r\nsum: 4\r\n\r\n");
        assert!(talk(&get("/trailers")).await.ends_with("4\r\nabcd\r\n0\r\n\r\n"));
    });
}

#[test]
fn heads_and_statuses_without_a_body_have_none() {
    run(async {
        let head = "HEAD /page HTTP/1.1\r\nHost: a\r\n\r\n";
        let answer = talk(head).await;
        assert!(answer.contains("\r\ncontent-length: 5\r\n"), "{answer}");
        assert!(answer.ends_with("\r\n\r\n"), "{answer}");
        for (path, line) in
            [("/none", "HTTP/1.1 204 No Content"), ("/same", "HTTP/1.1 304 Not Modified")]
        {
            let answer = talk(&get(path)).await;
            assert!(answer.starts_with(line), "{answer}");
            assert!(answer.ends_with("\r\n\r\n") && !answer.contains("content-length"), "{answer}");
        }
        let answer = talk("HEAD /fed HTTP/1.1\r\nHost: a\r\n\r\n").await;
        assert!(answer.ends_with("\r\n\r\n") && !answer.contains("transfer-encoding"), "{answer}");
    });
}

#[test]
fn version_1_0_gets_no_chunks() {
    run(async {
        let kept = "GET /page HTTP/1.0\r\nConnection: keep-alive\r\n\r\n";
        let answer = talk(kept).await;
        assert!(answer.starts_with("HTTP/1.0 200 OK\r\ncontent-length: 5\r\n"), "{answer}");
        assert!(answer.contains("\r\nconnection: keep-alive\r\n"), "{answer}");

        let mut served = served();
        served.send("GET /fed HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").await;
        let answer = served.rest().await;
        let (head, body) = parted(&answer);
        assert!(head.ends_with("\r\nconnection: close"), "{head}");
        assert!(!head.contains("transfer-encoding"), "{head}");
        assert_eq!(body, "abcd");
        assert!(matches!(served.ended.await.unwrap(), Ok(())));
    });
}

#[test]
fn a_body_is_made_no_faster_than_the_client_takes_it() {
    run_in_simulated_time(async {
        let mut served = served_with(1000, pending());
        served.send(&get("/pieces")).await;
        sleep(Duration::from_secs(1)).await;
        // The pipe, one batch of the fast path's, and what waits in the channel.
        let made = served.notes.pieces.get();
        assert!((1..90).contains(&made), "{made} pieces were made");
        served.send(LAST).await;
        let answer = served.rest().await;
        let (first, last) = answer.rsplit_once("HTTP/1.1 200 OK\r\n").unwrap();
        assert!(last.ends_with("still"));
        let chunk = format!("3E8\r\n{}\r\n", "x".repeat(1000));
        assert_eq!(parted(first).1, format!("{}0\r\n\r\n", chunk.repeat(PIECES)));
    });
}

#[test]
fn a_large_answer_passes_a_narrow_pipe_between_its_neighbours() {
    run(async {
        let mut served = served_with(1000, pending());
        served.send(&[&get("/a"), &get("/large"), &get("/b"), LAST].concat()).await;
        let answer = served.rest().await;
        let bodies: Vec<_> = answer.split("HTTP/1.1 200 OK\r\n").skip(1).collect();
        let bodies: Vec<_> = bodies.into_iter().map(|it| parted(it).1).collect();
        assert_eq!((bodies[0], bodies[2], bodies[3]), ("/a", "/b", "still"));
        assert_eq!(bodies[1], "y".repeat(200_000));
    });
}

#[test]
fn pipelined_requests_are_handled_one_at_a_time_and_in_order() {
    run_in_simulated_time(async {
        let mut served = served();
        let start = Instant::now();
        let wire = [get("/slow"), get("/1"), get("/still"), get("/slow"), get("/2"), get("/slow")];
        served.send(&(wire.concat() + LAST)).await;
        let answer = served.rest().await;
        let bodies: Vec<_> = answer.split("HTTP/1.1 200 OK\r\n").skip(1).collect();
        let bodies: Vec<_> = bodies.into_iter().map(|it| parted(it).1).collect();
        assert_eq!(bodies, ["slow", "/1", "still", "slow", "/2", "slow", "still"]);
        assert_eq!(start.elapsed().as_secs(), 15);
        assert_eq!(served.notes.at_work_most.get(), 1);
        assert_eq!(*served.notes.asked.borrow(), ["/slow", "/1", "/slow", "/2", "/slow"]);
    });
}

#[test]
fn ten_thousand_pipelined_requests_wait_outside() {
    run_in_simulated_time(async {
        let served = served_with(2000, pending());
        let (mut from, mut to) = tokio::io::split(served.client);
        let (sent, wire) = (Rc::new(Cell::new(0)), get("/page"));
        let count = Rc::clone(&sent);
        tokio::task::spawn_local(async move {
            for _ in 0..9_999 {
                to.write_all(wire.as_bytes()).await.unwrap();
                count.set(count.get() + wire.len());
            }
            to.write_all(LAST.as_bytes()).await.unwrap();
        });
        sleep(Duration::from_secs(1)).await;
        // Nothing is read: what has been taken is one read of the fast path's, and what both pipes
        // hold.
        assert!(sent.get() < 16_000, "{} bytes of requests were taken", sent.get());
        let mut answer = String::new();
        timeout(DEADLINE, from.read_to_string(&mut answer)).await.unwrap().unwrap();
        assert_eq!(answer.matches("HTTP/1.1 200 OK\r\n").count(), 10_000);
        assert!(answer.ends_with("still"));
        assert_eq!(served.notes.asked.borrow().len(), 9_999);
    });
}

#[test]
fn a_client_that_goes_away_takes_its_handler_with_it() {
    run(async {
        let mut served = served();
        served.send(&get("/never")).await;
        while served.notes.at_work.get() == 0 {
            tokio::task::yield_now().await;
        }
        drop(served.client);
        let ended = timeout(DEADLINE, served.ended).await.unwrap().unwrap();
        assert!(matches!(&ended, Err(why) if why.is_client_gone()), "{ended:?}");
        assert_eq!(served.notes.dropped.get(), 1);
    });
}

#[test]
fn a_client_that_goes_away_takes_its_body_with_it() {
    run(async {
        let mut served = served();
        served.send(&get("/stuck")).await;
        let mut came = Vec::new();
        while !came.ends_with(b"cd\r\n") {
            assert_ne!(served.client.read_buf(&mut came).await.unwrap(), 0);
        }
        assert_eq!(served.notes.readers_gone.get(), 0);
        drop(served.client);
        let ended = timeout(DEADLINE, served.ended).await.unwrap().unwrap();
        assert!(matches!(&ended, Err(why) if why.is_client_gone()), "{ended:?}");
        let noticed = async {
            while served.notes.readers_gone.get() == 0 {
                tokio::task::yield_now().await;
            }
        };
        timeout(DEADLINE, noticed).await.unwrap();
    });
}

#[test]
fn a_body_that_fails_breaks_the_connection_off() {
    run(async {
        for path in ["/failing", "/short"] {
            let mut served = served();
            served.send(&[&get(path), LAST].concat()).await;
            let answer = served.rest().await;
            assert!(!answer.contains("0\r\n\r\n") && !answer.contains("still"), "{answer}");
            let ended = served.ended.await.unwrap();
            assert!(matches!(ended, Err(ServeError::Answer(_))), "{path}: {ended:?}");
        }
        // What goes beyond the length that was told is nobody's next answer.
        assert_eq!(parted(&talk(&get("/long")).await).1, "abc");
    });
}

#[test]
fn a_body_that_fails_late_leaves_what_was_sent_without_an_end() {
    run(async {
        let (mut client, server) = duplex(64 << 10);
        let (give_up, sign) = oneshot::channel::<()>();
        let sign = Cell::new(Some(sign));
        let handler = move |_| {
            let (mut feed, body) = Body::channel(1);
            let sign = sign.take().unwrap();
            tokio::task::spawn_local(async move {
                feed.send("ab").await.unwrap();
                sign.await.unwrap();
            });
            async { Response::new(body) }
        };
        let limits = Limits::default();
        let serving =
            serve_with_fast_path(server, HttpVersions::Http1, limits, pending(), Still, handler);
        let serving = tokio::task::spawn_local(serving);
        client.write_all(get("/").as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"2\r\nab\r\n") {
            assert_ne!(client.read_buf(&mut answer).await.unwrap(), 0);
        }
        give_up.send(()).unwrap();
        client.read_to_end(&mut answer).await.unwrap();
        assert!(answer.ends_with(b"2\r\nab\r\n"));
        assert!(matches!(serving.await.unwrap(), Err(ServeError::Answer(_))));
    });
}

#[test]
fn stopping_finishes_a_handler_and_an_answer_under_way() {
    run_in_simulated_time(async {
        let (stop, stopped) = oneshot::channel::<()>();
        let mut busy = served_with(64 << 10, async { drop(stopped.await) });
        busy.send(&get("/slow")).await;
        sleep(Duration::from_secs(1)).await;
        stop.send(()).unwrap();
        let answer = busy.rest().await;
        assert!(answer.contains("\r\nconnection: close\r\n"), "{answer}");
        assert!(answer.ends_with("slow"));
        assert!(matches!(busy.ended.await.unwrap(), Ok(())));

        // Here the head has left: the end of the connection says the rest, and says it at once.
        let (stop, stopped) = oneshot::channel::<()>();
        let mut busy = served_with(1000, async { drop(stopped.await) });
        busy.send(&get("/pieces")).await;
        sleep(Duration::from_secs(1)).await;
        stop.send(()).unwrap();
        let start = Instant::now();
        let answer = busy.rest().await;
        assert!(answer.ends_with("\r\n0\r\n\r\n"));
        assert_eq!(start.elapsed(), Duration::ZERO);
        assert!(matches!(busy.ended.await.unwrap(), Ok(())));
    });
}

#[test]
fn a_slow_handler_does_not_shorten_the_time_for_the_next_head() {
    run_in_simulated_time(async {
        let mut served = served();
        let start = Instant::now();
        served.send(&get("/slow")).await;
        sleep(Duration::from_secs(1)).await;
        // Begun while the handler works: ten seconds count from its answer, at the fifth.
        served.send("GET /page HT").await;
        let ended = served.ended.await.unwrap();
        assert!(matches!(ended, Err(ServeError::HeadTooSlow)), "{ended:?}");
        assert_eq!(start.elapsed().as_secs(), 15);
    });
}

#[test]
fn fields_that_come_twice_are_the_handlers() {
    run(async {
        let wire = "GET /page HTTP/1.1\r\nHost: a\r\nCookie: a=b\r\ncookie: c=d\r\n\r\n";
        assert_eq!(parted(&talk(wire).await).1, "/page");
        // The fast path sees no request in which a field stands twice.
        let wire = "GET /still HTTP/1.1\r\nHost: a\r\nCookie: a=b\r\ncookie: c=d\r\n\r\n";
        assert_eq!(parted(&talk(wire).await).1, "/still");
        let wire = "GET http://a/still HTTP/1.1\r\nHost: a\r\n\r\n";
        assert_eq!(parted(&talk(wire).await).1, "/still");
    });
}
