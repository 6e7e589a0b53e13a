//! A page with ads, loaded by Chromium whose names resolve only through our DNS door and that
//! trusts our CA: the page finishes as if the ads had never been there, and the ledger tells all.
//!
//! Runs in a network namespace of its own, with addresses of TEST-NET-3, so that the browser takes
//! the pixel address for a public one (Local Network Access would gate a private one).

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use tidegate_tests::browser::{Browser, trust};
use tidegate_tests::namespace::Namespace;
use tidegate_tests::origin::{Origin, Page};
use tidegate_tests::resolver::{Reply, Resolver};
use tidegate_tests::tidegate::Tidegate;
use tidegate_tests::{Scratch, shared, wait};

const DNS: &str = "203.0.113.53";
const UPSTREAM: &str = "203.0.113.54";
const PIXEL: &str = "203.0.113.80";
const SITE: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 10);
const CDN: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 11);

/// The page: what is wanted (style, image, script of a CDN) and what is not (a script, an image, a
/// frame, a style, a beacon, a preflighted fetch and a tracker behind an alias, over http and
/// https).
const PAGE: &str = r#"<!doctype html><meta charset=utf-8><title>A page with ads</title>
<link rel=icon href="data:,">
<link rel=stylesheet href="/site.css">
<link rel=stylesheet href="https://doubleclick.net/ads.css">
<script>
  const seen = { errors: [], loaded: [] };
  addEventListener('error', e => seen.errors.push(e.target.src || e.target.href || e.message), true);
  addEventListener('load', e => { if (e.target.src || e.target.href) seen.loaded.push(e.target.src || e.target.href) }, true);
</script>
<h1>News</h1>
<script src="https://doubleclick.net/tag.js"></script>
<script src="https://metrics.site.example/collect.js"></script>
<script src="http://cdn.example/wanted.js"></script>
<img src="/photo.svg" alt=photo>
<img src="https://ad.doubleclick.net/pixel?id=1" alt="">
<iframe src="https://doubleclick.net/frame"></iframe>
<script>
addEventListener('load', async () => {
  navigator.sendBeacon('https://doubleclick.net/beacon', 'x=1');
  try {
    const answer = await fetch('https://doubleclick.net/api.json', {
      method: 'PUT', headers: { 'X-Id': '1', 'Accept': 'application/json' }, body: '{}' });
    seen.fetched = JSON.stringify(await answer.json());
  } catch (error) { seen.fetched = 'failed: ' + error; }
  // A well-known host that nothing has asked for so far.
  new Image().src = 'https://bat.bing.com/late.gif';
  seen.late = await new Promise(tell => new PerformanceObserver(list => {
    for (const it of list.getEntriesByName('https://bat.bing.com/late.gif')) {
      tell([it.nextHopProtocol, it.connectEnd - it.connectStart]);
    }
  }).observe({ type: 'resource', buffered: true }));
  seen.wanted = window.wanted;
  seen.color = getComputedStyle(document.querySelector('h1')).color;
  seen.photo = document.querySelector('img').naturalWidth;
  await fetch('/report?' + encodeURIComponent(JSON.stringify(seen)));
});
</script>
"#;

/// Every request that the page makes to a blocked host, as the ledger shows it.
const BLOCKED: [&str; 9] = [
    "https://doubleclick.net/ads.css",
    "https://doubleclick.net/tag.js",
    "https://metrics.site.example/collect.js",
    "https://ad.doubleclick.net/pixel?id=1",
    "https://doubleclick.net/frame",
    "https://doubleclick.net/beacon",
    "https://doubleclick.net/api.json",
    "https://doubleclick.net/api.json", // its preflight
    "https://bat.bing.com/late.gif",
];

/// What Chromium looks up at every start for itself, whatever its flags.
const BROWSERS_OWN: [&str; 4] =
    ["clients2.google.com", "update.googleapis.com", "accounts.google.com", "www.google.com"];

fn percent_decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut plain = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == b'%' {
            plain.push(u8::from_str_radix(&text[at + 1..at + 3], 16).unwrap());
            at += 3;
        } else {
            plain.push(bytes[at]);
            at += 1;
        }
    }
    String::from_utf8(plain).unwrap()
}

