//! `FastCGI`: requests for scripts, answered by another program over a socket.
//!
//! A pattern of paths says which program; a connection serves one request at a time and is kept.
//! The script must be a file of the site unless its folder is elsewhere. It starts no program.
//! Called by `request`.

mod answer;
mod exchange;
mod names;
mod pool;
mod records;
mod settings;
mod stderr;
mod variables;

pub(crate) use self::exchange::{BodyWanted, ScriptAnswer};
pub(crate) use self::settings::check;
pub use self::settings::{FastcgiChoice, FastcgiSettings};
pub(crate) use self::variables::{CallSecurity, ClientTrust, ScriptCall};

use self::exchange::{ScriptBroken, ScriptRequest, drive};
use self::pool::{FastcgiPool, NoConnection, SocketAge};
use self::records::KeepConnection;
use self::settings::FastcgiAddress;
use self::stderr::ScriptStderr;
use crate::forbidden_files;
use crate::pattern::PathPattern;
use http::{Method, StatusCode};
use http_body::Body as _;
use http_engine::Body;
use http_engine::body::{ReadError, read_all};
use ledger::Ledger;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::oneshot;
use tokio::task::spawn_local;

/// A body of unknown length (chunked) is held until its length is known, up to so many bytes: a
/// script must be told the length first.
const UNKNOWN_BODY_BYTES_MAX: usize = 1 << 20;

/// The programs of one site.
pub(crate) struct FastcgiServers {
    servers: Vec<(PathPattern, Arc<FastcgiServer>)>,
    /// Patterns of endings, in lower case: what they match is a script's source, whatever its case.
    sources: Vec<PathPattern>,
}

/// One program.
pub(crate) struct FastcgiServer {
    settings: FastcgiSettings,
    pool: Arc<FastcgiPool>,
}

/// The script that a path leads to.
pub(crate) struct FoundScript {
    pub(crate) server: Arc<FastcgiServer>,
    /// Path in the URL.
    pub(crate) name: String,
    /// What follows it.
    pub(crate) path_info: String,
}

/// Tells whether a script is looked for before it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScriptLookup {
    /// Must be a file of the site.
    Local,
    /// The server has a folder of its own.
    Remote,
}

/// Why there is no answer from a script.
#[derive(Debug)]
pub(crate) enum ScriptFailure {
    /// The body is longer than a script is given.
    BodyTooLarge,
    /// The body broke off or came too slowly.
    Body,
    /// Too many requests wait for a connection.
    Busy,
    /// The server cannot be reached.
    Down(String),
    /// Did not answer in time.
    TimedOut,
    /// What it answered is no answer.
    Bad(String),
}

impl FastcgiServers {
    /// With settings that are right; what is not is passed over.
    pub(crate) fn new(settings: &BTreeMap<String, FastcgiChoice>) -> Self {
        let server = |choice: &FastcgiChoice| {
            let settings = choice.settings();
            let address = FastcgiAddress::parse(&settings.server).ok()?;
            let pool = FastcgiPool::new(address, settings.keep, settings.connections);
            Some(Arc::new(FastcgiServer { settings, pool }))
        };
        let compiled = |pattern: &str, choice: &FastcgiChoice| {
            let case = choice.settings().ignore_case;
            let pattern = if case { pattern.to_ascii_lowercase() } else { pattern.to_owned() };
            Some((PathPattern::whole(&pattern).ok()?, server(choice)?))
        };
        let mut servers: Vec<_> =
            settings.iter().filter_map(|(pattern, choice)| compiled(pattern, choice)).collect();
        // The longest pattern says the most.
        servers.sort_by_key(|(pattern, _)| std::cmp::Reverse(pattern.len()));
        // Others are of folders, where names of another case are other files.
        let is_ending = |pattern: &&String| {
            pattern.rsplit_once('*').is_some_and(|(_, ending)| ending.starts_with('.'))
        };
        let sources = settings.keys().filter(is_ending);
        let sources = sources.filter_map(|it| PathPattern::whole(&it.to_ascii_lowercase()).ok());
        Self { servers, sources: sources.collect() }
    }

