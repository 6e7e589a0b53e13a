//! A proxy, a scripted origin server, and a client that shows every byte, on real sockets.

use arc_swap::ArcSwap;
use door_proxy::{CacheEnvironment, ProxyDoor, ProxyParts, SecondLevelSlot, Settings};
use http_front::HttpDoor;
use ledger::Ledger;
use origins::Dialer;
use resolver::{Resolver, ResolverSettings};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, mpsc};
use transport::{ClientTls, Drain, WaitForData, accept_loop, clock, listen_tcp};

pub(crate) use test_support::{
    DEADLINE, OriginReply as Reply, ScriptedOrigin as Origin, ask, ok, read_message, scratch,
    serve_one, until,
};

pub(crate) fn open_ledger() -> Ledger {
    test_support::open_ledger(&scratch())
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
        cache: CacheEnvironment {
            clock: clock::now,
            folder: scratch(),
            log: Arc::new(|_| {}),
            second_level: SecondLevelSlot::default(),
        },
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
