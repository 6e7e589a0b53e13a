//! DNS over HTTPS, as `kdig` and `curl` have it: both methods, both versions, JSON, refusals.

use crate::support;

use door_dns::Settings;
use std::net::IpAddr;
use support::programs::Said;
use support::{A, Bench, Reply, query, query_edns};
use vocab::Scheme;

const MESSAGE: &str = "content-type: application/dns-message";

fn bench() -> Bench {
    Bench::listening(&["https", "http"], |settings| {
        settings.local =
            vec!["near.test 120 A 192.0.2.7".into(), "near.test 60 TXT \"<hello>\"".into()];
        settings.names = vec!["dns.test".parse::<vocab::DomainName>().unwrap().into()];
    })
}

/// Base64 as RFC 8484 has it, by a program that is not ours.
fn base64(message: &[u8]) -> String {
    let text = support::programs::run("openssl", &["base64", "-A"], message).text;
    text.trim_end_matches('=').replace('+', "-").replace('/', "_")
}

/// Status and body; the head is in what `curl` was told to show.
fn status(said: &Said) -> &str {
    said.text.rsplit_once("status=").map_or("", |(_, status)| status)
}

fn get(bench: &Bench, path: &str, words: &[&str]) -> Said {
    let words = [&["-w", "status=%{http_code}"], words].concat();
    bench.curl(Scheme::Https, path, &words, b"")
}

fn post(bench: &Bench, scheme: Scheme, message: &[u8], words: &[&str]) -> Said {
    let words = [&["--data-binary", "@-", "-H", MESSAGE], words].concat();
    bench.curl(scheme, "/dns-query", &words, message)
}

#[test]
fn kdig_asks_by_both_methods() {
    let bench = bench();
    for way in ["+https", "+https-get"] {
        let said =
            bench.kdig(Scheme::Https, &format!("{way} +tls-hostname=dns.test +short near.test A"));
        assert_eq!(said.text, "192.0.2.7\n", "{way}: {said:?}");
        let said = bench.kdig(Scheme::Https, &format!("{way} +tls-hostname=dns.test www.test A"));
        assert!(said.text.contains("192.0.2.1") && said.text.contains("HTTP/2"), "{said:?}");
    }
}

#[test]
fn curl_asks_over_both_versions_of_http_with_and_without_tls() {
    let bench = bench();
    for (scheme, version) in [
        (Scheme::Https, "--http1.1"),
        (Scheme::Https, "--http2"),
        (Scheme::Http, "--http1.1"),
        (Scheme::Http, "--http2-prior-knowledge"),
    ] {
        for name in ["near.test", "www.test"] {
            let said = post(&bench, scheme, &query(0, name, A), &[version]);
            let reply = Reply { bytes: said.out };
            assert_eq!((reply.rcode(), reply.counts().0), (0, 1), "{version}: {}", said.errors);
        }
    }
}

#[test]
fn head_has_the_fields_of_get_and_no_body() {
    let bench = bench();
    let path = format!("/dns-query?dns={}", base64(&query(0, "near.test", A)));
    for version in ["--http1.1", "--http2"] {
        for path in [path.as_str(), "/nowhere"] {
            let length = |words: &[&str]| {
                let said = get(&bench, path, &[&[version], words].concat());
                assert!(said.errors.is_empty(), "{version}: {}", said.errors);
                let head = said.text.to_ascii_lowercase();
                let line = head.lines().find(|line| line.starts_with("content-length:"));
                line.map(str::to_owned)
            };
            assert_eq!(length(&["--head"]), length(&["-i"]), "{version} {path}");
        }
    }
}

#[test]
fn curl_resolves_by_us() {
    let bench = Bench::listening(&["https", "http/page"], |settings| {
        settings.local = vec!["page.test A 127.0.0.1".into()];
        settings.names = vec!["dns.test".parse::<vocab::DomainName>().unwrap().into()];
    });
    let doh = bench.url(Scheme::Https) + "/dns-query";
    let port = bench.address(Scheme::Http).port();
    let url = format!("http://page.test:{port}/page?name=a.test");
    let words = ["-sS", "--doh-url", &doh, "--doh-insecure", &url];
    let said = support::programs::run("curl", &words, b"");
    assert!(said.text.starts_with("{\"Status\":0"), "{said:?}");
}

