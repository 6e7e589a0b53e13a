//! Programs of the shell as redirectors: some that answer, some that hang or die.

use super::*;
use crate::settings::{FailureChoice, HelperProtocol};
use ::settings::Text;
use http::Method;
use std::sync::Mutex as StdMutex;
use std::time::{Duration, Instant};
use vocab::TimeSpan;

fn settings(script: &str) -> RedirectorSettings {
    let program = ["/bin/sh", "-c", script].map(str::to_owned).to_vec();
    let timeout = Text(TimeSpan(Duration::from_secs(5)));
    RedirectorSettings { program, processes: 1, timeout, ..RedirectorSettings::default() }
}

fn question(url: &str) -> HelperQuestion {
    let client = "192.0.2.7".parse().unwrap();
    HelperQuestion { url: url.into(), client, user: None, method: Method::GET }
}

/// A redirector, and what it told.
fn start(settings: &RedirectorSettings) -> (UrlRedirector, Arc<StdMutex<Vec<String>>>) {
    let told: Arc<StdMutex<Vec<String>>> = Arc::default();
    let log = Arc::clone(&told);
    let log: RedirectorLog = Arc::new(move |line| log.lock().unwrap().push(line.to_owned()));
    (UrlRedirector::start(settings, log).unwrap(), told)
}

fn rewritten(url: &str) -> HelperAnswer {
    HelperAnswer::Rewrite(url.into())
}

#[tokio::test]
async fn a_program_answers_line_by_line() {
    let script = "while read url rest; do case $url in *ads*) echo OK rewrite-url=http://b.example/;; \
                  *old*) echo OK status=301 url=http://c.example/;; *) echo ERR;; esac; done";
    let (redirector, _) = start(&settings(script));
    for _ in 0..3 {
        let ads = redirector.ask(question("http://a.example/ads")).await;
        assert_eq!(ads, rewritten("http://b.example/"));
        let old = redirector.ask(question("http://a.example/old")).await;
        let moved =
            HelperAnswer::Redirect(StatusCode::MOVED_PERMANENTLY, "http://c.example/".into());
        assert_eq!(old, moved);
        assert_eq!(redirector.ask(question("http://a.example/")).await, HelperAnswer::Unchanged);
    }
}

#[tokio::test]
async fn several_questions_are_told_apart_by_number() {
    // The first waits for the second, which is answered before it.
    let script = "read first one rest; read second two rest; echo $second OK rewrite-url=$two; \
                  echo $first OK rewrite-url=$one; cat >/dev/null";
    let (redirector, _) = start(&RedirectorSettings { concurrency: 4, ..settings(script) });
    let (one, two) = tokio::join!(
        redirector.ask(question("http://one.example/")),
        redirector.ask(question("http://two.example/")),
    );
    assert_eq!((one, two), (rewritten("http://one.example/"), rewritten("http://two.example/")));
}

#[tokio::test]
async fn one_that_hangs_is_killed_and_started_again() {
    let folder = std::env::temp_dir().join(format!("redirector-{}", std::process::id()));
    drop(std::fs::remove_dir_all(&folder));
    std::fs::create_dir_all(&folder).unwrap();
    // The first process hangs, the next ones answer.
    let script = format!(
        "cd {}; if mkdir hung; then sleep 1000; fi; while read url rest; do echo ERR; done",
        folder.display()
    );
    let timeout = Text(TimeSpan(Duration::from_secs(1)));
    let (redirector, told) = start(&RedirectorSettings { timeout, ..settings(&script) });
    assert_eq!(redirector.ask(question("http://a.example/")).await, HelperAnswer::Failed);
    let begun = Instant::now();
    while redirector.ask(question("http://a.example/")).await != HelperAnswer::Unchanged {
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", told.lock().unwrap());
    }
    assert!(told.lock().unwrap()[0].contains("owed an answer for too long"));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[tokio::test]
async fn what_ends_or_talks_nonsense_fails_and_is_told() {
    for (script, why) in [
        ("read url; exit 3", "ended with exit status: 3"),
        ("read url; echo 'this\nand that'; cat >/dev/null", "a line that answers nothing"),
        ("read url; head -c 100000 /dev/zero | tr '\\0' x; cat >/dev/null", "answers nothing"),
    ] {
        let (redirector, told) = start(&settings(script));
        assert_eq!(
            redirector.ask(question("http://a.example/")).await,
            HelperAnswer::Failed,
            "{script}"
        );
        let begun = Instant::now();
        while !told.lock().unwrap().iter().any(|line| line.contains(why)) {
            assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", told.lock().unwrap());
            tokio::task::yield_now().await;
        }
    }
    let none = RedirectorSettings { program: vec!["/none/such".into()], ..settings("") };
    let (_redirector, told) = start(&none);
    let begun = Instant::now();
    while !told.lock().unwrap().iter().any(|line| line.contains("cannot be started")) {
        assert!(begun.elapsed() < Duration::from_secs(20));
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn more_questions_than_wait_fail_at_once() {
    let timeout = Text(TimeSpan(Duration::from_mins(1)));
    let (redirector, _) = start(&RedirectorSettings { timeout, ..settings("sleep 1000") });
    let redirector = Arc::new(redirector);
    let asking: Vec<_> = (0..WAITING_MAX + 2)
        .map(|_| {
            let redirector = Arc::clone(&redirector);
            tokio::spawn(async move { redirector.ask(question("http://a.example/")).await })
        })
        .collect();
    let begun = Instant::now();
    while !asking.iter().any(tokio::task::JoinHandle::is_finished) {
        assert!(begun.elapsed() < Duration::from_secs(20), "all of them wait");
        tokio::task::yield_now().await;
    }
}

#[test]
fn defaults_refuse_what_has_no_answer() {
    let settings = RedirectorSettings::default();
    assert_eq!(
        (settings.on_failure, settings.protocol),
        (FailureChoice::Refuse, HelperProtocol::Squid)
    );
}
