//! A DNS door on loopback with an upstream of its own, for tests that talk to it as clients do.
#![allow(clippy::unwrap_used)] // A test that cannot set itself up has failed.
#![allow(dead_code)] // Each test file uses its part of it.

pub(crate) mod fixed;
pub(crate) mod programs;

use arc_swap::ArcSwap;
use door_dns::{DnsDoor, DnsParts, Settings};
use ledger::{Ledger, LogRow, RowFilter};
use policy::Policy;
use resolver::Resolver;
use signer::{MintNothing, Signer};
use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use transport::{Cores, Drain};
use vocab::Scheme;

pub(crate) use test_support::blocking as policy;

pub(crate) const DEADLINE: Duration = Duration::from_secs(30);
pub(crate) const A: u16 = 1;
pub(crate) const CNAME: u16 = 5;
pub(crate) const TXT: u16 = 16;
pub(crate) const AAAA: u16 = 28;
pub(crate) const HTTPS: u16 = 65;
pub(crate) const ANY: u16 = 255;

/// Rules that every door of these tests has.
pub(crate) const RULES: &str = "||blocked.test^\n@@||excepted.test^\n\
    ||records.test^$dnsrewrite=192.0.2.7\n||records.test^$dnsrewrite=192.0.2.8\n\
    ||records.test^$dnsrewrite=NOERROR;HTTPS;1 . alpn=h3\n||instead.test^$dnsrewrite=other.test\n\
    ||gone.rewritten.test^$dnsrewrite=NXDOMAIN\n||not.rewritten.test^$dnsrewrite=REFUSED\n\
    ||empty.rewritten.test^$dnsrewrite=NOERROR\n||homework.test^$client=tablet\n";

/// The text form of a name as wire labels.
pub(crate) fn labels(name: &str) -> Vec<u8> {
    let mut wire = Vec::new();
    for label in name.split('.').filter(|label| !label.is_empty()) {
        wire.push(label.len() as u8);
        wire.extend_from_slice(label.as_bytes());
    }
    wire.push(0);
    wire
}

