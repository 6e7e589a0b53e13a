//! A scripted origin server and a client that shows every byte, on real sockets.

#![allow(dead_code, unused_imports, reason = "each test file uses its own share")]

mod door;
mod folders;

pub(crate) use door::{Gateway, closed_port, get, parts, scratch, simple, start};
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// No step of a test may take longer.
pub(crate) const DEADLINE: Duration = Duration::from_secs(10);

/// What an origin does with a request.
pub(crate) enum Reply {
    /// Write this and go on.
    Keep(String),
    /// Write this and close.
    Close(String),
}

/// An origin server that notes what reaches it.
pub(crate) struct Origin {
    pub(crate) address: SocketAddr,
    connections: Arc<AtomicUsize>,
    seen: Arc<Mutex<Vec<String>>>,
}

/// A plain answer with its length.
pub(crate) fn ok(body: &str) -> Reply {
    Reply::Keep(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()))
}

impl Origin {
    /// Serves with `script`, which is given the number of the connection, from 0, the number of the
    /// request on it, and the request with its body.
    pub(crate) fn start(
        script: impl Fn(usize, usize, &str) -> Reply + Send + Sync + 'static,
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

    /// How many connections came.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(SeqCst)
    }

    /// The requests that came, heads and bodies.
    pub(crate) fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

fn serve(
    mut stream: TcpStream,
    connection: usize,
    script: &(dyn Fn(usize, usize, &str) -> Reply + Send + Sync),
    noted: &Mutex<Vec<String>>,
) {
    for request in 0.. {
        let Some(text) = read_message(&mut stream) else { return };
        noted.lock().unwrap().push(text.clone());
        match script(connection, request, &text) {
            Reply::Keep(bytes) => stream.write_all(bytes.as_bytes()).unwrap(),
            Reply::Close(bytes) => {
                let _ = stream.write_all(bytes.as_bytes());
                let _ = stream.shutdown(Shutdown::Both);
                return;
            }
        }
    }
}

/// Reads one message: its head, and its body where its length is given or it is chunked.
pub(crate) fn read_message(stream: &mut TcpStream) -> Option<String> {
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = bytes.windows(4).position(|it| it == b"\r\n\r\n") {
            let (head, body) = (&bytes[..end], &bytes[end + 4..]);
            let lower = String::from_utf8_lossy(head).to_ascii_lowercase();
            let length = lower
                .lines()
                .find_map(|line| line.strip_prefix("content-length:"))
                .map_or(0, |value| value.trim().parse().unwrap());
            let chunked = lower.contains("transfer-encoding: chunked");
            let informational = lower.starts_with("http/1.1 1");
            let whole = if chunked { body.ends_with(b"0\r\n\r\n") } else { body.len() >= length };
            if whole || informational {
                return Some(String::from_utf8_lossy(&bytes).into_owned());
            }
        }
        let mut piece = [0; 16 << 10];
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => return None,
            Ok(count) => bytes.extend_from_slice(&piece[..count]),
        }
    }
}

/// So many bytes, in lines that can be told from one another.
pub(crate) fn numbered(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 8);
    for number in 0..=bytes / 8 {
        writeln!(text, "{number:07}").unwrap();
    }
    text.truncate(bytes);
    text
}

/// Sends `request` as it is on a connection of its own and returns the answer.
pub(crate) fn ask(to: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(to).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    read_message(&mut stream).unwrap_or_default()
}
