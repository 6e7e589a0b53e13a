//! A web door on real sockets, a folder of its own, and a client that shows every byte.

use arc_swap::ArcSwap;
use door_web::{SiteSettings, WebDoor, WebParts};
use file_access::private_files::PrivateFiles;
use http_front::HttpDoor;
use ledger::{Ledger, LogRow, RowFilter, RuleTexts};
use policy::{ClientProfiles, ListKind, ListSource, Policy, compile};
use settings::Text;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use transport::{Drain, WaitForData, accept_loop, listen_tcp};
use vocab::{Listen, RuleRef, Scheme};

/// No step of a test may take longer.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

/// A folder that goes when the test ends.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Relaxed);
        let path =
            std::env::temp_dir().join(format!("tidegate-web-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file, with the folders above it.
    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.0.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

struct NoTexts;

impl RuleTexts for NoTexts {
    fn text(&self, _: RuleRef, _: &str) -> Option<(String, u32, String)> {
        None
    }
}

/// A running web door.
pub(crate) struct Edge {
    pub(crate) at: Vec<SocketAddr>,
    pub(crate) door: Arc<WebDoor>,
    parts: WebParts,
    ledger: Ledger,
    pub(crate) drain: Drain,
    /// What the administrator was told.
    pub(crate) told: Arc<Mutex<Vec<String>>>,
    thread: Option<JoinHandle<()>>,
    _state: Folder,
}

/// A site with these hosts on a listener whose port the system picks.
pub(crate) fn site(root: &str, hosts: &[&str]) -> SiteSettings {
    let listen: Listen = "http://127.0.0.1:0".parse().unwrap();
    SiteSettings {
        listen: vec![Text(listen)],
        hosts: hosts.iter().map(|host| (*host).into()).collect(),
        root: root.into(),
        ..SiteSettings::default()
    }
}

impl Edge {
    /// One site: `www` in `base`.
    pub(crate) fn start(base: &Folder) -> Self {
        Self::start_with(base, &[site("www", &[])], "||blocked.example^\n/private/*\n")
    }

    pub(crate) fn start_with(base: &Folder, sites: &[SiteSettings], rules: &str) -> Self {
        Self::begin(base, sites, rules, PrivateFiles::default())
    }

    /// The same with files that nobody is to get.
    pub(crate) fn start_hiding(
        base: &Folder,
        sites: &[SiteSettings],
        private: PrivateFiles,
    ) -> Self {
        Self::begin(base, sites, "", private)
    }

    fn begin(base: &Folder, sites: &[SiteSettings], rules: &str, private: PrivateFiles) -> Self {
        let state = Folder::new();
        let list =
            ListSource { name: "mine", kind: ListKind::Block, text: rules.as_bytes(), files: &[] };
        let policy = Policy::new(Arc::new(compile(&[list], 1)), ClientProfiles::everyone());
        let ledger =
            ledger::open(&ledger::Settings::default(), state.path(), Arc::new(NoTexts)).unwrap();
        let told: Arc<Mutex<Vec<String>>> = Arc::default();
        let parts = WebParts {
            policy: Arc::new(ArcSwap::from_pointee(policy)),
            ledger: ledger.clone(),
            base: base.path().to_owned(),
            private: Arc::new(private),
            signer: None,
            log: {
                let told = Arc::clone(&told);
                Arc::new(move |line| told.lock().unwrap().push(line.to_owned()))
            },
        };
        let door = WebDoor::new(sites, parts.clone()).unwrap();
        let listeners: Vec<_> = door
            .listeners()
            .iter()
            .map(|it| (it.scheme, listen_tcp(it.address, WaitForData::No).unwrap()))
            .collect();
        let at = listeners.iter().map(|(_, it)| it.local_addr()).collect();
        let drain = Drain::new();
        let (serving, stop) = (Arc::clone(&door), drain.clone());
        let thread = std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let tasks = tokio::task::LocalSet::new();
            for (scheme, listener) in listeners {
                let (door, drain) = (Arc::clone(&serving), stop.clone());
                let limits = door.connection_limits();
                let handle = move |stream| {
                    let (door, drain) = (Arc::clone(&door), drain.clone());
                    async move {
                        if scheme == Scheme::Https {
                            door.serve_tls_connection(stream, drain).await;
                        } else {
                            door.serve_connection(stream, drain).await;
                        }
                    }
                };
                tasks.spawn_local(accept_loop(listener, limits, stop.clone(), handle));
            }
            tasks.block_on(&runtime, async move {
                stop.started().await;
                stop.finished(Duration::from_secs(2)).await.ok();
            });
        });
        Self { at, door, parts, ledger, drain, told, thread: Some(thread), _state: state }
    }

    /// Sends a request without a body on a connection of its own.
    pub(crate) fn ask(&self, request: &str, fields: &[(&str, &str)]) -> Answer {
        self.ask_host("www.example", request, fields)
    }

    pub(crate) fn ask_host(&self, host: &str, request: &str, fields: &[(&str, &str)]) -> Answer {
        let mut stream = self.connect();
        send(&mut stream, host, request, fields);
        Answer::read(&mut stream, request.starts_with("HEAD"))
    }

    /// Asks until the answer has this body: the kernel tells of changes on a thread of its own.
    pub(crate) fn until(&self, request: &str, fields: &[(&str, &str)], body: &str) -> Answer {
        let begun = Instant::now();
        loop {
            let answer = self.ask(request, fields);
            if answer.text() == body {
                return answer;
            }
            assert!(begun.elapsed() < DEADLINE, "{} instead of {body}", answer.text());
            std::thread::yield_now();
        }
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.at[0]).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        stream
    }

    /// What the door was built from.
    pub(crate) fn parts(&self) -> WebParts {
        self.parts.clone()
    }

    /// Waits until so many requests are recorded; newest first.
    pub(crate) fn rows(&self, count: usize) -> Vec<LogRow> {
        let start = Instant::now();
        loop {
            self.ledger.flush();
            let rows = self.ledger.rows(&RowFilter::default(), 100).unwrap().rows;
            if rows.len() >= count {
                return rows;
            }
            assert!(start.elapsed() < DEADLINE, "only {} rows: {rows:#?}", rows.len());
            std::thread::yield_now();
        }
    }
}

