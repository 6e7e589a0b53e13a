//! The cap on connections to one origin: who waits, who is served, and when a place is free again.

use super::authority::Authority;
use super::raw::{Reply, raw};
use super::support::{DEADLINE, echo, get, plain, run, secure, text};
use http::header::{CONNECTION, HeaderValue, UPGRADE};
use http_engine::{Incoming, Limits, upgrade};
use origins::{
    AnyDestination, Blame, Dialer, Origin, OriginBusy, OriginLimits, Origins, SendError,
    WAITING_MAX,
};
use resolver::{Resolver, ResolverSettings};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::mpsc::channel;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Notify;
use tokio::task::{LocalSet, spawn_local};
use transport::ClientTls;
use transport::tls::Alpn;

fn capped(most: u32) -> Arc<Origins> {
    let resolver = Resolver::start(&ResolverSettings::default(), ClientTls::new()).unwrap();
    let dialer = Dialer::new(resolver, ClientTls::new());
    let limits = OriginLimits { connections_max: NonZeroU32::new(most), ..OriginLimits::default() };
    Arc::new(Origins::new(dialer, limits))
}

async fn ask(origins: &Origins, at: &str, path: &str) -> Result<String, SendError> {
    let origin: Origin = format!("http://{at}").parse().unwrap();
    let sent = origins.send(&origin, Box::new(get(path)), &AnyDestination).await;
    match sent {
        Ok(answer) => Ok(text(answer).await),
        Err(unanswered) => {
            let is_whole = unanswered.unsent_request.is_some();
            assert!(is_whole || unanswered.error.blame() != Blame::Busy, "it was not sent");
            Err(unanswered.error)
        }
    }
}

#[test]
fn requests_beyond_the_cap_wait_and_go_over_the_connections_that_there_are() {
    run(async {
        let server = plain(Limits::default(), async |request| {
            tokio::task::yield_now().await;
            echo(request).await
        })
        .await;
        let origins = capped(2);
        let page: Vec<_> = (0..60)
            .map(|_| {
                let (origins, at) = (Arc::clone(&origins), server.at.clone());
                spawn_local(async move { ask(&origins, &at, "/").await })
            })
            .collect();
        for request in page {
            request.await.unwrap().unwrap();
        }
        assert_eq!(server.connections(), 2);
        // Each origin has its own.
        let other = plain(Limits::default(), echo).await;
        ask(&origins, &other.at, "/").await.unwrap();
    });
}

#[test]
fn a_connection_of_http2_counts_once_whatever_it_carries() {
    run(async {
        let authority = Authority::new();
        let server = secure(authority.server("127.0.0.1", &[Alpn::Http2, Alpn::Http1]), echo).await;
        let resolver = Resolver::start(&ResolverSettings::default(), ClientTls::new()).unwrap();
        let dialer = Dialer::new(resolver, ClientTls::new()).trusting(&authority.pem).unwrap();
        let limits =
            OriginLimits { connections_max: NonZeroU32::new(1), ..OriginLimits::default() };
        let origins = Arc::new(Origins::new(dialer, limits));
        let origin: Origin = format!("https://{}", server.at).parse().unwrap();
        let page: Vec<_> = (0..50)
            .map(|_| {
                let (origins, origin) = (Arc::clone(&origins), origin.clone());
                spawn_local(async move {
                    let sent = origins.send(&origin, Box::new(get("/")), &AnyDestination).await;
                    text(sent.unwrap()).await
                })
            })
            .collect();
        for request in page {
            assert!(request.await.unwrap().starts_with("HTTP/2.0"));
        }
        assert_eq!(server.connections(), 1);
    });
}

#[test]
fn a_connection_that_is_closed_makes_room_for_another() {
    run(async {
        let (server, _) = raw(|_| Reply::Close("HTTP/1.1 200 OK\r\n\r\nx".into())).await;
        let origins = capped(1);
        let page: Vec<_> = (0..5)
            .map(|_| {
                let (origins, at) = (Arc::clone(&origins), server.at.clone());
                spawn_local(async move { ask(&origins, &at, "/").await })
            })
            .collect();
        for request in page {
            assert_eq!(request.await.unwrap().unwrap(), "x");
        }
        assert_eq!(server.connections(), 5);
    });
}

