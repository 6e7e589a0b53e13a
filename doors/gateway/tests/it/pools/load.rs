//! Servers that are killed and replaced while clients ask: nobody may notice.

use super::{pool_of, until};
use crate::support::{Gateway, parts, read_message, start};
use door_gateway::{PoolChange, ServerDetails};
use std::io::Write;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

/// A server that can be killed: its listener goes, and all its connections with it.
struct Mortal {
    address: SocketAddr,
    served: Arc<AtomicUsize>,
    killed: Arc<AtomicBool>,
    streams: Arc<Mutex<Vec<TcpStream>>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Mortal {
    fn start(address: &str) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let (served, killed) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let streams = Arc::new(Mutex::new(Vec::<TcpStream>::new()));
        let (count, end, open) = (Arc::clone(&served), Arc::clone(&killed), Arc::clone(&streams));
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                let stream = stream.unwrap();
                if end.load(SeqCst) {
                    return;
                }
                open.lock().unwrap().push(stream.try_clone().unwrap());
                let count = Arc::clone(&count);
                std::thread::spawn(move || serve(stream, &count));
            }
        });
        Self { address, served, killed, streams, thread: Some(thread) }
    }

    fn kill(&mut self) {
        self.killed.store(true, SeqCst);
        // Wakes the listener, which then goes.
        drop(TcpStream::connect(self.address));
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
        for stream in self.streams.lock().unwrap().drain(..) {
            // It may have ended by itself.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn serve(mut stream: TcpStream, count: &AtomicUsize) {
    while read_message(&mut stream).is_some() {
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
        if stream.write_all(answer).is_err() {
            return;
        }
        count.fetch_add(1, SeqCst);
    }
}

/// Asks over one connection until told to end; says how many answers were good, and the first that
/// was not.
fn ask_on(gateway: SocketAddr, end: &AtomicBool) -> (usize, Option<String>) {
    let mut stream = TcpStream::connect(gateway).unwrap();
    let mut good = 0;
    while !end.load(SeqCst) {
        stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        let answer = read_message(&mut stream).unwrap_or_default();
        if !answer.starts_with("HTTP/1.1 200") {
            return (good, Some(answer));
        }
        good += 1;
    }
    (good, None)
}

fn loaded(gateway: &Gateway, meanwhile: impl FnOnce()) -> usize {
    let end = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let clients: Vec<_> =
            (0..4).map(|_| scope.spawn(|| ask_on(gateway.address, &end))).collect();
        let failed = catch_unwind(AssertUnwindSafe(meanwhile)).err();
        end.store(true, SeqCst);
        let ended = clients.into_iter().map(|client| client.join().unwrap());
        let mut all = 0;
        for (good, bad) in ended {
            assert_eq!(bad, None, "after {good} good ones");
            all += good;
        }
        failed.map_or(all, |failed| resume_unwind(failed))
    })
}

#[test]
fn no_request_fails_while_servers_are_killed_and_replaced_under_load() {
    let mut servers = [(); 3].map(|()| Mortal::start("127.0.0.1:0"));
    let settings = pool_of(&servers.each_ref().map(|it| it.address), |pool| {
        pool.balance = door_gateway::BalanceMethod::P2c;
        pool.retry.budget_minimum = 1_000;
    });
    let gateway = start(settings, parts(""));
    let more = |server: &Mortal, by: usize| {
        let before = server.served.load(SeqCst);
        until("it serves", || server.served.load(SeqCst) >= before + by);
    };
    let all = loaded(&gateway, || {
        more(&servers[0], 20);
        // One dies and comes back at the same place.
        let place = servers[0].address.to_string();
        servers[0].kill();
        more(&servers[1], 50);
        servers[0] = Mortal::start(&place);
        more(&servers[0], 20);
        // One is replaced by another through the API.
        let fresh = Mortal::start("127.0.0.1:0");
        let url = |server: &Mortal| format!("http://{}", server.address);
        let details = ServerDetails { url: url(&fresh), ..Default::default() };
        gateway.door.change_pool("app", &PoolChange::Add(details)).unwrap();
        gateway.door.change_pool("app", &PoolChange::Remove(url(&servers[1]))).unwrap();
        servers[1].kill();
        more(&fresh, 20);
        more(&servers[2], 20);
    });
    assert!(all > 100, "{all}");
}
