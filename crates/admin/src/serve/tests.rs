//! Behaviour of the admin, asked as a browser or a program asks.

use super::described::DESCRIBED;
use super::house::House;
use super::*;
use admin_api::{ProgramStatus, RequestPage, RequestTotals, TimeSeries, TopTable, WhyAnswer};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, LOCATION, SET_COOKIE};
use vocab::Action;

#[tokio::test]
async fn without_token_or_session_nothing_is_told() {
    let house = House::new();
    let description: serde_json::Value = house.get("/api/openapi.json").await.json();
    for (path, methods) in description["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let path = path.replace("{id}", "1");
            let answer = house.ask(&method.to_uppercase(), &path, &[], "").await;
            let is_open = operation["security"][0] == serde_json::json!({});
            let expected = match path.as_str() {
                "/api/ca.pem" | "/api/sign-in" | "/healthz" | "/readyz" => 200,
                // Not set here.
                "/login/oidc" | "/login/oidc/callback" => 404,
                "/login" => 400,
                "/logout" => 204,
                _ => 401,
            };
            assert_eq!(answer.status, expected, "{method} {path}");
            assert_eq!(is_open, expected != 401, "{method} {path} is described as it is");
        }
    }
    let wrong = [("authorization", "Bearer 0123456789")];
    assert_eq!(house.ask("GET", "/api/status", &wrong, "").await.status, 401);
    let forged = [("cookie", "tidegate_session=00")];
    assert_eq!(house.ask("GET", "/api/status", &forged, "").await.status, 401);
}

#[tokio::test]
async fn every_route_is_described_and_answers() {
    let house = House::new();
    let description: serde_json::Value = house.get("/api/openapi.json").await.json();
    let described: Vec<&str> =
        description["paths"].as_object().unwrap().keys().map(String::as_str).collect();
    let mut sorted = described.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, DESCRIBED);
    for path in [
        "/api/status",
        "/api/notes",
        "/api/lists",
        "/api/upstreams",
        "/api/caches",
        "/api/origins",
        "/api/pools",
        "/api/trust",
        "/api/clients",
        "/api/clients/activity?client=192.168.1.7",
        "/api/bypass",
        "/api/bypass?range=30d",
        "/api/pages?client=192.168.1.7&site=www.news.example",
        "/api/profiles",
        "/api/totals",
        "/api/series",
        "/api/statistics",
    ] {
        let answer = house.get(path).await;
        assert_eq!(answer.status, 200, "{path}");
        assert_eq!(answer.header(CONTENT_TYPE), "application/json");
        assert_eq!(answer.header(CACHE_CONTROL), "no-store");
    }
    for (_, methods) in description["paths"].as_object().unwrap() {
        for operation in methods.as_object().unwrap().values() {
            assert!(operation["summary"].is_string() || operation["description"].is_string());
        }
    }
}

#[tokio::test]
async fn counts_rows_and_tops_show_what_was_recorded() {
    let house = House::new();
    house.record("www.example", Action::Pass);
    house.record("ads.example", Action::Block);
    let totals: RequestTotals = house.get("/api/totals?range=1h").await.json();
    assert_eq!((totals.requests, totals.blocked, totals.blocked_share), (2, 1, 0.5));
    assert_eq!((totals.by_door.len(), totals.by_door[0].door.as_str()), (1, "dns"));
    let series: TimeSeries = house.get("/api/series?range=24h").await.json();
    assert_eq!((series.step_s, series.points.len()), (600, 144));
    assert!(series.points[0].at.ends_with(":00.000Z"));
    let top: TopTable = house.get("/api/top?what=blocked&range=1h&limit=5").await.json();
    assert_eq!((top.lines.len(), top.lines[0].text.as_str()), (1, "ads.example"));
    let page: RequestPage =
        house.get("/api/requests?action=block&door=dns&filter=ADS").await.json();
    let row = &page.rows[0];
    assert_eq!((row.subject.as_str(), row.kind.as_str()), ("ads.example", "AAAA"));
    assert_eq!((row.status, row.status_text.as_str()), (3, "NXDOMAIN"));
    assert_eq!((&row.cache, &row.not_stored, &row.cache_text), (&None, &None, &None));
    assert_eq!(row.rule.as_ref().unwrap().list, "starter");
    assert_eq!(house.get(&format!("/api/requests/{}", row.id)).await.status, 200);
    for missing in ["999999", "-1", "x"] {
        assert_eq!(house.get(&format!("/api/requests/{missing}")).await.status, 404);
    }
    let empty: RequestPage = house.get("/api/requests?door=&action=&filter=").await.json();
    assert_eq!((empty.rows.len(), empty.next_before), (2, None));
    let status: ProgramStatus = house.get("/api/status").await.json();
    assert_eq!((status.ledger.stored, status.running.rules), (2, 12));
    assert_eq!(status.latency[0].count, 2);
}

