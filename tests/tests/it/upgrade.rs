//! Another process in the place of the one that runs, while clients are at all five doors.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::thread::JoinHandle;
use tidegate_tests::Scratch;
use tidegate_tests::clients::{curl, dig_short};
use tidegate_tests::origin::{Origin, Page};
use tidegate_tests::tidegate::{Tidegate, binary};
use tidegate_tests::wait;

/// Answers that every client has had before, and after, a process takes over.
const ANSWERS: u32 = 20;

/// Addresses that are free now, one for each door and one for the admin.
struct Places {
    dns: SocketAddr,
    doors: Vec<SocketAddr>,
}

impl Places {
    /// Below the ports that the system gives to clients: one of ours that connects must not take a
    /// place that is listened at in a moment.
    fn free() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(20_000);
        let mut found = std::iter::repeat_with(|| NEXT.fetch_add(1, SeqCst) as u16)
            .map(|port| SocketAddr::from(([127, 0, 0, 1], port)))
            .filter(|at| TcpListener::bind(at).is_ok() && UdpSocket::bind(at).is_ok());
        let mut next = || found.next().unwrap();
        Self { dns: next(), doors: (0..5).map(|_| next()).collect() }
    }

    fn yaml(&self, origin: SocketAddr, more: &str) -> String {
        let [pixel, proxy, web, gateway, admin] = self.doors[..] else { unreachable!() };
        let dns = self.dns;
        format!(
            r#"
policy: {{ lists: [{{ name: mine, rules: ["||ads.example^"] }}] }}
dns: {{ listen: ["udp://{dns}", "tcp://{dns}"], local: ["a.example A 192.0.2.7"] }}
pixel: {{ listen: ["http://{pixel}"] }}
proxy: {{ listen: ["http://{proxy}"], connect_ports: ["1-65535"], cache: {{ disk: {{ path: cache, size: 16MiB }} }} }}
web: [{{ listen: ["http://{web}"], root: site }}]
gateway:
  listen: ["http://{gateway}"]
  pools: {{ app: {{ servers: ["http://{origin}"] }} }}
  routes: [{{ path: "/*", pool: app }}]
admin: {{ listen: "{admin}" }}
{more}
"#
        )
    }
}

/// Clients that ask without a pause, and what went wrong for them.
struct Clients {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Vec<String>>>,
    answers: Vec<Arc<AtomicU32>>,
}

impl Clients {
    fn start(places: &Places, origin: SocketAddr) -> Self {
        let mut all = Self { stop: Arc::default(), threads: Vec::new(), answers: Vec::new() };
        let [pixel, proxy, web, gateway, _] = places.doors[..] else { unreachable!() };
        let page = format!("http://{origin}/page");
        for (at, target) in [
            (pixel, "http://ads.example/x.gif"),
            (proxy, page.as_str()),
            (web, "/index.html"),
            (gateway, "/page"),
        ] {
            let target = target.to_owned();
            let again = target.clone();
            all.add("kept", kept_connection(at, target));
            all.add("new", move || ask(&mut connected(at), &again).map(drop));
        }
        let dns = places.dns;
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(wait::DEADLINE)).unwrap();
        socket.connect(dns).unwrap();
        all.add("udp", move || {
            socket.send(&QUESTION).map_err(|why| why.to_string())?;
            let mut answer = [0; 512];
            let length = socket.recv(&mut answer).map_err(|why| why.to_string())?;
            if length > QUESTION.len() { Ok(()) } else { Err(format!("{length} bytes")) }
        });
        all.add("tcp", move || {
            let mut stream = connected(dns);
            let mut framed = vec![0, QUESTION.len() as u8];
            framed.extend(QUESTION);
            stream.get_mut().write_all(&framed).map_err(|why| why.to_string())?;
            let mut length = [0; 2];
            stream.read_exact(&mut length).map_err(|why| why.to_string())
        });
        all
    }

    fn add(
        &mut self,
        kind: &'static str,
        mut request: impl FnMut() -> Result<(), String> + Send + 'static,
    ) {
        let (stop, answers) = (Arc::clone(&self.stop), Arc::<AtomicU32>::default());
        self.answers.push(Arc::clone(&answers));
        let number = self.threads.len();
        self.threads.push(std::thread::spawn(move || {
            let mut failed = Vec::new();
            while !stop.load(SeqCst) && failed.len() < 5 {
                match request() {
                    Ok(()) => drop(answers.fetch_add(1, SeqCst)),
                    Err(why) => failed.push(format!("client {number}, {kind}: {why}")),
                }
            }
            failed
        }));
    }

    /// Waits until each has had more answers, or has given up.
    fn answered_some_more(&self) {
        let before: Vec<u32> = self.answers.iter().map(|it| it.load(SeqCst)).collect();
        wait::until("answers for every client", || {
            let mut all = self.answers.iter().zip(&before).zip(&self.threads);
            all.all(|((now, before), thread)| {
                now.load(SeqCst) >= before + ANSWERS || thread.is_finished()
            })
            .then_some(())
        });
    }

    /// Everything that went wrong.
    fn failures(self) -> Vec<String> {
        self.stop.store(true, SeqCst);
        self.threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    }
}

