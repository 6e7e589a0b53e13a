//! What is stale: one asks, and the others get what it learns.

use crate::door::{Door, How, Page, bytes, header_map};
use http::HeaderMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use store::CacheLookup;

const URL: &str = "http://example.test/page";

async fn together(door: &Arc<Door>, count: usize) -> Vec<How> {
    let clients: Vec<_> = (0..count)
        .map(|_| {
            let door = Arc::clone(door);
            tokio::spawn(async move { door.get(URL, &[]).await.0 })
        })
        .collect();
    let mut ways = Vec::new();
    for client in clients {
        ways.push(client.await.unwrap());
    }
    ways
}

#[tokio::test(start_paused = true)]
async fn a_stale_body_is_asked_about_once_and_stays() {
    let page = Page::ok("max-age=60", bytes(1, 5000)).with("etag", "\"a\"");
    let door = Door::new(1 << 20, move |_, _| page.clone());
    assert_eq!(together(&door, 1).await, [How::Fetched]);
    assert_eq!(together(&door, 2).await, [How::Hit; 2]);
    let before = door.store.budget().total();
    door.pass(Duration::from_secs(61));
    let ways = together(&door, 50).await;
    assert_eq!(ways.iter().filter(|how| **how == How::Confirmed).count(), 1);
    assert_eq!(ways.iter().filter(|how| **how == How::Shared).count(), 49);
    assert_eq!((door.requests(), together(&door, 1).await), (2, vec![How::Hit]));
    assert_eq!(door.store.budget().total(), before, "the body is the same one");
}

#[tokio::test(start_paused = true)]
async fn why_tells_the_last_reason_until_an_answer_is_stored() {
    let control = Arc::new(Mutex::new("no-store"));
    let door = Door::new(1 << 20, {
        let control = Arc::clone(&control);
        move |_, _| Page::ok(*control.lock().unwrap(), b"body".to_vec()).with("etag", "\"a\"")
    });
    let told = || door.store.explain(&door.store.key(URL), &door.rules, door.now()).join("\n");
    assert_eq!(told(), "", "nobody has asked for it");
    together(&door, 1).await;
    door.pass(Duration::from_secs(5));
    let reason = "its last answer, asked for 5 s ago, was not stored: the origin says no-store";
    assert!(told().contains(reason), "{}", told());
    *control.lock().unwrap() = "max-age=60";
    together(&door, 1).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(told().contains("so fresh for"), "{}", told());
    assert!(!told().contains("not stored") && !told().contains("a GET now"), "{}", told());
    // What is stored says why it would not be sent as it is.
    door.pass(Duration::from_secs(61));
    assert!(told().contains("; a GET now has the origin asked first: it is stale"), "{}", told());
    // A 304 may forbid to keep it any longer.
    *control.lock().unwrap() = "no-store";
    assert_eq!(together(&door, 1).await, [How::Confirmed]);
    assert!(told().ends_with("was not stored: the origin says no-store"), "{}", told());
}

#[tokio::test(start_paused = true)]
async fn what_may_be_stale_meanwhile_is_refreshed_by_one() {
    let version = Arc::new(AtomicU64::new(1));
    let door = Door::new(1 << 20, {
        let version = Arc::clone(&version);
        move |_, _| {
            let version = version.load(Ordering::Relaxed);
            let page = Page::ok("max-age=60, stale-while-revalidate=600", bytes(version, 100));
            page.with("etag", &format!("\"{version}\""))
        }
    });
    together(&door, 1).await;
    version.store(2, Ordering::Relaxed);
    door.pass(Duration::from_secs(100));
    assert_eq!(together(&door, 30).await, [How::Stale; 30]);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(door.requests(), 2);
    assert_eq!(door.get(URL, &[]).await, (How::Hit, bytes(2, 100)));
}

#[tokio::test(start_paused = true)]
async fn what_broke_off_is_taken_up_for_those_who_wait() {
    let body = bytes(7, 500_000);
    let page = Page { breaks_at: Some(200_000), ..Page::ok("max-age=60", body.clone()) };
    let door = Door::new(8 << 20, move |_, _| page.clone().with("etag", "\"strong\""));
    assert!(door.get(URL, &[]).await.1 == body);
    assert_eq!((door.requests(), door.body_bytes.load(Ordering::Relaxed)), (2, 500_000));
    assert_eq!(door.get(URL, &[]).await.0, How::Hit);
}

/// What the next client gets when a fetch broke off at 200,000 of 500,000 bytes, and how many bytes
/// the origin sent in all. `later`: what the origin answers from then on.
async fn after_a_break(later: impl Fn(Page, &HeaderMap) -> Page + Send + Sync + 'static) -> u64 {
    let body = bytes(7, 500_000);
    let is_up = Arc::new(AtomicBool::new(false));
    let door = Door::new(8 << 20, {
        let (body, is_up) = (body.clone(), Arc::clone(&is_up));
        move |_, request| {
            let page = Page::ok("max-age=60", body.clone()).with("etag", "\"a\"");
            match is_up.load(Ordering::Relaxed) {
                true => later(page, request),
                // The rest cannot be had for now.
                false if request.contains_key("range") => Page { status: 503, ..Page::default() },
                false => Page { breaks_at: Some(200_000), ..page },
            }
        }
    });
    let client = tokio::spawn({
        let door = Arc::clone(&door);
        async move { door.get(URL, &[]).await }
    });
    assert!(client.await.is_err(), "its reader is told");
    is_up.store(true, Ordering::Relaxed);
    assert!(door.get(URL, &[]).await.1 == body);
    assert_eq!(door.get(URL, &[]).await.0, How::Hit);
    door.body_bytes.load(Ordering::Relaxed)
}

#[tokio::test(start_paused = true)]
async fn what_broke_off_for_good_leaves_its_front_for_the_next() {
    let rest_only = after_a_break(|page, _| page).await;
    assert_eq!(rest_only, 500_000, "each byte came once");
    // It has changed: everything comes anew, and nothing is mixed.
    let changed = after_a_break(|page, _| {
        let fields = vec![("cache-control", "max-age=60".to_owned()), ("etag", "\"b\"".to_owned())];
        Page { fields, ..page }
    });
    assert_eq!(changed.await, 700_000);
    // A part that was not asked for, and a refusal of the range, are no answers for the client.
    for status in [206, 416] {
        let strange = after_a_break(move |page, request| {
            if request.contains_key("range") {
                Page { status, body: b"x".to_vec(), fields: Vec::new(), breaks_at: None }
            } else {
                page
            }
        });
        assert_eq!(strange.await, 700_000, "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_front_is_offered_while_it_is_fresh_and_its_validator_strong() {
    for (etag, is_offered) in [("\"a\"", true), ("W/\"a\"", false)] {
        let page = Page { breaks_at: Some(200_000), ..Page::ok("max-age=60", bytes(7, 500_000)) };
        let door = Door::new(8 << 20, move |_, request| {
            if request.contains_key("range") {
                Page { status: 503, ..Page::default() }
            } else {
                page.clone().with("etag", etag)
            }
        });
        let client = Arc::clone(&door);
        let got = tokio::spawn(async move { client.get(URL, &[]).await });
        assert!(got.await.is_err(), "its reader is told");
        let (range, plain) = (header_map(&[("range", "bytes=0-9")]), HeaderMap::new());
        let offers =
            |fields: &HeaderMap| matches!(door.look_up(URL, fields), CacheLookup::Partial(..));
        assert_eq!((offers(&range), offers(&plain)), (is_offered, false), "{etag}");
        door.pass(Duration::from_secs(61));
        assert!(!offers(&range), "{etag}");
    }
}
