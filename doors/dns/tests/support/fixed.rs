//! An upstream that says the same to everybody, down to the byte, and doors that are a mosdns file.
#![allow(clippy::unwrap_used)] // A test that cannot set itself up has failed.
#![allow(dead_code)] // Each test file uses its part of it.

use door_dns::ForeignConfig;
use mosdns_compat::language::{self, ForeignFiles, PathBase};
use serde_json::{Value, json};
use std::io;
use std::net::UdpSocket;
use std::sync::{Arc, Mutex};
use vocab::Complaint;

/// A record whose owner is the name asked for; it lives 300 s.
pub(crate) fn record(rtype: u16, data: &[u8]) -> Vec<u8> {
    let head = [&[0xc0, 12][..], &rtype.to_be_bytes(), &[0, 1, 0, 0, 1, 44]].concat();
    [&head[..], &(data.len() as u16).to_be_bytes(), data].concat()
}

/// Options as they stand in OPT.
pub(crate) fn options_of(all: &[(u16, &[u8])]) -> Vec<u8> {
    let one = |(code, data): &(u16, &[u8])| {
        [&code.to_be_bytes()[..], &(data.len() as u16).to_be_bytes(), data].concat()
    };
    all.iter().flat_map(one).collect()
}

/// `query`, which ends with an empty OPT, with these options.
pub(crate) fn with_options(mut query: Vec<u8>, all: &[(u16, &[u8])]) -> Vec<u8> {
    let options = options_of(all);
    let length = query.len() - 2;
    query[length..].copy_from_slice(&(options.len() as u16).to_be_bytes());
    query.extend(options);
    query
}

/// An upstream that answers everything with these records (so many answers, then as many of
/// authority, then additional ones) and options; its address, and the queries that it got. AD is
/// always set.
pub(crate) fn upstream(
    counts: [u8; 3],
    records: Vec<u8>,
    options: Option<Vec<u8>>,
) -> (String, Arc<Mutex<Vec<Vec<u8>>>>) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = format!("udp://{}", socket.local_addr().unwrap());
    let seen: Arc<Mutex<Vec<Vec<u8>>>> = Arc::default();
    let kept = Arc::clone(&seen);
    std::thread::spawn(move || {
        let mut packet = [0; 4096];
        while let Ok((length, client)) = socket.recv_from(&mut packet) {
            kept.lock().unwrap().push(packet[..length].to_vec());
            let name = packet[12..].iter().position(|byte| *byte == 0).unwrap();
            let mut reply = packet[..12 + name + 5].to_vec();
            reply[2..4].copy_from_slice(&[0x81, 0xa0]);
            let more = counts[2] + u8::from(options.is_some());
            reply[4..12].copy_from_slice(&[0, 1, 0, counts[0], 0, counts[1], 0, more]);
            reply.extend(&records);
            if let Some(options) = &options {
                reply.extend([0, 0, 41, 4, 208, 0, 0, 0, 0]);
                reply.extend((options.len() as u16).to_be_bytes());
                reply.extend(options);
            }
            // A client that gave up is no failure of ours.
            let _ = socket.send_to(&reply, client);
        }
    });
    (address, seen)
}

struct NoFiles;

impl ForeignFiles for NoFiles {
    fn read(&self, _: &str) -> io::Result<Vec<u8>> {
        Err(io::Error::other("no such file"))
    }
    fn is_missing(&self, _: &str) -> bool {
        true
    }
    fn read_document(&self, _: &str, _: PathBase) -> Result<Value, Complaint> {
        Err(Complaint::new("", "no such file"))
    }
    fn variable(&self, _: &str) -> Option<String> {
        None
    }
}

/// A mosdns file of these plugins and these rules, for a door that says itself where to listen.
pub(crate) fn foreign(plugins: &Value, rules: &Value) -> ForeignConfig {
    let mut all = plugins.as_array().unwrap().clone();
    all.push(json!({ "tag": "main", "type": "sequence", "args": rules }));
    let listen = json!({ "entry": "main", "listen": "127.0.0.1:0" });
    all.push(json!({ "tag": "server", "type": "udp_server", "args": listen }));
    let read = language::read(&json!({ "plugins": all }), &NoFiles).unwrap();
    let compiled = mosdns_compat::compile::compile(&read, 1, &NoFiles).unwrap();
    ForeignConfig::new(compiled).unwrap().without_servers()
}
