//! The side of the process that takes the place.

use crate::packet::{
    END, LEFT, REFUSED, SERVING, SOCKETS, STARTED_AS, TAKE_OVER, WHO, receive, send, set_patience,
};
use crate::predecessor::UnixPlace;
use rustix::fd::OwnedFd;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with, sockopt};
use std::fmt;
use std::io;
use std::path::Path;
use std::time::Duration;

/// Time for which each packet of a predecessor is waited for: it writes its caches before.
const PATIENCE: Duration = Duration::from_secs(30);
/// Sockets that are taken, at most.
const SOCKETS_MAX: usize = 16_384;

/// The process that runs.
#[derive(Debug)]
pub struct RunningPredecessor {
    socket: OwnedFd,
    /// Number of the process.
    pub process: u32,
}

/// Descriptors that a predecessor has handed over.
#[derive(Debug)]
pub struct HandedOver {
    /// Bound sockets, in no order.
    pub sockets: Vec<OwnedFd>,
    /// Standard output and standard error.
    pub output: [OwnedFd; 2],
}

/// Why nothing is taken over.
#[derive(Debug)]
pub enum HandoverError {
    /// Nobody is there.
    NobodyRuns(io::Error),
    /// A refusal, with its reason.
    Refused(String),
    /// The exchange broke off.
    Broken(io::Error),
}

impl RunningPredecessor {
    /// Connects to the process that listens at `path`; nothing is asked of it yet.
    pub fn connect(path: &Path) -> Result<Self, HandoverError> {
        let connected = || -> io::Result<Self> {
            let kind = SocketType::SEQPACKET;
            let socket = socket_with(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)?;
            connect(&socket, &UnixPlace::of(path)?.address)?;
            let who = sockopt::socket_peercred(&socket)?;
            set_patience(&socket, Some(PATIENCE))?;
            Ok(Self { socket, process: who.pid.as_raw_nonzero().get().unsigned_abs() })
        };
        connected().map_err(HandoverError::NobodyRuns)
    }

    /// Asks which user started it, by number; it may have become another since. One question a
    /// connection.
    pub fn started_as(&self) -> Result<u32, HandoverError> {
        send(&self.socket, WHO, &[]).map_err(HandoverError::Broken)?;
        let answer = receive(&self.socket).map_err(HandoverError::Broken)?;
        let told = answer.as_ref().and_then(|it| it.text.strip_prefix(STARTED_AS)?.parse().ok());
        told.ok_or_else(|| HandoverError::Broken(io::ErrorKind::InvalidData.into()))
    }

    /// Asks for the sockets. It goes on as before until [`RunningPredecessor::say_serving`].
    pub fn take_over(&self) -> Result<HandedOver, HandoverError> {
        let broken = HandoverError::Broken;
        send(&self.socket, TAKE_OVER, &[]).map_err(broken)?;
        let mut sockets = Vec::new();
        loop {
            let packet = receive(&self.socket).map_err(broken)?;
            let packet = packet.ok_or_else(|| broken(io::ErrorKind::UnexpectedEof.into()))?;
            match packet.text.as_str() {
                SOCKETS if sockets.len() < SOCKETS_MAX => sockets.extend(packet.descriptors),
                END => {
                    let output = packet.descriptors.try_into();
                    let output = output.map_err(|_| broken(io::ErrorKind::InvalidData.into()))?;
                    return Ok(HandedOver { sockets, output });
                }
                other => match other.strip_prefix(REFUSED) {
                    Some(why) => return Err(HandoverError::Refused(why.to_owned())),
                    None => return Err(broken(io::ErrorKind::InvalidData.into())),
                },
            }
        }
    }

    /// Says that this process answers clients, and waits until the predecessor takes no new ones.
    pub fn say_serving(&self) -> Result<(), HandoverError> {
        send(&self.socket, SERVING, &[]).map_err(HandoverError::Broken)?;
        match receive(&self.socket).map_err(HandoverError::Broken)? {
            Some(packet) if packet.text == LEFT => Ok(()),
            Some(_) | None => Err(HandoverError::Broken(io::ErrorKind::UnexpectedEof.into())),
        }
    }
}

