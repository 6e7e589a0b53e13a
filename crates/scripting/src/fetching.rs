//! `fetch`: what a script asks others for, in `on_timer` alone.
//!
//! How something is fetched is said by whoever starts the timer: nothing here opens a socket.

use crate::fields;
use http::{HeaderMap, Method};
use mlua::{BString, Error, Lua, Table, Value};
use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

/// Requests that one call of `on_timer` may make.
const FETCHES_MAX: u32 = 64;
/// Bytes of the longest body that is sent or read: a fraction of what a machine may hold.
const BODY_BYTES_MAX: usize = 4 * 1024 * 1024;
const URL_BYTES_MAX: usize = 8 * 1024;
/// Seconds until an answer must be there whole.
const TIMEOUT_DEFAULT: f64 = 10.0;
const TIMEOUT_MAX: f64 = 60.0;

thread_local! {
    static FETCHING: RefCell<Option<TimerFetches>> = const { RefCell::new(None) };
}

/// A request that a script makes.
#[derive(Clone, Debug)]
pub struct ScriptFetch {
    /// The method.
    pub method: Method,
    /// The URL, as the script wrote it.
    pub url: String,
    /// Header fields.
    pub headers: HeaderMap,
    /// The body; may be empty.
    pub body: Vec<u8>,
    /// Time until the answer must be there whole.
    pub timeout: Duration,
    /// Bytes of the longest body that is read.
    pub body_max: usize,
}

/// The answer to a [`ScriptFetch`], of any status.
#[derive(Clone, Debug)]
pub struct ScriptFetchAnswer {
    /// The status.
    pub status: u16,
    /// Header fields.
    pub headers: HeaderMap,
    /// The body.
    pub body: Vec<u8>,
}

/// A way to fetch something: waits for the answer, or says in words why there is none.
pub type ScriptFetcher =
    Arc<dyn Fn(ScriptFetch) -> Result<ScriptFetchAnswer, FetchTrouble> + Send + Sync>;

/// Words for why nothing was fetched, which the script gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchTrouble(pub String);

struct TimerFetches {
    fetcher: ScriptFetcher,
    left: u32,
}

/// Runs `on_timer` by `run`, which may fetch meanwhile.
pub(crate) fn allowed<T>(fetcher: &ScriptFetcher, run: impl FnOnce() -> T) -> T {
    FETCHING.set(Some(TimerFetches { fetcher: Arc::clone(fetcher), left: FETCHES_MAX }));
    let outcome = run();
    FETCHING.set(None);
    outcome
}

/// The function `fetch`: a table with `status`, `headers` and `body`, or nil and words.
pub(crate) fn fetch(
    lua: &Lua,
    url: String,
    options: Option<&Table>,
) -> mlua::Result<(Value, Option<String>)> {
    let wish = wish_of(url, options)?;
    let fetcher = FETCHING.with_borrow_mut(|fetching| {
        let fetches = fetching.as_mut().ok_or_else(|| {
            Error::runtime(
                "fetch is for on_timer, where nobody waits; keep what it brings in shared",
            )
        })?;
        fetches.left = fetches.left.checked_sub(1).ok_or_else(|| {
            Error::runtime(format!("a call of on_timer fetches at most {FETCHES_MAX} times"))
        })?;
        Ok::<_, Error>(Arc::clone(&fetches.fetcher))
    })?;
    let answer = match fetcher(wish) {
        Ok(answer) => answer,
        Err(FetchTrouble(why)) => return Ok((Value::Nil, Some(why))),
    };
    let headers = lua.create_table()?;
    for (name, value) in &answer.headers {
        headers.raw_set(name.as_str(), lua.create_string(value.as_bytes())?)?;
    }
    let table = lua.create_table()?;
    table.raw_set("status", answer.status)?;
    table.raw_set("headers", headers)?;
    table.raw_set("body", lua.create_string(&answer.body)?)?;
    Ok((Value::Table(table), None))
}

fn wish_of(url: String, options: Option<&Table>) -> mlua::Result<ScriptFetch> {
    if url.len() > URL_BYTES_MAX {
        return Err(Error::runtime(format!("a URL has at most {URL_BYTES_MAX} bytes")));
    }
    let mut wish = ScriptFetch {
        method: Method::GET,
        url,
        headers: HeaderMap::new(),
        body: Vec::new(),
        timeout: Duration::from_secs_f64(TIMEOUT_DEFAULT),
        body_max: BODY_BYTES_MAX,
    };
    for pair in options.into_iter().flat_map(Table::pairs::<String, Value>) {
        let (name, value) = pair?;
        let wrong = || Error::runtime(format!("{name} of fetch cannot be a {}", value.type_name()));
        match (name.as_str(), &value) {
            ("method", Value::String(method)) => {
                wish.method = Method::from_bytes(&method.as_bytes()).map_err(|_| wrong())?;
            }
            ("body", Value::String(body)) if body.as_bytes().len() <= BODY_BYTES_MAX => {
                wish.body = body.as_bytes().to_vec();
            }
            ("body", Value::String(_)) => {
                return Err(Error::runtime(format!("a body has at most {BODY_BYTES_MAX} bytes")));
            }
            ("headers", Value::Table(headers)) => {
                for pair in headers.pairs::<BString, BString>() {
                    let (name, value) = pair?;
                    fields::set(&mut wish.headers, &name, &value)?;
                }
            }
            ("timeout", Value::Integer(seconds)) => wish.timeout = timeout_of(*seconds as f64)?,
            ("timeout", Value::Number(seconds)) => wish.timeout = timeout_of(*seconds)?,
            ("method" | "body" | "headers" | "timeout", _) => return Err(wrong()),
            (other, _) => {
                let known = "method, headers, body and timeout";
                return Err(Error::runtime(format!("fetch has no option {other}: {known}")));
            }
        }
    }
    Ok(wish)
}

fn timeout_of(seconds: f64) -> mlua::Result<Duration> {
    if (0.01..=TIMEOUT_MAX).contains(&seconds) {
        return Ok(Duration::from_secs_f64(seconds));
    }
    Err(Error::runtime(format!("timeout is 0.01 to {TIMEOUT_MAX} seconds")))
}