    /// True for a path that is a script's but for the case of its letters or the ending that an
    /// editor or a person gives to a copy (`x.php~`, `x.php.bak`): it is not run, and its source is
    /// not sent.
    pub(crate) fn is_source(&self, path: &str) -> bool {
        if self.sources.is_empty() {
            return false;
        }
        let copied = forbidden_files::original(path);
        if copied.is_none() && !path.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return false;
        }
        let path = copied.unwrap_or(path).to_ascii_lowercase();
        self.sources.iter().any(|pattern| pattern.matches(&path))
    }

    /// True if there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.servers.is_empty()
    }

    /// The script of a decoded path, which begins with a slash.
    pub(crate) fn script(&self, path: &str) -> Option<FoundScript> {
        self.servers.iter().find_map(|(pattern, server)| {
            let (name, path_info) = server.split(path);
            let is_meant = if server.settings.ignore_case {
                pattern.matches(&name.to_ascii_lowercase())
            } else {
                pattern.matches(name)
            };
            let server = Arc::clone(server);
            is_meant.then(|| FoundScript {
                server,
                name: name.to_owned(),
                path_info: path_info.to_owned(),
            })
        })
    }

    /// The index scripts of a folder's path, which ends in a slash, in the order to try them.
    pub(crate) fn indexes(&self, folder: &str) -> impl Iterator<Item = FoundScript> {
        let fits = |(pattern, server): &(PathPattern, Arc<FastcgiServer>)| {
            let index = &server.settings.index;
            let name = [folder, index].concat();
            let server = Arc::clone(server);
            let seen =
                if server.settings.ignore_case { name.to_ascii_lowercase() } else { name.clone() };
            (!index.is_empty() && pattern.matches(&seen)).then_some(FoundScript {
                server,
                name,
                path_info: String::new(),
            })
        };
        self.servers.iter().filter_map(fits).collect::<Vec<_>>().into_iter()
    }

    /// Connections opened so far.
    pub(crate) fn connections(&self) -> u32 {
        self.servers.iter().map(|(_, server)| server.pool.opened()).sum()
    }

    /// Asks a script. `call.body_len` is filled in here.
    pub(crate) async fn ask(
        &self,
        script: &FoundScript,
        mut call: ScriptCall<'_>,
        body: Body,
        ledger: &Ledger,
    ) -> Result<ScriptAnswer, ScriptFailure> {
        let settings = &script.server.settings;
        let (body, len) = sized(body, settings).await?;
        call.body_len = len;
        let root = settings.root.as_ref().map(PathBuf::from);
        if let Some(root) = &root {
            call.root = root;
        }
        let parameters = variables::encode(&call, &settings.params);
        let is_head = *call.method == Method::HEAD;
        let mut request = Some(ScriptRequest {
            parameters: parameters.clone(),
            body,
            body_len: len,
            wanted: if is_head { BodyWanted::HeadOnly } else { BodyWanted::HeadAndBody },
            timeout: settings.timeout.0.0,
            keep: if settings.keep > 0 { KeepConnection::Open } else { KeepConnection::Close },
        });
        // A kept connection may close just as it is used. What has no body and changes nothing may
        // be asked once more on a new one.
        let may_repeat = len == 0 && (is_head || *call.method == Method::GET);
        let mut age = SocketAge::Reused;
        loop {
            let lease = script.server.pool.acquire(age, settings.timeout.0.0).await?;
            let was_reused = lease.age == SocketAge::Reused;
            let Some(this) = request.take() else { return Err(ScriptFailure::Busy) };
            if may_repeat && was_reused {
                request = Some(this.retry_copy(&parameters));
            }
            let stderr = ScriptStderr::new(ledger.clone(), &[call.host, &script.name].concat());
            let (sender, receiver) = oneshot::channel();
            spawn_local(drive(lease, this, stderr, sender));
            match receiver.await {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(ScriptBroken::Closed | ScriptBroken::Io(_))) if request.is_some() => {
                    age = SocketAge::Fresh;
                }
                Ok(Err(why)) => return Err(why.into()),
                Err(_) => return Err(ScriptFailure::Bad("the exchange was cut off".into())),
            }
        }
    }
}