/// The namespace, with a server of names.
fn surroundings(name: &str) -> (Namespace, Resolver) {
    let namespace =
        Namespace::new(name, &[DNS, UPSTREAM, PIXEL, &SITE.to_string(), &CDN.to_string()], DNS);
    namespace.enter();
    let upstream = Resolver::start_at(
        format!("{UPSTREAM}:53").parse().unwrap(),
        &[
            ("www.site.example", Reply::Address(SITE)),
            ("cdn.example", Reply::Address(CDN)),
            ("metrics.site.example", Reply::Alias("td.doubleclick.net".into(), CDN)),
        ],
    );
    (namespace, upstream)
}

/// The servers of the page and of the script that it wants.
fn servers(page: &str) -> (Origin, Origin) {
    let svg = "<svg xmlns='http://www.w3.org/2000/svg' width='40' height='30'/>";
    let site = Origin::start_at(
        (SITE, 80).into(),
        &[
            ("/", Page::new("text/html", page)),
            ("/site.css", Page::new("text/css", "h1 { color: rgb(1, 2, 3) }")),
            ("/photo.svg", Page::new("image/svg+xml", svg)),
            ("/report", Page::new("text/plain", "thank you")),
        ],
    );
    let cdn = Origin::start_at(
        (CDN, 80).into(),
        &[("/wanted.js", Page::new("text/javascript", "window.wanted = 'here'"))],
    );
    (site, cdn)
}

/// What the page said of itself when all was done.
fn report_to(site: &Origin) -> serde_json::Value {
    let report = wait::until("the page to finish and report", || {
        site.lines()
            .into_iter()
            .find_map(|line| line.split_once("/report?").map(|(_, r)| percent_decode(r)))
    });
    serde_json::from_str(&report).unwrap()
}

#[test]
fn a_page_with_ads_loads_as_if_they_had_never_been_there() {
    let (namespace, _upstream) = surroundings("tidegate-browser");
    let (site, cdn) = servers(PAGE);
    let lists = shared().join("data/lists");
    let edge = Tidegate::start(&format!(
        r#"
policy:
  lists:
    - {{ name: hosts, path: "{0}/adservers.hosts" }}
    - {{ name: malware, path: "{0}/malwaredomains.txt" }}
    - {{ name: easylist, path: "{0}/easylist.txt" }}
    - {{ name: easyprivacy, path: "{0}/easyprivacy.txt" }}
dns:
  listen: ["udp://{DNS}:53", "tcp://{DNS}:53"]
  upstreams: ["udp://{UPSTREAM}:53"]
  blocked: auto
pixel: {{ listen: ["http://{PIXEL}:80", "https://{PIXEL}:443"], addresses: [{PIXEL}] }}
signer: {{ aliases: limited }}
admin: {{ listen: "127.0.0.1:0" }}
"#,
        lists.display()
    ));
    let home = Scratch::new();
    trust(home.path(), &[&edge.state().join("ca/ca.pem")]);
    let browser = Browser::open(&namespace, home.path(), "http://www.site.example/");

    let report = report_to(&site);
    assert_eq!(report["errors"], serde_json::json!([]), "elements failed: {report}");
    assert_eq!(report["wanted"], "here", "{report}");
    assert_eq!(report["color"], "rgb(1, 2, 3)", "{report}");
    assert_eq!(report["photo"], 40, "{report}");
    assert_eq!(report["fetched"], "{}", "the preflighted fetch: {report}");
    let shared = serde_json::json!(["h2", 0]);
    assert_eq!(report["late"], shared, "it went over the connection to doubleclick.net: {report}");
    assert_eq!(browser.console(), Vec::<String>::new(), "the console is clean");

    the_ledger_holds_exactly_the_requests(&edge);
    why_explains_each(&edge);
    let wanted: Vec<String> = site.lines().iter().chain(&cdn.lines()).cloned().collect();
    assert!(wanted.iter().all(|line| !line.contains("doubleclick")), "{wanted:?}");
}