/// `a.example` of type A.
const QUESTION: [u8; 27] =
    *b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x01a\x07example\x00\x00\x01\x00\x01";

fn connected(at: SocketAddr) -> BufReader<TcpStream> {
    let stream = TcpStream::connect(at).unwrap();
    stream.set_read_timeout(Some(wait::DEADLINE)).unwrap();
    BufReader::new(stream)
}

/// A client that keeps its connection until it is told that an answer was the last.
fn kept_connection(
    at: SocketAddr,
    target: String,
) -> impl FnMut() -> Result<(), String> + Send + 'static {
    let mut kept = None;
    move || {
        let mut stream = kept.take().unwrap_or_else(|| connected(at));
        if ask(&mut stream, &target)? == AfterAnswer::Kept {
            kept = Some(stream);
        }
        Ok(())
    }
}

#[derive(PartialEq)]
enum AfterAnswer {
    Kept,
    Closed,
}

/// Sends a request and reads its answer to the end.
fn ask(stream: &mut BufReader<TcpStream>, target: &str) -> Result<AfterAnswer, String> {
    let host = if target.contains("ads.example") { "ads.example" } else { "a.example" };
    let path = if host == "ads.example" { "/x.gif" } else { target };
    let head = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
    let failed = |why: std::io::Error| format!("{target}: {why}");
    stream.get_mut().write_all(head.as_bytes()).map_err(failed)?;
    let mut said = String::new();
    while !said.ends_with("\r\n\r\n") {
        if stream.read_line(&mut said).map_err(failed)? == 0 {
            return Err(format!("{target}: closed after {said:?}"));
        }
    }
    let said = said.to_ascii_lowercase();
    if !said.starts_with("http/1.1 200 ") {
        return Err(format!("{target}: {said}"));
    }
    let length = said.split("content-length: ").nth(1).and_then(|it| it.split("\r\n").next());
    let mut body = vec![0; length.unwrap_or("0").parse().unwrap()];
    stream.read_exact(&mut body).map_err(failed)?;
    let is_last = said.contains("connection: close");
    Ok(if is_last { AfterAnswer::Closed } else { AfterAnswer::Kept })
}

/// A Tidegate and what it needs around it.
struct Edge {
    running: Tidegate,
    places: Places,
    origin: Origin,
}

fn start(more: &str, variables: &[(&str, &str)]) -> Edge {
    let origin = Origin::start(&[("/page", Page::new("text/plain", "whole"))]);
    let places = Places::free();
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.path().join("site")).unwrap();
    scratch.write("site/index.html", "<p>whole</p>");
    for folder in [scratch.path().to_owned(), scratch.path().join("site")] {
        std::fs::set_permissions(folder, PermissionsExt::from_mode(0o755)).unwrap();
    }
    let running = Tidegate::start_with(scratch, &places.yaml(origin.address, more), variables);
    Edge { running, places, origin }
}

