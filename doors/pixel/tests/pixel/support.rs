//! A pixel door on real sockets, and clients that show every byte.

use arc_swap::{ArcSwap, ArcSwapOption};
use door_pixel::{PixelDoor, PixelParts, Settings, SpliceBounds};
use http_engine::client::{RequestSender, connect_http2};
use http_front::HttpDoor;
use ledger::{Ledger, LogRow, RowFilter, RuleTexts};
use origins::{DestinationScope, Dialer};
use policy::{Ask, Policy};
use resolver::{Resolver, ResolverSettings};
use signer::{MintPolicy, Signer};
use std::fmt::Write as _;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
pub(crate) use test_support::{DEADLINE, HttpAnswer as Answer, blocking as policy_of};
use transport::tls::Alpn;
use transport::{
    ClientTls, Drain, ServerTls, TcpListener, WaitForData, accept_loop, dial, listen_tcp,
};
use vocab::{Action, Door as DoorName, Name, RequestKind, RuleRef};

/// A running pixel door.
pub(crate) struct Edge {
    pub(crate) http: SocketAddr,
    pub(crate) https: SocketAddr,
    pub(crate) policy: Arc<ArcSwap<Policy>>,
    pub(crate) ledger: Ledger,
    door: Arc<PixelDoor>,
    folder: PathBuf,
    drain: Drain,
    thread: Option<JoinHandle<()>>,
}

struct Blocked(Arc<ArcSwap<Policy>>);

impl MintPolicy for Blocked {
    fn may_mint(&self, name: &str) -> bool {
        let Ok(host) = Name::from_lowercase(name) else { return false };
        let ask = Ask {
            door: DoorName::Pixel,
            client: Ipv4Addr::LOCALHOST.into(),
            identity: None,
            host,
            kind: RequestKind::Other,
            url: None,
            page: None,
        };
        self.0.load().decide(&ask, transport::clock::now()).action == Action::Block
    }

    fn may_mint_below(&self, base: &str) -> bool {
        let Ok(host) = Name::from_lowercase(base) else { return false };
        let ask = Ask::addresses(host, Ipv4Addr::LOCALHOST.into());
        self.0.load().blocks_all_subdomains(&ask, transport::clock::now())
    }
}

struct Texts(Arc<ArcSwap<Policy>>);

impl RuleTexts for Texts {
    fn text(&self, rule: RuleRef, host: &str) -> Option<(String, u32, String)> {
        let host = Name::from_lowercase(host).unwrap_or(Name::ROOT);
        self.0.load().rule_text(rule, host).map(|it| (it.list, it.line, it.text))
    }
}

/// Opens connections to hosts given by address alone: nobody is there to ask about names.
pub(crate) fn dialer() -> Dialer {
    let settings = ResolverSettings::default();
    let resolver = Resolver::start(&settings, ClientTls::new()).unwrap();
    Dialer::new(resolver, ClientTls::new())
}

impl Edge {
    /// A door that blocks by these rules, one a line.
    pub(crate) fn start(rules: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Relaxed);
        let folder =
            std::env::temp_dir().join(format!("tidegate-pixel-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let policy = Arc::new(ArcSwap::from_pointee(policy_of(rules)));
        let texts = Arc::new(Texts(Arc::clone(&policy)));
        let ledger = ledger::open(&ledger::Settings::default(), &folder, texts).unwrap();
        let blocked = Arc::new(Blocked(Arc::clone(&policy)));
        let signer =
            Arc::new(Signer::open(&folder.join("ca"), blocked, transport::clock::now()).unwrap());
        let parts = PixelParts {
            policy: Arc::clone(&policy),
            ledger: ledger.clone(),
            tls: ServerTls::with_signer(Arc::clone(&signer)),
            signer,
            trust: Arc::default(),
            dashboard: Arc::new(ArcSwapOption::from_pointee(SocketAddr::from((
                [127, 0, 0, 1],
                9053,
            )))),
            dialer: dialer(),
        };
        let bounds = SpliceBounds { destinations: DestinationScope::Guarded, doors: Vec::new() };
        let door = PixelDoor::new(Settings::default(), bounds, parts);
        let drain = Drain::new();
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let http = listen_tcp(any, WaitForData::No).unwrap();
        let https = listen_tcp(any, WaitForData::No).unwrap();
        let (plain, secure) = (http.local_addr(), https.local_addr());
        let stop = drain.clone();
        let served = Arc::clone(&door);
        let thread = std::thread::spawn(move || serve(served, http, https, stop));
        let (http, https, thread) = (plain, secure, Some(thread));
        Self { http, https, policy, ledger, door, folder, drain, thread }
    }

    /// A figure of the metrics page, by its name with its labels.
    pub(crate) fn figure(&self, name: &str) -> u64 {
        let page = self.ledger.metrics_text(&[self.door.stats()]);
        let line = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("{name} is not among\n{page}")).parse().unwrap()
    }

