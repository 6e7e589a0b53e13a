//! Routes at a router, and its API over TLS, against a router that the test plays: it has routes in
//! memory, and connections that run over them.

use crate::support::{DEADLINE, emit, ips, start, wait_until};
use dns_effects::{EffectSpec, Effects, RouteSpec, RouterPassword, RouterTls};
use rcgen::{CertificateParams, KeyPair};
use resolver::KeyPin;
use routeros::{SentenceReader, write_sentence};
use std::collections::BTreeMap;
use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use transport::ServerTls;
use transport::tls::key_pin;

/// One route.
#[derive(Clone, Debug, Default, PartialEq)]
struct Route {
    target: String,
    gateway: String,
    table: String,
    distance: String,
    comment: String,
}

#[derive(Default)]
struct Table {
    routes: Mutex<BTreeMap<usize, Route>>,
    /// The other ends of connections.
    connections: Mutex<Vec<String>>,
    next: AtomicUsize,
    looks: AtomicUsize,
}

struct Router {
    address: SocketAddr,
    table: Arc<Table>,
}

impl Router {
    fn start(tls: Option<ServerTls>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let table = Arc::new(Table::default());
        let served = Arc::clone(&table);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let (served, tls) = (Arc::clone(&served), tls.clone());
                std::thread::spawn(move || {
                    let runtime =
                        tokio::runtime::Builder::new_current_thread().enable_all().build();
                    runtime.unwrap().block_on(async move {
                        let stream = transport::Stream::from_std(client).unwrap();
                        match tls {
                            None => served.serve(stream).await,
                            Some(tls) => {
                                if let Ok(stream) = tls.accept(stream, DEADLINE).await {
                                    served.serve(stream).await;
                                }
                            }
                        }
                    });
                });
            }
        });
        Self { address, table }
    }

    fn put(&self, target: &str, comment: &str) {
        let number = self.table.next.fetch_add(1, Ordering::Relaxed);
        let route = Route {
            target: target.into(),
            table: "via".into(),
            comment: comment.into(),
            ..Route::default()
        };
        self.table.routes.lock().unwrap().insert(number, route);
    }

    fn routes(&self) -> Vec<Route> {
        self.table.routes.lock().unwrap().values().cloned().collect()
    }

    fn targets(&self) -> Vec<String> {
        self.routes().into_iter().map(|it| it.target).collect()
    }

    fn spec(&self) -> RouteSpec {
        RouteSpec {
            address: self.address.to_string(),
            username: "me".into(),
            password: RouterPassword("secret".into()),
            routing_table: "via".into(),
            gateway4: "192.0.2.254@main".into(),
            gateway6: "fe80::2%ether1".into(),
            owner: "way".into(),
            ..RouteSpec::default()
        }
    }
}

impl Table {
    async fn serve(&self, mut stream: impl AsyncRead + AsyncWrite + Unpin) {
        let (mut reader, mut bytes) = (SentenceReader::default(), [0; 4096]);
        loop {
            let words = loop {
                if let Some(words) = reader.next_sentence().unwrap() {
                    break words;
                }
                match stream.read(&mut bytes).await {
                    Ok(0) | Err(_) => return,
                    Ok(count) => reader.push(&bytes[..count]),
                }
            };
            let mut out = Vec::new();
            for sentence in self.answer(&words) {
                write_sentence(sentence.iter().map(String::as_str), &mut out);
            }
            if stream.write_all(&out).await.is_err() {
                return;
            }
        }
    }

