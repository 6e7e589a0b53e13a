//! Finds the addresses of upstreams that are given by name, before there is anyone else to ask.
//!
//! It asks plain DNS servers given by address, and keeps what they say for its time. A lie costs
//! no more than a failed handshake: what has a name is spoken to over TLS, and must prove it.

use super::exchange_error::ExchangeError;
use super::means::ExchangeMeans;
use dns_wire::{KeyBuffer, WireAnswer, check_response, key_of, record_type, write_query};
use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::net::UdpSocket;
use transport::{DialOptions, dial_udp};
use vocab::DomainName;

/// Where the system's own servers are written, the last resort.
const SYSTEM_FILE: &str = "/etc/resolv.conf";
/// It holds three servers by convention; more are not asked.
const SERVERS_MAX: usize = 8;
/// Addresses of one upstream that are tried, at most.
const ADDRESSES_MAX: usize = 8;
/// What was found is good for no less than so long, whatever its TTL.
const KEEP_MIN: Duration = Duration::from_secs(30);
/// Time of a renewal in the background.
const RENEW_TIMEOUT: Duration = Duration::from_secs(5);
/// A question is sent again when no answer came within so long, and then after twice that.
const RESEND_AFTER: Duration = Duration::from_millis(500);
/// The largest answer taken. We say 1232; some servers send more all the same.
const ANSWER_BYTES_MAX: usize = 4096;

/// Finds the addresses of upstreams that are given by name.
pub(crate) struct BootstrapResolver {
    servers: Vec<SocketAddr>,
    context: Rc<ExchangeMeans>,
    entries: RefCell<HashMap<DomainName, BootstrapEntry>>,
    /// One search at a time: the second finds what the first found.
    search_lock: tokio::sync::Mutex<()>,
}

#[derive(Clone)]
struct BootstrapEntry {
    addresses: Vec<IpAddr>,
    until: Instant,
}

impl BootstrapResolver {
    /// Asks `servers`; if there are none, the system's.
    pub(crate) fn new(servers: Vec<SocketAddr>, context: Rc<ExchangeMeans>) -> Self {
        Self {
            servers,
            context,
            entries: RefCell::default(),
            search_lock: tokio::sync::Mutex::new(()),
        }
    }

    /// Returns whom it asks.
    pub(crate) fn servers(&self) -> &[SocketAddr] {
        &self.servers
    }

    /// The addresses of `name`, within `limit`. The servers are asked with `options`, since an
    /// upstream that is reached through an interface or by a mark would not be found without.
    pub(crate) async fn addresses(
        self: &Rc<Self>,
        name: &DomainName,
        options: &DialOptions,
        limit: Duration,
    ) -> Result<Vec<IpAddr>, ExchangeError> {
        if let Some(addresses) = self.remembered(name, options) {
            return Ok(addresses);
        }
        let searched = async {
            let _turn = self.search_lock.lock().await;
            match self.remembered(name, options) {
                Some(addresses) => Ok(addresses),
                None => self.search(name, options, limit).await,
            }
        };
        tokio::time::timeout(limit, searched).await.unwrap_or(Err(ExchangeError::Timeout))
    }

    /// Returns what is known. If its time is over it is renewed in the background: an old address
    /// that works is better than waiting, and one that does not is found out by dialling it.
    fn remembered(
        self: &Rc<Self>,
        name: &DomainName,
        options: &DialOptions,
    ) -> Option<Vec<IpAddr>> {
        let mut known = self.entries.borrow_mut();
        let entry = known.get_mut(name)?;
        if entry.until <= Instant::now() {
            entry.until = Instant::now() + KEEP_MIN;
            let (this, name, options) = (Rc::clone(self), name.clone(), options.clone());
            tokio::task::spawn_local(async move {
                drop(this.search(&name, &options, RENEW_TIMEOUT).await);
            });
        }
        Some(entry.addresses.clone())
    }

