//! Streams of HTTP/2 with h2's own client: interim answers, trailers, windows, resets, goodbyes.

use crate::support::{DEADLINE, Frames, run};
use bytes::Bytes;
use h2::client::{Builder, ResponseFuture, SendRequest};
use h2::{Reason, RecvStream, SendStream};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use http_body::{Body as _, Frame};
use http_body_util::BodyExt;
use http_engine::{Body, HttpVersions, Incoming, Limits, ServeError, interim, serve};
use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::rc::Rc;
use tokio::io::duplex;
use tokio::sync::{Notify, oneshot};
use tokio::task::spawn_local;
use tokio::time::timeout;

/// A server with a handler, its client, and how to stop it.
struct Served {
    client: SendRequest<Bytes>,
    stop: oneshot::Sender<()>,
    ended: oneshot::Receiver<Result<(), ServeError>>,
}

async fn served<F>(window_bytes: u32, handler: impl Fn(Request<Incoming>) -> F + 'static) -> Served
where
    F: Future<Output = Response<Body>> + 'static,
{
    let (client, server) = duplex(64 << 10);
    let (stop, stopped) = oneshot::channel::<()>();
    let (done, ended) = oneshot::channel();
    let stopped = Box::pin(async move { stopped.await.unwrap_or(()) });
    let serving = serve(server, HttpVersions::Http2, Limits::default(), stopped, handler);
    spawn_local(async move { done.send(serving.await) });
    let mut builder = Builder::new();
    builder.initial_window_size(window_bytes);
    let (client, connection) = builder.handshake(client).await.unwrap();
    spawn_local(async move { drop(connection.await) });
    Served { client, stop, ended }
}

const WIDE: u32 = 1 << 20;

impl Served {
    /// Sends a request; its body follows, if it is not over.
    async fn ask(&mut self, request: Request<()>, is_over: bool) -> Asked {
        self.client = self.client.clone().ready().await.unwrap();
        let (answer, body) = self.client.send_request(request, is_over).unwrap();
        Asked { answer, body }
    }

    async fn get(&mut self, path: &str) -> Asked {
        self.ask(Request::get(format!("http://a{path}")).body(()).unwrap(), true).await
    }
}

struct Asked {
    answer: ResponseFuture,
    body: SendStream<Bytes>,
}

impl Asked {
    async fn answer(self) -> Response<RecvStream> {
        timeout(DEADLINE, self.answer).await.expect("in time").unwrap()
    }
}

async fn whole(mut body: RecvStream) -> Result<Vec<u8>, h2::Error> {
    let mut all = Vec::new();
    while let Some(piece) = timeout(DEADLINE, body.data()).await.expect("in time") {
        let piece = piece?;
        body.flow_control().release_capacity(piece.len())?;
        all.extend_from_slice(&piece);
    }
    Ok(all)
}

#[test]
fn interim_answers_come_ahead_of_the_answer() {
    run(async {
        let go_on = Rc::new(Notify::new());
        let told = Rc::clone(&go_on);
        let mut served = served(WIDE, move |request: Request<Incoming>| {
            let told = Rc::clone(&told);
            async move {
                let hints = Response::builder().status(103).header("link", "</a.css>");
                // Neither a body's length nor the connection's fields belong there.
                let hints = hints.header("content-length", "5").header("connection", "x");
                interim::send(hints.body(()).unwrap());
                if request.uri().path() == "/waits" {
                    told.notified().await;
                    interim::send(Response::builder().status(102).body(()).unwrap());
                }
                Response::new(Body::from("body"))
            }
        })
        .await;
        for (path, expected) in [("/at-once", &[103][..]), ("/waits", &[103, 102])] {
            let mut asked = served.get(path).await;
            let mut heard = Vec::new();
            while heard.len() < expected.len() {
                let next = poll_fn(|cx| asked.answer.poll_informational(cx));
                let ahead = timeout(DEADLINE, next).await.expect("in time").unwrap().unwrap();
                if ahead.status() == 103 {
                    assert_eq!(ahead.headers().len(), 1, "{path}");
                    assert_eq!(ahead.headers()["link"], "</a.css>", "{path}");
                    go_on.notify_one();
                }
                heard.push(ahead.status().as_u16());
            }
            assert_eq!(heard, expected, "{path}");
            let answer = asked.answer().await;
            assert_eq!(answer.status(), StatusCode::OK, "{path}");
            assert_eq!(whole(answer.into_body()).await.unwrap(), b"body", "{path}");
        }
    });
}

#[test]
fn trailers_go_both_ways() {
    run(async {
        let mut served = served(WIDE, |request: Request<Incoming>| async move {
            let came = request.into_body().collect().await.unwrap();
            let mut trailers = HeaderMap::new();
            let fields = came.trailers().unwrap();
            assert_eq!(fields.len(), 1, "no more than a sum of the body goes on");
            trailers.insert("got", fields["digest"].clone());
            let frames = [Frame::data(came.to_bytes()), Frame::trailers(trailers)];
            Response::new(Body::boxed(Frames(frames.into())))
        })
        .await;
        let request = Request::post("http://a/").body(()).unwrap();
        let mut asked = served.ask(request, false).await;
        asked.body.send_data(Bytes::from_static(b"hello"), false).unwrap();
        let mut trailers = HeaderMap::new();
        trailers.insert("digest", HeaderValue::from_static("sum"));
        trailers.insert("x-user", HeaderValue::from_static("root"));
        asked.body.send_trailers(trailers).unwrap();
        let mut body = asked.answer().await.into_body();
        assert_eq!(body.data().await.unwrap().unwrap(), "hello");
        assert!(body.data().await.is_none());
        assert_eq!(body.trailers().await.unwrap().unwrap()["got"], "sum");
    });
}

#[test]
fn a_head_has_a_date_and_the_length_of_its_body_and_nothing_of_a_connection() {
    run(async {
        let mut served = served(WIDE, |request: Request<Incoming>| async move {
            let answer = Response::builder().header("connection", "close, x-hop");
            let answer = answer.header("x-hop", "1").header("keep-alive", "timeout=5");
            let is_fed = request.uri().path() == "/fed";
            let (feed, unknown) = Body::channel(1);
            feed.finish();
            answer.body(if is_fed { unknown } else { Body::from("body") }).unwrap()
        })
        .await;
        for (path, lengths) in [("/", 1), ("/fed", 0)] {
            let answer = served.get(path).await.answer().await;
            let fields = answer.headers();
            assert!(fields["date"].as_bytes().ends_with(b" GMT"));
            assert_eq!(fields.get_all("content-length").iter().count(), lengths, "{path}");
            assert_eq!(fields.len(), 1 + lengths, "{fields:?}");
            whole(answer.into_body()).await.unwrap();
        }
    });
}

#[test]
fn a_body_is_read_no_further_than_its_client_makes_room() {
    run(async {
        const PIECE: usize = 1000;
        let taken = Rc::new(RefCell::new(0));
        let counted = Rc::clone(&taken);
        let mut served = served(1000, move |_| {
            let counted = Rc::clone(&counted);
            async move {
                let (mut feed, body) = Body::channel(1);
                spawn_local(async move {
                    for number in 0..100_u8 {
                        feed.send(vec![number; PIECE]).await.unwrap();
                        *counted.borrow_mut() += 1;
                    }
                    feed.finish();
                });
                Response::new(body)
            }
        })
        .await;
        let mut body = served.get("/").await.answer().await.into_body();
        for number in 0..100_u8 {
            let mut piece = Vec::new();
            while piece.len() < PIECE {
                let next = timeout(DEADLINE, body.data()).await.expect("in time");
                piece.extend_from_slice(&next.unwrap().unwrap());
            }
            assert_eq!(piece, [number; PIECE]);
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
            // One in the window, one that waits, one in h2's hands, one in the channel.
            let ahead = *taken.borrow() - usize::from(number);
            assert!(ahead <= 5, "{ahead} pieces ahead of the client");
            body.flow_control().release_capacity(PIECE).unwrap();
        }
        assert!(whole(body).await.unwrap().is_empty(), "nothing follows");
    });
}

#[test]
fn an_upload_larger_than_the_windows_goes_through() {
    run(async {
        let mut served = served(WIDE, |request: Request<Incoming>| async move {
            assert_eq!(request.body().size_hint().exact(), Some(3 << 20));
            let came = request.into_body().collect().await.unwrap().to_bytes();
            Response::new(Body::from(came.len().to_string()))
        })
        .await;
        let request = Request::post("http://a/").header("content-length", 3 << 20);
        let mut asked = served.ask(request.body(()).unwrap(), false).await;
        // h2 sends it as the server makes room.
        asked.body.send_data(Bytes::from(vec![0; 3 << 20]), true).unwrap();
        let answer = asked.answer().await;
        assert_eq!(whole(answer.into_body()).await.unwrap(), (3 << 20).to_string().as_bytes());
    });
}

/// Says that it was dropped.
struct DropNote(Option<oneshot::Sender<()>>);

impl Drop for DropNote {
    fn drop(&mut self) {
        if let Some(note) = self.0.take() {
            let _ = note.send(());
        }
    }
}

#[test]
fn a_reset_drops_the_handler_and_the_body() {
    run(async {
        let (note, handler_gone) = oneshot::channel();
        let (gone, body_gone) = oneshot::channel();
        let note = Rc::new(RefCell::new(Some(DropNote(Some(note)))));
        let gone = Rc::new(RefCell::new(Some(gone)));
        let mut served = served(WIDE, move |request: Request<Incoming>| {
            let (note, gone) = (Rc::clone(&note), Rc::clone(&gone));
            async move {
                if request.uri().path() == "/handler" {
                    let _note = note.take();
                    std::future::pending::<()>().await;
                }
                let (feed, body) = Body::channel(1);
                let gone = gone.take().unwrap();
                spawn_local(async move {
                    feed.until_reader_gone().await;
                    let _ = gone.send(());
                });
                Response::new(body)
            }
        })
        .await;
        let mut asked = served.get("/handler").await;
        asked.body.send_reset(Reason::CANCEL);
        timeout(DEADLINE, handler_gone).await.expect("the handler is dropped").unwrap();
        let mut asked = served.get("/body").await;
        let answer = timeout(DEADLINE, &mut asked.answer).await.unwrap().unwrap();
        asked.body.send_reset(Reason::CANCEL);
        timeout(DEADLINE, body_gone).await.expect("the body is dropped").unwrap();
        drop(answer);
    });
}

#[test]
fn a_stop_lets_what_runs_finish_and_begins_nothing() {
    run(async {
        let (go_on, begun) = (Rc::new(Notify::new()), Rc::new(Notify::new()));
        let told = (Rc::clone(&go_on), Rc::clone(&begun));
        let mut served = served(WIDE, move |_| {
            let (go_on, begun) = told.clone();
            async move {
                begun.notify_one();
                go_on.notified().await;
                Response::new(Body::from("finished"))
            }
        })
        .await;
        let asked = served.get("/").await;
        let mut other = served.client.clone();
        timeout(DEADLINE, begun.notified()).await.expect("the handler is asked");
        served.stop.send(()).unwrap();
        // The client learns that it is to send no more.
        let refused = async {
            loop {
                match other.clone().ready().await {
                    Ok(ready) => other = ready,
                    Err(why) => return why,
                }
                tokio::task::yield_now().await;
            }
        };
        let why = timeout(DEADLINE, refused).await.expect("it goes away");
        assert!(why.is_go_away() && why.reason() == Some(Reason::NO_ERROR), "{why:?}");
        go_on.notify_one();
        let answer = asked.answer().await;
        assert_eq!(whole(answer.into_body()).await.unwrap(), b"finished");
        timeout(DEADLINE, served.ended).await.expect("it ends").unwrap().unwrap();
    });
}

#[test]
fn a_body_that_fails_resets_its_stream_with_a_fault_of_ours() {
    run(async {
        let mut served = served(WIDE, |_| async {
            let (mut feed, body) = Body::channel(1);
            spawn_local(async move { feed.send("half").await });
            Response::new(body)
        })
        .await;
        let mut body = served.get("/").await.answer().await.into_body();
        assert_eq!(body.data().await.unwrap().unwrap(), "half");
        let end = timeout(DEADLINE, body.data()).await.expect("in time").unwrap();
        assert_eq!(end.unwrap_err().reason(), Some(Reason::INTERNAL_ERROR));
    });
}

#[test]
fn a_connect_that_announces_a_body_is_no_tunnel() {
    run(async {
        let mut served = served(WIDE, |_| async { Response::new(Body::empty()) }).await;
        let request = Request::connect("a:443").header("content-length", "5").body(()).unwrap();
        let asked = served.ask(request, false).await;
        let why = timeout(DEADLINE, asked.answer).await.expect("in time").unwrap_err();
        assert_eq!(why.reason(), Some(Reason::PROTOCOL_ERROR));
        let answer = served.get("/").await.answer().await;
        assert_eq!(answer.status(), StatusCode::OK, "the connection lives on");
    });
}