    /// Waits until a figure is so high.
    pub(crate) fn figure_at_least(&self, name: &str, count: u64) {
        let start = Instant::now();
        while self.figure(name) < count {
            assert!(start.elapsed() < DEADLINE, "{name} is {}", self.figure(name));
            std::thread::yield_now();
        }
    }

    /// Sends a request without a body over HTTP: `GET /path`, and fields.
    pub(crate) fn ask(&self, request: &str, fields: &[(&str, &str)]) -> Answer {
        self.ask_host("ads.example", request, fields)
    }

    /// The same for another host.
    pub(crate) fn ask_host(&self, host: &str, request: &str, fields: &[(&str, &str)]) -> Answer {
        let mut text = format!("{request} HTTP/1.1\r\nHost: {host}\r\n");
        for (name, value) in fields {
            write!(text, "{name}: {value}\r\n").unwrap();
        }
        text.push_str("\r\n");
        let mut stream = self.connect();
        stream.write_all(text.as_bytes()).unwrap();
        Answer::read_to(request, &mut stream)
    }

    /// A folder that goes with the door.
    pub(crate) fn scratch(&self, name: &str) -> PathBuf {
        let folder = self.folder.join(name);
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.http).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        stream
    }

    /// Our certificate authority, as PEM.
    pub(crate) fn ca(&self) -> Vec<u8> {
        std::fs::read(self.folder.join("ca/ca.pem")).unwrap()
    }

    /// An HTTP/2 connection for this name, by a client that trusts our CA.
    pub(crate) async fn http2(&self, name: &str) -> RequestSender {
        let stream = dial(self.https, DEADLINE).await.unwrap();
        let tls = ClientTls::new().trusting(&self.ca()).unwrap();
        let stream = tls.connect(stream, name, &[Alpn::Http2]).await.unwrap();
        connect_http2(stream).await.unwrap()
    }

    /// What curl gets over HTTPS, with our CA trusted: the head and the body.
    pub(crate) fn curl(&self, url: &str, args: &[&str]) -> (bool, String) {
        let output = Command::new("curl")
            .args(["-sS", "-i", "--max-time", "20", "--noproxy", "*", "--cacert"])
            .arg(self.folder.join("ca/ca.pem"))
            .args(["--connect-to", &format!("::{}", self.https)])
            .args(args)
            .arg(url)
            .output()
            .unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Every recorded request, newest first.
    pub(crate) fn rows(&self) -> Vec<LogRow> {
        self.ledger.flush();
        self.ledger.rows(&RowFilter::default(), 100).unwrap().rows
    }

    /// Waits until so many requests are recorded.
    pub(crate) fn rows_at_least(&self, count: usize) -> Vec<LogRow> {
        let start = Instant::now();
        loop {
            let rows = self.rows();
            if rows.len() >= count {
                return rows;
            }
            assert!(start.elapsed() < DEADLINE, "only {} rows: {rows:#?}", rows.len());
            std::thread::yield_now();
        }
    }
}

fn serve(door: Arc<PixelDoor>, http: TcpListener, https: TcpListener, drain: Drain) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let tasks = tokio::task::LocalSet::new();
    tasks.block_on(&runtime, async move {
        let (plain, secure) = (Arc::clone(&door), door);
        let (d1, d2) = (drain.clone(), drain.clone());
        let limits = plain.connection_limits();
        let on_http = accept_loop(http, limits.clone(), drain.clone(), move |stream| {
            Arc::clone(&plain).serve_connection(stream, d1.clone())
        });
        let on_https = accept_loop(https, limits, drain.clone(), move |stream| {
            Arc::clone(&secure).serve_tls_connection(stream, d2.clone())
        });
        let (one, two) = tokio::join!(on_http, on_https);
        one.and(two).unwrap();
        drain.finished(Duration::from_secs(2)).await.ok();
    });
}

impl Drop for Edge {
    fn drop(&mut self) {
        self.drain.start();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The address that every test client has.
pub(crate) const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
