//! A gateway on a port of its own, as tests start it.

use super::folders::Told;
use super::{DEADLINE, ask};
use arc_swap::ArcSwap;
use door_gateway::{
    CacheEnvironment, GatewayDoor, GatewayParts, PoolSettings, RouteSettings, SecondLevelSlot,
    Settings,
};
use http_front::HttpDoor;
use ledger::Ledger;
use origins::Dialer;
use resolver::{Resolver, ResolverSettings};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, mpsc};
pub(crate) use test_support::scratch;
use transport::{ClientTls, Drain, WaitForData, accept_loop, clock, listen_tcp};
use vocab::Scheme;

pub(crate) fn open_ledger() -> Ledger {
    test_support::open_ledger(&scratch())
}

pub(crate) fn policy(rules: &str) -> Arc<ArcSwap<policy::Policy>> {
    Arc::new(ArcSwap::from_pointee(test_support::blocking(rules)))
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
        cache: CacheEnvironment {
            clock: clock::now,
            folder: scratch(),
            log: Arc::new(|_| {}),
            second_level: SecondLevelSlot::default(),
        },
        signer: None,
        leases: Arc::default(),
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
