//! What the store costs for a hit in memory, and the calculation of freshness in it.
//!
//! It is filled as a door fills it, with time handed in: no count hangs on the clock.

use crate::names;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode};
use http_freshness::{
    CachingRules, RequestFacts, ResponseFacts, Reuse, reuse, storable_head, storing,
};
use std::hint::black_box;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use store::{AnswerPlan, CacheLookup, KeySeed, Settings, Store, StoringAnswer};
use vocab::Now;

/// When everything is answered: Sun, 06 Nov 1994 08:49:37 GMT.
pub const NOW: Now = Now { unix_ms: 784_111_777_000, mono_ms: 0 };
/// When it is asked for: a minute later.
pub const LATER: Now = Now { unix_ms: NOW.unix_ms + 60_000, mono_ms: 60_000 };
/// What is asked for.
pub const URL: &str = "http://shop.example/media/page.html";
/// Pages that are stored.
const PAGES: usize = 2_000;

fn fields(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
    let field = |&(name, value): &(&'static str, &'static str)| {
        (HeaderName::from_static(name), HeaderValue::from_static(value))
    };
    pairs.iter().map(field).collect()
}

/// What a browser sends for a page.
fn request_fields() -> HeaderMap {
    fields(&[
        ("accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"),
        ("accept-encoding", "gzip, deflate, br, zstd"),
        ("accept-language", "en-GB,en;q=0.5"),
        ("referer", "http://shop.example/"),
        ("user-agent", "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"),
    ])
}

/// What a server sends with it, fresh for an hour.
pub fn answer_fields() -> HeaderMap {
    fields(&[
        ("date", "Sun, 06 Nov 1994 08:49:37 GMT"),
        ("content-type", "text/html; charset=utf-8"),
        ("cache-control", "public, max-age=3600, stale-while-revalidate=60"),
        ("etag", "\"5f3c-61b2a4e9c1d40\""),
        ("last-modified", "Sat, 05 Nov 1994 12:00:00 GMT"),
        ("server", "origin"),
    ])
}

fn answered(fields: &HeaderMap) -> ResponseFacts<'_> {
    let ms = NOW.unix_ms;
    ResponseFacts { status: StatusCode::OK, fields, requested_ms: ms, received_ms: ms }
}

fn put(store: &Arc<Store>, rules: &CachingRules, url: &str) {
    let (request, mut answer) = (request_fields(), answer_fields());
    let body = [b'x'; 4 << 10];
    answer.insert("content-length", body.len().into());
    let asked = RequestFacts { method: &Method::GET, url, fields: &request, now: NOW };
    let CacheLookup::Fetch(lead) = store.look_up(&store.key(url), rules, &asked) else {
        panic!("{url} is there already")
    };
    let AnswerPlan::Storing(mut storing) = lead.answered(rules, &asked, &answered(&answer)) else {
        panic!("{url} is not stored")
    };
    assert!(write(&mut storing, &body), "{url}: there is room");
    storing.finish(NOW).expect("it is whole");
}

fn write(storing: &mut StoringAnswer, bytes: &[u8]) -> bool {
    pin!(storing.write(bytes)).poll(&mut Context::from_waker(Waker::noop())) == Poll::Ready(Ok(()))
}

/// The key of a URL is made, and what is stored for it found fresh.
pub fn look_up(count: usize) -> usize {
    let (rules, request) = (CachingRules::forward(), request_fields());
    let opened = Store::open(Settings::default(), KeySeed([7; 16]), 1, NOW);
    let (store, _) = opened.expect("only a disk can fail to open");
    let named = names::made(PAGES);
    let urls: Vec<String> =
        named.iter().map(|name| format!("http://{name}/media/page.html")).collect();
    urls.iter().for_each(|url| put(&store, &rules, url));
    (0..count)
        .filter(|at| {
            let url = black_box(urls[at * 7919 % PAGES].as_str());
            let asked = RequestFacts { method: &Method::GET, url, fields: &request, now: LATER };
            matches!(store.look_up(&store.key(url), &rules, &asked), CacheLookup::Hit(..))
        })
        .count()
}

/// Whether a stored answer may be sent: variant, wishes of the client, age and lifetime.
pub fn freshness(count: usize) -> usize {
    let (rules, request, answer) = (CachingRules::forward(), request_fields(), answer_fields());
    let first = RequestFacts { method: &Method::GET, url: URL, fields: &request, now: NOW };
    let terms = storing(&rules, &first, &answered(&answer)).expect("it may be stored");
    let head = storable_head(&rules, &first, &answered(&answer));
    let later = RequestFacts { now: LATER, ..first };
    (0..count)
        .filter(|_| {
            let found = reuse(&rules, black_box(&later), black_box(&head), &terms);
            matches!(found, Reuse::Fresh(_))
        })
        .count()
}