/// The same page by the proxy alone, which the README calls the quickest way: what is behind an
/// alias is left out, because no certificate is made on such evidence.
#[test]
fn the_same_page_is_as_clean_through_the_proxy() {
    let (namespace, _upstream) = surroundings("tidegate-by-proxy");
    let page = PAGE.replace("metrics.site.example", "doubleclick.net");
    let (site, _cdn) = servers(&page);
    let lists = shared().join("data/lists");
    let edge = Tidegate::start(&format!(
        r#"
policy: {{ lists: [{{ name: hosts, path: "{0}/adservers.hosts" }}, {{ name: easylist, path: "{0}/easylist.txt" }},
  {{ name: easyprivacy, path: "{0}/easyprivacy.txt" }}, {{ name: malware, path: "{0}/malwaredomains.txt" }}] }}
proxy: {{ listen: ["http://{DNS}:3128"], clients: [203.0.113.0/24], destinations: any }}
pixel: {{ listen: ["https://{PIXEL}:443"], addresses: [{PIXEL}] }}
dns: {{ listen: ["udp://{DNS}:53"], upstreams: ["udp://{UPSTREAM}:53"] }}
admin: {{ listen: "127.0.0.1:0" }}
"#,
        lists.display()
    ));
    let home = Scratch::new();
    trust(home.path(), &[&edge.state().join("ca/ca.pem")]);
    let proxy = format!("--proxy-server=http://{DNS}:3128");
    let url = "http://www.site.example/";
    let browser = Browser::open_with(&namespace, home.path(), &[&proxy], url);

    let report = report_to(&site);
    assert_eq!(report["errors"], serde_json::json!([]), "elements failed: {report}");
    assert_eq!(report["wanted"], "here", "{report}");
    assert_eq!(report["fetched"], "{}", "the preflighted fetch: {report}");
    assert_eq!(browser.console(), Vec::<String>::new(), "the console is clean");
}

fn the_ledger_holds_exactly_the_requests(edge: &Tidegate) {
    let mut expected = BLOCKED.to_vec();
    expected.sort_unstable();
    // The beacon is sent without anybody waiting for it, so it may come last.
    wait::until("the ledger to hold every request to the pixel door", || {
        let rows = edge.api("/api/requests?door=pixel&limit=200");
        let mut urls: Vec<&str> = rows["rows"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["subject"].as_str().unwrap())
            .collect();
        urls.sort_unstable();
        assert!(urls.len() <= expected.len(), "more than the page asked for: {urls:#?}");
        (urls == expected).then_some(())
    });
    let rows = edge.api("/api/requests?door=dns&limit=200");
    let rows = rows["rows"].as_array().unwrap();
    let names: BTreeSet<&str> = rows
        .iter()
        .map(|row| row["subject"].as_str().unwrap())
        .filter(|name| !BROWSERS_OWN.contains(name))
        .collect();
    let expected = [
        "ad.doubleclick.net",
        "bat.bing.com",
        "cdn.example",
        "doubleclick.net",
        "metrics.site.example",
        "www.site.example",
    ];
    assert_eq!(names, BTreeSet::from(expected), "the names that were looked up");
}

fn why_explains_each(edge: &Tidegate) {
    for url in BLOCKED.into_iter().filter(|url| url.contains("doubleclick")) {
        let json: serde_json::Value =
            serde_json::from_str(&edge.told(&["why", url, "--door", "pixel", "--json"])).unwrap();
        assert_eq!(json["action"], "block", "{url}: {json}");
        assert!(json["rule"]["text"].as_str().unwrap().contains("doubleclick"), "{url}: {json}");
    }
    // What stands behind a name is known to the process that looked it up.
    let why =
        edge.api("/api/why?target=https://metrics.site.example/collect.js&door=pixel&kind=script");
    assert_eq!(why["action"], "block", "{why}");
    assert!(why["rule"]["text"].as_str().unwrap().contains("td.doubleclick.net"), "{why}");
    for name in ["www.site.example", "cdn.example"] {
        let json: serde_json::Value =
            serde_json::from_str(&edge.told(&["why", name, "--json"])).unwrap();
        assert_eq!(json["action"], "pass", "{name}: {json}");
    }
}
