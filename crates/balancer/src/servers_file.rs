//! A file that names the servers of a pool, one a line, as Perlbal's nodefiles do; read again when
//! it changes.
//!
//! It changes no pool and waits for nothing. Opened by [`super::open`], looked at by
//! `pool::watch`.

use crate::settings::ServerDetails;
use origins::{OriginServer, ServerError};
use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, PoisonError};

/// Bytes of a file at most: some thousand servers, of which a pool takes 256.
const BYTES_MAX: u64 = 256 << 10;
/// Time between two looks at it, as in Perlbal.
const LOOK_MS: u64 = 3_000;

/// A file of servers, and the state in which it was read last.
#[derive(Debug)]
pub(crate) struct ServersFile {
    path: PathBuf,
    /// When it is looked at next, on the clock that never goes back.
    due_ms: AtomicU64,
    seen: Mutex<FileSight>,
}

/// A look at a file: the same sight is not read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileSight {
    /// Inode, size, and the time of the last change in nanoseconds.
    File(u64, u64, i128),
    /// Nothing that can be looked at.
    Missing,
}

/// Why a file names no servers.
#[derive(Debug)]
pub(crate) enum ServersFileError {
    /// The file cannot be read.
    Unreadable(io::Error),
    /// This line, from 1, is no server.
    Line(usize, BadServerLine),
}

/// Why a line is no server.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum BadServerLine {
    /// The address leads nowhere.
    Address(String, ServerError),
    /// The number behind `weight=` is none.
    Weight(String),
    /// A word that means nothing.
    Word(String),
}

impl ServersFile {
    /// The file and the servers that it names now.
    pub(crate) fn open(path: &Path) -> Result<(Self, Vec<ServerDetails>), ServersFileError> {
        let seen = Mutex::new(sight(path));
        let servers = parse(&read(path)?)?;
        let file = Self { path: path.to_owned(), due_ms: AtomicU64::new(0), seen };
        Ok((file, servers))
    }

    /// The path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// When it is looked at next, on the clock that never goes back.
    pub(crate) fn due_ms(&self) -> u64 {
        self.due_ms.load(Relaxed)
    }

    /// The servers that it names at this moment, or what is wrong with it; none if it is as it was.
    pub(crate) fn look(&self, now_ms: u64) -> Option<Result<Vec<ServerDetails>, ServersFileError>> {
        self.due_ms.store(now_ms + LOOK_MS, Relaxed);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let now = sight(&self.path);
        if now == *seen {
            return None;
        }
        // Seen before it is read: a change meanwhile is seen the next time.
        *seen = now;
        Some(read(&self.path).and_then(|text| parse(&text)))
    }
}

fn sight(path: &Path) -> FileSight {
    match std::fs::metadata(path) {
        Ok(found) => {
            let nanos = i128::from(found.mtime()) * 1_000_000_000 + i128::from(found.mtime_nsec());
            FileSight::File(found.ino(), found.len(), nanos)
        }
        Err(_) => FileSight::Missing,
    }
}

fn read(path: &Path) -> Result<String, ServersFileError> {
    let mut text = String::new();
    let file = File::open(path).map_err(ServersFileError::Unreadable)?;
    file.take(BYTES_MAX + 1).read_to_string(&mut text).map_err(ServersFileError::Unreadable)?;
    if text.len() as u64 > BYTES_MAX {
        let message = format!("it is longer than {} KiB", BYTES_MAX >> 10);
        return Err(ServersFileError::Unreadable(io::Error::other(message)));
    }
    Ok(text)
}

/// The servers of a file: `HOST`, `HOST:PORT` or a URL a line, then `weight=N` and `backup` if they
/// are to be; a `#` ends a line. An error names the line.
fn parse(text: &str) -> Result<Vec<ServerDetails>, ServersFileError> {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    let mut servers: Vec<ServerDetails> = Vec::new();
    for (number, line) in (1..).zip(lines).filter(|(_, line)| !line.is_empty()) {
        let server = server(line).map_err(|why| ServersFileError::Line(number, why))?;
        // Twice the same is once, as in Perlbal.
        if servers.iter().all(|it| it.url != server.url) {
            servers.push(server);
        }
    }
    Ok(servers)
}

fn server(line: &str) -> Result<ServerDetails, BadServerLine> {
    let mut words = line.split_whitespace();
    let address = words.next().unwrap_or_default();
    let is_url = address.contains("://") || address.contains("unix:");
    let url = if is_url { address.to_owned() } else { format!("http://{address}") };
    url.parse::<OriginServer>().map_err(|why| BadServerLine::Address(address.into(), why))?;
    let mut server = ServerDetails { url, ..ServerDetails::default() };
    for word in words {
        match word.split_once('=') {
            Some(("weight", weight)) => {
                server.weight = weight.parse().map_err(|_| BadServerLine::Weight(word.into()))?;
            }
            None if word == "backup" => server.backup = true,
            Some(_) | None => return Err(BadServerLine::Word(word.into())),
        }
    }
    Ok(server)
}

impl fmt::Display for ServersFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(why) => why.fmt(f),
            Self::Line(number, why) => write!(f, "line {number}: {why}"),
        }
    }
}

impl fmt::Display for BadServerLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address, why) => write!(f, "{address:?}: {why}"),
            Self::Weight(word) => write!(f, "{word:?} is no weight"),
            Self::Word(word) => write!(f, "{word:?} is neither weight=N nor backup"),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn nodefiles_are_read_as_perlbal_reads_them_and_a_little_more() {
        let servers = parse(
            "# web\n10.0.0.1:8080\n10.0.0.2\n\n10.0.0.1:8080 # again\n\
             https://app.internal weight=3 backup\nunix:/run/app.sock\n[2001:db8::1]:81\n",
        );
        let servers = servers.unwrap();
        let urls: Vec<_> = servers.iter().map(|it| it.url.as_str()).collect();
        assert_eq!(
            urls,
            [
                "http://10.0.0.1:8080",
                "http://10.0.0.2",
                "https://app.internal",
                "unix:/run/app.sock",
                "http://[2001:db8::1]:81"
            ]
        );
        assert_eq!((servers[2].weight, servers[2].backup), (3, true));
        assert_eq!(parse("").unwrap(), []);
    }

    #[test]
    fn what_is_no_server_names_its_line() {
        for (text, line) in [
            ("10.0.0.1\nhttp://a b\n", "line 2: \"b\" is neither"),
            ("ftp://a\n", "line 1: \"ftp://a\""),
            ("a weight=x", "line 1: \"weight=x\" is no weight"),
            ("a:b", "line 1: \"a:b\""),
        ] {
            let why = parse(text).unwrap_err().to_string();
            assert!(why.starts_with(line), "{why}");
        }
    }
}
