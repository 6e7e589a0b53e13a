//! A console asked by hand, with a program that keeps what it was told.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod program;

use self::program::Program;
use crate::line::read_line;
use crate::process::ProcessTimes;
use crate::session::{ConsoleParts, ConsoleSession, SessionEnd, SessionTrust};
use admin::AdminToken;
use ledger::Ledger;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use test_support::{ScratchFolder, open_ledger};

/// A connection to it.
struct Asked {
    session: ConsoleSession,
    program: Arc<Program>,
    token: String,
    _folder: ScratchFolder,
}

impl Asked {
    fn new(edits: &'static str, trust: SessionTrust) -> Self {
        let folder = ScratchFolder::new();
        let program = Arc::new(Program { edits, told: Mutex::default() });
        let token = AdminToken::open(folder.path()).unwrap();
        let text = token.as_str().to_owned();
        let parts = ConsoleParts {
            control: program.clone(),
            ledger: open_ledger(folder.path()),
            token,
            clock: transport::clock::now,
        };
        let session =
            ConsoleSession::new(Arc::new(parts), Arc::new(ProcessTimes::default()), trust);
        Self { session, program, token: text, _folder: folder }
    }

    fn ask(&mut self, line: &str) -> String {
        let (answer, end) = self.session.carry_out(&read_line(line.as_bytes()).unwrap());
        assert_eq!(end, SessionEnd::GoesOn, "{line}");
        answer
    }

    fn told(&self) -> Vec<String> {
        std::mem::take(&mut *self.program.told.lock().unwrap())
    }
}

#[test]
fn lists_have_perlbals_form_and_end_with_a_dot() {
    let mut asked = Asked::new("off", SessionTrust::AfterToken);
    for (command, answer) in [
        ("show pool", "app nodes 2\r\napp services 1\r\n.\r\n"),
        ("SHOW POOL App", "10.0.0.1:80 8\r\nhttps://b.example 8\r\n.\r\n"),
        ("show pool none", "ERROR: pool 'none' does not exist\r\n"),
        (
            "show service",
            "idle 127.0.0.1:81 DISABLED\r\nimages 127.0.0.1:8443 ENABLED\r\n\
             gateway 0.0.0.0:80 ENABLED\r\n.\r\n",
        ),
        (
            "show service Images",
            "SERVICE images\r\n     listening: 127.0.0.1:8443\r\n          role: web_server\r\n.\r\n",
        ),
        ("show service idle", "SERVICE idle\r\n     listening: --\r\n.\r\n"),
        ("show service soup", "ERROR: Unknown service\r\n"),
        ("backends", "10.0.0.1:80 2\r\nhttps://b.example 2\r\n.\r\n"),
        ("queues", "app-normal.count 0\r\napp-highpri.count 3\r\napp-lowpri.count 0\r\n.\r\n"),
        (
            "states",
            "request pending 4\r\nrequest waiting 3\r\nserver down 1\r\nserver up 1\r\n.\r\n",
        ),
        ("nodes 10.9.9.9", ".\r\n"),
        ("frobnicate x", "ERROR: unknown command: frobnicate\r\n"),
        ("help x", "ERROR: the command takes no arguments\r\n"),
        ("", ""),
        ("# hello", ""),
    ] {
        assert_eq!(asked.ask(command), answer, "{command}");
    }
    let nodes = asked.ask("nodes 10.0.0.1");
    assert!(nodes.starts_with("10.0.0.1:80 attempts 8\r\n10.0.0.1:80 requests 7\r\n"), "{nodes}");
    assert!(!nodes.contains("b.example"), "{nodes}");
    let uptime = asked.ask("version");
    assert!(uptime.ends_with("uptime 60\r\nversion 9.9.9\r\n.\r\n"), "{uptime}");
    assert!(asked.ask("proc").contains("reqs: 0 (+0)\r\n.\r\n"));
    assert!(asked.ask("fd").contains("cur "));
    assert!(asked.ask("socks summary").contains(" sockets\r\n"));
    assert!(asked.ask("help").contains("\r\ndumpconfig\r\n"));
    let service = asked.ask("show service gateway");
    assert!(
        service.contains("          role: reverse_proxy\r\n  pend clients: 3\r\n"),
        "{service}"
    );
    assert!(asked.ask("shutdown").starts_with("ERROR: shutdown means nothing here"));
}

