//! The console's connections: one thread, few of them, each command in its turn.
//!
//! The doors have threads of their own, and a flood of commands waits here: a connection's next
//! line is read when its answer is sent, two commands are worked on at once, and each is followed
//! by a pause. Connections beyond the cap, lines without an end, clients that are silent or take
//! nothing are ended.

use crate::answer::AnswerText;
use crate::line::{ForeignTalk, LINE_BYTES_MAX, read_line};
use crate::place::{self, ConsoleSocket};
use crate::process::ProcessTimes;
use crate::session::{ConsoleParts, ConsoleSession, SessionEnd, SessionTrust};
use admin::{ConsolePlace, ConsoleSettings, ConsoleTrust};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use transport::Drain;

/// Connections at once.
const CONNECTIONS_MAX: usize = 16;
/// Commands that are worked on at once; others wait.
const COMMANDS_MAX: usize = 2;
/// Pause after a command.
const PAUSE: Duration = Duration::from_millis(2);
/// Pause after a connection that could not be accepted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Time that a client may be silent.
const IDLE_MAX: Duration = Duration::from_mins(10);
/// Time that a client may take to read an answer.
const WRITE_MAX: Duration = Duration::from_secs(10);

/// Why a console does not open.
#[derive(Debug)]
pub struct ConsoleNotOpen {
    place: String,
    why: io::Error,
}

/// Everything that connections share.
struct ConsoleDesk {
    parts: Arc<ConsoleParts>,
    times: Arc<ProcessTimes>,
    trust: SessionTrust,
    turns: Semaphore,
}

/// Opens the console, on a thread of its own, until the drain begins; says where it listens.
/// Relative paths are below `base`.
pub fn open(
    settings: &ConsoleSettings,
    base: &Path,
    parts: ConsoleParts,
    drain: Drain,
) -> Result<ConsolePlace, ConsoleNotOpen> {
    let failed = |why| ConsoleNotOpen { place: settings.listen.clone(), why };
    let wrong = |why| failed(io::Error::new(io::ErrorKind::InvalidInput, why));
    let place = settings.listen.parse().map_err(wrong)?;
    let socket = place::bind(&place, base).map_err(failed)?;
    let (open_at, trust) = match &socket {
        ConsoleSocket::Tcp(listener) => {
            let trust = match settings.trust {
                ConsoleTrust::Token => SessionTrust::AfterToken,
                ConsoleTrust::Loopback => SessionTrust::Full,
            };
            (ConsolePlace::Loopback(listener.local_addr().map_err(failed)?), trust)
        }
        ConsoleSocket::Unix(_, path) => (ConsolePlace::Path(path.clone()), SessionTrust::Full),
    };
    let desk = Arc::new(ConsoleDesk {
        parts: Arc::new(parts),
        times: Arc::default(),
        trust,
        turns: Semaphore::new(COMMANDS_MAX),
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(COMMANDS_MAX)
        .build()
        .map_err(failed)?;
    let run = move || runtime.block_on(accept_all(socket, desk, drain));
    std::thread::Builder::new().name("console".into()).spawn(run).map_err(failed)?;
    Ok(open_at)
}

async fn accept_all(socket: ConsoleSocket, desk: Arc<ConsoleDesk>, drain: Drain) {
    match socket {
        ConsoleSocket::Tcp(listener) => {
            let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
            accept(&desk, &drain, async || {
                let (stream, peer) = listener.accept().await?;
                Ok((stream, Some(peer)))
            })
            .await;
        }
        ConsoleSocket::Unix(listener, path) => {
            let _gone = RemovedPath(path);
            let Ok(listener) = tokio::net::UnixListener::from_std(listener) else { return };
            accept(&desk, &drain, async || Ok((listener.accept().await?.0, None))).await;
        }
    }
}

/// A path that goes with its listener.
struct RemovedPath(PathBuf);

impl Drop for RemovedPath {
    fn drop(&mut self) {
        // One that stays is taken over by the next start.
        drop(std::fs::remove_file(&self.0));
    }
}

async fn accept<S>(
    desk: &Arc<ConsoleDesk>,
    drain: &Drain,
    next: impl AsyncFn() -> io::Result<(S, Option<SocketAddr>)>,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let accepted = tokio::select! {
            () = drain.started() => return,
            accepted = next() => accepted,
        };
        let mut stream = match accepted {
            // Only this machine reaches a loopback address; one that is redirected does not count.
            Ok((_, Some(peer))) if !peer.ip().to_canonical().is_loopback() => continue,
            Ok((stream, _)) => stream,
            Err(_) => {
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let Ok(place) = places.clone().try_acquire_owned() else {
            let full = AnswerText::error(&"too many connections").into_string();
            tokio::spawn(async move { send(&mut stream, &full).await });
            continue;
        };
        let (desk, drain) = (Arc::clone(desk), drain.clone());
        tokio::spawn(async move {
            let _place = place;
            tokio::select! {
                () = drain.started() => {}
                () = serve(stream, &desk) => {}
            }
        });
    }
}

async fn serve<S: AsyncRead + AsyncWrite + Unpin>(mut stream: S, desk: &ConsoleDesk) {
    let (parts, times) = (Arc::clone(&desk.parts), Arc::clone(&desk.times));
    let mut session = ConsoleSession::new(parts, times, desk.trust);
    let mut read = Vec::new();
    loop {
        let Ok(Ok(Some(line))) = timeout(IDLE_MAX, next_line(&mut stream, &mut read)).await else {
            return;
        };
        let line = match read_line(&line) {
            Ok(line) => line,
            Err(ForeignTalk::TooLong) => {
                let text = format!("a line has at most {LINE_BYTES_MAX} bytes");
                send(&mut stream, &AnswerText::error(&text).into_string()).await;
                return;
            }
            // Not a word: a browser could show it, or take it for an answer.
            Err(ForeignTalk::Http | ForeignTalk::NotText) => return,
        };
        let Ok(turn) = desk.turns.acquire().await else { return };
        let work = tokio::task::spawn_blocking(move || {
            let told = session.carry_out(&line);
            (session, told)
        });
        let Ok((back, (answer, end))) = work.await else { return };
        session = back;
        tokio::time::sleep(PAUSE).await;
        drop(turn);
        if !send(&mut stream, &answer).await || end == SessionEnd::Closes {
            return;
        }
    }
}

/// The next line, its line feed left out; of a longer one than may be, the beginning.
async fn next_line<S: AsyncRead + Unpin>(
    stream: &mut S,
    read: &mut Vec<u8>,
) -> io::Result<Option<Vec<u8>>> {
    loop {
        if let Some(end) = read.iter().position(|byte| *byte == b'\n') {
            let mut line: Vec<u8> = read.drain(..=end).collect();
            line.pop();
            return Ok(Some(line));
        }
        if read.len() > LINE_BYTES_MAX + 1 {
            return Ok(Some(std::mem::take(read)));
        }
        let mut piece = [0; 1024];
        match stream.read(&mut piece).await? {
            0 => return Ok(None),
            count => read.extend_from_slice(&piece[..count]),
        }
    }
}

/// Sends an answer; says whether the client took it in time.
async fn send<S: AsyncWrite + Unpin>(stream: &mut S, answer: &str) -> bool {
    let sent = timeout(WRITE_MAX, stream.write_all(answer.as_bytes())).await;
    matches!(sent, Ok(Ok(())))
}

impl fmt::Display for ConsoleNotOpen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the console does not open at {}: {}", self.place, self.why)
    }
}

impl std::error::Error for ConsoleNotOpen {}