impl ScriptRequest {
    /// The same without a body, to be sent again.
    fn retry_copy(&self, parameters: &bytes::BytesMut) -> Self {
        Self {
            parameters: parameters.clone(),
            body: Body::empty(),
            body_len: 0,
            wanted: self.wanted,
            timeout: self.timeout,
            keep: self.keep,
        }
    }
}

impl FastcgiServer {
    /// A path at the end of the script's name.
    fn split<'p>(&self, path: &'p str) -> (&'p str, &'p str) {
        let mark = &self.settings.split_path;
        if !self.settings.ignore_case {
            return split(path, mark);
        }
        // ASCII letters of both cases have one length.
        let end = split(&path.to_ascii_lowercase(), &mark.to_ascii_lowercase()).0.len();
        path.split_at(end)
    }
}

impl FoundScript {
    /// Where its file is looked for.
    pub(crate) fn lookup(&self) -> ScriptLookup {
        if self.server.settings.root.is_some() { ScriptLookup::Remote } else { ScriptLookup::Local }
    }

    /// Returns its path below the root of the site at `prefix`, from the slash. `prefix` begins and
    /// ends with one.
    pub(crate) fn below<'s>(&'s self, prefix: &str) -> &'s str {
        let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
        self.name.strip_prefix(prefix).unwrap_or(&self.name)
    }
}

/// The body with its exact length: as the client gave it, or by holding the body.
async fn sized(body: Body, settings: &FastcgiSettings) -> Result<(Body, u64), ScriptFailure> {
    let max = settings.body_max.bytes();
    if let Some(len) = body.size_hint().exact() {
        return if len <= max { Ok((body, len)) } else { Err(ScriptFailure::BodyTooLarge) };
    }
    let held_max = usize::try_from(max).unwrap_or(usize::MAX).min(UNKNOWN_BODY_BYTES_MAX);
    match read_all(body, held_max, settings.timeout.0.0).await {
        Ok(bytes) => {
            let len = bytes.len() as u64;
            Ok((Body::full(bytes), len))
        }
        Err(ReadError::TooLarge) => Err(ScriptFailure::BodyTooLarge),
        Err(ReadError::TooSlow | ReadError::Broken(_)) => Err(ScriptFailure::Body),
    }
}

/// Where the script's name ends: after the first `mark` at whose end a part of the path ends.
fn split<'p>(path: &'p str, mark: &str) -> (&'p str, &'p str) {
    if mark.is_empty() {
        return (path, "");
    }
    let ends = path.match_indices(mark).map(|(at, _)| at + mark.len());
    let end = ends.into_iter().find(|end| path[*end..].is_empty() || path[*end..].starts_with('/'));
    path.split_at(end.unwrap_or(path.len()))
}

impl ScriptFailure {
    /// The status that says so.
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::BodyTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Body => StatusCode::BAD_REQUEST,
            Self::Busy => StatusCode::SERVICE_UNAVAILABLE,
            Self::Down(_) | Self::Bad(_) => StatusCode::BAD_GATEWAY,
            Self::TimedOut => StatusCode::GATEWAY_TIMEOUT,
        }
    }
}

impl From<NoConnection> for ScriptFailure {
    fn from(why: NoConnection) -> Self {
        match why {
            NoConnection::Busy => Self::Busy,
            NoConnection::Refused(why) => Self::Down(why.to_string()),
            NoConnection::TimedOut => Self::Down("it takes no connection".into()),
        }
    }
}

