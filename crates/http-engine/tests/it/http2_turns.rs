//! Costs of an answer over HTTP/2: those that are there at once need no task, no wake-up, and
//! those that wait hold up nobody.

use crate::http2_abuse::{DATA, END_HEADERS, END_STREAM, GET, HEADERS, frame};
use crate::support::{DEADLINE, run};
use http::{Request, Response};
use http_engine::client::{RequestSender, connect_http2};
use http_engine::{Body, HttpVersions, Incoming, Limits, serve};
use std::cell::RefCell;
use std::future::{Future, pending};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::task::{Context, Wake, Waker};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::sync::Notify;
use tokio::task::{Id, spawn_local};
use tokio::time::timeout;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const SETTINGS: u8 = 4;

/// Counts how often the connection's task is woken.
#[derive(Default)]
struct WakeCount(AtomicU32);

impl Wake for WakeCount {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

/// The frames that have come, as kind, stream and payload.
async fn frames_at_hand(client: &mut DuplexStream) -> Vec<(u8, u32, Vec<u8>)> {
    let mut bytes = vec![0; 64 << 10];
    let count = client.read(&mut bytes).await.unwrap();
    let (mut rest, mut frames) = (&bytes[..count], Vec::new());
    while let [a, b, c, kind, _, stream @ ..] = rest {
        let length = u32::from_be_bytes([0, *a, *b, *c]) as usize;
        let number = u32::from_be_bytes(*stream.first_chunk().unwrap());
        frames.push((*kind, number, stream[4..4 + length].to_vec()));
        rest = &stream[4 + length..];
    }
    frames
}

#[test]
fn answers_at_hand_leave_in_order_within_one_turn_and_wake_nobody() {
    run(async {
        let (mut client, server) = duplex(64 << 10);
        let handler = |request: Request<Incoming>| async move {
            // With a body, and without one: the head is all of it then.
            Response::new(match request.method().as_str() {
                "POST" => Body::empty(),
                _ => Body::full("at hand"),
            })
        };
        let limits = Limits::default();
        let mut serving = pin!(serve(server, HttpVersions::Http2, limits, pending(), handler));
        let post = [&[0x83], &GET[1..]].concat();
        let whole = END_HEADERS | END_STREAM;
        let mut wire = [PREFACE, &frame(SETTINGS, 0, 0, b"")].concat();
        for (stream, head) in [(1, GET), (3, &post), (5, GET), (7, GET)] {
            wire.extend(frame(HEADERS, whole, stream, head));
        }
        client.write_all(&wire).await.unwrap();
        let woken = Arc::new(WakeCount::default());
        let waker = Waker::from(Arc::clone(&woken));
        assert!(serving.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        assert_eq!(woken.0.load(Relaxed), 0, "one turn is enough");
        let frames = frames_at_hand(&mut client).await;
        let of = |kind: u8| frames.iter().filter(move |it| it.0 == kind);
        assert_eq!(of(HEADERS).map(|it| it.1).collect::<Vec<_>>(), [1, 3, 5, 7]);
        let bodies: Vec<_> = of(DATA).map(|it| (it.1, it.2.as_slice())).collect();
        assert_eq!(bodies, [(1, &b"at hand"[..]), (5, b"at hand"), (7, b"at hand")]);
    });
}

/// Answers at once, or where the path says so, when it is told to; notes the tasks that it is in.
fn told(
    go_on: &Rc<Notify>,
    tasks: &Rc<RefCell<Vec<Id>>>,
) -> impl Fn(Request<Incoming>) -> Told + use<> {
    let (go_on, tasks) = (Rc::clone(go_on), Rc::clone(tasks));
    move |request| {
        let (go_on, tasks) = (Rc::clone(&go_on), Rc::clone(&tasks));
        Box::pin(async move {
            tasks.borrow_mut().push(tokio::task::id());
            if request.uri().path() == "/slow" {
                go_on.notified().await;
                tasks.borrow_mut().push(tokio::task::id());
            }
            Response::new(Body::from(request.uri().path().to_owned()))
        })
    }
}

type Told = std::pin::Pin<Box<dyn Future<Output = Response<Body>>>>;

async fn ask(sender: &mut RequestSender, path: &str) -> String {
    let request = Request::get(format!("http://a{path}")).body(Body::empty()).unwrap();
    sender.ready().await.unwrap();
    let answer = timeout(DEADLINE, sender.send(request)).await.expect("in time").unwrap();
    let body = http_engine::body::read_all(answer.into_body(), 1000, DEADLINE).await.unwrap();
    String::from_utf8(body.into()).unwrap()
}

#[test]
fn a_slow_handler_gets_a_task_and_holds_up_nobody() {
    run(async {
        let (client, server) = duplex(4096);
        let (go_on, tasks) = (Rc::new(Notify::new()), Rc::new(RefCell::new(Vec::new())));
        let handler = told(&go_on, &tasks);
        let serving = serve(server, HttpVersions::Http2, Limits::default(), pending(), handler);
        let connection = spawn_local(async move { drop(serving.await) }).id();
        let mut fast = connect_http2(client).await.unwrap();
        let mut slow = fast.share().unwrap();
        let waiting = spawn_local(async move { ask(&mut slow, "/slow").await });
        for _ in 0..100 {
            assert_eq!(ask(&mut fast, "/fast").await, "/fast");
        }
        assert!(!waiting.is_finished());
        go_on.notify_one();
        assert_eq!(timeout(DEADLINE, waiting).await.unwrap().unwrap(), "/slow");
        assert_eq!(ask(&mut fast, "/fast").await, "/fast");
        let tasks = tasks.borrow();
        let elsewhere: Vec<_> = tasks.iter().filter(|task| **task != connection).collect();
        assert_eq!((tasks.len(), elsewhere.len()), (103, 1), "the one that waits has a task");
    });
}