/// A query with recursion desired and without EDNS.
pub(crate) fn query(id: u16, name: &str, qtype: u16) -> Vec<u8> {
    let mut packet = id.to_be_bytes().to_vec();
    packet.extend_from_slice(&[1, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
    packet.extend_from_slice(&labels(name));
    packet.extend_from_slice(&qtype.to_be_bytes());
    packet.extend_from_slice(&[0, 1]);
    packet
}

/// The same with EDNS, a UDP size of 1,232 and no options.
pub(crate) fn query_edns(id: u16, name: &str, qtype: u16) -> Vec<u8> {
    let mut packet = query(id, name, qtype);
    packet[11] = 1;
    packet.extend_from_slice(&[0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0]);
    packet
}

/// A reply, with what tests look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) bytes: Vec<u8>,
}

impl Reply {
    pub(crate) fn id(&self) -> u16 {
        u16::from_be_bytes([self.bytes[0], self.bytes[1]])
    }
    pub(crate) fn rcode(&self) -> u8 {
        self.bytes[3] & 15
    }
    pub(crate) fn truncated(&self) -> bool {
        self.bytes[2] & 2 != 0
    }
    /// Records in the answer and authority sections.
    pub(crate) fn counts(&self) -> (u8, u8) {
        (self.bytes[7], self.bytes[9])
    }
    /// The last four bytes: the address of an answer whose last record is A, without EDNS.
    pub(crate) fn address(&self) -> IpAddr {
        IpAddr::from(*self.bytes.last_chunk::<4>().unwrap())
    }
    /// The extended error at the end, where there is one without text.
    pub(crate) fn extended_error(&self) -> Option<u16> {
        let tail = self.bytes.last_chunk::<6>()?;
        (tail[..4] == [0, 15, 0, 2]).then(|| u16::from_be_bytes([tail[4], tail[5]]))
    }
}

/// A query that waits for [`Upstream::release`], and who asked.
type Held = (Vec<u8>, SocketAddr);

/// A DNS server on loopback that answers by name and counts what it was asked.
#[derive(Clone)]
pub(crate) struct Upstream {
    pub(crate) address: SocketAddr,
    asked: Arc<Mutex<HashMap<String, u32>>>,
    held: Arc<Mutex<Vec<Held>>>,
    socket: Arc<UdpSocket>,
}

impl Upstream {
    pub(crate) fn start() -> Self {
        let socket = Arc::new(UdpSocket::bind("127.0.0.1:0").unwrap());
        let upstream = Self {
            address: socket.local_addr().unwrap(),
            asked: Arc::default(),
            held: Arc::default(),
            socket,
        };
        let server = upstream.clone();
        std::thread::spawn(move || server.run());
        upstream
    }

    /// How often `name` was asked for.
    pub(crate) fn asked(&self, name: &str) -> u32 {
        self.asked.lock().unwrap().get(name).copied().unwrap_or(0)
    }

    /// Waits until `count` questions for names that begin with `held` are here; then answers them.
    pub(crate) fn release(&self, count: usize) {
        let begun = std::time::Instant::now();
        loop {
            let mut held = self.held.lock().unwrap();
            if held.len() >= count {
                for (query, client) in held.drain(..) {
                    self.socket.send_to(&response(&query, &name_of(&query)), client).unwrap();
                }
                return;
            }
            drop(held);
            assert!(
                begun.elapsed() < DEADLINE,
                "only {} questions are held",
                self.held.lock().unwrap().len()
            );
            std::thread::yield_now();
        }
    }

    fn run(self) {
        let mut packet = [0; 4096];
        while let Ok((length, client)) = self.socket.recv_from(&mut packet) {
            let query = &packet[..length];
            let name = name_of(query).to_ascii_lowercase();
            *self.asked.lock().unwrap().entry(name.clone()).or_default() += 1;
            match name.as_str() {
                "silent.test" => {}
                held if held.starts_with("held") => {
                    self.held.lock().unwrap().push((query.to_vec(), client));
                }
                _ => {
                    // A client that gave up is no failure of ours.
                    let _ = self.socket.send_to(&response(query, &name), client);
                }
            }
        }
    }
}

fn name_of(query: &[u8]) -> String {
    let (mut at, mut name) = (12, String::new());
    while query[at] != 0 {
        let end = at + 1 + usize::from(query[at]);
        if !name.is_empty() {
            name.push('.');
        }
        name.push_str(std::str::from_utf8(&query[at + 1..end]).unwrap());
        at = end;
    }
    name
}

fn response(query: &[u8], name: &str) -> Vec<u8> {
    let question = 12 + labels(name).len() + 4;
    let mut out = query[..question].to_vec();
    let record = |out: &mut Vec<u8>, owner: &[u8], rtype: u16, data: &[u8]| {
        out.extend_from_slice(owner);
        out.extend_from_slice(&rtype.to_be_bytes());
        out.extend_from_slice(&[0, 1, 0, 0, 1, 44]);
        out.extend_from_slice(&(data.len() as u16).to_be_bytes());
        out.extend_from_slice(data);
    };
    let here = &[0xc0, 12][..];
    let (mut rcode, mut counts) = (0, [1u8, 0]);
    match name {
        "gone.test" => {
            (rcode, counts) = (3, [0, 1]);
            let names = [labels("ns.test"), labels("admin.test")].concat();
            let numbers = [0, 0, 0, 60].repeat(5);
            record(&mut out, &labels("test"), 6, &[names, numbers].concat());
        }
        "alias.test" | "alias.excepted.test" => {
            counts = [2, 0];
            let target = labels("ads.blocked.test");
            record(&mut out, here, CNAME, &target);
            record(&mut out, &target, A, &[192, 0, 2, 66]);
        }
        "big.test" => {
            counts = [20, 0];
            for number in 0..20 {
                record(&mut out, here, TXT, &[&[99][..], &[number; 99]].concat());
            }
        }
        _ => record(&mut out, here, A, &[192, 0, 2, 1]),
    }
    out[2] = 0x81;
    out[3] = 0x80 | rcode;
    out[4..12].copy_from_slice(&[0, 1, 0, counts[0], 0, counts[1], 0, 0]);
    out
}

/// A door, its upstream and its ledger.
pub(crate) struct Bench {
    pub(crate) door: Arc<DnsDoor>,
    pub(crate) upstream: Upstream,
    pub(crate) policy: Arc<ArcSwap<Policy>>,
    pub(crate) ledger: Ledger,
    pub(crate) settings: Settings,
    pub(crate) cores: Arc<Cores>,
    pub(crate) drain: Drain,
    /// What files of the settings are relative to; the authority is in `ca/ca.pem`.
    pub(crate) folder: PathBuf,
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.door.close();
        self.ledger.close();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Bench {
    /// A door that listens at these places besides, all of them on a port of loopback.
    pub(crate) fn listening(schemes: &[&str], change: impl FnOnce(&mut Settings)) -> Self {
        Self::start(|settings| {
            for entry in schemes {
                let (scheme, path) = entry.split_once('/').unwrap_or((entry, ""));
                let slash = if path.is_empty() { "" } else { "/" };
                let listen = format!("{scheme}://127.0.0.1:0{slash}{path}");
                settings.listen.push(listen.parse::<vocab::Listen>().unwrap().into());
            }
            change(settings);
        })
    }

    /// A door on loopback, UDP and TCP, with `change` made to its settings.
    pub(crate) fn start(change: impl FnOnce(&mut Settings)) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder =
            std::env::temp_dir().join(format!("tidegate-dns-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let upstream = Upstream::start();
        let mut settings = Settings {
            listen: ["udp://127.0.0.1:0", "tcp://127.0.0.1:0"]
                .map(|entry| entry.parse::<vocab::Listen>().unwrap().into())
                .into(),
            upstreams: vec![format!("udp://{}", upstream.address).as_str().into()],
            ..Settings::default()
        };
        change(&mut settings);
        assert_eq!(settings.check(), []);
        let ledger = test_support::open_ledger(&folder);
        let client_tls = transport::ClientTls::new();
        let resolver = Resolver::start(&settings.resolver(), client_tls.clone()).unwrap();
        let around = door_dns::EffectsEnv {
            dialer: origins::Dialer::new(resolver.clone(), client_tls),
            reload: Arc::new(|_| {}),
            check: Arc::new(|_| Ok(())),
            log: Arc::new(|_| {}),
        };
        let drain = Drain::new();
        let cores = Arc::new(Cores::start(NonZeroUsize::new(2).unwrap()).unwrap());
        let signer =
            Signer::open(&folder.join("ca"), Arc::new(MintNothing), transport::clock::now())
                .unwrap();
        let policy = Arc::new(ArcSwap::from_pointee(policy(RULES)));
        let parts = DnsParts {
            trust: Arc::default(),
            policy: Arc::clone(&policy),
            resolver,
            ledger: ledger.clone(),
            pixel: vec![],
            drain: drain.clone(),
            cores: Arc::clone(&cores),
            signer: Some(Arc::new(signer)),
            base: folder.clone(),
            effects_env: around,
        };
        let door = DnsDoor::new(&settings, parts).unwrap();
        door.listen(&settings, &cores).unwrap();
        Self { door, upstream, policy, ledger, settings, cores, drain, folder }
    }

    pub(crate) fn address(&self, scheme: Scheme) -> SocketAddr {
        let listeners = self.door.listeners();
        listeners.iter().find(|listen| listen.scheme == scheme).unwrap().address
    }

    pub(crate) fn client(&self) -> UdpSocket {
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        client.set_read_timeout(Some(DEADLINE)).unwrap();
        client.connect(self.address(Scheme::Udp)).unwrap();
        client
    }

    /// Sends one datagram and reads one.
    pub(crate) fn exchange(&self, packet: &[u8]) -> Reply {
        let client = self.client();
        client.send(packet).unwrap();
        receive(&client)
    }

    pub(crate) fn ask(&self, name: &str, qtype: u16) -> Reply {
        self.exchange(&query(0x1234, name, qtype))
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address(Scheme::Tcp)).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        stream
    }

    /// What the ledger holds, oldest first.
    pub(crate) fn rows(&self) -> Vec<LogRow> {
        self.ledger.flush();
        let mut rows = self.ledger.rows(&RowFilter::default(), 1000).unwrap().rows;
        rows.reverse();
        rows
    }
}

pub(crate) fn receive(client: &UdpSocket) -> Reply {
    let mut bytes = vec![0; 65_535];
    let length = client.recv(&mut bytes).unwrap();
    bytes.truncate(length);
    Reply { bytes }
}

pub(crate) fn send_framed(stream: &mut TcpStream, packet: &[u8]) {
    let length = (packet.len() as u16).to_be_bytes();
    stream.write_all(&[&length[..], packet].concat()).unwrap();
}

/// The next message of a connection; nothing where it has ended.
pub(crate) fn read_framed(stream: &mut TcpStream) -> Option<Reply> {
    let mut length = [0; 2];
    if stream.read_exact(&mut length).is_err() {
        return None;
    }
    let mut bytes = vec![0; usize::from(u16::from_be_bytes(length))];
    stream.read_exact(&mut bytes).unwrap();
    Some(Reply { bytes })
}