impl From<ScriptBroken> for ScriptFailure {
    fn from(why: ScriptBroken) -> Self {
        match why {
            ScriptBroken::TimedOut => Self::TimedOut,
            ScriptBroken::ClientBody | ScriptBroken::ClientGone => Self::Body,
            ScriptBroken::Io(_)
            | ScriptBroken::Closed
            | ScriptBroken::Record(_)
            | ScriptBroken::Head(_) => Self::Bad(why.to_string()),
        }
    }
}

impl fmt::Display for ScriptFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BodyTooLarge => f.write_str("the body is longer than a script is given"),
            Self::Body => f.write_str("the body broke off"),
            Self::Busy => f.write_str("too many requests wait for the FastCGI server"),
            Self::Down(why) => write!(f, "the FastCGI server cannot be reached: {why}"),
            Self::TimedOut => f.write_str("the FastCGI server did not answer in time"),
            Self::Bad(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for ScriptFailure {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scripts_name_ends_at_the_mark_and_a_slash() {
        let check = |path: &str, name: &str, info: &str| {
            assert_eq!(split(path, ".php"), (name, info), "{path}");
        };
        check("/a.php", "/a.php", "");
        check("/a.php/b/c", "/a.php", "/b/c");
        check("/a.php/", "/a.php", "/");
        check("/a.phpx/b.php/c", "/a.phpx/b.php", "/c");
        check("/a.jpg/x.php", "/a.jpg/x.php", "");
        check("/a.txt", "/a.txt", "");
        assert_eq!(split("/a/b", ""), ("/a/b", ""));
    }

    #[test]
    fn a_script_of_another_case_is_run_if_that_is_wished_and_its_source_never_sent() {
        let settings = |ignore_case| FastcgiSettings {
            server: "tcp://127.0.0.1:1".into(),
            ignore_case,
            ..FastcgiSettings::default()
        };
        let fastcgi = |ignore_case| {
            let choice = || FastcgiChoice::Detailed(settings(ignore_case));
            FastcgiServers::new(&BTreeMap::from([
                ("*.php".to_owned(), choice()),
                ("/In/*".to_owned(), choice()),
            ]))
        };
        let (exact, any) = (fastcgi(false), fastcgi(true));
        for path in ["/x.PHP", "/a/x.Php", "/x.php~", "/x.php.bak", "/a/x.PHP.orig"] {
            assert!(exact.script(path).is_none() && exact.is_source(path), "{path}");
        }
        for path in ["/x.txt", "/X.TXT", "/in/a", "/README", "/x.txt.bak", "/a~", "/.bak"] {
            assert!(exact.script(path).is_none() && !exact.is_source(path), "{path}");
        }
        let script = any.script("/A.PHP/x").unwrap();
        assert_eq!((script.name.as_str(), script.path_info.as_str()), ("/A.PHP", "/x"));
        assert!(any.script("/iN/a").is_some() && exact.script("/In/a").is_some());
    }

    #[test]
    fn the_longest_pattern_counts_and_indexes_are_its_own() {
        let choice = |server: &str| FastcgiChoice::Address(server.into());
        let all = BTreeMap::from([
            ("*.php".to_owned(), choice("tcp://127.0.0.1:1")),
            ("/admin/*.php".to_owned(), choice("tcp://127.0.0.1:2")),
        ]);
        let fastcgi = FastcgiServers::new(&all);
        let script = fastcgi.script("/admin/a.php/x").unwrap();
        assert_eq!(script.server.settings.server, "tcp://127.0.0.1:2");
        assert_eq!((script.name.as_str(), script.path_info.as_str()), ("/admin/a.php", "/x"));
        assert!(fastcgi.script("/a.txt").is_none());
        let indexes: Vec<_> = fastcgi.indexes("/blog/").map(|it| it.name).collect();
        assert_eq!(indexes, ["/blog/index.php"]);
    }
}
