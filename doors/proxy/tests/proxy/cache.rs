//! What the cache makes of requests: URLs that it leaves alone, parts of what is there in part, and
//! what is stale where the origin is asked, fails, or is not to be asked.

use crate::support::{Given, Origin, Reply, ask, get, proxy, settings_with, start_door, until};
use door_proxy::ProxyDoor;
use http_cache::StalePolicy;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

fn kept_for_long(fields: &str, body: &str) -> Reply {
    let length = body.len();
    Reply::Keep(format!(
        "HTTP/1.1 200 OK\r\nCache-Control: max-age=3600\r\n{fields}Content-Length: {length}\r\n\r\n{body}"
    ))
}

fn caching(cache: http_cache::Settings) -> SocketAddr {
    proxy("", |settings| settings.cache = Some(cache))
}

/// An answer that is stale at once, and can be asked about.
fn stale_at_once(directives: &str, body: &str) -> Reply {
    let length = body.len();
    Reply::Keep(format!(
        "HTTP/1.1 200 OK\r\nCache-Control: max-age=0{directives}\r\nETag: \"{body}\"\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    ))
}

/// From now on this is what the door does with what is stale.
fn turn(door: &ProxyDoor, stale: StalePolicy) {
    let cache = http_cache::Settings { stale, ..Default::default() };
    door.reload(settings_with(|settings| settings.cache = Some(cache))).unwrap();
}

#[test]
fn urls_that_are_never_kept_are_fetched_each_time_and_say_so() {
    let origin = Origin::start(|_, _, request| {
        let path = request.split(' ').nth(1).unwrap();
        kept_for_long(&format!("Content-Location: {path}\r\n"), "now")
    });
    let never = vec!["/live/*".to_owned()];
    let cache = http_cache::Settings { never, ..Default::default() };
    let (proxy, door) = start_door(&Given::default(), |settings| settings.cache = Some(cache));
    let url = |path: &str| format!("http://{}{path}", origin.address);
    let live = url("/live/1");
    // What a POST was answered with is not kept either.
    let head = format!("POST {live} HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx");
    assert!(ask(proxy, &head).ends_with("now"));
    // A field that stands twice has the request take the long way.
    for fields in ["", "", "X-Twice: 1\r\nX-Twice: 2\r\n"] {
        let answer = ask(proxy, &format!("GET {live} HTTP/1.1\r\nHost: a\r\n{fields}\r\n"));
        assert!(answer.ends_with("now"), "{answer}");
        assert!(answer.contains("cache-status: tidegate;fwd=bypass;detail=never\r\n"), "{answer}");
    }
    assert_eq!(origin.seen().len(), 4);
    for handled in ["tidegate;fwd=uri-miss;stored", "tidegate;hit"] {
        let answer = get(proxy, &url("/kept/1"));
        assert!(answer.contains(handled), "{answer}");
    }
    assert_eq!(origin.seen().len(), 5);
    // Whoever wants only what is stored gets nothing of it.
    let only = format!("GET {live} HTTP/1.1\r\nHost: a\r\nCache-Control: only-if-cached\r\n\r\n");
    let nothing = ask(proxy, &only);
    assert!(nothing.starts_with("HTTP/1.1 504"), "{nothing}");
    assert_eq!(origin.seen().len(), 5);
    let counters = door.cache().unwrap().stats().counters;
    assert_eq!((counters.passed, counters.refused), (3, 1), "{counters:?}");
}

#[test]
fn one_persons_cache_keeps_what_is_for_nobody_else_until_it_is_shared() {
    let origin = Origin::start(|_, _, request| {
        let private = if request.starts_with("GET /private") { "private, " } else { "" };
        Reply::Keep(format!(
            "HTTP/1.1 200 OK\r\nCache-Control: {private}max-age=3600, s-maxage=0\r\n\
             Content-Length: 4\r\n\r\nmine"
        ))
    });
    let cache = |shared| Some(http_cache::Settings { shared, ..Default::default() });
    let (proxy, door) = start_door(&Given::default(), |it| it.cache = cache(false));
    let private = format!("http://{}/private", origin.address);
    let secret = format!("http://{}/secret", origin.address);
    let both = || {
        let login = ask_for(proxy, &secret, "Authorization: Basic YTpi\r\n");
        [get(proxy, &private), login]
    };
    for handled in ["tidegate;fwd=uri-miss;stored", "tidegate;hit;ttl=3"] {
        for answer in both() {
            assert!(answer.contains(handled) && answer.ends_with("mine"), "{answer}");
        }
    }
    let reload = |shared| door.reload(settings_with(|it| it.cache = cache(shared))).unwrap();
    reload(false);
    assert!(get(proxy, &private).contains("tidegate;hit"), "the same audience goes on");
    reload(true);
    for answer in both() {
        assert!(answer.contains("tidegate;fwd=uri-miss"), "{answer}");
    }
    assert!(get(proxy, &private).contains("detail=private"));
}

#[test]
fn freshness_is_set_by_url_where_an_answer_says_nothing() {
    let origin = Origin::start(|_, _, request| {
        let said =
            if request.starts_with("GET /said") { "Cache-Control: max-age=600\r\n" } else { "" };
        Reply::Keep(format!("HTTP/1.1 200 OK\r\n{said}Content-Length: 4\r\n\r\nbody"))
    });
    let rule = |urls: &str, min_secs| http_cache::FreshnessRule {
        urls: vec![urls.to_owned()],
        min: settings::Text(vocab::TimeSpan(Duration::from_secs(min_secs))),
        explicit_max: Some(settings::Text(vocab::TimeSpan(Duration::from_mins(1)))),
        ..Default::default()
    };
    let rules = vec![rule(r"/\.png$/", 300), rule("||127.0.0.1^", 0)];
    let (proxy, door) = start_door(&Given::default(), |it| {
        it.cache = Some(http_cache::Settings { freshness: rules, ..Default::default() });
    });
    let ask = |path: &str| get(proxy, &format!("http://{}{path}", origin.address));
    assert!(ask("/a.png").contains("fwd=uri-miss;stored;ttl=300"));
    assert!(ask("/a.png").contains("tidegate;hit;ttl="));
    assert!(ask("/page").contains("detail=no-freshness"), "the first rule is not for this one");
    assert!(ask("/said").contains("stored;ttl=60"), "the second is, and cuts what is said");
    let url = format!("http://{}/a.png", origin.address);
    let told = door.cache_for(&url).unwrap().explain(&url);
    assert!(
        told[0].contains("fresh for 5 min by the least that cache.freshness gives"),
        "{told:?}"
    );
}

/// A thousand letters.
fn letters() -> String {
    ('a'..='z').cycle().take(1000).collect()
}

/// An origin that sends of its letters what `Range` asks for.
fn origin_of_parts() -> Origin {
    Origin::start(|_, _, request| {
        let (whole, request) = (letters(), request.to_ascii_lowercase());
        let range = request.lines().find_map(|line| line.strip_prefix("range: bytes="));
        let Some((first, last)) = range.and_then(|range| range.split_once('-')) else {
            return kept_for_long("ETag: \"one\"\r\n", &whole);
        };
        let (first, total): (usize, _) = (first.parse().unwrap(), whole.len());
        let last = last.parse().unwrap_or(total - 1);
        let length = last - first + 1;
        Reply::Keep(format!(
            "HTTP/1.1 206 Partial Content\r\nCache-Control: max-age=3600\r\nETag: \"one\"\r\n\
             Content-Range: bytes {first}-{last}/{total}\r\nContent-Length: {length}\r\n\r\n{}",
            &whole[first..=last]
        ))
    })
}

fn ask_for(proxy: SocketAddr, url: &str, fields: &str) -> String {
    ask(proxy, &format!("GET {url} HTTP/1.1\r\nHost: a\r\n{fields}\r\n"))
}

#[test]
fn a_range_within_the_front_that_is_there_is_answered_from_it() {
    let origin = origin_of_parts();
    let proxy = caching(http_cache::Settings::default());
    let (url, whole) = (format!("http://{}/", origin.address), letters());
    let front = ask_for(proxy, &url, "Range: bytes=0-599\r\n");
    assert!(front.starts_with("HTTP/1.1 206") && front.ends_with(&whole[..600]), "{front}");
    for fields in ["", "If-Range: \"one\"\r\n"] {
        let part = ask_for(proxy, &url, &format!("Range: bytes=590-599\r\n{fields}"));
        assert!(part.starts_with("HTTP/1.1 206") && part.contains("tidegate;hit;ttl="), "{part}");
        assert!(part.contains("content-range: bytes 590-599/1000\r\n"), "{part}");
        assert!(part.ends_with(&format!("\r\n\r\n{}", &whole[590..600])), "{part}");
    }
    let parts = ask_for(proxy, &url, "Range: bytes=0-1,300-301\r\n");
    assert!(parts.contains("multipart/byteranges") && parts.contains("tidegate;hit"), "{parts}");
    let beyond = ask_for(proxy, &url, "Range: bytes=1000-\r\n");
    assert!(beyond.starts_with("HTTP/1.1 416") && beyond.contains("bytes */1000"), "{beyond}");
    let mut stream = TcpStream::connect(proxy).unwrap();
    let head = format!("HEAD {url} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut head = String::new();
    stream.read_to_string(&mut head).unwrap();
    assert!(head.contains("content-length: 1000\r\n") && head.contains("tidegate;hit"), "{head}");
    assert_eq!(origin.seen().len(), 1);
}

#[test]
fn what_wants_more_than_the_front_has_the_rest_fetched() {
    let origin = origin_of_parts();
    let proxy = caching(http_cache::Settings::default());
    let letters = letters();
    let whole = letters.as_str();
    for (path, fields, status, wanted) in [
        ("a", "Range: bytes=595-604\r\n", "206", &whole[595..605]),
        ("b", "", "200", whole),
        // Another representation than the one that is there is not what the client has a part of.
        ("c", "Range: bytes=0-9\r\nIf-Range: \"two\"\r\n", "200", whole),
        ("d", "Range: bytes=0-9\r\nIf-Range: W/\"one\"\r\n", "200", whole),
    ] {
        let url = format!("http://{}/{path}", origin.address);
        ask_for(proxy, &url, "Range: bytes=0-599\r\n");
        let before = origin.seen().len();
        let answer = ask_for(proxy, &url, fields);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{path}: {answer}");
        assert!(answer.contains("tidegate;fwd=partial"), "{path}: {answer}");
        assert!(answer.ends_with(&format!("\r\n\r\n{wanted}")), "{path}: {answer}");
        let seen = origin.seen();
        let asked = seen.last().unwrap().to_ascii_lowercase();
        assert!(asked.contains("\r\nrange: bytes=600-\r\n"), "{path}: {asked}");
        assert_eq!(seen.len(), before + 1, "{path}");
        assert!(ask_for(proxy, &url, "").contains("tidegate;hit"), "{path}");
    }
}

#[test]
fn a_part_without_a_strong_validator_is_not_put_to_use() {
    let origin = Origin::start(|_, _, _| {
        Reply::Keep(
            "HTTP/1.1 206 Partial Content\r\nCache-Control: max-age=3600\r\nETag: W/\"one\"\r\n\
             Content-Range: bytes 0-4/9\r\nContent-Length: 5\r\n\r\nfront"
                .into(),
        )
    });
    let proxy = caching(http_cache::Settings::default());
    let url = format!("http://{}/", origin.address);
    for _ in 0..2 {
        let part = ask_for(proxy, &url, "Range: bytes=0-4\r\n");
        assert!(part.ends_with("front") && part.contains("part-no-validator"), "{part}");
    }
    assert_eq!(origin.seen().len(), 2);
}

#[test]
fn offline_what_is_stored_is_sent_however_old_and_nothing_is_fetched() {
    let origin = Origin::start(|_, _, request| {
        let is_strict = request.starts_with("GET /strict");
        stale_at_once(if is_strict { ", must-revalidate" } else { "" }, "old")
    });
    let cache = http_cache::Settings::default();
    let (proxy, door) = start_door(&Given::default(), |settings| settings.cache = Some(cache));
    let url = |path: &str| format!("http://{}/{path}", origin.address);
    for path in ["kept", "strict"] {
        assert!(get(proxy, &url(path)).ends_with("old"), "{path}");
    }
    turn(&door, StalePolicy::Offline);
    let kept = get(proxy, &url("kept"));
    assert!(kept.starts_with("HTTP/1.1 200") && kept.ends_with("old"), "{kept}");
    assert!(kept.contains("tidegate;hit;ttl=") && kept.contains(";detail=offline"), "{kept}");
    // What the origin wants to be asked about first, and what is not there.
    for path in ["strict", "never"] {
        let refused = get(proxy, &url(path));
        assert!(refused.starts_with("HTTP/1.1 504"), "{path}: {refused}");
        assert!(refused.contains("cache-status: tidegate;detail=offline\r\n"), "{path}: {refused}");
    }
    assert_eq!(origin.seen().len(), 2);
    turn(&door, StalePolicy::Unreachable);
    assert!(get(proxy, &url("strict")).contains("tidegate;fwd=stale"));
    assert_eq!(origin.seen().len(), 3);
}

#[test]
fn relaxed_what_is_stale_is_sent_at_once_and_a_new_one_fetched_meanwhile() {
    let count = AtomicUsize::new(0);
    let origin = Origin::start(move |_, _, _| match count.fetch_add(1, SeqCst) {
        0 => stale_at_once("", "old"),
        _ => stale_at_once("", "new"),
    });
    let cache = http_cache::Settings { stale: StalePolicy::Always, ..Default::default() };
    let proxy = caching(cache);
    let url = format!("http://{}/", origin.address);
    assert!(get(proxy, &url).contains("tidegate;fwd=uri-miss"));
    let stale = get(proxy, &url);
    assert!(stale.ends_with("old") && stale.contains(";detail=relaxed"), "{stale}");
    until("a new one is fetched", || origin.seen().len() > 1);
    assert!(origin.seen()[1].to_lowercase().contains("if-none-match: \"old\""));
    until("the new one is sent", || get(proxy, &url).ends_with("new"));
}

#[test]
fn in_place_of_an_error_what_is_stale_is_sent_as_the_settings_say() {
    let error = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n";
    for (stale, trouble, status, said) in [
        (StalePolicy::Never, "", "502", ""),
        (StalePolicy::Unreachable, "", "200", ";detail=unreachable"),
        (StalePolicy::Unreachable, error, "503", ""),
        (StalePolicy::Failing, "", "200", ";detail=unreachable"),
        (StalePolicy::Failing, error, "200", "fwd=stale;fwd-status=503;"),
    ] {
        let count = AtomicUsize::new(0);
        let origin = Origin::start(move |_, _, _| match count.fetch_add(1, SeqCst) {
            0 => stale_at_once("", "old"),
            _ => Reply::Close(trouble.into()),
        });
        let proxy = caching(http_cache::Settings { stale, ..Default::default() });
        let url = format!("http://{}/", origin.address);
        assert!(get(proxy, &url).ends_with("old"));
        let answer = get(proxy, &url);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{stale:?}: {answer}");
        assert_eq!(answer.ends_with("old"), status == "200", "{stale:?}: {answer}");
        assert!(answer.contains(said), "{stale:?}: {answer}");
    }
}

#[test]
fn what_is_stale_is_not_sent_where_the_origin_is_out_of_bounds() {
    let origin = Origin::start(|_, _, _| stale_at_once("", "old"));
    let cache = || Some(http_cache::Settings::default());
    let (proxy, door) = start_door(&Given::default(), |settings| settings.cache = cache());
    let url = format!("http://{}/", origin.address);
    assert!(get(proxy, &url).ends_with("old"));
    let bounded = settings_with(|settings| {
        settings.cache = cache();
        settings.destinations = origins::DestinationScope::Public;
    });
    door.reload(bounded).unwrap();
    let refused = get(proxy, &url);
    assert!(refused.starts_with("HTTP/1.1 403"), "{refused}");
    assert_eq!(origin.seen().len(), 1);
}
