//! What a redirector makes of requests.

use crate::support::{Given, Origin, ask, get, ok, proxy, settings_with, start_door};
use door_proxy::{FailureChoice, RedirectorSettings};
use settings::Text;
use std::net::SocketAddr;
use std::time::Duration;
use vocab::TimeSpan;

/// A program of the shell that is asked; it ends with its input.
fn by(script: &str) -> RedirectorSettings {
    let program = ["/bin/sh", "-c", script].map(str::to_owned).to_vec();
    RedirectorSettings { program, processes: 1, ..RedirectorSettings::default() }
}

fn asking(settings: RedirectorSettings) -> SocketAddr {
    proxy("||ads.example^\n", |proxy| proxy.redirector = Some(settings))
}

fn lines(cases: &str) -> RedirectorSettings {
    by(&format!("while read url rest; do case $url in {cases} *) echo ERR;; esac; done"))
}

#[test]
fn urls_pass_are_led_elsewhere_or_fetched_from_another_place() {
    let origin = Origin::start(|_, _, request| ok(request.split("\r\n").next().unwrap()));
    let other = Origin::start(|_, _, request| {
        let host = request.lines().find(|line| line.to_ascii_lowercase().starts_with("host:"));
        ok(host.unwrap_or("no host"))
    });
    let proxy = asking(lines(&format!(
        "*/moved) echo 'OK status=301 url=\"http://new.example/\"';; */older) echo 302:http://x/;; \
         */other) echo OK rewrite-url=http://{}/x;;",
        other.address
    )));
    let url = |path: &str| format!("http://{}{path}", origin.address);
    assert!(get(proxy, &url("/plain")).ends_with("GET /plain HTTP/1.1"));
    let moved = get(proxy, &url("/moved"));
    assert!(
        moved.starts_with("HTTP/1.1 301") && moved.contains("location: http://new.example/\r\n")
    );
    assert!(get(proxy, &url("/older")).contains("location: http://x/\r\n"));
    let rewritten = get(proxy, &url("/other")).to_ascii_lowercase();
    assert!(rewritten.ends_with(&format!("host: {}", other.address)), "{rewritten}");
    assert_eq!(origin.seen().len(), 1);
    // What the policy blocks is not asked about.
    assert!(get(proxy, "http://ads.example/moved").starts_with("HTTP/1.1 403"));
}

#[test]
fn a_program_hears_who_asks_for_what() {
    let origin = Origin::start(|_, _, _| ok("fine"));
    let proxy =
        asking(by("while read line; do echo OK url=http://said/$(echo $line | tr ' ' _); done"));
    let url = format!("http://{}/a?b=c", origin.address);
    let answer = ask(proxy, &format!("DELETE {url} HTTP/1.1\r\nHost: a\r\n\r\n"));
    assert!(
        answer.contains(&format!("location: http://said/{url}_127.0.0.1/-_-_DELETE\r\n")),
        "{answer}"
    );
}

#[test]
fn a_tunnel_passes_or_is_refused() {
    let origin = Origin::start(|_, _, _| ok("inside"));
    let proxy = asking(lines("bad.example:*) echo 302:http://x/;;"));
    let refused = ask(proxy, "CONNECT bad.example:443 HTTP/1.1\r\nHost: bad.example\r\n\r\n");
    assert!(
        refused.starts_with("HTTP/1.1 403") && refused.contains("redirector refuses"),
        "{refused}"
    );
    let at = origin.address;
    let opened = ask(proxy, &format!("CONNECT {at} HTTP/1.1\r\nHost: a\r\n\r\n"));
    assert!(opened.starts_with("HTTP/1.1 200"), "{opened}");
}

#[test]
fn a_rewritten_url_leads_nowhere_that_a_client_could_not_go() {
    let proxy = asking(lines(
        "*/mail) echo OK rewrite-url=http://127.0.0.1:25/;; \
         */link) echo OK rewrite-url=http://169.254.169.254/;;",
    ));
    assert!(get(proxy, "http://a.example/mail").starts_with("HTTP/1.1 503"));
    let guarded = get(proxy, "http://a.example/link");
    assert!(guarded.starts_with("HTTP/1.1 403"), "{guarded}");
}

#[test]
fn without_an_answer_the_settings_say() {
    let origin = Origin::start(|_, _, _| ok("fine"));
    let url = format!("http://{}/", origin.address);
    let silent = RedirectorSettings {
        timeout: Text(TimeSpan(Duration::from_millis(100))),
        ..by("cat >/dev/null")
    };
    let refused = get(asking(silent.clone()), &url);
    assert!(refused.starts_with("HTTP/1.1 503") && refused.contains("retry-after: 2"), "{refused}");
    let passing = RedirectorSettings { on_failure: FailureChoice::Pass, ..silent };
    assert!(get(asking(passing), &url).ends_with("fine"));
}

#[test]
fn a_hit_of_the_cache_is_asked_about_too_and_a_reload_takes_another_program() {
    let origin = Origin::start(|_, _, _| {
        crate::support::Reply::Keep(
            "HTTP/1.1 200 OK\r\nCache-Control: max-age=3600\r\nContent-Length: 4\r\n\r\nkept"
                .into(),
        )
    });
    let url = format!("http://{}/", origin.address);
    let settings = |script: &str| {
        let redirector = Some(by(script));
        settings_with(|settings| {
            settings.redirector = redirector;
            settings.cache = Some(http_cache::Settings::default());
        })
    };
    let passing = "while read line; do echo ERR; done";
    let (proxy, door) = start_door(&Given::default(), |it| *it = settings(passing));
    assert!(get(proxy, &url).ends_with("kept") && get(proxy, &url).ends_with("kept"));
    door.reload(settings("while read line; do echo 302:http://elsewhere/; done")).unwrap();
    assert!(get(proxy, &url).contains("location: http://elsewhere/\r\n"));
    assert_eq!(origin.seen().len(), 1);
}
