//! Origin servers that do what a test says, and a client that shows every byte.

use crate::{DEADLINE, TimeWaited};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Bytes that are read at once.
const PIECE_BYTES: usize = 16 << 10;
/// Silence after which a reader looks whether the deadline has passed.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Reply of an origin to a request.
#[derive(Clone, Debug)]
pub enum OriginReply {
    /// Write this and go on.
    Keep(String),
    /// Write this and close.
    Close(String),
}

/// Script of an origin: its reply, by the number of the connection, the number of the request on
/// it, and the request.
type OriginScript = dyn Fn(usize, usize, &str) -> OriginReply + Send + Sync;

/// A plain answer with its length.
pub fn ok(body: &str) -> OriginReply {
    OriginReply::Keep(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()))
}

/// An origin server that notes what reaches it.
#[derive(Debug)]
pub struct ScriptedOrigin {
    /// Where it listens.
    pub address: SocketAddr,
    connections: Arc<AtomicUsize>,
    seen: Arc<Mutex<Vec<String>>>,
}

impl ScriptedOrigin {
    /// Serves with `script`, which is given the number of the connection, from 0, the number of the
    /// request on it, and the request with its body.
    pub fn start(
        script: impl Fn(usize, usize, &str) -> OriginReply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let script = Arc::new(script);
        let (counted, noted) = (Arc::clone(&connections), Arc::clone(&seen));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let number = counted.fetch_add(1, SeqCst);
                let (script, noted) = (Arc::clone(&script), Arc::clone(&noted));
                std::thread::spawn(move || serve(stream.unwrap(), number, &*script, &noted));
            }
        });
        Self { address, connections, seen }
    }

    /// Connections that came.
    pub fn connections(&self) -> usize {
        self.connections.load(SeqCst)
    }

    /// Requests that came, heads and bodies.
    pub fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

fn serve(
    mut stream: TcpStream,
    connection: usize,
    script: &OriginScript,
    noted: &Mutex<Vec<String>>,
) {
    for request in 0.. {
        let Some(text) = read_message(&mut stream) else { return };
        noted.lock().unwrap().push(text.clone());
        match script(connection, request, &text) {
            OriginReply::Keep(bytes) => stream.write_all(bytes.as_bytes()).unwrap(),
            OriginReply::Close(bytes) => {
                let _ = stream.write_all(bytes.as_bytes());
                let _ = stream.shutdown(Shutdown::Both);
                return;
            }
        }
    }
}

/// Reads one message: its head, and its body where its length is given or it is chunked.
pub fn read_message(stream: &mut TcpStream) -> Option<String> {
    stream.set_read_timeout(Some(LOOK_AGAIN)).unwrap();
    let (mut bytes, mut waited) = (Vec::new(), TimeWaited::new());
    loop {
        if let Some(end) = position(&bytes, b"\r\n\r\n")
            && is_whole(&bytes[..end], &bytes[end + 4..])
        {
            return Some(String::from_utf8_lossy(&bytes).into_owned());
        }
        let mut piece = [0; PIECE_BYTES];
        match stream.read(&mut piece) {
            Ok(count @ 1..) => bytes.extend_from_slice(&piece[..count]),
            Err(fault) if is_silence(fault.kind()) && waited.until_now() < DEADLINE => {}
            Ok(0) | Err(_) => return None,
        }
    }
}

fn is_silence(fault: ErrorKind) -> bool {
    matches!(fault, ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

fn is_whole(head: &[u8], body: &[u8]) -> bool {
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    if head.starts_with("http/1.1 1") {
        return true;
    }
    if head.contains("transfer-encoding: chunked") {
        // Trailers are between the last chunk and the empty line.
        let has_last_chunk =
            || body.starts_with(b"0\r\n") || position(body, b"\r\n0\r\n").is_some();
        return body.ends_with(b"\r\n\r\n") && has_last_chunk();
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    body.len() >= length.map_or(0, |value| value.trim().parse().unwrap())
}

fn position(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|it| it == wanted)
}

/// Sends `request` as it is on a connection of its own and returns the answer.
pub fn ask(to: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(to).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    read_message(&mut stream).unwrap_or_default()
}

/// A server of one connection that does what `script` says.
pub fn serve_one(script: impl FnOnce(TcpStream) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        script(stream);
    });
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_whole_when_its_body_is_there() {
        assert!(is_whole(b"HTTP/1.1 200 OK\r\nContent-Length: 2", b"ab"));
        assert!(!is_whole(b"HTTP/1.1 200 OK\r\nContent-Length: 2", b"a"));
        assert!(is_whole(b"HTTP/1.1 103 Early Hints\r\nLink: a", b""));
        let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked";
        assert!(is_whole(chunked, b"1\r\na\r\n0\r\n\r\n"));
        assert!(is_whole(chunked, b"1\r\na\r\n0\r\nDigest: b\r\n\r\n"));
        assert!(!is_whole(chunked, b"4\r\n\r\n\r\n"));
    }
}
