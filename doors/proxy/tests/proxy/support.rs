//! A proxy, a scripted origin server, and a client that shows every byte, on real sockets.

use arc_swap::ArcSwap;
use door_proxy::{CacheEnvironment, ProxyDoor, ProxyParts, Settings};
use http_front::HttpDoor;
use ledger::{Ledger, RuleTexts};
use origins::Dialer;
use resolver::{Resolver, ResolverSettings};
use std::cell::RefCell;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;
use transport::{ClientTls, Drain, WaitForData, accept_loop, clock, listen_tcp};
use vocab::RuleRef;

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
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let lower = head.to_ascii_lowercase();
            let length = lower
                .lines()
                .find_map(|line| line.strip_prefix("content-length:"))
                .map_or(0, |value| value.trim().parse().unwrap());
            let chunked = lower.contains("transfer-encoding: chunked");
            let informational = lower.starts_with("http/1.1 1");
            // Trailers stand between the last chunk and the empty line.
            let last_chunk = body.starts_with("0\r\n") || body.contains("\r\n0\r\n");
            let whole = if chunked {
                last_chunk && body.ends_with("\r\n\r\n")
            } else {
                body.len() >= length
            };
            if whole || informational {
                return Some(text);
            }
        }
        let mut piece = [0; 4096];
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => return None,
            Ok(count) => bytes.extend_from_slice(&piece[..count]),
        }
    }
}

/// Sends `request` as it is on a connection of its own and returns the answer.
pub(crate) fn ask(to: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(to).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    read_message(&mut stream).unwrap_or_default()
}

/// Waits until `met` holds, for at most the deadline.
pub(crate) fn until(what: &str, met: impl Fn() -> bool) {
    let start = std::time::Instant::now();
    while !met() {
        assert!(start.elapsed() < DEADLINE, "{what}: not within {DEADLINE:?}");
        std::thread::yield_now();
    }
}

struct NoTexts;

impl RuleTexts for NoTexts {
    fn text(&self, _: RuleRef, _: &str) -> Option<(String, u32, String)> {
        None
    }
}

/// The folders of a thread's test, removed when it ends.
struct Folders(RefCell<Vec<PathBuf>>);

