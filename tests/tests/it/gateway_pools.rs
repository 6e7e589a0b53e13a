//! Servers of a pool that are drained and weighed by `tidegate ctl` while clients ask.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use tidegate_tests::Scratch;
use tidegate_tests::clients::curl;
use tidegate_tests::tidegate::{Tidegate, refused};
use tidegate_tests::wait;

/// A server that answers with its name. What asks for `/held` waits until it is let go.
struct Server {
    name: &'static str,
    address: SocketAddr,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    answers: AtomicU32,
    holds: AtomicBool,
    let_go: AtomicBool,
}

impl Server {
    fn start(name: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, state) = (listener.local_addr().unwrap(), Arc::new(State::default()));
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let state = Arc::clone(&shared);
                std::thread::spawn(move || serve(&stream, name, &state));
            }
        });
        Self { name, address, state }
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    fn answers(&self) -> u32 {
        self.state.answers.load(SeqCst)
    }
}

fn serve(stream: &TcpStream, name: &str, state: &State) {
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
            state.holds.store(true, SeqCst);
            wait::until("to be let go", || state.let_go.load(SeqCst).then_some(()));
        } else {
            state.answers.fetch_add(1, SeqCst);
        }
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{name}", name.len());
        if (&mut &*stream).write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

fn ask(gateway: SocketAddr, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(gateway).unwrap();
    stream.set_read_timeout(Some(wait::DEADLINE)).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    stream
}

/// The body of an answer that is well.
fn body(mut stream: TcpStream) -> String {
    let mut said = String::new();
    stream.read_to_string(&mut said).unwrap();
    assert!(said.starts_with("HTTP/1.1 200 "), "{said}");
    said.rsplit("\r\n").next().unwrap().to_owned()
}

#[test]
fn a_drained_server_finishes_what_it_has_and_a_weight_changes_shares_at_once() {
    let servers = ["one", "two"].map(Server::start);
    let [first, second] = servers.each_ref().map(Server::url);
    let edge = Tidegate::start(&format!(
        "gateway:\n  listen: [\"http://127.0.0.1:0\"]\n  pools:\n    app: {{ servers: [\"{first}\", \
         \"{second}\"], balance: round_robin }}\n  routes: [{{ path: \"/*\", pool: app }}]\nadmin: \
         {{ listen: \"127.0.0.1:0\" }}\n"
    ));
    let gateway = edge.address("gateway", "http");
    let server = |what: &str, server: &Server| {
        edge.told(&["ctl", "server", what, "app", &server.url()]);
    };
    let held = ask(gateway, "/held");
    let at = wait::until("a held request", || {
        servers.iter().position(|server| server.state.holds.load(SeqCst))
    });
    let (drained, other) = (&servers[at], &servers[1 - at]);
    server("drain", drained);
    let said = edge.told(&["ctl", "pools"]);
    let line = said.lines().find(|line| line.contains(&drained.url())).unwrap();
    assert!(line.contains("draining"), "{said}");
    for _ in 0..6 {
        assert_eq!(body(ask(gateway, "/")), other.name);
    }
    drained.state.let_go.store(true, SeqCst);
    assert_eq!(body(held), drained.name, "what it had it finishes");
    assert_eq!(drained.answers(), 0, "and it got nothing new");

    server("undrain", drained);
    let answers = |requests: u32| {
        let before = [drained, other].map(Server::answers);
        (0..requests).for_each(|_| drop(body(ask(gateway, "/"))));
        [drained.answers() - before[0], other.answers() - before[1]]
    };
    assert_eq!(answers(8), [4, 4]);
    edge.told(&["ctl", "server", "weigh", "app", &drained.url(), "3"]);
    assert_eq!(answers(8), [6, 2]);
}

/// A gateway whose one pool has the servers of `nodes`, a file beside the configuration.
fn edge_with_nodes(text: &str) -> Tidegate {
    let scratch = Scratch::new();
    scratch.write("nodes", text);
    let yaml = r#"
gateway:
  listen: ["http://127.0.0.1:0"]
  pools: { app: { servers_file: nodes } }
  routes: [{ pool: app }]
admin: { listen: "127.0.0.1:0" }
"#;
    Tidegate::start_in(scratch, yaml)
}

fn asked(edge: &Tidegate) -> (u16, String) {
    curl(&[&format!("http://{}/", edge.address("gateway", "http"))])
}

#[test]
fn a_file_of_servers_is_read_again_when_it_changes_and_a_wrong_one_changes_nothing() {
    let (one, other) = (Server::start("one"), Server::start("other"));
    let edge = edge_with_nodes(&format!("# ours\n{}\n", one.address));
    assert_eq!(asked(&edge).1, "one");
    edge.scratch.write("nodes", format!("{} weight=2\n", other.address));
    wait::until("the file to be read", || (asked(&edge).1 == "other").then_some(()));
    edge.scratch.write("nodes", format!("{}\nftp://nowhere\n", one.address));
    let told = wait::until("it to be told", || {
        edge.output.try_recv().ok().filter(|line| line.contains("keeps its servers"))
    });
    assert!(told.contains("line 2: \"ftp://nowhere\""), "{told}");
    assert_eq!(asked(&edge).1, "other", "nothing is changed");
    std::fs::remove_file(edge.scratch.path().join("nodes")).unwrap();
    wait::until("it to be told", || {
        edge.output.try_recv().ok().filter(|line| line.contains("keeps its servers"))
    });
    assert_eq!(asked(&edge).1, "other");
    edge.scratch.write("nodes", "# none for now\n");
    wait::until("no server to be left", || (asked(&edge).0 == 503).then_some(()));
}

#[test]
fn a_file_of_servers_that_is_missing_or_wrong_stops_the_start() {
    let scratch = Scratch::new();
    let yaml = "gateway: { listen: [\"http://127.0.0.1:0\"], pools: { app: { servers_file: nodes } }, \
                routes: [{ pool: app }] }\n";
    let state = scratch.path().join("state");
    let (said, _) = refused(yaml, &scratch, &state);
    assert!(
        said.contains("gateway.pools.app.servers_file: ") && said.contains("No such file"),
        "{said}"
    );
    scratch.write("nodes", "10.0.0.1\na b\n");
    let (said, _) = refused(yaml, &scratch, &state);
    assert!(said.contains("line 2: \"b\" is neither weight=N nor backup"), "{said}");
}
