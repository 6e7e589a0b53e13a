//! The gateway under load while its configuration changes: no request fails, no connection breaks.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::thread::JoinHandle;
use tidegate_tests::origin::{Origin, Page};
use tidegate_tests::tidegate::Tidegate;
use tidegate_tests::wait;

const RELOADS: u32 = 100;

/// A configuration whose answers say which one it is.
fn yaml(server: SocketAddr, echo: SocketAddr, number: u32) -> String {
    format!(
        "gateway:\n  listen: [\"http://127.0.0.1:0\"]\n  pools:\n    app: {{ servers: \
         [\"http://{server}\"] }}\n    echo: {{ servers: [\"http://{echo}\"] }}\n  headers: {{ \
         response: [{{ set: X-Number, value: \"{number}\" }}] }}\n  routes:\n    - {{ path: \
         /echo, pool: echo, upgrade: [echo] }}\n    - {{ path: \"/*\", pool: app }}\nadmin: {{ listen: \
         \"127.0.0.1:0\" }}\n"
    )
}

/// A server that leaves HTTP on every connection and echoes what comes.
fn echo_server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || {
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let mut line = String::new();
                while line != "\r\n" {
                    line.clear();
                    if reader.read_line(&mut line).unwrap() == 0 {
                        return;
                    }
                }
                let mut stream = stream;
                let head = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n";
                stream.write_all(format!("{head}Upgrade: echo\r\n\r\n").as_bytes()).unwrap();
                let mut piece = [0; 256];
                while let Ok(count @ 1..) = reader.read(&mut piece) {
                    stream.write_all(&piece[..count]).unwrap();
                }
            });
        }
    });
    address
}

/// A connection that has left HTTP through the gateway.
fn leave(gateway: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(gateway).unwrap();
    stream.set_read_timeout(Some(wait::DEADLINE)).unwrap();
    let head = "GET /echo HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    let mut said = Vec::new();
    while !said.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        said.push(byte[0]);
    }
    assert!(said.starts_with(b"HTTP/1.1 101 "), "{}", said.escape_ascii());
    stream
}

fn echo(stream: &mut TcpStream, text: &str) {
    stream.write_all(text.as_bytes()).unwrap();
    let mut said = vec![0; text.len()];
    stream.read_exact(&mut said).unwrap();
    assert_eq!(said, text.as_bytes());
}

/// One answer on `stream`, or what went wrong.
fn get(stream: &mut TcpStream, connection: &str) -> Result<String, String> {
    let request = format!("GET /page HTTP/1.1\r\nHost: a\r\nConnection: {connection}\r\n\r\n");
    stream.write_all(request.as_bytes()).map_err(|why| why.to_string())?;
    let mut said = Vec::new();
    let mut piece = [0; 1024];
    loop {
        let text = String::from_utf8_lossy(&said);
        if text.starts_with("HTTP/1.1 200 ") && text.ends_with("\r\n\r\nwhole") {
            return Ok(text.into_owned());
        }
        match stream.read(&mut piece) {
            Ok(0) => return Err(format!("the end after {text:?}")),
            Ok(count) => said.extend_from_slice(&piece[..count]),
            Err(why) => return Err(format!("{why} after {text:?}")),
        }
    }
}

fn connect(to: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(wait::DEADLINE)).unwrap();
    stream
}

/// Asks until `over`, and counts; a failure ends it.
fn load(
    gateway: SocketAddr,
    connection: &'static str,
    (over, count): (&Arc<AtomicBool>, &Arc<AtomicU32>),
) -> JoinHandle<Result<(), String>> {
    let (over, count) = (Arc::clone(over), Arc::clone(count));
    std::thread::spawn(move || {
        let mut kept = connect(gateway);
        while !over.load(SeqCst) {
            if connection == "close" {
                kept = connect(gateway);
            }
            get(&mut kept, connection)?;
            count.fetch_add(1, SeqCst);
        }
        Ok(())
    })
}

#[test]
fn a_hundred_reloads_fail_no_request_and_break_no_connection() {
    let origin = Origin::start(&[("/page", Page::new("text/plain", "whole"))]);
    let echoes = echo_server();
    let edge = Tidegate::start(&yaml(origin.address, echoes, 0));
    let gateway = edge.address("gateway", "http");
    let mut left = leave(gateway);
    let (over, count) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
    let loads: Vec<_> = ["keep-alive", "keep-alive", "close"]
        .map(|connection| load(gateway, connection, (&over, &count)))
        .into();
    for number in 1..=RELOADS {
        edge.scratch.write("tidegate.yaml", yaml(origin.address, echoes, number));
        edge.told(&["ctl", "reload"]);
        let said = get(&mut connect(gateway), "close").unwrap();
        assert!(said.contains(&format!("x-number: {number}\r\n")), "{said}");
        echo(&mut left, &format!("after {number}"));
        // Every reload has met requests.
        let before = count.load(SeqCst);
        wait::until("a request", || (count.load(SeqCst) > before).then_some(()));
    }
    over.store(true, SeqCst);
    for load in loads {
        assert_eq!(load.join().unwrap(), Ok(()));
    }
    echo(&mut left, "in the end");
}

#[test]
fn a_wrong_file_changes_nothing() {
    let origin = Origin::start(&[("/page", Page::new("text/plain", "whole"))]);
    let echoes = echo_server();
    let edge = Tidegate::start(&yaml(origin.address, echoes, 7));
    let gateway = edge.address("gateway", "http");
    let mut kept = connect(gateway);
    for wrong in ["set: X-Number", "set: Content-Length", "sets: X-Number", "set: \"a b\""] {
        let text = yaml(origin.address, echoes, 8).replace("set: X-Number", wrong);
        let text =
            if wrong == "set: X-Number" { text.replace("pool: app", "pool: ap") } else { text };
        edge.scratch.write("tidegate.yaml", text);
        let reload = edge.command(&["ctl", "reload"]);
        assert!(!reload.status.success(), "{wrong} is taken");
        assert!(get(&mut kept, "keep-alive").unwrap().contains("x-number: 7\r\n"), "{wrong}");
    }
}