    async fn search(
        &self,
        name: &DomainName,
        options: &DialOptions,
        limit: Duration,
    ) -> Result<Vec<IpAddr>, ExchangeError> {
        let servers = if self.servers.is_empty() { system_servers() } else { self.servers.clone() };
        let begun = Instant::now();
        let mut last = ExchangeError::Unreachable;
        for (asked, server) in servers.iter().enumerate() {
            let left = limit.saturating_sub(begun.elapsed());
            let share = left / u32::try_from(servers.len() - asked).unwrap_or(1);
            // Its source address may be of the other family.
            let source = options.source.filter(|it| it.is_ipv4() == server.is_ipv4());
            let options = DialOptions { source, ..options.clone() };
            let look_up = |qtype| self.look_up(*server, name, qtype, &options, share);
            let (v4, v6) = tokio::join!(look_up(record_type::A), look_up(record_type::AAAA));
            let mut addresses = Vec::new();
            let mut ttl = u32::MAX;
            for found in [v4, v6] {
                match found {
                    Ok(answer) => {
                        ttl = ttl.min(answer.ttl());
                        addresses.extend(answer.addresses());
                    }
                    Err(why) => last = why,
                }
            }
            addresses.truncate(ADDRESSES_MAX);
            if !addresses.is_empty() {
                let keep = Duration::from_secs(ttl.into()).max(KEEP_MIN);
                let known =
                    BootstrapEntry { addresses: addresses.clone(), until: Instant::now() + keep };
                self.entries.borrow_mut().insert(name.clone(), known);
                return Ok(addresses);
            }
        }
        Err(last)
    }

    async fn look_up(
        &self,
        server: SocketAddr,
        name: &DomainName,
        qtype: u16,
        options: &DialOptions,
        limit: Duration,
    ) -> Result<WireAnswer, ExchangeError> {
        let key = key_of(name.as_name(), qtype).ok_or(ExchangeError::BadAnswer)?;
        let mut query = Vec::new();
        let id = self.context.random.number();
        write_query(id, &key, &mut query);
        let asked = async {
            // A socket, and so a port, for each question.
            let socket = dial_udp(server, options).and_then(UdpSocket::from_std);
            let socket = socket.map_err(|_| ExchangeError::Unreachable)?;
            let mut again = RESEND_AFTER;
            loop {
                socket.send(&query).await.map_err(|_| ExchangeError::Unreachable)?;
                match tokio::time::timeout(again, answer(&socket, id, &key)).await {
                    Ok(outcome) => return outcome,
                    Err(_) => again *= 2,
                }
            }
        };
        tokio::time::timeout(limit, asked).await.unwrap_or(Err(ExchangeError::Timeout))
    }
}

/// Waits for the answer to the question within `key`; anything else is somebody else's, or forged.
async fn answer(socket: &UdpSocket, id: u16, key: &[u8]) -> Result<WireAnswer, ExchangeError> {
    let mut buffer = vec![0; ANSWER_BYTES_MAX];
    loop {
        let received: io::Result<usize> = socket.recv(&mut buffer).await;
        let message = &buffer[..received.map_err(|_| ExchangeError::Unreachable)?];
        if check_response(message, id, KeyBuffer::question(key)).is_ok() {
            // A host with more addresses than a datagram holds is no upstream.
            return WireAnswer::from_upstream(message).map_err(|_| ExchangeError::BadAnswer);
        }
    }
}

/// The system's servers; none if they cannot be read. Read anew each time, since networks change.
fn system_servers() -> Vec<SocketAddr> {
    std::fs::read_to_string(SYSTEM_FILE).map_or_else(|_| Vec::new(), |text| servers_in(&text))
}

fn servers_in(text: &str) -> Vec<SocketAddr> {
    text.lines()
        .filter_map(|line| line.trim_start().strip_prefix("nameserver"))
        .filter(|rest| rest.starts_with(char::is_whitespace))
        .filter_map(|rest| rest.split_whitespace().next()?.parse::<IpAddr>().ok())
        .map(|ip| SocketAddr::new(ip, 53))
        .take(SERVERS_MAX)
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A test fails by panicking.
    use super::*;

    #[test]
    fn the_systems_servers_are_read_from_its_file() {
        let text = "# made by hand\nsearch lan\nnameserver 9.9.9.9\n nameserver\t2620:fe::fe # x\n\
                    nameserverx 1.1.1.1\nnameserver fe80::1%eth0\n";
        let expected: Vec<SocketAddr> =
            vec!["9.9.9.9:53".parse().unwrap(), "[2620:fe::fe]:53".parse().unwrap()];
        assert_eq!(servers_in(text), expected);
    }
}
