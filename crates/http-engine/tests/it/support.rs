//! A server that says what it was asked, bodies by frames, and raw clients.

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body as HttpBody, Frame};
use http_engine::body::read_all;
use http_engine::{Body, HttpVersions, Incoming, Limits, ServeError, reply, serve};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::{Future, pending};
use std::net::SocketAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::LocalSet;
use tokio::time::timeout;

/// Longer than anything here takes; reached only by a failing test.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

/// Body that gives its frames one a poll.
pub(crate) struct Frames(pub(crate) VecDeque<Frame<Bytes>>);

impl HttpBody for Frames {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.pop_front().map(Ok))
    }
}

/// Runs a test on one thread, on which tasks need not be `Send`.
pub(crate) fn run<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    LocalSet::new().block_on(&runtime, test)
}

/// The same with simulated time: whenever all wait, the clock jumps to the next timer.
pub(crate) fn run_in_simulated_time<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    LocalSet::new().block_on(&runtime, test)
}

/// What a server was asked, in order: `GET /path` and the body's length or error.
pub(crate) type Asked = Rc<RefCell<Vec<String>>>;

/// Notes a request and answers it with what was noted.
pub(crate) async fn note(asked: Asked, request: Request<Incoming>) -> Response<Body> {
    let head = format!("{} {}", request.method(), request.uri());
    let body = match read_all(request.into_body(), 1 << 20, Duration::from_hours(1)).await {
        Ok(bytes) => format!("{}", bytes.len()),
        Err(_) => "broken".into(),
    };
    let text = format!("{head} {body}");
    asked.borrow_mut().push(text.clone());
    reply::text(http::StatusCode::OK, text)
}

/// A server on a real socket.
pub(crate) async fn server() -> (SocketAddr, Asked) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let asked = Asked::default();
    let noted = Rc::clone(&asked);
    tokio::task::spawn_local(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let noted = Rc::clone(&noted);
            let handler = move |request| note(Rc::clone(&noted), request);
            let serving =
                serve(stream, HttpVersions::Http1And2, Limits::default(), pending(), handler);
            tokio::task::spawn_local(async move { drop(serving.await) });
        }
    });
    (address, asked)
}

/// Sends `wire` in one piece and reads the first answer.
pub(crate) async fn exchange(address: SocketAddr, wire: &[u8]) -> String {
    exchange_until(address, wire, is_whole).await
}

/// The same until the server closes.
pub(crate) async fn exchange_all(address: SocketAddr, wire: &[u8]) -> String {
    exchange_until(address, wire, |_| false).await
}

async fn exchange_until(address: SocketAddr, wire: &[u8], is_all: fn(&[u8]) -> bool) -> String {
    let talk = async {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(wire).await.unwrap();
        let mut answer = Vec::new();
        // A server that closes with our bytes unread resets the connection: what came, counts.
        while stream.read_buf(&mut answer).await.is_ok_and(|count| count > 0) {
            if is_all(&answer) {
                break;
            }
        }
        String::from_utf8_lossy(&answer).into_owned()
    };
    tokio::time::timeout(DEADLINE, talk).await.unwrap()
}

/// Whether an answer with a length is complete; ours all have one.
fn is_whole(answer: &[u8]) -> bool {
    let text = String::from_utf8_lossy(answer);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().unwrap())
    });
    length.is_some_and(|length| body.len() >= length)
}

/// The status code of an answer; 0 where there is none.
pub(crate) fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0)
}

/// The two ends of a simulated connection.
pub(crate) fn connection() -> (DuplexStream, DuplexStream) {
    duplex(4096)
}

/// All that a client of HTTP/1 gets where requests are answered so, and how the server ended.
pub(crate) async fn served<H, F>(wire: &str, handler: H) -> (Result<(), ServeError>, String)
where
    H: Fn(Request<Incoming>) -> F + 'static,
    F: Future<Output = Response<Body>> + 'static,
{
    let (mut client, server) = connection();
    let serving = serve(server, HttpVersions::Http1And2, Limits::default(), pending(), handler);
    let asking = async {
        client.write_all(wire.as_bytes()).await.unwrap();
        let mut answer = String::new();
        timeout(DEADLINE, client.read_to_string(&mut answer)).await.unwrap().unwrap();
        answer
    };
    tokio::join!(serving, asking)
}