#[test]
fn an_answer_says_how_long_it_may_be_kept_and_by_whom() {
    let bench = bench();
    let said =
        get(&bench, &format!("/dns-query?dns={}", base64(&query(0, "near.test", A))), &["-i"]);
    let head = said.text.to_ascii_lowercase();
    for field in [
        "cache-control: private, max-age=120\r\n",
        "content-type: application/dns-message\r\n",
        "x-content-type-options: nosniff\r\n",
    ] {
        assert!(head.contains(field), "{field}: {head}");
    }
    assert!(!head.contains("etag") && !head.contains("access-control"), "{head}");
    // The SOA of what does not exist allows 60 s, its own TTL notwithstanding.
    let gone = post(&bench, Scheme::Https, &query(0, "gone.test", A), &["-i"]);
    assert!(gone.text.to_ascii_lowercase().contains("max-age=60"), "{}", gone.text);
    let blocked = post(&bench, Scheme::Https, &query_edns(0, "blocked.test", A), &["-i"]);
    assert!(blocked.text.to_ascii_lowercase().contains("max-age=10"), "{}", blocked.text);
}

#[test]
fn json_is_what_public_resolvers_made_of_it() {
    let bench = bench();
    let json = |query: &str| -> serde_json::Value {
        let said = bench.curl(Scheme::Https, &format!("/dns-query?{query}"), &[], b"");
        serde_json::from_slice(&said.out).unwrap_or_else(|why| panic!("{why}: {said:?}"))
    };
    let answer = json("name=near.test&type=A&cd=1&do=1");
    assert_eq!(answer["Status"], 0);
    assert_eq!(
        (&answer["CD"], &answer["RD"], &answer["RA"]),
        (&true.into(), &true.into(), &true.into())
    );
    assert_eq!(answer["Question"][0]["name"], "near.test.");
    assert_eq!(answer["Answer"][0]["data"], "192.0.2.7");
    assert_eq!(answer["Answer"][0]["TTL"], 120);
    assert_eq!(json("name=near.test&type=16")["Answer"][0]["data"], "\"<hello>\"");
    let alias = json("name=alias.excepted.test");
    assert_eq!(alias["Answer"][0]["data"], "ads.blocked.test.");
    assert_eq!(json("name=gone.test")["Authority"][0]["type"], 6);
    assert!(json("name=ads.blocked.test")["Comment"].as_str().unwrap().starts_with("EDE(15)"));
    let said = bench.curl(Scheme::Https, "/dns-query?name=near.test", &["-i"], b"");
    assert!(said.text.contains("content-type: application/dns-json"), "{said:?}");
    let words = "/dns-query?name=near.test&ct=application/dns-message";
    let reply = Reply { bytes: bench.curl(Scheme::Https, words, &[], b"").out };
    assert_eq!(reply.counts().0, 1);
}

#[test]
fn what_is_no_question_is_refused_by_its_status() {
    let bench = bench();
    for (path, expected) in [
        ("/", "404"),
        ("/other", "404"),
        ("/dns-query/a/b", "404"),
        ("/dns-query/a%20b?name=a.test", "404"),
        ("/dns-query", "400"),
        ("/dns-query?dns=AAA=", "400"),
        ("/dns-query?dns=AAAA", "400"),
        ("/dns-query?name=a..b", "400"),
        ("/dns-query?name=a.test&type=NOSUCH", "400"),
        ("/dns-query?name=near.test", "200"),
    ] {
        let said = get(&bench, path, &[]);
        assert_eq!(status(&said), expected, "{path}: {said:?}");
    }
    let long = format!("/dns-query?dns={}", "A".repeat(6000));
    assert_eq!(status(&get(&bench, &long, &[])), "414");
    for (words, length, expected) in [
        (&["-X", "PUT", "-H", MESSAGE][..], 20, "405"),
        (&["-X", "DELETE"], 0, "405"),
        (&["-H", "content-type: application/json"], 20, "415"),
        (&["-H", MESSAGE], 4097, "413"),
        (&["-H", MESSAGE, "-H", "transfer-encoding: chunked", "--http1.1"], 5000, "413"),
        (&["-H", MESSAGE], 5, "400"),
    ] {
        let body = vec![7; length];
        let words = [&["-w", "status=%{http_code}", "--data-binary", "@-"], words].concat();
        let said = bench.curl(Scheme::Https, "/dns-query", &words, &body);
        assert_eq!(status(&said), expected, "{words:?}: {said:?}");
    }
    let allowed = get(&bench, "/dns-query", &["-X", "PATCH", "-i"]);
    assert!(allowed.text.to_ascii_lowercase().contains("allow: get, head, post"), "{allowed:?}");
    // A message that is a response would have two servers talk for ever.
    let mut response = query(0, "near.test", A);
    response[2] |= 0x80;
    let said = post(&bench, Scheme::Https, &response, &["-w", "status=%{http_code}"]);
    assert_eq!(status(&said), "400");
}