#[test]
fn a_connection_that_has_left_http_keeps_its_place_until_it_ends() {
    run(async {
        let server = plain(Limits::default(), async |mut request: http::Request<Incoming>| {
            if request.headers().get(UPGRADE).is_none() {
                return echo(request).await;
            }
            let taken = upgrade::on(&mut request);
            spawn_local(async move {
                let mut stream = upgrade::stream(taken).await.unwrap();
                let mut word = [0; 4];
                stream.read_exact(&mut word).await.unwrap();
                stream.write_all(&word).await.unwrap();
            });
            let mut answer = http::Response::new(http_engine::Body::empty());
            *answer.status_mut() = http::StatusCode::SWITCHING_PROTOCOLS;
            answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("upgrade"));
            answer.headers_mut().insert(UPGRADE, HeaderValue::from_static("words"));
            answer
        })
        .await;
        let origins = capped(1);
        let origin: Origin = format!("http://{}", server.at).parse().unwrap();
        let mut leaving = get("/");
        leaving.headers_mut().insert(CONNECTION, HeaderValue::from_static("upgrade"));
        leaving.headers_mut().insert(UPGRADE, HeaderValue::from_static("words"));
        let mut answer = origins.send(&origin, Box::new(leaving), &AnyDestination).await.unwrap();
        assert_eq!(answer.status(), 101);
        let mut stream = upgrade::stream(upgrade::on(&mut answer)).await.unwrap();
        let (other, at) = (Arc::clone(&origins), server.at.clone());
        let waiting = spawn_local(async move { ask(&other, &at, "/").await });
        stream.write_all(b"word").await.unwrap();
        let mut word = [0; 4];
        stream.read_exact(&mut word).await.unwrap();
        assert_eq!((&word, server.connections()), (b"word", 1));
        assert!(!waiting.is_finished());
        drop(stream);
        waiting.await.unwrap().unwrap();
        assert_eq!(server.connections(), 2);
    });
}

#[test]
fn an_idle_connection_gives_way_to_a_request_on_another_core() {
    run(async {
        let server = plain(Limits::default(), echo).await;
        let origins = capped(1);
        let (first_done, was_first) = tokio::sync::oneshot::channel();
        let (end, ended) = channel::<()>();
        let (other, at) = (Arc::clone(&origins), server.at.clone());
        let thread = std::thread::spawn(move || {
            run(async move {
                ask(&other, &at, "/").await.unwrap();
                first_done.send(()).unwrap();
                // Its tasks go on until the end.
                tokio::task::spawn_blocking(move || ended.recv()).await.unwrap().unwrap_err();
            });
        });
        was_first.await.unwrap();
        assert_eq!(server.connections(), 1);
        ask(&origins, &server.at, "/").await.unwrap();
        assert_eq!(server.connections(), 2);
        drop(end);
        thread.join().unwrap();
    });
}

#[test]
fn who_waits_too_long_or_behind_too_many_is_refused_and_says_why() {
    // Without the deadline of the others: the clock is put forward.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    LocalSet::new().block_on(&runtime, async {
        let begun = std::rc::Rc::new(Notify::new());
        let told = std::rc::Rc::clone(&begun);
        let server = plain(Limits::default(), move |request: http::Request<Incoming>| {
            let told = std::rc::Rc::clone(&told);
            async move {
                if request.uri().path() == "/slow" {
                    told.notify_one();
                    std::future::pending::<()>().await;
                }
                echo(request).await
            }
        })
        .await;
        let origins = capped(1);
        let (slow, at) = (Arc::clone(&origins), server.at.clone());
        let slow = spawn_local(async move { ask(&slow, &at, "/slow").await });
        begun.notified().await;
        tokio::time::pause();
        let waiting: Vec<_> = (0..=WAITING_MAX)
            .map(|_| {
                let (origins, at) = (Arc::clone(&origins), server.at.clone());
                spawn_local(async move { ask(&origins, &at, "/").await })
            })
            .collect();
        let mut refused = (0, 0);
        for waited in waiting {
            let why = waited.await.unwrap().unwrap_err();
            assert_eq!(why.blame(), Blame::Busy);
            match why {
                SendError::Busy(OriginBusy::QueueFull) => refused.0 += 1,
                SendError::Busy(OriginBusy::TooLong) => refused.1 += 1,
                other => panic!("{other}"),
            }
        }
        assert_eq!(refused, (1, WAITING_MAX));
        // The one that has the place is not concerned: its own patience ends it.
        assert_eq!(slow.await.unwrap().unwrap_err(), SendError::Timeout);
        tokio::time::resume();
        ask(&origins, &server.at, "/").await.unwrap();
    });
}

#[test]
fn a_reload_with_the_same_cap_counts_on() {
    run(async {
        let server = plain(Limits::default(), echo).await;
        let origins = capped(1);
        ask(&origins, &server.at, "/").await.unwrap();
        let limits =
            OriginLimits { connections_max: NonZeroU32::new(1), ..OriginLimits::default() };
        let after = origins.with_limits(limits);
        tokio::time::timeout(DEADLINE, ask(&after, &server.at, "/")).await.unwrap().unwrap();
        assert_eq!(server.connections(), 1, "the idle one is used on");
    });
}