#[tokio::test]
async fn wrong_words_are_refused_with_the_right_ones() {
    let house = House::new();
    for (path, right) in [
        ("/api/totals?range=1y", "30d"),
        ("/api/bypass?range=1y", "30d"),
        ("/api/fleet/statistics?range=1y", "30d"),
        ("/api/fleet/statistics?site=harbour", "openapi"),
        ("/api/pages?client=me&site=news.example", "192.168.1.7"),
        ("/api/pages?client=192.0.2.7&site=a%20b", "news.example"),
        ("/api/top?what=all", "clients"),
        ("/api/requests?door=cellar", "gateway"),
        ("/api/requests?action=maybe", "block"),
        ("/api/why?target=ads.example&kind=soup", "script"),
        ("/api/why?target=ads.example&client=me", "192.168.1.7"),
        ("/api/why?target=a%20b", "ads.example"),
        ("/api/why?target=file:///etc/passwd", "https://"),
        ("/api/why?target=a.example&page=a%20b", "news.example"),
        ("/api/why", "openapi"),
        ("/api/requests?before=yesterday", "openapi"),
    ] {
        let answer = house.get(path).await;
        assert_eq!(answer.status, 400, "{path}");
        let problem = answer.problem();
        assert!(problem.remedy.contains(right), "{path}: {problem:?}");
    }
}

#[tokio::test]
async fn why_reads_names_and_urls() {
    let house = House::new();
    let why: WhyAnswer = house.get("/api/why?target=Ads.Example.").await.json();
    assert_eq!(
        (why.target.as_str(), why.kind.as_str(), why.door.as_str()),
        ("ads.example", "A", "dns")
    );
    assert_eq!(why.door_outcome, "NODATA with SOA, EDE 15");
    let target = "https%3A%2F%2Fads.example%2Fx.js%3Fa";
    let why: WhyAnswer =
        house.get(&format!("/api/why?target={target}&client=10.0.0.7")).await.json();
    assert_eq!((why.kind.as_str(), why.door.as_str()), ("script", "proxy"));
    assert_eq!(
        (why.target.as_str(), why.client.as_str()),
        ("https://ads.example/x.js?a", "10.0.0.7")
    );
    let why: WhyAnswer = house.get("/api/why?target=https://ads.example&kind=&door=").await.json();
    assert_eq!(why.kind, "document");
    let page: WhyAnswer =
        house.get("/api/why?target=https://a.example&page=news.example").await.json();
    assert_eq!(page.page.as_deref(), Some("news.example"));
    let root: WhyAnswer = house.get("/api/why?target=.").await.json();
    assert_eq!((root.target.as_str(), root.door.as_str()), (".", "dns"));
}