    fn answer(&self, words: &[String]) -> Vec<Vec<String>> {
        let word =
            |head: &str| words.iter().find_map(|it| it.strip_prefix(head)).map(str::to_owned);
        let value = |name: &str| word(&format!("={name}=")).unwrap_or_default();
        let done = || vec!["!done".to_owned()];
        let number = || value(".id").trim_start_matches('*').parse::<usize>().unwrap();
        let mut routes = self.routes.lock().unwrap();
        match words[0].as_str() {
            "/login" => {
                assert_eq!(words[1..], ["=name=me", "=password=secret"]);
                vec![done()]
            }
            "/ip/route/add" | "/ipv6/route/add" => {
                let id = self.next.fetch_add(1, Ordering::Relaxed);
                let route = Route {
                    target: value("dst-address"),
                    gateway: value("gateway"),
                    table: value("routing-table"),
                    distance: value("distance"),
                    comment: value("comment"),
                };
                routes.insert(id, route);
                vec![vec!["!done".into(), format!("=ret=*{id}")]]
            }
            "/ip/route/set" | "/ipv6/route/set" => match routes.get_mut(&number()) {
                Some(route) => {
                    route.comment = value("comment");
                    route.gateway = value("gateway");
                    vec![done()]
                }
                None => vec![vec!["!trap".into(), "=message=no such item".into()], done()],
            },
            "/ip/route/remove" | "/ipv6/route/remove" => {
                routes.remove(&number());
                vec![done()]
            }
            "/ip/route/print" | "/ipv6/route/print" => {
                let is_six = words[0].starts_with("/ipv6");
                let target = word("?dst-address=");
                let fits = |it: &Route| {
                    it.target.contains(':') == is_six
                        && word("?routing-table=").as_ref() == Some(&it.table)
                        && target.as_ref().is_none_or(|wanted| *wanted == it.target)
                };
                let rows = routes.iter().filter(|(_, it)| fits(it)).map(|(id, it)| {
                    let (target, comment) = (&it.target, &it.comment);
                    let target = format!("=dst-address={target}");
                    vec!["!re".into(), format!("=.id=*{id}"), target, format!("=comment={comment}")]
                });
                rows.chain([done()]).collect()
            }
            "/ip/firewall/connection/print" | "/ipv6/firewall/connection/print" => {
                self.looks.fetch_add(1, Ordering::Relaxed);
                let connections = self.connections.lock().unwrap();
                let row = |end: &String| vec!["!re".into(), format!("=dst-address={end}")];
                connections.iter().map(row).chain([done()]).collect()
            }
            other => panic!("no such command {other}"),
        }
    }
}

fn running(spec: RouteSpec) -> Effects {
    start(vec![EffectSpec::RosRoute(spec)], Vec::new()).0
}

fn now_s() -> u64 {
    transport::clock::now().unix_secs()
}

#[test]
fn addresses_of_answers_get_routes_which_go_at_the_end() {
    let router = Router::start(None);
    router.put("198.51.100.1/32", "somebody's");
    let effects = running(router.spec());
    emit(&effects, 0, "www.test", &ips(&["192.0.2.1", "192.0.2.1", "2001:db8::1"]));
    wait_until("it is done", || effects.stats()[0].done == 1);
    let found = router.routes();
    assert_eq!(found.len(), 3, "{found:?}");
    let of = |target: &str| found.iter().find(|it| it.target == target).unwrap().clone();
    let four = of("192.0.2.1/32");
    assert_eq!((four.gateway.as_str(), four.distance.as_str()), ("192.0.2.254@main", "100"));
    assert_eq!(four.table, "via");
    assert_eq!(of("2001:db8::1/128").gateway, "fe80::2%ether1");
    let end = four.comment.strip_prefix("oxi;pg=way;kind=D;exp=").unwrap();
    let end: u64 = end.split(';').next().unwrap().parse().unwrap();
    // The answer lives for five minutes.
    assert!((now_s() + 290..=now_s() + 300).contains(&end), "{end}");
    effects.close(Duration::from_secs(20)).unwrap();
    assert_eq!(router.targets(), ["198.51.100.1/32"], "routes of others stay");
}

#[test]
fn routes_of_a_former_start_are_taken_over_and_removed_when_they_are_over() {
    let router = Router::start(None);
    let later = now_s() + 500;
    router.put("192.0.2.1/32", "oxi;pg=way;kind=D;exp=1000;seen=900");
    router.put("192.0.2.2/32", &format!("oxi;pg=way;kind=D;exp={later};seen=900"));
    router.put("192.0.2.3/32", "oxi;pg=way;kind=D;exp=0;seen=900");
    router.put("192.0.2.4/32", "oxi;pg=other;kind=D;exp=1000;seen=900");
    router.put("192.0.2.5/32", "oxi;pg=way;kind=D;exp=1000;seen=900");
    router.table.connections.lock().unwrap().push("192.0.2.5:443".into());
    let spec = RouteSpec { conntrack_guard: true, cleanup_on_shutdown: false, ..router.spec() };
    let effects = running(spec);
    wait_until("it is removed", || !router.targets().contains(&"192.0.2.1/32".into()));
    // An answer that lives shorter takes nothing from what is there.
    emit(&effects, 0, "www.test", &ips(&["192.0.2.2"]));
    wait_until("it is done", || effects.stats()[0].done == 1);
    effects.close(Duration::from_secs(20)).unwrap();
    let left = ["192.0.2.2/32", "192.0.2.3/32", "192.0.2.4/32", "192.0.2.5/32"];
    assert_eq!(router.targets(), left, "connections run over the last");
    let comment = router.routes()[0].comment.clone();
    assert!(comment.contains(&format!("exp={later};")), "{comment}");
    assert!(router.table.looks.load(Ordering::Relaxed) > 0);
}

