//! A server of one list, which the test has answer as it likes: whole, cut off, without end, or
//! never.

use crate::origin::header;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};

/// How it answers from now on.
#[derive(Clone, Debug)]
pub enum Manner {
    /// The text, with an entity tag made of it; 304 to whoever has it.
    Text(String),
    /// The text, coded by gzip, without validators.
    Gzip(Vec<u8>),
    /// This status and body.
    Status(&'static str, String),
    /// These fields, and as many bytes as follow; then it hangs up.
    Raw(String),
    /// A redirect to this path; all paths do.
    Redirect(&'static str),
    /// Text without end, as fast as it is taken.
    Endless,
    /// The head and half a line, and nothing more until it answers otherwise.
    Stall,
    /// Hangs up at once.
    Nothing,
}

#[derive(Debug)]
pub struct ListServer {
    pub address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    manner: Mutex<Manner>,
    changed: Condvar,
    heads: Mutex<Vec<String>>,
}

impl ListServer {
    pub fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            manner: Mutex::new(manner),
            changed: Condvar::new(),
            heads: Mutex::default(),
        });
        let kept = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let shared = Arc::clone(&kept);
                std::thread::spawn(move || {
                    // The client may have gone: its affair.
                    let _ = shared.answer(&stream);
                });
            }
        });
        Self { address, shared }
    }

    /// From now on it answers so.
    pub fn answers(&self, manner: Manner) {
        *self.shared.manner.lock().unwrap() = manner;
        self.shared.changed.notify_all();
    }

    pub fn url(&self, host: &str) -> String {
        format!("http://{host}:{}/ads.txt", self.address.port())
    }

    /// Heads of the requests so far.
    pub fn heads(&self) -> Vec<String> {
        self.shared.heads.lock().unwrap().clone()
    }
}

impl Shared {
    fn answer(&self, mut stream: &TcpStream) -> std::io::Result<()> {
        let mut reader = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head)? == 0 {
                return Ok(());
            }
        }
        self.heads.lock().unwrap().push(head.clone());
        let manner = self.manner.lock().unwrap().clone();
        let whole = |status: &str, fields: &str, body: &[u8]| {
            let head = format!(
                "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n{fields}\r\n",
                body.len()
            );
            stream_all(stream, &[head.as_bytes(), body])
        };
        match manner {
            Manner::Text(text) => {
                let tag = format!("\"{}-{}\"", text.len(), text.lines().next().unwrap_or(""));
                if header(&head, "if-none-match").as_ref() == Some(&tag) {
                    return whole("304 Not Modified", "", b"");
                }
                whole("200 OK", &format!("ETag: {tag}\r\n"), text.as_bytes())
            }
            Manner::Gzip(coded) => whole("200 OK", "Content-Encoding: gzip\r\n", &coded),
            Manner::Status(status, body) => whole(status, "", body.as_bytes()),
            Manner::Raw(text) => stream_all(stream, &[text.as_bytes()]),
            Manner::Redirect(to) => whole("302 Found", &format!("Location: {to}\r\n"), b""),
            Manner::Endless => {
                stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")?;
                loop {
                    stream.write_all(b"||endless.example^\n")?;
                }
            }
            Manner::Stall => {
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n||half.exam")?;
                let stalls = |manner: &mut Manner| matches!(manner, Manner::Stall);
                let guard = self.manner.lock().unwrap();
                drop(self.changed.wait_while(guard, stalls).unwrap());
                Ok(())
            }
            Manner::Nothing => Ok(()),
        }
    }
}

fn stream_all(mut stream: &TcpStream, parts: &[&[u8]]) -> std::io::Result<()> {
    parts.iter().try_for_each(|part| stream.write_all(part))
}

/// `text` as gzip codes it.
pub fn gzip(text: &[u8]) -> Vec<u8> {
    let mut child = Command::new("gzip")
        .arg("-c")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let text = text.to_vec();
    let fed = std::thread::spawn(move || input.write_all(&text));
    let mut coded = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut coded).unwrap();
    fed.join().unwrap().unwrap();
    assert!(child.wait().unwrap().success());
    coded
}