#[test]
fn who_may_not_ask_is_told_by_a_dns_answer() {
    let bench = Bench::listening(&["https"], |settings| {
        settings.access.deny = vec!["127.0.0.0/8".parse::<vocab::Network>().unwrap().into()];
        settings.access.action = door_dns::AccessAction::Drop;
    });
    // A DNS answer is a success of HTTP, whatever its code (RFC 8484 §4.2.1).
    let said = post(&bench, Scheme::Https, &query(0, "www.test", A), &[]);
    assert_eq!(Reply { bytes: said.out }.rcode(), 5);
    let said = get(&bench, "/dns-query?name=www.test", &["-k"]);
    assert!(said.text.contains("\"Status\":5") && status(&said) == "200", "{said:?}");
    assert_eq!(bench.upstream.asked("www.test"), 0);
}

#[test]
fn every_path_leads_somewhere_and_a_client_may_name_itself() {
    let bench = Bench::listening(&["https/dns-query", "https/kids"], |settings| {
        settings.local = vec!["near.test A 192.0.2.7".into()];
    });
    assert_eq!(bench.door.listeners().len(), 4);
    let addresses: Vec<_> = bench
        .door
        .listeners()
        .iter()
        .filter(|listen| listen.scheme == Scheme::Https)
        .map(|listen| listen.address)
        .collect();
    assert_eq!(addresses[0], addresses[1]);
    for path in ["/dns-query", "/kids", "/dns-query/tablet", "/kids/tablet-7"] {
        let said = get(&bench, &format!("{path}?name=near.test"), &["-k"]);
        assert_eq!(status(&said), "200", "{path}: {said:?}");
    }
    // A path is exchanged while its socket and its connections stay.
    let mut settings = bench.settings.clone();
    settings.listen.pop();
    bench.door.reload(&settings, &[], &bench.cores, &[]).unwrap();
    assert_eq!(bench.address(Scheme::Https), addresses[0]);
    assert_eq!(status(&get(&bench, "/kids?name=near.test", &["-k"])), "404");
    assert_eq!(status(&get(&bench, "/dns-query?name=near.test", &["-k"])), "200");
}

#[test]
fn a_client_is_known_by_what_its_path_says() {
    let bench = bench();
    let explained = |path: &str| {
        let said = get(&bench, &format!("{path}?name=homework.test"), &["-k"]);
        assert_eq!(status(&said), "200", "{path}: {said:?}");
        said.text.contains("EDE(15)")
    };
    assert!(explained("/dns-query/tablet"), "a rule is about this client");
    assert!(!explained("/dns-query/phone"));
    assert!(!explained("/dns-query"));
}

#[test]
fn a_clients_address_is_taken_from_proxies_that_are_trusted_only() {
    let bench = bench();
    let ask = |id: u16, header: &str| {
        let words = ["-H", header, "-H", "x-real-ip: 198.51.100.9"];
        post(&bench, Scheme::Http, &query(id, "near.test", A), &words);
    };
    ask(0, "x-forwarded-for: 203.0.113.1, 198.51.100.1");
    let trusting = |header: Option<&str>| {
        let mut settings: Settings = bench.settings.clone();
        settings.doh.trusted_proxies =
            vec!["127.0.0.0/8".parse::<vocab::Network>().unwrap().into()];
        settings.doh.client_header = header.map(str::to_owned);
        bench.door.reload(&settings, &[], &bench.cores, &[]).unwrap();
    };
    trusting(None);
    ask(0, "x-forwarded-for: 203.0.113.1, 198.51.100.1");
    trusting(Some("X-Real-IP"));
    ask(0, "x-forwarded-for: 203.0.113.1, 198.51.100.1");
    let clients: Vec<IpAddr> = bench.rows().iter().map(|row| row.client).collect();
    for (address, times) in [("127.0.0.1", 1), ("198.51.100.1", 1), ("198.51.100.9", 1)] {
        let seen = clients.iter().filter(|it| it.to_string() == address).count();
        assert_eq!(seen, times, "{address}: {clients:?}");
    }
}

#[test]
fn draining_answers_what_was_asked_over_https() {
    let bench = bench();
    let url = bench.url(Scheme::Https) + "/dns-query?name=held.test&type=AAAA";
    let ca = bench.ca();
    let asking = std::thread::spawn(move || {
        support::programs::run("curl", &["-sS", "--cacert", ca.to_str().unwrap(), &url], b"")
    });
    let begun = std::time::Instant::now();
    while bench.upstream.asked("held.test") == 0 {
        assert!(begun.elapsed() < support::DEADLINE, "never asked");
        std::thread::yield_now();
    }
    bench.drain.start();
    bench.upstream.release(1);
    let said = asking.join().unwrap();
    assert!(said.text.contains("\"Status\":0"), "{said:?}");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    assert_eq!(runtime.block_on(bench.drain.finished(support::DEADLINE)), Ok(()));
}