/// A process that nobody else ends.
struct Process(u32);

impl Process {
    fn ends(&self) {
        wait::until("the process to end", || {
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.0));
            let has_ended = stat.map_or(true, |it| it.contains(") Z "));
            has_ended.then_some(())
        });
    }

    fn terminate(&self) {
        let _ = Command::new("kill").arg(self.0.to_string()).status();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = Command::new("kill").args(["-9", &self.0.to_string()]).output();
    }
}

fn upgraded(edge: &Edge) -> Process {
    let told = edge.running.told(&["upgrade"]);
    assert!(told.lines().any(|it| it == "ready"), "{told}");
    assert!(told.contains("took over from process "), "{told}");
    Process(process_of(edge))
}

/// The process that answers commands.
fn process_of(edge: &Edge) -> u32 {
    edge.running.api("/api/status")["pid"].as_u64().unwrap().try_into().unwrap()
}

/// Waits for the end of the start.
fn is_ready(child: &mut Child) {
    let lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line == "ready"));
}

fn said(output: &Output) -> String {
    let texts = [&output.stdout, &output.stderr].map(|it| String::from_utf8_lossy(it).into_owned());
    texts.concat()
}

#[test]
fn no_client_at_any_door_sees_another_process_take_over() {
    let edge = start("", &[]);
    let clients = Clients::start(&edge.places, edge.origin.address);
    clients.answered_some_more();
    let first = upgraded(&edge);
    assert_ne!(first.0, edge.running.pid());
    clients.answered_some_more();
    // The one that took over is replaced like the one before.
    let second = upgraded(&edge);
    assert_ne!(second.0, first.0);
    clients.answered_some_more();
    Process(edge.running.pid()).ends();
    first.ends();
    assert_eq!(clients.failures(), Vec::<String>::new());
    // What the former processes have answered is in the log of the one that runs.
    let pages = edge.running.api("/api/requests?limit=1");
    assert_eq!(pages["rows"].as_array().unwrap().len(), 1, "{pages}");
    second.terminate();
    second.ends();
}

#[test]
fn a_tunnel_goes_on_in_the_process_that_was_replaced_until_its_time_is_over() {
    let echo = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = echo.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in echo.incoming().map_while(Result::ok) {
            std::thread::spawn(move || {
                std::io::copy(&mut stream.try_clone().unwrap(), &mut &stream).map(drop)
            });
        }
    });
    let edge = start("hard_stop_after: 5s", &[]);
    let tunnel = |edge: &Edge| {
        let mut stream = connected(edge.places.doors[1]);
        let head = format!("CONNECT {at} HTTP/1.1\r\nHost: {at}\r\n\r\n");
        stream.get_mut().write_all(head.as_bytes()).unwrap();
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            stream.read_line(&mut line).unwrap();
        }
        stream
    };
    let echoed = |stream: &mut BufReader<TcpStream>, text: &[u8]| {
        stream.get_mut().write_all(text).unwrap();
        let mut read = vec![0; text.len()];
        stream.read_exact(&mut read).unwrap();
        assert_eq!(read, text);
    };
    let mut before = tunnel(&edge);
    echoed(&mut before, b"before");
    let next = upgraded(&edge);
    echoed(&mut before, b"after");
    let mut fresh = tunnel(&edge);
    echoed(&mut fresh, b"fresh");
    Process(edge.running.pid()).ends();
    let cut = before.read(&mut [0]);
    assert!(matches!(cut, Ok(0) | Err(_)), "{cut:?}");
    echoed(&mut fresh, b"still there");
    next.terminate();
}