#[test]
fn what_changes_something_wants_the_token_first() {
    let mut asked = Asked::new("on", SessionTrust::AfterToken);
    for command in [
        "set app.max_requests = 5",
        "unset user",
        "pool app add 10.0.0.9",
        "create pool x",
        "destroy pool app",
        "reload",
        "dumpconfig",
        "get gateway.routes",
    ] {
        assert!(asked.ask(command).starts_with("ERROR: show the token first"), "{command}");
    }
    assert_eq!(asked.told(), [""; 0]);
    let auth = format!("auth {}", asked.token);
    assert_eq!(asked.ask(&auth), "OK\r\n");
    assert_eq!(asked.ask("dumpconfig"), "gateway:\r\n  # one\r\nOK\r\n");
    let wrong = read_line(b"auth 0123456789").unwrap();
    let (answer, end) = asked.session.carry_out(&wrong);
    assert_eq!((answer.as_str(), end), ("ERROR: this is not the token\r\n", SessionEnd::Closes));
}

#[test]
fn settings_are_changed_by_perlbals_names_and_ours() {
    let mut asked = Asked::new("on", SessionTrust::Full);
    for command in [
        "SET app.verify_backend = on",
        "use app",
        "set max_requests = 5",
        "set gateway.routes[0].host = a.example",
        "unset gateway.routes[0].host",
        "destroy pool APP",
    ] {
        assert_eq!(asked.ask(command), "OK\r\n", "{command}");
    }
    assert_eq!(
        asked.told(),
        [
            "gateway.pools.app.verify_connection := true",
            "gateway.pools.app.max_requests := 5",
            "gateway.routes[0].host := a.example",
            "gateway.routes[0].host := -",
            "gateway.pools.app := -",
        ]
    );
    assert_eq!(asked.ask("set app.wrong = 1"), "ERROR: no such key\r\n");
    assert_eq!(asked.ask("set soup.x = 1"), "ERROR: service/pool 'soup' does not exist\r\n");
    assert!(asked.ask("set app.x =").starts_with("ERROR: usage: SET"));
    assert_eq!(asked.ask("reload"), "ERROR: f.yaml:1:1: a: wrong; f.yaml:2:1: b: wrong\r\n");
    assert_eq!(asked.ask("verbose off"), "");
    assert_eq!(asked.ask("set max_requests = 6"), "");
}

#[test]
fn servers_join_and_leave_in_the_file_where_commands_may_change_it() {
    let mut asked = Asked::new("on", SessionTrust::Full);
    for command in [
        "pool app add 10.0.0.9:8080",
        "POOL ADD app 10.0.0.10",
        "pool app add 10.0.0.1",
        "pool app remove 10.0.0.1:80",
        "pool remove app https://b.example",
        "create pool new",
        "pool new add 10.0.0.3",
    ] {
        assert_eq!(asked.ask(command), "OK\r\n", "{command}");
    }
    assert_eq!(
        asked.told(),
        [
            "gateway.pools.app.servers[2] := \"http://10.0.0.9:8080\"",
            "gateway.pools.app.servers[2] := \"http://10.0.0.10:80\"",
            "gateway.pools.app.servers[0] := -",
            "gateway.pools.app.servers[1] := -",
            "gateway.pools.new.servers := [\"http://10.0.0.3:80\"]",
        ]
    );
    assert_eq!(asked.ask("pool none add 10.0.0.3"), "ERROR: Pool 'none' not found\r\n");
    assert!(asked.ask("pool app drop 10.0.0.3").starts_with("ERROR: usage: POOL"));
    assert_eq!(asked.ask("create pool app"), "ERROR: pool 'app' already exists\r\n");
}

#[test]
fn servers_join_and_leave_until_the_end_where_commands_may_not_change_the_file() {
    let mut asked = Asked::new("off", SessionTrust::Full);
    assert_eq!(asked.ask("pool app add 10.0.0.9"), "OK\r\n");
    assert_eq!(asked.ask("pool app remove 10.0.0.1:80"), "OK\r\n");
    assert_eq!(asked.told(), ["app add http://10.0.0.9:80", "app remove http://10.0.0.1"]);
}

/// A console that listens, for clients that are programs of threads.
struct Listening {
    place: admin::ConsolePlace,
    program: Arc<Program>,
    ledger: Ledger,
    drain: transport::Drain,
    folder: ScratchFolder,
}

