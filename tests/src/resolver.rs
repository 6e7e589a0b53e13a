//! An upstream resolver that the test controls: it answers A, AAAA and SRV questions from a table
//! over UDP and TCP, counts what it was asked, and can be silenced. The table may change while it
//! runs.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

#[derive(Clone, Debug)]
pub enum Reply {
    /// One A record, TTL 300.
    Address(Ipv4Addr),
    /// An A record with another TTL, in seconds.
    AddressFor(Ipv4Addr, u32),
    /// A CNAME to a name, and the name's A record.
    Alias(String, Ipv4Addr),
    /// A and AAAA records, with a TTL in seconds.
    Addresses(Vec<IpAddr>, u32),
    /// SRV records (priority, weight, port, target), with a TTL in seconds.
    Services(Vec<(u16, u16, u16, String)>, u32),
    /// SERVFAIL.
    Failure,
}

#[derive(Debug)]
pub struct Resolver {
    pub address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
    silent: Arc<AtomicBool>,
    table: Arc<Mutex<HashMap<String, Reply>>>,
}

impl Resolver {
    /// Starts on a free port of loopback. Names outside the table are NXDOMAIN.
    pub fn start(table: &[(&str, Reply)]) -> Self {
        Self::start_at("127.0.0.1:0".parse().unwrap(), table)
    }

    pub fn start_at(address: SocketAddr, table: &[(&str, Reply)]) -> Self {
        let table: HashMap<String, Reply> =
            table.iter().map(|(name, reply)| ((*name).to_owned(), reply.clone())).collect();
        let table = Arc::new(Mutex::new(table));
        // A free port may be somebody's for the other protocol; a port that was named may not.
        let (udp, tcp) = loop {
            let udp = UdpSocket::bind(address).unwrap();
            match TcpListener::bind(udp.local_addr().unwrap()) {
                Ok(tcp) => break (udp, tcp),
                Err(why) => assert!(address.port() == 0, "{address}: {why}"),
            }
        };
        let address = udp.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let silent = Arc::new(AtomicBool::new(false));
        let resolver = Self {
            address,
            asked: Arc::clone(&asked),
            silent: Arc::clone(&silent),
            table: Arc::clone(&table),
        };
        let answer = move |packet: &[u8]| -> Option<Vec<u8>> {
            let name = question_name(packet)?;
            asked.lock().unwrap().push(name.clone());
            if silent.load(Ordering::Relaxed) {
                return None;
            }
            Some(reply(packet, table.lock().unwrap().get(&name)))
        };
        let answer_tcp = answer.clone();
        std::thread::spawn(move || {
            let mut packet = [0; 4096];
            while let Ok((len, peer)) = udp.recv_from(&mut packet) {
                if let Some(bytes) = answer(&packet[..len]) {
                    let _ = udp.send_to(&bytes, peer);
                }
            }
        });
        std::thread::spawn(move || {
            for mut stream in tcp.incoming().map_while(Result::ok) {
                let answer = answer_tcp.clone();
                std::thread::spawn(move || {
                    let mut head = [0; 2];
                    while stream.read_exact(&mut head).is_ok() {
                        let mut packet = vec![0; u16::from_be_bytes(head).into()];
                        if stream.read_exact(&mut packet).is_err() {
                            return;
                        }
                        if let Some(bytes) = answer(&packet) {
                            let mut framed = (bytes.len() as u16).to_be_bytes().to_vec();
                            framed.extend(bytes);
                            let _ = stream.write_all(&framed);
                        }
                    }
                });
            }
        });
        resolver
    }

    /// The names asked so far, in order.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    pub fn count(&self, name: &str) -> usize {
        self.asked().iter().filter(|asked| *asked == name).count()
    }

    /// From now on it answers so.
    pub fn set(&self, name: &str, reply: Reply) {
        self.table.lock().unwrap().insert(name.to_owned(), reply);
    }

    /// From now on there is no such name.
    pub fn forget(&self, name: &str) {
        self.table.lock().unwrap().remove(name);
    }

    /// From now on it hears and says nothing.
    pub fn silence(&self) {
        self.silent.store(true, Ordering::Relaxed);
    }
}

fn question_name(packet: &[u8]) -> Option<String> {
    let mut labels = Vec::new();
    let mut at = 12;
    loop {
        let len = usize::from(*packet.get(at)?);
        if len == 0 {
            return Some(labels.join("."));
        }
        labels.push(String::from_utf8_lossy(packet.get(at + 1..at + 1 + len)?).to_lowercase());
        at += 1 + len;
    }
}

fn wire_name(name: &str) -> Vec<u8> {
    let mut wire = Vec::new();
    for label in name.split('.') {
        wire.push(label.len() as u8);
        wire.extend(label.as_bytes());
    }
    wire.push(0);
    wire
}

fn reply(packet: &[u8], found: Option<&Reply>) -> Vec<u8> {
    let question_end = 12 + wire_name(&question_name(packet).unwrap()).len() + 4;
    let question = &packet[12..question_end];
    let qtype = u16::from_be_bytes([question[question.len() - 4], question[question.len() - 3]]);
    let mut answers: Vec<Vec<u8>> = Vec::new();
    let record = |owner: &[u8], rtype: u16, ttl: u32, data: &[u8]| {
        let mut bytes = owner.to_vec();
        bytes.extend(rtype.to_be_bytes());
        bytes.extend(1u16.to_be_bytes());
        bytes.extend(ttl.to_be_bytes());
        bytes.extend((data.len() as u16).to_be_bytes());
        bytes.extend(data);
        bytes
    };
    let asked_name = [0xc0, 12];
    match found {
        Some(Reply::Address(ip)) if qtype == 1 => {
            answers.push(record(&asked_name, 1, 300, &ip.octets()));
        }
        Some(Reply::AddressFor(ip, ttl)) if qtype == 1 => {
            answers.push(record(&asked_name, 1, *ttl, &ip.octets()));
        }
        Some(Reply::Alias(target, ip)) => {
            let wire = wire_name(target);
            answers.push(record(&asked_name, 5, 300, &wire));
            if qtype == 1 {
                answers.push(record(&wire, 1, 300, &ip.octets()));
            }
        }
        Some(Reply::Addresses(ips, ttl)) => {
            for ip in ips {
                match ip {
                    IpAddr::V4(v4) if qtype == 1 => {
                        answers.push(record(&asked_name, 1, *ttl, &v4.octets()));
                    }
                    IpAddr::V6(v6) if qtype == 28 => {
                        answers.push(record(&asked_name, 28, *ttl, &v6.octets()));
                    }
                    IpAddr::V4(_) | IpAddr::V6(_) => {}
                }
            }
        }
        Some(Reply::Services(rows, ttl)) if qtype == 33 => {
            for (priority, weight, port, target) in rows {
                let mut data = [*priority, *weight, *port].map(u16::to_be_bytes).concat();
                data.extend(wire_name(target));
                answers.push(record(&asked_name, 33, *ttl, &data));
            }
        }
        Some(Reply::Address(_) | Reply::AddressFor(..) | Reply::Services(..) | Reply::Failure)
        | None => {}
    }
    let mut bytes = packet[..2].to_vec();
    let rcode = match found {
        Some(Reply::Failure) => 2,
        Some(_) => 0,
        None => 3,
    };
    bytes.extend([0x81 | (packet[2] & 1), 0x80 | rcode]);
    for count in [1u16, answers.len() as u16, 0, 0] {
        bytes.extend(count.to_be_bytes());
    }
    bytes.extend(question);
    bytes.extend(answers.concat());
    bytes
}
