//! A reload keeps what it does not change: connections to servers, origins and parent proxies.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use tidegate_tests::tidegate::Tidegate;
use tidegate_tests::{Scratch, wait};

/// A server that keeps its connections and counts them.
struct Counting {
    address: SocketAddr,
    connections: Arc<AtomicU32>,
}

impl Counting {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&connections);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                count.fetch_add(1, SeqCst);
                std::thread::spawn(move || answer_all(stream));
            }
        });
        Self { address, connections }
    }

    fn count(&self) -> u32 {
        self.connections.load(SeqCst)
    }
}

/// Answers requests without a body until the client leaves.
fn answer_all(mut stream: TcpStream) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    loop {
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            if !matches!(reader.read_line(&mut line), Ok(1..)) {
                return;
            }
        }
        let answer =
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nCache-Control: no-store\r\n\r\nwhole";
        if stream.write_all(answer).is_err() {
            return;
        }
    }
}

/// A client that stays connected, so that all its requests are answered by one core.
struct Client(BufReader<TcpStream>);

impl Client {
    fn new(to: SocketAddr) -> Self {
        let stream = TcpStream::connect(to).unwrap();
        stream.set_read_timeout(Some(wait::DEADLINE)).unwrap();
        Self(BufReader::new(stream))
    }

    fn get(&mut self, target: &str) {
        let head = format!("GET {target} HTTP/1.1\r\nHost: a.example\r\n\r\n");
        self.0.get_mut().write_all(head.as_bytes()).unwrap();
        let mut said = String::new();
        while !said.ends_with("\r\n\r\n") {
            assert_ne!(self.0.read_line(&mut said).unwrap(), 0, "it was closed after {said:?}");
        }
        assert!(said.starts_with("HTTP/1.1 200 "), "{said}");
        let mut body = [0; 5];
        std::io::Read::read_exact(&mut self.0, &mut body).unwrap();
        assert_eq!(&body, b"whole");
    }
}

#[test]
fn connections_to_servers_outlive_a_reload() {
    let (server, other, parent) = (Counting::start(), Counting::start(), Counting::start());
    let yaml = |number: u32, servers: &str| {
        format!(
            "gateway:\n  listen: [\"http://127.0.0.1:0\"]\n  pools: {{ app: {{ servers: \
             [{servers}] }} }}\n  headers: {{ response: [{{ set: X-Number, value: \"{number}\" }}] \
             }}\n  routes: [{{ path: \"/*\", pool: app }}]\nproxy:\n  listen: \
             [\"http://127.0.0.1:0\"]\n  parents: [{{ domains: [b.example], parent: \
             \"http://{}\" }}]\nadmin: {{ listen: \"127.0.0.1:0\" }}\n",
            parent.address
        )
    };
    let one = format!("\"http://{}\"", server.address);
    let running = Tidegate::start(&yaml(0, &one));
    let mut gateway = Client::new(running.address("gateway", "http"));
    let mut proxy = Client::new(running.address("proxy", "http"));
    let direct = format!("http://{}/page", other.address);
    for number in 0..4 {
        // The first changes nothing, the second and third the fields of answers, which no
        // connection to a server has anything to do with; the last adds a server that stands by.
        let servers = match number {
            3 => format!("{one}, {{ url: \"http://127.0.0.1:9\", backup: true }}"),
            _ => one.clone(),
        };
        for _ in 0..2 {
            gateway.get("/page");
            proxy.get(&direct);
            proxy.get("http://b.example/page");
        }
        std::fs::write(&running.config, yaml(number, &servers)).unwrap();
        running.told(&["ctl", "reload"]);
    }
    gateway.get("/page");
    proxy.get(&direct);
    proxy.get("http://b.example/page");
    assert_eq!((server.count(), other.count(), parent.count()), (1, 1, 1));
}

/// The first line of an answer to a request on a connection of its own.
fn status(at: SocketAddr) -> String {
    let mut stream = TcpStream::connect(at).unwrap();
    stream.set_read_timeout(Some(wait::DEADLINE)).unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n").unwrap();
    let mut line = String::new();
    // A door that speaks something else may reset the connection in place of an answer.
    let _ = BufReader::new(stream).read_line(&mut line);
    line
}

/// Connections that reach the listener of every core, as the kernel spreads them by their ports.
const CONNECTIONS: usize = 32;

#[test]
fn a_port_can_go_from_one_door_to_another() {
    let at = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let dns = |listen: &str| {
        format!(
            "dns: {{ listen: [\"udp://127.0.0.1:0\"{listen}], upstreams: [\"127.0.0.1:9\"] }}\n"
        )
    };
    let rest = "admin: { listen: \"127.0.0.1:0\" }\n";
    let web = format!("web: [{{ listen: [\"http://{at}\"], root: www }}]\n");
    let gateway = |listen: &str| {
        format!(
            "gateway:\n  listen: [\"http://{listen}\"]\n  routes: [{{ path: \"/*\", answer: {{ \
             status: 418, body: tea }} }}]\n"
        )
    };
    let everywhere = format!("0.0.0.0:{}", at.port());
    let (doh, tcp) = (format!(", \"http://{at}/dns-query\""), format!(", \"tcp://{at}\""));
    let scratch = Scratch::new();
    scratch.write("www/index.html", "here");
    let running = Tidegate::start_in(scratch, &format!("{}{web}{rest}", dns("")));
    assert!(status(at).starts_with("HTTP/1.1 200"));
    for (yaml, begins) in [
        (format!("{}{}", dns(""), gateway(&at.to_string())), "HTTP/1.1 418"),
        (dns(&doh), "HTTP/1.1 404"),
        (format!("{}{}", dns(""), gateway(&everywhere)), "HTTP/1.1 418"),
        (dns(&tcp), ""),
        (format!("{}{}", dns(""), gateway(&at.to_string())), "HTTP/1.1 418"),
    ] {
        std::fs::write(&running.config, format!("{yaml}{rest}")).unwrap();
        running.told(&["ctl", "reload"]);
        // Each core has a listener of its own, and closes the old one when it next runs: one good
        // answer says nothing of the others.
        let all = || (0..CONNECTIONS).all(|_| status(at).starts_with(begins));
        wait::until("the old listeners are closed", || all().then_some(()));
        assert!(all(), "{yaml}");
    }
}