#[tokio::test]
async fn a_session_is_begun_by_login_and_ended_by_logout() {
    let house = House::new();
    let body = format!("token={}", house.token);
    let form = [("content-type", "application/x-www-form-urlencoded")];
    let answer = house.ask("POST", "/login", &form, &body).await;
    assert_eq!((answer.status.as_u16(), answer.header(LOCATION)), (303, "/"));
    let set = answer.header(SET_COOKIE);
    assert!(set.contains("HttpOnly") && set.contains("SameSite=Strict"), "{set}");
    assert!(!set.contains(&house.token), "the cookie is not the token");
    let cookie = house.session().await;
    let with_cookie = [("cookie", cookie.as_str())];
    assert_eq!(house.ask("GET", "/api/status", &with_cookie, "").await.status, 200);
    let own_page = [("cookie", cookie.as_str()), ("sec-fetch-site", "same-origin")];
    assert_eq!(house.ask("POST", "/logout", &own_page, "").await.status, 204);
    assert_eq!(house.ask("GET", "/api/status", &with_cookie, "").await.status, 401);
}

#[tokio::test]
async fn the_printed_address_logs_in_and_hides_the_token() {
    let house = House::new();
    let answer = house.ask("GET", &format!("/?token={}", house.token), &[], "").await;
    assert_eq!((answer.status.as_u16(), answer.header(LOCATION)), (303, "/"));
    let cookie = answer.cookie();
    assert_eq!(house.ask("GET", "/metrics", &[("cookie", &cookie)], "").await.status, 200);
    assert_eq!(house.ask("GET", "/?token=wrong", &[], "").await.status, 401);
}

#[tokio::test]
async fn a_stale_link_leads_people_to_the_sign_in_page() {
    let house = House::new();
    let page = ("accept", "text/html,application/xhtml+xml;q=0.9");
    let person = [page, ("sec-fetch-site", "none"), ("sec-fetch-dest", "document")];
    let link = [page, ("sec-fetch-site", "cross-site"), ("sec-fetch-dest", "document")];
    for fields in [person, link] {
        let answer = house.ask("GET", "/?token=stale", &fields, "").await;
        assert_eq!((answer.status.as_u16(), answer.header(LOCATION)), (303, "/#stale-link"));
        assert_eq!(answer.header(SET_COOKIE), "");
    }
    let program = house.ask("GET", "/?token=stale", &[], "").await;
    assert_eq!(program.status, 401);
    program.problem();
}

#[tokio::test]
async fn pages_of_other_sites_lock_nobody_out_and_are_not_counted() {
    let house = House::new();
    for fields in [
        [("sec-fetch-site", "cross-site"), ("sec-fetch-dest", "image")],
        [("sec-fetch-site", "same-site"), ("sec-fetch-dest", "script")],
        [("sec-fetch-site", "cross-site"), ("sec-fetch-dest", "document")],
        [("referer", "http://evil.example/"), ("accept", "image/avif,*/*")],
        [("origin", "http://evil.example"), ("accept", "*/*")],
    ] {
        for _ in 0..20 {
            let answer = house.ask("GET", "/?token=x", &fields, "").await;
            assert_eq!(answer.status, 403, "{fields:?}");
        }
    }
    let mistyped = house.ask("GET", "/?token=x", &[], "").await;
    assert_eq!(mistyped.status, 401, "a person of the same address is still free to mistype");
    assert_eq!(house.get("/api/status").await.status, 200);
}

#[tokio::test]
async fn a_foreign_page_can_change_nothing() {
    let house = House::new();
    let cookie = house.session().await;
    let json = ("content-type", "application/json");
    for foreign in [
        [("cookie", cookie.as_str()), ("sec-fetch-site", "cross-site"), json],
        [("cookie", cookie.as_str()), ("sec-fetch-site", "same-site"), json],
        [("cookie", cookie.as_str()), ("origin", "http://evil.example"), json],
        [("cookie", cookie.as_str()), ("origin", "http://127.0.0.1:8000"), json],
        [("cookie", cookie.as_str()), ("origin", "null"), json],
        [("cookie", cookie.as_str()), ("authorization", "Basic eDp5"), json],
    ] {
        let answer = house.ask("POST", "/api/pause", &foreign, "{\"seconds\": 60}").await;
        assert_eq!(answer.status, 403, "{foreign:?}");
        answer.problem();
    }
    assert_eq!(house.program.paused_until(), 0);
    for own in [("sec-fetch-site", "same-origin"), ("origin", "http://127.0.0.1:9053")] {
        let fields = [("cookie", cookie.as_str()), own, json];
        let answer = house.ask("POST", "/api/pause", &fields, "{\"seconds\": 60}").await;
        assert_eq!(answer.status, 200, "{own:?}");
    }
    assert!(house.program.paused_until() > 0);
}

