//! `on_timer` and `fetch`.

use super::{compiled, failing, script};
use crate::{
    FetchTrouble, LuauScript, LuauSettings, ScriptFetch, ScriptFetchAnswer, ScriptFetcher,
};
use http::{HeaderMap, HeaderValue, Method};
use settings::Text;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use vocab::TimeSpan;

const LONG: Duration = Duration::from_secs(30);

/// A fetcher that passes on what is wanted and answers by `answer`.
fn fetcher(
    answer: impl Fn(&ScriptFetch) -> Result<ScriptFetchAnswer, FetchTrouble> + Send + Sync + 'static,
) -> (ScriptFetcher, Receiver<ScriptFetch>) {
    let (sender, wishes) = channel();
    let sender = Mutex::new(sender);
    let fetch = move |wish: ScriptFetch| {
        let answer = answer(&wish);
        let _ = sender.lock().unwrap().send(wish);
        answer
    };
    (Arc::new(fetch), wishes)
}

fn ok(body: &str) -> ScriptFetchAnswer {
    let headers = HeaderMap::from_iter([(http::header::AGE, HeaderValue::from_static("7"))]);
    ScriptFetchAnswer { status: 200, headers, body: body.into() }
}

/// The script with its timer set to one second, and the lines that it logs.
fn ticking(source: &str) -> (LuauScript, Receiver<String>) {
    let (sender, lines) = channel();
    let sender = Mutex::new(sender);
    let log = Arc::new(move |line: &str| drop(sender.lock().unwrap().send(line.to_owned())));
    let timer = Text(TimeSpan(Duration::from_secs(1)));
    let settings = LuauSettings { file: "tick.luau".into(), timer, ..LuauSettings::default() };
    let script = LuauScript::compile(&settings, source.as_bytes(), &(log as _), None).unwrap();
    (script, lines)
}

#[test]
fn a_timer_fetches_and_requests_find_what_it_brought() {
    let (script, lines) = ticking(
        "function on_timer()
           local answer, why = fetch('https://up.example/list', {
             method = 'POST', body = 'ask', headers = { ['X-Key'] = 'k' }, timeout = 3 })
           log(answer.status .. answer.body .. answer.headers.age .. tostring(why))
           local none, words = fetch('none')
           log(tostring(none) .. words)
         end",
    );
    let (fetcher, wishes) = fetcher(|wish| match wish.url.as_str() {
        "none" => Err(FetchTrouble("nobody there".into())),
        _ => Ok(ok("body")),
    });
    script.start_timer(&fetcher).unwrap();
    let wish = wishes.recv_timeout(LONG).unwrap();
    assert_eq!((wish.method, wish.url.as_str()), (Method::POST, "https://up.example/list"));
    assert_eq!((wish.body.as_slice(), wish.timeout), (&b"ask"[..], Duration::from_secs(3)));
    assert_eq!(wish.headers["x-key"], "k");
    assert_eq!(lines.recv_timeout(LONG).unwrap(), "script tick.luau: 200body7nil");
    assert_eq!(lines.recv_timeout(LONG).unwrap(), "script tick.luau: nilnobody there");
    // Again after the interval.
    assert_eq!(wishes.recv_timeout(LONG).unwrap().url, "none");
    assert_eq!(wishes.recv_timeout(LONG).unwrap().url, "https://up.example/list");
}

#[test]
fn a_timer_ends_with_its_script_and_starts_once() {
    let (script, _lines) = ticking("function on_timer() fetch('x') end");
    let (fetcher, wishes) = fetcher(|_| Ok(ok("")));
    script.start_timer(&fetcher).unwrap();
    script.clone().start_timer(&fetcher).unwrap();
    drop(fetcher);
    assert_eq!(wishes.recv_timeout(LONG).unwrap().url, "x");
    drop(script);
    // The thread holds the other end of the channel as long as it lives.
    loop {
        match wishes.recv_timeout(LONG) {
            Ok(_) => {}
            Err(why) => break assert_eq!(why, RecvTimeoutError::Disconnected),
        }
    }
}

#[test]
fn nothing_is_fetched_where_somebody_waits() {
    let (_, why) = failing("fetch('https://up.example/')");
    assert!(why.contains("fetch is for on_timer"), "{why}");
    let why = compiled("fetch('https://up.example/')\nfunction on_timer() end", None).unwrap_err();
    assert!(why.message.contains("fetch is for on_timer"), "{why:?}");
}

#[test]
fn what_cannot_be_fetched_is_told_by_line_and_the_timer_goes_on() {
    for (call, words) in [
        ("fetch('x', { retries = 3 })", "fetch has no option retries"),
        ("fetch('x', { timeout = 'soon' })", "timeout of fetch cannot be a string"),
        ("fetch('x', { timeout = 900 })", "timeout is 0.01 to 60 seconds"),
        ("fetch('x', { method = 'A B' })", "method of fetch cannot be a string"),
        ("fetch('x', { headers = { Host = 'y' } })", "host cannot be changed"),
        ("fetch(string.rep('x', 9000))", "a URL has at most 8192 bytes"),
        ("for _ = 1, 65 do fetch('x') end", "fetches at most 64 times"),
        ("while true do end", "it ran for more than 1s"),
    ] {
        let (script, lines) = ticking(&format!("function on_timer()\n{call}\nend"));
        let (fetcher, _wishes) = fetcher(|_| Ok(ok("")));
        script.start_timer(&fetcher).unwrap();
        for _ in 0..2 {
            let line = lines.recv_timeout(LONG).unwrap();
            assert!(line.contains("tick.luau:2: ") && line.contains(words), "{call}: {line}");
        }
        assert!(script.counts().errors >= 2, "{call}");
    }
}

#[test]
fn a_script_without_a_timer_has_no_thread() {
    let (fetcher, _wishes) = fetcher(|_| Ok(ok("")));
    let script = script("function on_request() end");
    script.start_timer(&fetcher).unwrap();
    assert_eq!(Arc::strong_count(&fetcher), 1);
}
