//! Servers of the gateway that are found by DNS: they come and go as its records say, and no
//! request fails. And servers replaced by `tidegate ctl`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use tidegate_tests::origin::header;
use tidegate_tests::resolver::{Reply, Resolver};
use tidegate_tests::tidegate::Tidegate;
use tidegate_tests::{Scratch, tidegate, wait};

/// Requests of a client that show that somebody gets none: each of a few servers would have had
/// several.
const MANY: u32 = 20;

/// A server that answers with its address and the `Host` that it read, and counts. What asks for
/// `/held` waits until it is let go.
struct Server {
    count: Arc<AtomicU32>,
    held: Arc<Mutex<Vec<TcpStream>>>,
}

impl Server {
    fn start(listener: TcpListener) -> Self {
        let (count, held) = (Arc::new(AtomicU32::new(0)), Arc::new(Mutex::new(Vec::new())));
        let server = Self { count: Arc::clone(&count), held: Arc::clone(&held) };
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (count, held) = (Arc::clone(&count), Arc::clone(&held));
                std::thread::spawn(move || serve(&stream, &count, &held));
            }
        });
        server
    }

    fn count(&self) -> u32 {
        self.count.load(SeqCst)
    }

    fn let_go(&self) {
        for mut stream in self.held.lock().unwrap().drain(..) {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nheld").unwrap();
        }
    }
}

fn serve(stream: &TcpStream, count: &AtomicU32, held: &Mutex<Vec<TcpStream>>) {
    let own = stream.local_addr().unwrap().ip();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    loop {
        let (mut request, mut line) = (String::new(), String::new());
        while line != "\r\n" {
            line.clear();
            match reader.read_line(&mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) => request += &line,
            }
        }
        if request.starts_with("GET /held ") {
            held.lock().unwrap().push(stream.try_clone().unwrap());
            continue;
        }
        count.fetch_add(1, SeqCst);
        let body = format!("{own} {}", header(&request, "host").unwrap());
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        if (&mut &*stream).write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

fn ip(last: u8) -> IpAddr {
    Ipv4Addr::new(127, 0, 0, last).into()
}

/// Servers at these addresses, all at one port.
fn servers_at(lasts: &[u8]) -> (Vec<Server>, u16) {
    loop {
        let first = TcpListener::bind((ip(lasts[0]), 0)).unwrap();
        let port = first.local_addr().unwrap().port();
        let rest = lasts[1..].iter().map(|last| TcpListener::bind((ip(*last), port)));
        if let Ok(rest) = rest.collect::<Result<Vec<_>, _>>() {
            let all = std::iter::once(first).chain(rest);
            return (all.map(Server::start).collect(), port);
        }
    }
}

fn yaml(resolver: &Resolver, pool: &str, route: &str) -> String {
    format!(
        "dns: {{ listen: [\"udp://127.0.0.1:0\"], upstreams: [\"udp://{}\"], \
         cache: {{ stale: 0s }} }}\ngateway:\n  listen: \
         [\"http://127.0.0.1:0\"]\n  pools:\n    app: {pool}\n  routes:\n    - {{ path: \"/*\", \
         pool: app{route} }}\nadmin: {{ listen: \"127.0.0.1:0\" }}\n",
        resolver.address
    )
}

fn ask(gateway: SocketAddr, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(gateway).unwrap();
    stream.set_read_timeout(Some(wait::DEADLINE)).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    stream
}

fn answer(mut stream: TcpStream) -> String {
    let mut said = String::new();
    stream.read_to_string(&mut said).unwrap();
    said
}

/// The body of an answer that is well.
fn get(gateway: SocketAddr) -> String {
    let said = answer(ask(gateway, "/"));
    assert!(said.starts_with("HTTP/1.1 200 "), "{said}");
    said.rsplit("\r\n").next().unwrap().to_owned()
}

/// One that asks all the time; what went wrong.
type Client = JoinHandle<Result<(), String>>;

/// Clients that ask all the time, with their answers, until they are stopped.
struct Load {
    over: Arc<AtomicBool>,
    clients: Vec<(Client, Arc<AtomicU32>)>,
}

impl Load {
    fn begin(gateway: SocketAddr) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let clients = (0..3).map(|_| {
            let count = Arc::new(AtomicU32::new(0));
            let (over, counted) = (Arc::clone(&over), Arc::clone(&count));
            let client = std::thread::spawn(move || {
                while !over.load(SeqCst) {
                    let said = answer(ask(gateway, "/"));
                    if !said.starts_with("HTTP/1.1 200 ") {
                        return Err(said);
                    }
                    counted.fetch_add(1, SeqCst);
                }
                Ok(())
            });
            (client, count)
        });
        let clients = clients.collect();
        Self { over, clients }
    }

    /// Waits until each client has had so many more answers.
    fn go_on(&self, count: u32) {
        for (client, counted) in &self.clients {
            let until = counted.load(SeqCst) + count;
            wait::until("more answers", || {
                (client.is_finished() || counted.load(SeqCst) >= until).then_some(())
            });
        }
    }

    fn end(self) {
        self.over.store(true, SeqCst);
        for (client, _) in self.clients {
            assert_eq!(client.join().unwrap(), Ok(()), "no request fails");
        }
    }
}