#[tokio::test]
async fn a_foreign_host_name_is_refused() {
    let hosts = vec![settings::Text(vocab::DomainName::parse("box.lan").unwrap())];
    let house = House::with(&Settings { hosts, ..Settings::default() });
    for own in ["localhost:9053", "LOCALHOST", "127.0.0.1", "[::1]:9053", "box.lan:9053", "BOX.lan"]
    {
        let answer = house.ask("GET", "/", &[("host", own)], "").await;
        assert_eq!(answer.status, 200, "{own}");
    }
    for foreign in ["evil.example", "evil.example:9053", "10.0.0.1", "localhost.evil.example", ""] {
        let answer = house.ask("GET", "/", &[("host", foreign)], "").await;
        assert_eq!(answer.status, 421, "{foreign}");
        assert!(answer.problem().remedy.contains("admin.hosts"));
    }
}

#[tokio::test]
async fn who_guesses_too_often_has_to_wait_and_the_right_token_and_sessions_pass() {
    let house = House::new();
    let cookie = house.session().await;
    let wrong = [("authorization", "Bearer guess")];
    for _ in 0..10 {
        assert_eq!(house.ask("GET", "/api/status", &wrong, "").await.status, 401);
    }
    for _ in 0..10 {
        assert_eq!(house.ask("GET", "/api/status", &wrong, "").await.status, 429);
    }
    assert_eq!(house.get("/api/status").await.status, 200, "the right one");
    house.session().await;
    assert_eq!(house.ask("GET", "/api/status", &[("cookie", &cookie)], "").await.status, 200);
    let printed = house.ask("GET", &format!("/?token={}", house.token), &[], "").await;
    assert_eq!(printed.status, 303);
}

#[tokio::test]
async fn stale_sessions_are_no_guesses() {
    let house = House::new();
    for number in 0..40 {
        let cookie = format!("tidegate_session={number:064}");
        let answer = house.ask("GET", "/api/status", &[("cookie", &cookie)], "").await;
        assert_eq!(answer.status, 401);
    }
    let wrong = [("authorization", "Bearer guess")];
    assert_eq!(house.ask("GET", "/api/status", &wrong, "").await.status, 401, "the first guess");
}

#[tokio::test]
async fn the_dashboard_is_served_hardened_and_checked_for_changes() {
    let house = House::new();
    let page = house.ask("GET", "/", &[], "").await;
    assert_eq!(page.status, 200);
    assert_eq!(page.header(CONTENT_TYPE), "text/html; charset=utf-8");
    assert_eq!(page.header(CACHE_CONTROL), "no-cache");
    assert!(page.header("content-security-policy").contains("frame-ancestors 'none'"));
    assert_eq!(page.header("x-content-type-options"), "nosniff");
    let known = [("if-none-match", page.header(ETAG))];
    let again = house.ask("GET", "/", &known, "").await;
    assert_eq!((again.status.as_u16(), again.body.len()), (304, 0));
    let head = house.ask("HEAD", "/", &[], "").await;
    assert_eq!(head.status, 200);
    let missing = house.ask("GET", "/assets/../../Cargo.toml", &[], "").await;
    assert_eq!(missing.status, 404);
    assert_eq!(house.ask("POST", "/", &[], "").await.status, 405);
    assert_eq!(house.post("/api/status", "").await.status, 405);
    let refused = house.ask("GET", "/api/nothing", &[], "").await;
    assert_eq!(refused.header("x-frame-options"), "DENY");
}