impl Drop for Edge {
    fn drop(&mut self) {
        self.drain.start();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

pub(crate) fn send(stream: &mut TcpStream, host: &str, request: &str, fields: &[(&str, &str)]) {
    let mut head = format!("{request} HTTP/1.1\r\nHost: {host}\r\n");
    for (name, value) in fields {
        write!(head, "{name}: {value}\r\n").unwrap();
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes()).unwrap();
}

/// One HTTP answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) fields: HashMap<String, String>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// Reads one answer; a HEAD's has no body whatever its length says.
    pub(crate) fn read(stream: &mut TcpStream, to_head: bool) -> Self {
        let mut bytes = Vec::new();
        loop {
            let end = bytes.windows(4).position(|it| it == b"\r\n\r\n");
            if let Some(end) = end {
                let mut answer = Self::head(&bytes[..end]);
                let length = answer.field("content-length").parse().unwrap_or(0);
                let has_body = !to_head && answer.status != 304;
                answer.body = bytes[end + 4..].to_vec();
                while has_body && answer.body.len() < length {
                    let mut piece = vec![0; 64 << 10];
                    let count = stream.read(&mut piece).unwrap();
                    assert_ne!(count, 0, "cut off after {} of {length}", answer.body.len());
                    answer.body.extend_from_slice(&piece[..count]);
                }
                return answer;
            }
            let mut piece = [0; 4096];
            match stream.read(&mut piece).unwrap() {
                0 => panic!("cut off: {}", String::from_utf8_lossy(&bytes)),
                count => bytes.extend_from_slice(&piece[..count]),
            }
        }
    }

    fn head(bytes: &[u8]) -> Self {
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        let mut lines = text.split("\r\n");
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let fields = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        Self { status, fields, body: Vec::new() }
    }

    /// A field, or nothing.
    pub(crate) fn field(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", String::as_str)
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}
