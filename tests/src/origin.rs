//! Web origins that the test controls: one page a path, keep-alive, every request kept.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, RwLock};

/// What an origin answers at a path.
#[derive(Clone, Debug)]
pub struct Page {
    pub content_type: &'static str,
    pub body: Vec<u8>,
    pub headers: Vec<(&'static str, String)>,
}

impl Page {
    pub fn new(content_type: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Self { content_type, body: body.into(), headers: Vec::new() }
    }

    #[must_use]
    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

#[derive(Debug)]
pub struct Origin {
    pub address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
    pages: Pages,
}

type Pages = Arc<RwLock<HashMap<String, Page>>>;

impl Origin {
    pub fn start(pages: &[(&str, Page)]) -> Self {
        Self::start_at("127.0.0.1:0".parse().unwrap(), pages)
    }

    pub fn start_at(address: SocketAddr, pages: &[(&str, Page)]) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let pages = pages.iter().map(|(path, page)| ((*path).to_owned(), page.clone())).collect();
        let pages: Pages = Arc::new(RwLock::new(pages));
        let served = Arc::clone(&pages);
        let requests = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&requests);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (pages, kept) = (Arc::clone(&served), Arc::clone(&kept));
                std::thread::spawn(move || {
                    let _ = answer_all(stream, &pages, &kept);
                });
            }
        });
        Self { address, requests, pages }
    }

    /// From now on there is one more page.
    pub fn add(&self, path: &str, page: Page) {
        self.pages.write().unwrap().insert(path.to_owned(), page);
    }

    /// Heads of the requests so far: request line and headers.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    /// `METHOD host path` of the requests so far.
    pub fn lines(&self) -> Vec<String> {
        self.requests()
            .iter()
            .map(|head| {
                let mut words = head.split_whitespace();
                let (method, path) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
                let host = header(head, "host").unwrap_or_default();
                format!("{method} {host} {path}")
            })
            .collect()
    }
}

/// A header's value in a request head.
pub fn header(head: &str, name: &str) -> Option<String> {
    head.lines().skip(1).find_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
    })
}

fn answer_all(
    stream: TcpStream,
    pages: &RwLock<HashMap<String, Page>>,
    kept: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut stream = stream;
    loop {
        let mut head = String::new();
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            if line == "\r\n" {
                break;
            }
            head += &line;
        }
        let len = header(&head, "content-length").and_then(|n| n.parse().ok()).unwrap_or(0);
        let mut body = vec![0; len];
        reader.read_exact(&mut body)?;
        let path = head.split_whitespace().nth(1).unwrap_or("/").to_owned();
        let is_head = head.starts_with("HEAD");
        kept.lock().unwrap().push(head);
        let missing = Page::new("text/plain", "not here");
        let plain_path = path.split('?').next().unwrap_or("");
        let page = pages.read().unwrap().get(plain_path).cloned();
        let (status, page) = match page {
            Some(page) => ("200 OK", page),
            None => ("404 Not Found", missing),
        };
        let mut answer = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {}\r\nContent-Length: {}\r\n",
            page.content_type,
            page.body.len()
        );
        for (name, value) in &page.headers {
            answer.extend([name, ": ", value.as_str(), "\r\n"]);
        }
        answer += "\r\n";
        let mut bytes = answer.into_bytes();
        if !is_head {
            bytes.extend(&page.body);
        }
        stream.write_all(&bytes)?;
    }
}