/// The servers of the pool, as `ctl` prints them.
fn listed(edge: &Tidegate) -> String {
    edge.told(&["ctl", "pools"])
}

fn until_listed(edge: &Tidegate, what: &str, is_so: impl Fn(&str) -> bool) -> String {
    wait::until(what, || Some(listed(edge)).filter(|said| is_so(said)))
}

#[test]
fn servers_come_and_go_as_addresses_do_and_no_request_fails() {
    let (servers, port) = servers_at(&[11, 12, 13]);
    let [one, two, three] = &servers[..] else { panic!("three were asked for") };
    let resolver = Resolver::start(&[("app.test", Reply::Addresses(vec![ip(11), ip(12)], 1))]);
    let pool = format!(
        "{{ balance: round_robin, servers: [{{ url: \"http://app.test:{port}\", resolve: addresses }}] }}"
    );
    let edge = Tidegate::start(&yaml(&resolver, &pool, ", set_host: server"));
    let gateway = edge.address("gateway", "http");
    // From the first moment: what comes before the first answer waits for it.
    let load = Load::begin(gateway);
    wait::until("both serve", || (one.count() > 0 && two.count() > 0).then_some(()));
    assert!(get(gateway).ends_with(&format!(" app.test:{port}")), "the name stays the host");
    let held = ask(gateway, "/held");
    let held_at = wait::until("a held request", || {
        [one, two].into_iter().position(|it| !it.held.lock().unwrap().is_empty())
    });
    let (gone, stays) = if held_at == 0 { (one, 12) } else { (two, 11) };

    resolver.set("app.test", Reply::Addresses(vec![ip(stays), ip(13)], 1));
    let gone_url = format!("http://127.0.0.{}:{port} ", 11 + held_at);
    let said = until_listed(&edge, "a new server and none of the old", |said| {
        !said.contains(&gone_url) && said.contains(&format!("http://127.0.0.13:{port} "))
    });
    assert!(said.contains(&format!("http://app.test:{port} (addresses) leads to 2 servers\n")));
    // A request that was on its way is there by now: every client has asked since.
    load.go_on(2);
    let (before, new) = (gone.count(), three.count());
    load.go_on(MANY);
    assert_eq!(gone.count(), before, "one that has vanished gets nothing");
    assert!(three.count() > new, "a new one gets its share");
    gone.let_go();
    assert!(answer(held).ends_with("held"), "what it worked on was finished");

    // A resolver that fails takes nobody away.
    resolver.set("app.test", Reply::Failure);
    let said = until_listed(&edge, "a look-up that fails", |said| said.contains("could not look"));
    assert!(said.contains("leads to 2 servers: ") && said.contains("127.0.0.13"), "{said}");
    load.go_on(MANY);
    load.end();

    // That there is no such name is an answer.
    resolver.forget("app.test");
    until_listed(&edge, "nobody", |said| said.contains("leads to 0 servers"));
    let said = answer(ask(gateway, "/"));
    assert!(said.starts_with("HTTP/1.1 503 "), "{said}");
    assert!(said.to_ascii_lowercase().contains("\r\nretry-after: "), "{said}");
}

#[test]
fn srv_records_say_who_serves_with_what_weight_and_who_stands_by() {
    let (servers, port) = servers_at(&[21, 22, 23]);
    let [one, two, three] = &servers[..] else { panic!("three were asked for") };
    let row = |priority, weight, host: &str| (priority, weight, port, host.to_owned());
    let owner = "_http._tcp.app.test";
    let all = vec![row(10, 3, "s1.app.test"), row(10, 1, "s2.app.test"), row(20, 0, "s3.app.test")];
    let resolver = Resolver::start(&[
        (owner, Reply::Services(all, 1)),
        ("s1.app.test", Reply::Addresses(vec![ip(21)], 1)),
        ("s2.app.test", Reply::Addresses(vec![ip(22)], 1)),
        ("s3.app.test", Reply::Addresses(vec![ip(23)], 1)),
    ]);
    let pool = format!(
        "{{ balance: round_robin, servers: [{{ url: \"http://{owner}\", resolve: srv }}] }}"
    );
    let edge = Tidegate::start(&yaml(&resolver, &pool, ", set_host: server"));
    let gateway = edge.address("gateway", "http");
    for _ in 0..8 {
        assert!(get(gateway).ends_with(&format!(" app.test:{port}")), "the service's domain");
    }
    assert_eq!([one, two, three].map(Server::count), [6, 2, 0]);
    let said = listed(&edge);
    let line = said.lines().find(|line| line.contains("127.0.0.23")).unwrap();
    assert!(line.ends_with("backup"), "{said}");

    let load = Load::begin(gateway);
    resolver.set(owner, Reply::Services(vec![row(20, 0, "s3.app.test")], 1));
    until_listed(&edge, "the backup alone", |said| said.contains("leads to 1 servers"));
    load.go_on(2);
    let before = [one, two].map(Server::count);
    load.go_on(MANY);
    load.end();
    assert_eq!([one, two].map(Server::count), before);
    assert!(three.count() > 0);
}

