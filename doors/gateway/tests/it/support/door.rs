//! A gateway on a port of its own, as tests start it.

use super::folders::Told;
use super::{DEADLINE, ask};
use arc_swap::ArcSwap;
use door_gateway::{
    CacheEnvironment, GatewayDoor, GatewayParts, PoolSettings, RouteSettings, Settings,
};
use http_front::HttpDoor;
use ledger::{Ledger, RuleTexts};
use origins::Dialer;
use resolver::{Resolver, ResolverSettings};
use std::cell::RefCell;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use transport::{ClientTls, Drain, WaitForData, accept_loop, clock, listen_tcp};
use vocab::{RuleRef, Scheme};

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
    let dir =
        std::env::temp_dir().join(format!("tidegate-gateway-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    FOLDERS.with(|folders| folders.0.borrow_mut().push(dir.clone()));
    dir
}

pub(crate) fn open_ledger() -> Ledger {
    ledger::open(&ledger::Settings::default(), &scratch(), Arc::new(NoTexts)).unwrap()
}

pub(crate) fn policy(rules: &str) -> Arc<ArcSwap<policy::Policy>> {
    let list = policy::ListSource {
        name: "mine",
        kind: policy::ListKind::Block,
        text: rules.as_bytes(),
        files: &[],
    };
    let rules = policy::compile(&[list], 1);
    let policy = policy::Policy::new(Arc::new(rules), policy::ClientProfiles::everyone());
    Arc::new(ArcSwap::from_pointee(policy))
}

pub(crate) fn parts(rules: &str) -> GatewayParts {
    let resolver =
        Resolver::start(&ResolverSettings::default(), ClientTls::new()).expect("a resolver starts");
    GatewayParts {
        policy: policy(rules),
        ledger: open_ledger(),
        dialer: Dialer::new(resolver, ClientTls::new()),
        folders: Arc::new(Told),
        base: scratch(),
        private: Arc::default(),
        cache: CacheEnvironment { clock: clock::now, folder: scratch(), log: Arc::new(|_| {}) },
        signer: None,
        log: Arc::new(|_| {}),
    }
}

/// A gateway that serves.
pub(crate) struct Gateway {
    pub(crate) address: SocketAddr,
    pub(crate) door: Arc<GatewayDoor>,
}

pub(crate) fn start(settings: Settings, parts: GatewayParts) -> Gateway {
    assert_eq!(settings.check(), []);
    let door = GatewayDoor::new(settings, parts).unwrap();
    let (tell, told) = mpsc::channel();
    let serving = Arc::clone(&door);
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let local = tokio::task::LocalSet::new();
        local.block_on(&runtime, async move {
            let listener = listen_tcp("127.0.0.1:0".parse().unwrap(), WaitForData::No).unwrap();
            tell.send(listener.local_addr()).unwrap();
            let (drain, limits) = (Drain::new(), serving.connection_limits());
            let for_each = drain.clone();
            let door = Arc::clone(&serving);
            if door.listeners()[0].scheme == Scheme::Https {
                let serve =
                    move |stream| Arc::clone(&door).serve_tls_connection(stream, for_each.clone());
                accept_loop(listener, limits, drain, serve).await.unwrap();
            } else {
                let serve =
                    move |stream| Arc::clone(&door).serve_connection(stream, for_each.clone());
                accept_loop(listener, limits, drain, serve).await.unwrap();
            }
        });
    });
    Gateway { address: told.recv_timeout(DEADLINE).unwrap(), door }
}

/// One pool of these servers behind one route.
pub(crate) fn simple(servers: &[SocketAddr]) -> Settings {
    let servers = servers.iter().map(|address| format!("http://{address}").into()).collect();
    let pool = PoolSettings { servers, ..Default::default() };
    Settings {
        pools: [("app".to_owned(), pool)].into(),
        routes: vec![RouteSettings { pool: Some("app".into()), ..Default::default() }],
        ..Default::default()
    }
}

pub(crate) fn get(gateway: &Gateway, path: &str) -> String {
    ask(gateway.address, &format!("GET {path} HTTP/1.1\r\nHost: app.example\r\n\r\n"))
}

pub(crate) fn closed_port() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}
