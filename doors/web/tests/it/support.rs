//! A web door on real sockets, a folder of its own, and a client that shows every byte.

use arc_swap::ArcSwap;
use door_web::{SiteSettings, WebDoor, WebParts};
use file_access::private_files::PrivateFiles;
use http_front::HttpDoor;
use ledger::{Ledger, LogRow, RowFilter};
use settings::Text;
use std::fmt::Write as _;
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
pub(crate) use test_support::{DEADLINE, HttpAnswer as Answer, ScratchFolder as Folder};
use transport::{Drain, WaitForData, accept_loop, listen_tcp};
use vocab::{Listen, Scheme};

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
        let policy = test_support::blocking(rules);
        let ledger = test_support::open_ledger(state.path());
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
        Answer::read_to(request, &mut stream)
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
