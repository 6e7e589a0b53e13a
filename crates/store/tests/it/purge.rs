//! Taking back: by URL, prefix, host and tag, softly or for good, and while it is fetched.

use crate::door::{Door, How, Page, SEED, header_map};
use http::{Method, StatusCode};
use http_freshness::{RequestFacts, ResponseFacts};
use store::{CacheKey, CacheLookup, Purge, PurgeStrength};

const URLS: [&str; 4] = [
    "http://a.example/x/1",
    "http://a.example:8080/x/2",
    "https://a.example/y",
    "http://b.example/x/1",
];

async fn filled() -> std::sync::Arc<Door> {
    let door = Door::new(4 << 20, |url, _| {
        let page = Page::ok("max-age=600", url.into()).with("etag", "\"1\"");
        page.with("surrogate-key", if url.ends_with('1') { "one all" } else { "all" })
    });
    for url in URLS {
        door.get(url, &[]).await;
    }
    tokio::task::yield_now().await;
    door
}

#[tokio::test(start_paused = true)]
async fn a_purge_concerns_what_it_says() {
    for (what, gone) in [
        (Purge::Key(CacheKey::new(&SEED, URLS[0]).hash()), vec![0]),
        (Purge::Prefix("http://a.example/x".into()), vec![0]),
        (Purge::Host("a.example".into()), vec![0, 1, 2]),
        (Purge::Tag("one".into()), vec![0, 3]),
        (Purge::Tag("on".into()), vec![]),
        (Purge::Everything, vec![0, 1, 2, 3]),
    ] {
        for depth in [PurgeStrength::Hard, PurgeStrength::Soft] {
            let door = filled().await;
            let purged = door.store.purge(&what, depth, door.now()).unwrap();
            assert_eq!((purged.entries, purged.fetches), (gone.len() as u64, 0), "{what:?}");
            for (place, url) in URLS.iter().enumerate() {
                let expected = match depth {
                    _ if !gone.contains(&place) => How::Hit,
                    PurgeStrength::Hard => How::Fetched,
                    PurgeStrength::Soft => How::Confirmed,
                };
                assert_eq!(door.get(url, &[]).await.0, expected, "{what:?} {depth:?} {url}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_fetched_while_a_purge_comes_is_not_kept_as_if_it_came_later() {
    for (what, is_concerned) in [
        (Purge::Key(CacheKey::new(&SEED, URLS[0]).hash()), true),
        (Purge::Tag("one".into()), true),
        (Purge::Tag("other".into()), false),
        (Purge::Host("b.example".into()), false),
    ] {
        let door = Door::new(4 << 20, |url, _| {
            Page::ok("max-age=600", url.into()).with("surrogate-key", "one")
        });
        let fields = header_map(&[]);
        let CacheLookup::Fetch(permit) = door.look_up(URLS[0], &fields) else {
            panic!("it is cold")
        };
        door.store.purge(&what, PurgeStrength::Hard, door.now()).unwrap();
        // Who comes now does not get what was asked for before, where that may be concerned.
        let is_waited_for = matches!(door.look_up(URLS[0], &fields), CacheLookup::Join(_));
        assert!(!(is_waited_for && is_concerned), "{what:?}");
        let (_, body) = door.fetch(permit, URLS[0], &fields).await;
        assert!(body.is_some(), "its own client gets it");
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        let expected = if is_concerned { How::Fetched } else { How::Hit };
        assert_eq!(door.get(URLS[0], &[]).await.0, expected, "{what:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_changes_something_takes_back_what_it_names() {
    let door = filled().await;
    let fields = header_map(&[]);
    let asked =
        RequestFacts { method: &Method::POST, url: URLS[0], fields: &fields, now: door.now() };
    let answer = header_map(&[("location", "/other")]);
    let answered = |status| ResponseFacts {
        status,
        fields: &answer,
        requested_ms: door.now().unix_ms,
        received_ms: door.now().unix_ms,
    };
    let failed = door.store.invalidate(&asked, &answered(StatusCode::BAD_REQUEST)).await;
    let done = door.store.invalidate(&asked, &answered(StatusCode::CREATED)).await;
    assert_eq!((failed.entries, done.entries), (0, 1));
    assert_eq!(door.get(URLS[0], &[]).await.0, How::Fetched);
    let CacheLookup::Bypass(_) = door.store.look_up(&door.store.key(URLS[0]), &door.rules, &asked)
    else {
        panic!("a POST is not answered from what is stored")
    };
}

#[tokio::test(start_paused = true)]
async fn the_answer_to_a_head_request_updates_or_outdates() {
    let fields = header_map(&[]);
    for (length, expected) in [("20", How::Hit), ("21", How::Confirmed)] {
        let door = filled().await;
        let asked =
            RequestFacts { method: &Method::HEAD, url: URLS[0], fields: &fields, now: door.now() };
        let answer = header_map(&[("content-length", length), ("cache-control", "max-age=900")]);
        let page = Page { status: 200, ..Page::default() };
        let key = door.store.key(URLS[0]);
        door.store.head_answered(&key, &door.rules, &asked, &door.answered(&page, &answer)).await;
        let lines = door.store.explain(&key, &door.rules, door.now());
        assert_eq!(lines[0].contains("15 min"), expected == How::Hit, "{lines:?}");
        assert_eq!(door.get(URLS[0], &[]).await.0, expected);
    }
}

/// A hundred requests that change other pages while one is fetched.
#[tokio::test(start_paused = true)]
async fn what_changes_elsewhere_does_not_keep_a_fetch_out() {
    let door = Door::new(4 << 20, |url, _| Page::ok("max-age=600", url.into()));
    let fields = header_map(&[]);
    let CacheLookup::Fetch(permit) = door.look_up(URLS[0], &fields) else { panic!("it is cold") };
    for number in 0..100 {
        let what = Purge::Key(door.store.key(&format!("http://a.example/{number}")).hash());
        door.store.purge(&what, PurgeStrength::Hard, door.now()).unwrap();
    }
    door.fetch(permit, URLS[0], &fields).await;
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    assert_eq!(door.get(URLS[0], &[]).await.0, How::Hit);
}