#[tokio::test]
async fn a_body_over_its_cap_is_refused() {
    let house = House::new();
    let answer = house.post("/login", &"x".repeat(BODY_BYTES_MAX + 1)).await;
    assert_eq!(answer.status, 413);
    answer.problem();
}

#[tokio::test]
async fn it_is_served_over_a_socket() {
    use std::io::{Read, Write};
    let house = House::new();
    let listener =
        transport::listen_tcp("127.0.0.1:0".parse().unwrap(), transport::WaitForData::No);
    let listener = listener.unwrap();
    let address = listener.local_addr();
    let (drain, limits) = (transport::Drain::new(), transport::ConnectionLimits::new(10, 10));
    let client = std::thread::spawn(move || {
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        stream
            .write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    });
    let local = tokio::task::LocalSet::new();
    let admin = house.admin.clone();
    local
        .run_until(async move {
            let begun = drain.clone();
            let stop = drain.clone();
            tokio::task::spawn_local(async move {
                while !client.is_finished() {
                    tokio::task::yield_now().await;
                }
                begun.start();
                let answer = client.join().unwrap();
                assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
                assert!(answer.contains("<!doctype html>") || answer.contains("<!DOCTYPE html>"));
            });
            let accepting =
                transport::accept_loop(listener, limits, drain.clone(), move |stream| {
                    let (admin, stop) = (admin.clone(), stop.clone());
                    async move {
                        let client = stream.peer().ip();
                        admin.serve_connection(stream, client, stop.started()).await.unwrap();
                    }
                });
            accepting.await.unwrap();
            drain.finished(std::time::Duration::from_secs(10)).await.unwrap();
        })
        .await;
}

#[tokio::test]
async fn the_dashboard_is_sent_in_the_coding_that_a_browser_takes() {
    let house = House::new();
    let page = house.ask("GET", "/", &[], "").await;
    let page = String::from_utf8(page.body.to_vec()).unwrap();
    let begin = page.find("assets/").unwrap();
    let end = begin + page[begin..].find('"').unwrap();
    let path = format!("/{}", &page[begin..end]);
    let plain = house.ask("GET", &path, &[], "").await;
    assert_eq!((plain.status, plain.header("content-encoding")), (StatusCode::OK, ""));
    for (accepted, coding) in [
        ("gzip, deflate, br, zstd", "br"),
        ("gzip;q=1.0, br;q=0", "gzip"),
        ("GZIP", "gzip"),
        ("identity", ""),
        ("gzipped, brotli", ""),
    ] {
        let fields = [("accept-encoding", accepted)];
        let answer = house.ask("GET", &path, &fields, "").await;
        assert_eq!(answer.header("content-encoding"), coding, "{accepted}");
        assert_eq!(answer.header("vary"), "accept-encoding");
        assert_eq!(answer.header(CONTENT_TYPE), plain.header(CONTENT_TYPE));
        let is_shorter = answer.body.len() < plain.body.len();
        assert_eq!(is_shorter, !coding.is_empty());
        let is_other = answer.header(ETAG) != plain.header(ETAG);
        assert_eq!(is_other, !coding.is_empty(), "each copy has an entity tag of its own");
    }
}

#[tokio::test]
async fn errors_are_problem_details_and_described_as_such() {
    let house = House::new();
    let answer = house.ask("GET", "/api/status", &[], "").await;
    assert_eq!(answer.header(CONTENT_TYPE), "application/problem+json");
    let problem = answer.problem();
    assert_eq!((problem.status, problem.title.as_str()), (401, "Unauthorized"));
    assert_eq!(problem.detail, problem.error);
    let description: serde_json::Value = house.get("/api/openapi.json").await.json();
    let told = &description["paths"]["/api/pause"]["post"]["responses"];
    assert!(told["401"]["content"]["application/problem+json"]["schema"].is_object());
    assert!(told["200"]["content"]["application/json"]["schema"].is_object());
}