#[test]
fn a_new_process_that_does_not_come_up_changes_nothing() {
    let edge = start("", &[]);
    // As many as it has before a client comes, which differs between machines, less a few.
    let files = format!("/proc/{}/fd", edge.running.pid());
    let too_few_files = std::fs::read_dir(files).unwrap().count() - 10;
    let clients = Clients::start(&edge.places, edge.origin.address);
    let program = |name: &str, script: &str| -> PathBuf {
        let path = edge.running.scratch.write(name, format!("#!/bin/sh\n{script}\n"));
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        path
    };
    let binary = binary();
    let out_of_files = format!("ulimit -n {too_few_files}; exec {} \"$@\"", binary.display());
    for (name, script, why) in [
        ("crashes", "echo it crashes; exit 7", "it ended (exit status: 7)"),
        ("hangs", "exec sleep 60", "it did not start in time"),
        // This one has got the sockets before it fails.
        ("out-of-files", out_of_files.as_str(), "it ended (exit status: "),
    ] {
        let program = program(name, script);
        let timeout = if name == "hangs" { "1" } else { "60" };
        let args = ["upgrade", "--timeout", timeout, "--binary", program.to_str().unwrap()];
        let output = edge.running.command(&args);
        let told = said(&output);
        assert_eq!(output.status.code(), Some(5), "{name}: {told}");
        assert!(told.contains(why) && told.contains("the running one goes on"), "{name}: {told}");
        clients.answered_some_more();
    }
    let missing = edge.running.command(&["upgrade", "--binary", "/nowhere/tidegate"]);
    assert_eq!(missing.status.code(), Some(5), "{}", said(&missing));
    wait::until("the folders to be taken back", || {
        let told: Vec<String> = edge.running.output.try_iter().collect();
        assert!(!told.iter().any(|it| it.starts_with("error ")), "{told:?}");
        told.into_iter().find(|it| it.contains("this one goes on"))
    });
    // Its folders are its own again.
    assert_eq!(process_of(&edge), edge.running.pid());
    let second = edge.running.command(&["run"]);
    assert!(said(&second).contains("is in use by a running Tidegate"), "{}", said(&second));
    wait::until("the disk tier", || {
        edge.running.api("/api/stores")["stores"][0]["disk"]["entries"].is_u64().then_some(())
    });
    // A wrong configuration is told before anything is begun.
    std::fs::write(&edge.running.config, "dns: { lissten: [] }").unwrap();
    let wrong = edge.running.command(&["upgrade"]);
    assert_eq!(wrong.status.code(), Some(1), "{}", said(&wrong));
    clients.answered_some_more();
    assert_eq!(clients.failures(), Vec::<String>::new());
}