impl Listening {
    fn new(listen: &str, trust: admin::ConsoleTrust) -> Self {
        let folder = ScratchFolder::new();
        let program = Arc::new(Program { edits: "on", told: Mutex::default() });
        let ledger = open_ledger(folder.path());
        let parts = ConsoleParts {
            control: program.clone(),
            ledger: ledger.clone(),
            token: AdminToken::open(folder.path()).unwrap(),
            clock: transport::clock::now,
        };
        let settings = admin::ConsoleSettings {
            listen: listen.into(),
            trust,
            ..admin::ConsoleSettings::default()
        };
        let drain = transport::Drain::new();
        let place = crate::open(&settings, folder.path(), parts, drain.clone()).unwrap();
        Self { place, program, ledger, drain, folder }
    }

    fn connect(&self) -> TcpStream {
        let admin::ConsolePlace::Loopback(address) = self.place else { panic!("it is a path") };
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream
    }
}

/// All that comes until the console closes the connection.
fn rest(stream: &mut impl Read) -> String {
    let mut text = Vec::new();
    // A connection with unread bytes is reset.
    drop(stream.read_to_end(&mut text));
    String::from_utf8(text).unwrap()
}

#[test]
fn what_looks_like_http_is_closed_with_nothing_done_and_nothing_said() {
    let console = Listening::new("127.0.0.1:0", admin::ConsoleTrust::Loopback);
    for sent in [
        "POST / HTTP/1.1\r\nHost: x\r\n\r\nset app.max_requests = 1\r\nreload\r\n",
        "Host: x\r\nset app.max_requests = 1\r\n",
        "\u{16}\u{3}\u{1}\nset app.max_requests = 1\r\n",
    ] {
        let mut stream = console.connect();
        stream.write_all(sent.as_bytes()).unwrap();
        assert_eq!(rest(&mut stream), "", "{sent}");
    }
    assert_eq!(*console.program.told.lock().unwrap(), [""; 0]);
    let mut stream = console.connect();
    stream.write_all(b"set app.max_requests = 1\nshow pool\r\n\nquit\nreload\n").unwrap();
    assert_eq!(rest(&mut stream), "OK\r\napp nodes 2\r\napp services 1\r\n.\r\n");
    assert_eq!(*console.program.told.lock().unwrap(), ["gateway.pools.app.max_requests := 1"]);
    console.drain.start();
}

#[test]
fn a_line_without_an_end_is_cut_and_the_seventeenth_client_sent_away() {
    let console = Listening::new("127.0.0.1:0", admin::ConsoleTrust::Token);
    let mut stream = console.connect();
    stream.write_all(&[b'a'; 5000]).unwrap();
    assert_eq!(rest(&mut stream), "ERROR: a line has at most 4096 bytes\r\n");
    // The place is given back when the connection is gone, which only a later one shows.
    let mut clients: Vec<TcpStream> = Vec::new();
    let mut answer = [0; 4];
    while clients.len() < 16 {
        let mut stream = console.connect();
        stream.write_all(b"verbose on\n").unwrap();
        stream.read_exact(&mut answer).unwrap();
        if answer == *b"OK\r\n" {
            clients.push(stream);
        }
    }
    assert_eq!(rest(&mut console.connect()), "ERROR: too many connections\r\n");
    console.drain.start();
    assert_eq!(rest(&mut clients[0]), "");
}

#[test]
fn a_path_is_its_owners_alone_and_needs_no_token() {
    let console = Listening::new("unix:console.sock", admin::ConsoleTrust::Token);
    let path = console.folder.path().join("console.sock");
    assert_eq!(path.symlink_metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let mut stream = UnixStream::connect(&path).unwrap();
    stream.write_all(b"set app.max_requests = 1\nquit\n").unwrap();
    assert_eq!(rest(&mut stream), "OK\r\n");
    // Another does not take it away; one that was killed leaves it behind.
    let second = |listen: &str| {
        let parts = ConsoleParts {
            control: console.program.clone(),
            ledger: console.ledger.clone(),
            token: AdminToken::open(console.folder.path()).unwrap(),
            clock: transport::clock::now,
        };
        let settings =
            admin::ConsoleSettings { listen: listen.into(), ..admin::ConsoleSettings::default() };
        crate::open(&settings, console.folder.path(), parts, console.drain.clone())
    };
    assert!(second("unix:console.sock").is_err());
    drop(UnixListener::bind(console.folder.path().join("left.sock")).unwrap());
    second("unix:left.sock").unwrap();
    console.folder.write("file", "precious");
    assert!(second("unix:file").is_err());
    assert!(console.folder.path().join("file").is_file());
    console.drain.start();
}