#[test]
fn all_servers_of_a_pool_are_replaced_under_load() {
    let (servers, port) = servers_at(&[31, 32, 33, 34]);
    let [blue, _, green, other] = &servers[..] else { panic!("four were asked for") };
    let resolver = Resolver::start(&[("app.test", Reply::Addresses(vec![ip(34)], 1))]);
    let url = |last: u8| format!("http://{}:{port}", ip(last));
    let pool = format!("{{ balance: round_robin, servers: [\"{}\", \"{}\"] }}", url(31), url(32));
    let edge = Tidegate::start(&yaml(&resolver, &pool, ""));
    let gateway = edge.address("gateway", "http");
    let load = Load::begin(gateway);
    load.go_on(MANY);
    let weighed = format!("{{\"url\": \"{}\", \"weight\": 5}}", url(33));
    let said = edge.told(&["ctl", "pools", "replace", "app", &weighed]);
    assert!(said.contains(&url(33)) && said.contains("weight 5"), "{said}");
    assert!(!said.contains(&url(31)) && !said.contains(&url(32)), "{said}");
    load.go_on(2);
    let before = blue.count();
    load.go_on(MANY);
    // The file has not changed: the change stays.
    edge.told(&["ctl", "reload"]);
    load.go_on(MANY);
    assert_eq!(blue.count(), before);
    assert!(green.count() >= MANY);

    let named = format!("http://app.test:{port}");
    edge.told(&["ctl", "server", "add", "app", &named, "--resolve", "addresses"]);
    wait::until("the server that was found", || (other.count() > 0).then_some(()));
    let refused = edge.command(&["ctl", "server", "remove", "app", &url(34)]);
    let why = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && why.contains("would be found again"), "{why}");
    edge.told(&["ctl", "server", "remove", "app", &named]);
    assert!(!listed(&edge).contains(&url(34)));
    load.go_on(MANY);
    load.end();

    for (args, part) in [
        (&["ctl", "pools", "replace", "ap", "http://10.0.0.1"][..], "no pool \"ap\""),
        (&["ctl", "pools", "replace", "app", "10.0.0.1"], "servers.0"),
        (&["ctl", "pools", "replace", "app", "{url}"], "no JSON"),
        (&["ctl", "pools", "replace", "app"], "<URL>"),
    ] {
        let refused = edge.command(args);
        let why = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && why.contains(part), "{args:?}: {why}");
    }
    assert!(listed(&edge).contains(&url(33)), "what was refused has changed nothing");
}

#[test]
fn what_cannot_be_looked_up_is_refused_with_its_place() {
    let scratch = Scratch::new();
    let yaml = "gateway:\n  listen: [\"http://127.0.0.1:8080\"]\n  pools:\n    app:\n      servers:\n        \
                - { url: \"http://10.0.0.1\", resolve: addresses }\n        \
                - { url: \"unix:/run/a.sock\", resolve: addresses }\n        \
                - { url: \"http://_http._tcp.app.test:80\", resolve: srv }\n        \
                - { url: \"http://a.test\", resolve: srv, weight: 2 }\n  routes: [{ path: \"/*\", \
                pool: app }]\n";
    let path = scratch.write("edge.yaml", yaml);
    let output = tidegate::run(&["check", "--config", path.to_str().unwrap()]);
    let said =
        String::from_utf8_lossy(&output.stderr).replace(&path.display().to_string(), "edge.yaml");
    assert_eq!(output.status.code(), Some(1), "{said}");
    for part in [
        "edge.yaml:6:46: gateway.pools.app.servers.0.resolve: http://10.0.0.1 has no name that could \
         be looked up; leave resolve out, or write a name in url\n",
        "edge.yaml:7:47: gateway.pools.app.servers.1.resolve: unix:/run/a.sock has no name",
        "edge.yaml:8:18: gateway.pools.app.servers.2.url: http://_http._tcp.app.test:80 has a port, \
         but SRV records say which; leave the port out",
        "edge.yaml:9:57: gateway.pools.app.servers.3.weight: with resolve: srv the records say the \
         weight; leave weight out\n",
    ] {
        assert!(said.contains(part), "missing {part:?} in:\n{said}");
    }
}