#[test]
fn where_nothing_runs_an_upgrade_says_so() {
    let scratch = Scratch::new();
    let config = scratch.write("tidegate.yaml", "admin: { listen: \"127.0.0.1:0\" }");
    let output = Command::new(binary())
        .args(["upgrade", "--config"])
        .arg(config)
        .arg("--state")
        .arg(scratch.path().join("state"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(said(&output).contains("no Tidegate runs there"), "{}", said(&output));
}

#[test]
fn who_may_not_ask_the_running_one_is_refused_with_a_code_of_its_own() {
    let edge = start("", &[]);
    let output = Command::new("setpriv")
        .args(["--reuid=12345", "--regid=12345", "--clear-groups"])
        .arg(binary())
        .args(["upgrade", "--config"])
        .arg(&edge.running.config)
        .arg("--state")
        .arg(edge.running.scratch.path().join("state"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(6), "{}", said(&output));
    assert_eq!(process_of(&edge), edge.running.pid());
}

#[test]
fn the_service_manager_is_told_what_happens_and_who_is_the_main_process() {
    let scratch = Scratch::new();
    let place = scratch.path().join("notify");
    let manager = std::os::unix::net::UnixDatagram::bind(&place).unwrap();
    std::fs::set_permissions(&place, PermissionsExt::from_mode(0o777)).unwrap();
    std::fs::set_permissions(scratch.path(), PermissionsExt::from_mode(0o755)).unwrap();
    manager.set_read_timeout(Some(wait::DEADLINE)).unwrap();
    let hear = |wanted: &str| {
        let mut bytes = [0; 512];
        loop {
            let length = manager.recv(&mut bytes).unwrap();
            let told = String::from_utf8_lossy(&bytes[..length]).into_owned();
            if let Some(line) = told.lines().find(|line| line.starts_with(wanted)) {
                return line.to_owned();
            }
            // The watchdog's news comes at any time, and two processes tell at once that one is
            // ready and that it is the main one.
            let is_passed = ["WATCHDOG=1", "READY=1"].contains(&told.trim());
            assert!(is_passed, "{told} while waiting for {wanted}");
        }
    };
    let variables = [("NOTIFY_SOCKET", place.to_str().unwrap()), ("WATCHDOG_USEC", "1000000")];
    let edge = start("", &variables);
    hear("READY=1");
    hear("WATCHDOG=1");
    edge.running.signal("HUP");
    hear("RELOADING=1");
    hear("READY=1");
    let next = upgraded(&edge);
    assert_eq!(hear("MAINPID="), format!("MAINPID={}", next.0));
    Process(edge.running.pid()).ends();
    hear("WATCHDOG=1");
    next.terminate();
    hear("STOPPING=1");
    next.ends();
}

#[test]
fn sockets_that_the_service_manager_has_bound_are_taken_and_survive_the_end() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    let scratch = Scratch::new();
    let config = scratch.write(
        "tidegate.yaml",
        format!("pixel: {{ listen: [\"http://{at}\"] }}\nadmin: {{ listen: \"127.0.0.1:0\" }}"),
    );
    let start = || {
        let script = "LISTEN_PID=$$ LISTEN_FDS=1 exec \"$@\" 3<&0 </dev/null";
        Command::new("sh")
            .args(["-c", script, "sh"])
            .arg(binary())
            .args(["run", "--config"])
            .arg(&config)
            .arg("--state")
            .arg(scratch.path().join("state"))
            .stdin(std::os::fd::OwnedFd::from(listener.try_clone().unwrap()))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    };
    for _ in 0..2 {
        let mut child = start();
        // What comes before it answers waits in the socket.
        let (status, _) = curl(&["-H", "Host: x.example", &format!("http://{at}/")]);
        assert_eq!(status, 200);
        is_ready(&mut child);
        Command::new("kill").arg(child.id().to_string()).status().unwrap();
        assert!(child.wait().unwrap().success());
    }
}

#[test]
fn a_dns_server_that_is_stopped_leaves_an_adopted_socket_usable() {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let at = socket.local_addr().unwrap();
    let scratch = Scratch::new();
    let config = scratch.write(
        "tidegate.yaml",
        format!(
            "dns: {{ listen: [\"udp://{at}\"], local: [\"a.example A 192.0.2.7\"] }}\nadmin: {{ listen: \
             \"127.0.0.1:0\" }}"
        ),
    );
    for _ in 0..2 {
        let mut child = Command::new("sh")
            .args(["-c", "LISTEN_PID=$$ LISTEN_FDS=1 exec \"$@\" 3<&0 </dev/null", "sh"])
            .arg(binary())
            .args(["run", "--config"])
            .arg(&config)
            .arg("--state")
            .arg(scratch.path().join("state"))
            .stdin(std::os::fd::OwnedFd::from(socket.try_clone().unwrap()))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let answer = wait::until("an answer", || {
            let told = dig_short(at, &["a.example", "A"]);
            (!told.is_empty()).then_some(told)
        });
        assert_eq!(answer.trim(), "192.0.2.7");
        is_ready(&mut child);
        Command::new("kill").arg(child.id().to_string()).status().unwrap();
        assert!(child.wait().unwrap().success());
    }
}