impl Drop for Folders {
    fn drop(&mut self) {
        for folder in self.0.take() {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

thread_local! {
    static FOLDERS: Folders = const { Folders(RefCell::new(Vec::new())) };
}

/// An empty folder that goes when the test ends.
pub(crate) fn scratch() -> PathBuf {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let number = COUNT.fetch_add(1, SeqCst);
    let dir = std::env::temp_dir().join(format!("tidegate-proxy-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    FOLDERS.with(|folders| folders.0.borrow_mut().push(dir.clone()));
    dir
}

pub(crate) fn open_ledger() -> Ledger {
    ledger::open(&ledger::Settings::default(), &scratch(), Arc::new(NoTexts)).unwrap()
}

/// What a proxy is started with.
#[derive(Default)]
pub(crate) struct Given<'t> {
    /// What it blocks.
    pub(crate) rules: &'t str,
    /// Users for whom it blocks nothing.
    pub(crate) free_users: &'t [&'t str],
    /// A certificate that it trusts besides, as PEM.
    pub(crate) trusts: Option<&'t str>,
    /// Whether it is spoken to over TLS.
    pub(crate) listens: Listens,
    /// Where it records; else in one of its own.
    pub(crate) ledger: Option<Ledger>,
}

#[derive(Clone, Copy, Default, PartialEq)]
pub(crate) enum Listens {
    #[default]
    Plain,
    Tls,
}

fn policy_of(given: &Given<'_>) -> policy::Policy {
    let text = given.rules.as_bytes();
    let list = policy::ListSource { name: "mine", kind: policy::ListKind::Block, text, files: &[] };
    let client = |user: &&str| policy::ClientSettings {
        name: (*user).into(),
        matches: vec![format!("user:{user}")],
        lists: Some(Vec::new()),
        ..policy::ClientSettings::default()
    };
    let settings = policy::Settings {
        lists: vec![policy::ListSettings { name: "mine".into(), ..Default::default() }],
        clients: given.free_users.iter().map(client).collect(),
        ..policy::Settings::default()
    };
    let rules = policy::compile(&[list], 1);
    policy::Policy::new(Arc::new(rules), policy::ClientProfiles::build(&settings))
}

/// Starts a proxy that blocks what `rules` say, and returns where it listens.
pub(crate) fn proxy(rules: &str, change: impl FnOnce(&mut Settings)) -> SocketAddr {
    start(&Given { rules, ..Given::default() }, change)
}

/// The settings that a test changes so.
pub(crate) fn settings_with(change: impl FnOnce(&mut Settings)) -> Settings {
    let every_port = "1-65535".parse().map(settings::Text).unwrap();
    let mut settings = Settings { connect_ports: vec![every_port], ..Settings::default() };
    change(&mut settings);
    assert_eq!(settings.check(), []);
    settings
}

/// Starts a proxy, and returns where it listens.
pub(crate) fn start(given: &Given<'_>, change: impl FnOnce(&mut Settings)) -> SocketAddr {
    start_door(given, change).0
}

/// The same, and the door that is to be reloaded.
pub(crate) fn start_door(
    given: &Given<'_>,
    change: impl FnOnce(&mut Settings),
) -> (SocketAddr, Arc<ProxyDoor>) {
    let settings = settings_with(change);
    let resolver =
        Resolver::start(&ResolverSettings::default(), ClientTls::new()).expect("a resolver starts");
    let tls = given
        .trusts
        .map_or_else(ClientTls::new, |pem| ClientTls::new().trusting(pem.as_bytes()).unwrap());
    let parts = ProxyParts {
        policy: Arc::new(ArcSwap::from_pointee(policy_of(given))),
        ledger: given.ledger.clone().unwrap_or_else(open_ledger),
        dialer: Dialer::new(resolver, tls),
        off_limits: Vec::new(),
        base: scratch(),
        signer: None,
        dashboard: Arc::default(),
        blocked_tunnels: None,
        cache: CacheEnvironment { clock: clock::now, folder: scratch(), log: Arc::new(|_| {}) },
        log: Arc::new(|_| {}),
    };
    let listens = given.listens;
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let local = tokio::task::LocalSet::new();
        local.block_on(&runtime, async move {
            let door = ProxyDoor::new(settings, parts).unwrap();
            let listener = listen_tcp("127.0.0.1:0".parse().unwrap(), WaitForData::No).unwrap();
            tell.send((listener.local_addr(), Arc::clone(&door))).unwrap();
            let (drain, limits) = (Drain::new(), door.connection_limits());
            let serving = drain.clone();
            let serve = move |stream| {
                let (door, serving) = (Arc::clone(&door), serving.clone());
                async move {
                    match listens {
                        Listens::Plain => door.serve_connection(stream, serving).await,
                        Listens::Tls => door.serve_tls_connection(stream, serving).await,
                    }
                }
            };
            accept_loop(listener, limits, drain, serve).await.unwrap();
        });
    });
    told.recv_timeout(DEADLINE).unwrap()
}

/// A certificate for 127.0.0.1 that stands for itself: its file, its key's, and its text.
pub(crate) fn certificate() -> (PathBuf, PathBuf, String) {
    let key = rcgen::KeyPair::generate().unwrap();
    let names = vec!["127.0.0.1".to_owned(), "proxy.test".to_owned()];
    let chain = rcgen::CertificateParams::new(names).unwrap().self_signed(&key).unwrap().pem();
    let dir = scratch();
    let (chain_file, key_file) = (dir.join("chain.pem"), dir.join("key.pem"));
    std::fs::write(&chain_file, &chain).unwrap();
    std::fs::write(&key_file, key.serialize_pem()).unwrap();
    (chain_file, key_file, chain)
}

/// Starts a proxy that is spoken to over TLS with [`certificate`].
pub(crate) fn secure_proxy(
    (chain, key): (PathBuf, PathBuf),
    rules: &str,
    change: impl FnOnce(&mut Settings),
) -> SocketAddr {
    start(&Given { rules, listens: Listens::Tls, ..Given::default() }, |settings| {
        settings.listen = vec![settings::Text("https://127.0.0.1:0".parse().unwrap())];
        settings.tls.certificate = Some(chain);
        settings.tls.key = Some(key);
        change(settings);
    })
}

/// What curl prints, given these arguments and a limit of ten seconds.
pub(crate) fn curl(arguments: &[&str]) -> String {
    let mut curl = Command::new("curl");
    let output = curl.args(["-sS", "--noproxy", "", "--max-time", "10"]).args(arguments).output();
    let output = output.unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

pub(crate) fn get(proxy: SocketAddr, url: &str) -> String {
    ask(proxy, &format!("GET {url} HTTP/1.1\r\nHost: whatever.example\r\n\r\n"))
}

/// One connection to a server that does what `script` says.
pub(crate) fn serve_one(script: impl FnOnce(TcpStream) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        script(stream);
    });
    address
}