impl fmt::Display for HandoverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NobodyRuns(why) => {
                write!(f, "no Tidegate runs there that could be replaced: {why}")
            }
            Self::Refused(why) => write!(f, "the running Tidegate refuses: {why}"),
            Self::Broken(why) => write!(f, "the hand-over broke off: {why}"),
        }
    }
}

impl std::error::Error for HandoverError {}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use crate::{HandedParts, HandoverListener, SuccessorFate};
    use rustix::fd::AsFd;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::path::PathBuf;
    use std::sync::Arc;
    use std::thread;

    fn place(name: &str) -> PathBuf {
        let folder = std::env::temp_dir()
            .join(format!("tidegate-restart-{}-{name}", std::process::id()))
            .join("a-folder-whose-name-is-long-".repeat(4));
        std::fs::create_dir_all(&folder).unwrap();
        folder.join("upgrade.socket")
    }

    /// Runs a predecessor with `count` sockets at one port, and says what it saw of the successor.
    fn predecessor(path: &Path, count: usize) -> (thread::JoinHandle<SuccessorFate>, TcpListener) {
        let listener = HandoverListener::bind(path, 7).unwrap();
        let bound = TcpListener::bind("127.0.0.1:0").unwrap();
        let sockets: Vec<Arc<OwnedFd>> =
            (0..count).map(|_| Arc::new(bound.try_clone().unwrap().into())).collect();
        let ours = bound.try_clone().unwrap();
        let thread = thread::spawn(move || {
            let successor = listener.next().unwrap();
            assert_eq!(successor.process, std::process::id());
            let (output, error) = (std::io::stdout(), std::io::stderr());
            let output = [output.as_fd(), error.as_fd()];
            successor.hand_over(&HandedParts { sockets: &sockets, output }).unwrap();
            let fate = successor.fate(Duration::from_secs(20));
            if fate == SuccessorFate::Serving {
                drop(ours);
                successor.say_left().unwrap();
            }
            fate
        });
        (thread, bound)
    }

    #[test]
    fn sockets_pass_with_what_waits_in_them_also_by_long_paths_and_in_many_packets() {
        let path = place("pass");
        let (thread, bound) = predecessor(&path, 150);
        let mut client = TcpStream::connect(bound.local_addr().unwrap()).unwrap();
        client.write_all(b"waits").unwrap();
        drop(bound);
        let running = RunningPredecessor::connect(&path).unwrap();
        assert_eq!(running.process, std::process::id());
        let handed = running.take_over().unwrap();
        assert_eq!(handed.sockets.len(), 150);
        running.say_serving().unwrap();
        assert_eq!(thread.join().unwrap(), SuccessorFate::Serving);
        let listener = TcpListener::from(handed.sockets.into_iter().next().unwrap());
        let mut told = [0; 5];
        listener.accept().unwrap().0.read_exact(&mut told).unwrap();
        assert_eq!(&told, b"waits");
    }

    #[test]
    fn a_successor_that_goes_before_it_serves_is_seen_to_be_gone() {
        let path = place("gone");
        let (thread, _bound) = predecessor(&path, 1);
        // One that only looks, and leaves, is no successor.
        drop(RunningPredecessor::connect(&path).unwrap());
        assert_eq!(RunningPredecessor::connect(&path).unwrap().started_as().unwrap(), 7);
        let running = RunningPredecessor::connect(&path).unwrap();
        running.take_over().unwrap();
        drop(running);
        assert_eq!(thread.join().unwrap(), SuccessorFate::Gone);
    }

    #[test]
    fn where_nobody_listens_nothing_is_taken_over() {
        let found = RunningPredecessor::connect(&place("none"));
        assert!(matches!(found, Err(HandoverError::NobodyRuns(_))));
    }

    #[test]
    fn another_version_is_refused_in_words() {
        let path = place("version");
        let (thread, _bound) = predecessor(&path, 1);
        let running = RunningPredecessor::connect(&path).unwrap();
        send(&running.socket, "take-over 2", &[]).unwrap();
        let refused = receive(&running.socket).unwrap().unwrap();
        assert_eq!(refused.text, "refused another version");
        let right = RunningPredecessor::connect(&path).unwrap();
        right.take_over().unwrap();
        drop(right);
        assert_eq!(thread.join().unwrap(), SuccessorFate::Gone);
    }
}