#[test]
fn routes_that_are_set_are_put_right_at_the_start() {
    let router = Router::start(None);
    router.put("203.0.113.0/24", "oxi;pg=way;kind=P");
    router.put("198.51.100.0/24", "oxi;pg=way;kind=P");
    let persistent = vec!["203.0.113.9/24".into(), "2001:db8::/32".into()];
    let effects = running(RouteSpec { persistent, cleanup_on_shutdown: false, ..router.spec() });
    wait_until("it is put right", || router.targets() == ["203.0.113.0/24", "2001:db8::/32"]);
    effects.close(Duration::from_secs(20)).unwrap();
}

/// A certificate of its own for 127.0.0.1: in a file, as a key, and for the router.
fn own_certificate(name: &str) -> (std::path::PathBuf, String, ServerTls) {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let file = std::env::temp_dir().join(format!("{name}-{}.pem", std::process::id()));
    fs::write(&file, certificate.pem()).unwrap();
    let pin = KeyPin(key_pin(certificate.der()).unwrap()).to_string();
    let server =
        ServerTls::with_pem(certificate.pem().as_bytes(), key.serialize_pem().as_bytes()).unwrap();
    (file, pin, server)
}

#[test]
fn over_tls_a_router_is_known_by_its_authority_or_its_key_and_no_other_gets_the_password() {
    let (file, pin, server) = own_certificate("router");
    let router = Router::start(Some(server));
    let with = |tls: RouterTls| RouteSpec { tls: Some(tls), ..router.spec() };
    let known = [
        RouterTls { ca: Some(file.clone()), ..RouterTls::default() },
        RouterTls { pins: vec![pin], ..RouterTls::default() },
    ];
    for tls in known {
        let effects = running(with(tls.clone()));
        emit(&effects, 0, "www.test", &ips(&["192.0.2.1"]));
        wait_until("it is done", || effects.stats()[0].done + effects.stats()[0].failed == 1);
        assert_eq!(effects.stats()[0].failed, 0, "{tls:?}: {:?}", effects.stats());
        effects.close(Duration::from_secs(20)).unwrap();
    }
    let other = KeyPin([7; 32]).to_string();
    for tls in [RouterTls::default(), RouterTls { pins: vec![other], ..RouterTls::default() }] {
        let effects = running(with(tls));
        emit(&effects, 0, "www.test", &ips(&["192.0.2.9"]));
        wait_until("it is told", || effects.stats()[0].failed == 1);
        assert!(router.targets().is_empty());
    }
    fs::remove_file(file).unwrap();
}

#[test]
fn what_no_router_has_is_said_with_its_remedy() {
    let good = || RouteSpec {
        address: "192.0.2.1".into(),
        username: "a".into(),
        password: RouterPassword("b".into()),
        routing_table: "via".into(),
        gateway4: "192.0.2.254".into(),
        ..RouteSpec::default()
    };
    let said = |spec: RouteSpec| {
        let all = spec.check();
        assert!(all.iter().all(|it| it.remedy.is_some()));
        all.into_iter().map(|it| it.path).collect::<Vec<_>>()
    };
    assert_eq!(said(good()), Vec::<String>::new());
    let nothing = said(RouteSpec::default());
    assert_eq!(nothing, ["address", "username", "password", "routing_table", "gateway4"]);
    assert_eq!(said(RouteSpec { distance: 0, ..good() }), ["distance"]);
    assert_eq!(said(RouteSpec { persistent: vec!["0.0.0.0/0".into()], ..good() }), ["persistent"]);
    let with = |tls: RouterTls| said(RouteSpec { tls: Some(tls), ..good() });
    assert_eq!(with(RouterTls { insecure: true, ..RouterTls::default() }), ["tls.insecure"]);
    assert_eq!(with(RouterTls { pins: vec!["x".into()], ..RouterTls::default() }), ["tls.pins"]);
    let ca = Some("/none/router.pem".into());
    assert_eq!(with(RouterTls { ca, ..RouterTls::default() }), ["tls.ca"]);
}
