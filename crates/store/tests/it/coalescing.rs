//! Many clients at one cold URL.

use crate::door::{Door, How, Page, bytes, header_map};
use http::Method;
use http_freshness::RequestFacts;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use store::{CacheLookup, JoinOutcome};

const URL: &str = "http://example.test/big";
const CLIENTS: usize = 1000;
const LENGTH: usize = 10 << 20;

#[tokio::test(start_paused = true)]
async fn a_thousand_clients_cost_one_request_though_the_first_is_killed_at_a_tenth() {
    let body: Arc<[u8]> = bytes(1, LENGTH).into();
    let page = Page::ok("max-age=60", body.to_vec());
    let door = Door::new(256 << 20, move |_, _| page.clone());
    let finished = Arc::new(AtomicUsize::new(0));
    let mut clients = Vec::new();
    for number in 0..CLIENTS {
        let (door, body, finished) = (Arc::clone(&door), Arc::clone(&body), Arc::clone(&finished));
        clients.push(tokio::spawn(async move {
            let Some(mut reader) = reader(&door).await else { return };
            let mut at = 0;
            while let Some(piece) = reader.next().await {
                let piece = piece.unwrap();
                assert_eq!(piece, body[at..at + piece.len()]);
                at += piece.len();
                if number == 0 && at >= LENGTH / 10 {
                    return;
                }
            }
            assert_eq!(at, LENGTH);
            finished.fetch_add(1, Ordering::Relaxed);
        }));
    }
    for client in clients {
        client.await.unwrap();
    }
    assert_eq!((door.requests(), finished.load(Ordering::Relaxed)), (1, CLIENTS - 1));
    let figures = door.store.stats();
    assert_eq!((figures.counters.leads, figures.counters.alone), (1, 0));
    assert_eq!(figures.counters.collapsed, CLIENTS as u64 - 1);
    assert_eq!((figures.counters.stored, figures.fills), (1, 0));
    assert_eq!(door.get(URL, &[]).await.0, How::Hit);
}

/// A reader of the body from its first byte on, however it is had.
async fn reader(door: &Arc<Door>) -> Option<store::FillReader> {
    let fields = header_map(&[]);
    let asked = RequestFacts { method: &Method::GET, url: URL, fields: &fields, now: door.now() };
    match door.look_up(URL, &fields) {
        CacheLookup::Fetch(permit) => match door.fetch(permit, URL, &fields).await {
            (_, Some(crate::door::Body::Comes(reader))) => Some(reader),
            _ => None,
        },
        CacheLookup::Join(join) => match join.wait_for_head(&door.rules, &asked).await {
            JoinOutcome::Read(reading) => reading.fill.attach(0..u64::MAX).ok(),
            _ => None,
        },
        CacheLookup::Read(_, fill) => fill.attach(0..u64::MAX).ok(),
        _ => None,
    }
}

/// The same where the body is far larger than all memory: who waited for the head gets it all, for
/// its first byte is held until the last of them has come.
#[tokio::test(start_paused = true)]
async fn a_herd_that_waited_reads_a_body_that_cannot_be_kept() {
    let body = bytes(2, 3 << 20);
    let page = Page::ok("max-age=60", body.clone());
    let door = Door::new(400 << 10, move |_, _| page.clone());
    let clients: Vec<_> = (0..50)
        .map(|_| {
            let door = Arc::clone(&door);
            tokio::spawn(async move { door.get(URL, &[]).await })
        })
        .collect();
    for client in clients {
        assert!(client.await.unwrap().1 == body);
    }
    assert_eq!(door.requests(), 1);
    let figures = door.store.stats();
    assert!(figures.peak_bytes <= figures.limit_bytes, "{figures:?}");
    assert_eq!(figures.window_bytes, 0);
}

#[tokio::test(start_paused = true)]
async fn a_herd_at_what_cannot_be_shared_is_let_go_at_once_and_not_stopped_again() {
    for control in ["no-store", "private", "no-cache", "max-age=0"] {
        let page = Page::ok(control, b"mine".to_vec()).with("etag", "\"1\"");
        // Room for all of them at once.
        let door = Door::new(64 << 20, move |_, _| page.clone());
        let crowd = async || {
            let begun = tokio::time::Instant::now();
            let clients: Vec<_> = (0..CLIENTS)
                .map(|_| {
                    let door = Arc::clone(&door);
                    tokio::spawn(async move { door.get(URL, &[]).await })
                })
                .collect();
            for client in clients {
                assert_eq!(client.await.unwrap().1, b"mine");
            }
            begun.elapsed()
        };
        // One goes and finds out, then all go together: two ways there and back.
        assert_eq!(crowd().await, Duration::from_millis(100), "{control}");
        assert_eq!(door.requests(), CLIENTS as u64);
        // Nobody waits for anybody any more.
        assert_eq!(crowd().await, Duration::from_millis(50), "{control}");
        assert!(!door.store.explain(&door.store.key(URL), &door.rules, door.now()).is_empty());
        // After five minutes somebody finds out anew, unless what is stored says that each must
        // ask.
        door.pass(Duration::from_secs(301));
        let expected = if control == "no-cache" { 50 } else { 100 };
        assert_eq!(crowd().await, Duration::from_millis(expected), "{control}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_lead_that_vanishes_is_followed_by_another_and_one_that_fails_by_none() {
    let door = Door::new(1 << 20, |_, _| Page::ok("max-age=60", b"body".to_vec()));
    let fields = header_map(&[]);
    let CacheLookup::Fetch(permit) = door.look_up(URL, &fields) else { panic!("it is cold") };
    let others: Vec<_> = (0..20)
        .map(|_| {
            let door = Arc::clone(&door);
            tokio::spawn(async move { door.get(URL, &[]).await })
        })
        .collect();
    tokio::task::yield_now().await;
    drop(permit);
    for other in others {
        assert_eq!(other.await.unwrap().1, b"body");
    }
    assert_eq!(door.requests(), 1);

    let other = "http://example.test/down";
    let CacheLookup::Fetch(permit) = door.look_up(other, &fields) else { panic!("it is cold") };
    let waiting = {
        let door = Arc::clone(&door);
        tokio::spawn(async move { door.get(other, &[]).await })
    };
    tokio::task::yield_now().await;
    permit.failed();
    assert_eq!(waiting.await.unwrap().0, How::Refused);
    assert_eq!(door.requests(), 1);
}

#[tokio::test(start_paused = true)]
async fn each_variant_is_fetched_once() {
    let door = Door::new(1 << 20, |_, request| {
        let language = request["accept-language"].to_str().unwrap();
        Page::ok("max-age=60", language.into()).with("vary", "accept-language")
    });
    let clients: Vec<_> = (0..60)
        .map(|number| {
            let door = Arc::clone(&door);
            let language = ["de", "fr", "it"][number % 3];
            tokio::spawn(async move {
                let (_, body) = door.get(URL, &[("accept-language", language)]).await;
                assert_eq!(body, language.as_bytes());
            })
        })
        .collect();
    for client in clients {
        client.await.unwrap();
    }
    assert_eq!((door.requests(), door.store.stats().memory.entries), (3, 3));
}
