//! Upstreams in the making: whom to ask, about everything or about some names.

use crate::{stamps, words};
use serde_json::{Map, Value, json};
use std::net::{IpAddr, SocketAddr};

/// Names of one upstream, at most; more make another entry of the same address.
const DOMAINS_MAX: usize = 4096;

/// An upstream as a program writes it, in our words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UpstreamWord {
    pub(crate) address: String,
    /// IP address that is connected to.
    pub(crate) dial: Option<String>,
    /// The difference, where there is one.
    pub(crate) difference: Option<&'static str>,
}

impl UpstreamWord {
    fn plain(address: String) -> Self {
        Self { address, dial: None, difference: None }
    }
}

/// Reads an upstream as AdGuard Home and blocky write them: `1.1.1.1`, `tls://dns.example`,
/// `h3://…`, `sdns://…`. An error says why it is none of ours.
pub(crate) fn read(text: &str) -> Result<UpstreamWord, &'static str> {
    const BY_NAME: &str = "a plain DNS server is asked by its IP address";
    let text = text.trim();
    if text.starts_with("sdns://") {
        let server = stamps::read(text).ok_or("this stamp is DNSCrypt's, which is not spoken")?;
        return Ok(UpstreamWord { dial: server.dial, ..UpstreamWord::plain(server.address) });
    }
    let Some((scheme, rest)) = text.split_once("://") else {
        return plain(text).map(|it| UpstreamWord::plain(format!("udp://{it}"))).ok_or(BY_NAME);
    };
    if rest.is_empty() || rest.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err("this is no address");
    }
    let rest = rest.split('#').next().unwrap_or(rest);
    match scheme {
        "udp" | "tcp" => {
            let server = plain(rest.trim_end_matches('/')).ok_or(BY_NAME)?;
            Ok(UpstreamWord::plain(format!("{scheme}://{server}")))
        }
        "tls" | "https" | "quic" => Ok(UpstreamWord::plain(format!("{scheme}://{rest}"))),
        "h3" => Ok(UpstreamWord {
            difference: Some("HTTP/3 is not spoken to upstreams: HTTP/2 is"),
            ..UpstreamWord::plain(format!("https://{rest}"))
        }),
        _ => Err("no such protocol is spoken to upstreams"),
    }
}

/// An IP address with or without a port, as addresses of ours hold it.
pub(crate) fn plain(text: &str) -> Option<String> {
    let text = text.trim();
    if let Ok(socket) = text.parse::<SocketAddr>() {
        return Some(socket.to_string());
    }
    let bare = text.strip_prefix('[').and_then(|it| it.strip_suffix(']')).unwrap_or(text);
    match bare.parse::<IpAddr>().ok()? {
        IpAddr::V4(ip) => Some(ip.to_string()),
        IpAddr::V6(ip) => Some(format!("[{ip}]")),
    }
}

/// Upstreams of a configuration, each address once for all of its names.
#[derive(Debug, Default)]
pub(crate) struct UpstreamTable(Vec<UpstreamRow>);

#[derive(Debug)]
struct UpstreamRow {
    address: String,
    /// Further keys.
    more: Map<String, Value>,
    /// None for an upstream that is asked about everything.
    domains: Option<Vec<String>>,
}

impl UpstreamTable {
    /// Adds an upstream that is asked about everything.
    pub(crate) fn add(&mut self, word: &UpstreamWord) {
        self.add_with(word, &[], Map::new());
    }

    /// Adds an upstream that is asked about names and those below; about everything without names.
    pub(crate) fn add_for(&mut self, word: &UpstreamWord, domains: &[String]) {
        self.add_with(word, domains, Map::new());
    }

    /// The same, with further keys.
    pub(crate) fn add_with(
        &mut self,
        word: &UpstreamWord,
        domains: &[String],
        mut more: Map<String, Value>,
    ) {
        if let Some(dial) = &word.dial {
            more.insert("dial".into(), json!(dial));
        }
        let is_general = domains.is_empty();
        let known = self.0.iter_mut().rev().find(|row| {
            let has_room = row.domains.as_ref().is_none_or(|it| it.len() < DOMAINS_MAX);
            row.address == word.address
                && row.more == more
                && row.domains.is_none() == is_general
                && has_room
        });
        match known {
            Some(row) => {
                if let Some(known) = &mut row.domains {
                    for domain in domains {
                        // The rest goes to another entry by the caller's next call.
                        if known.len() < DOMAINS_MAX && known.last() != Some(domain) {
                            known.push(domain.clone());
                        }
                    }
                }
            }
            None => self.0.push(UpstreamRow {
                address: word.address.clone(),
                more,
                domains: (!is_general).then(|| domains.to_vec()),
            }),
        }
    }

    /// True if one is asked about everything.
    pub(crate) fn has_general(&self) -> bool {
        self.0.iter().any(|row| row.domains.is_none())
    }

    /// True if there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Upstreams that are asked about everything.
    pub(crate) fn general(&self) -> Vec<UpstreamWord> {
        let general = self.0.iter().filter(|row| row.domains.is_none());
        let word = |row: &UpstreamRow| UpstreamWord {
            dial: row.more.get("dial").and_then(Value::as_str).map(str::to_owned),
            ..UpstreamWord::plain(row.address.clone())
        };
        general.map(word).collect()
    }

    /// The list as our setting has it.
    pub(crate) fn value(&self) -> Value {
        let mut seen = std::collections::BTreeMap::<String, usize>::new();
        let entry = |row: &UpstreamRow| {
            let count = seen.entry(row.address.clone()).or_default();
            *count += 1;
            if row.more.is_empty() && row.domains.is_none() {
                return json!(row.address);
            }
            let mut entry = row.more.clone();
            entry.insert("address".into(), json!(row.address));
            if *count > 1 {
                entry.insert("name".into(), json!(format!("{} {count}", row.address)));
            }
            if let Some(domains) = &row.domains {
                let mut domains = domains.clone();
                domains.sort_unstable();
                domains.dedup();
                entry.insert("domains".into(), json!(domains));
            }
            Value::Object(entry)
        };
        self.0.iter().map(entry).collect()
    }
}

/// Names between slashes, as in `/example.com/example.net/`; and those that are no names of ours.
pub(crate) fn slashed_names(text: &str) -> (Vec<String>, Vec<&str>) {
    let (mut names, mut others) = (Vec::new(), Vec::new());
    for part in text.split('/').filter(|it| !it.is_empty()) {
        let bare = part.trim_start_matches("*.").trim_start_matches('.');
        match words::name(bare) {
            Some(name) => names.push(name),
            None => others.push(part),
        }
    }
    (names, others)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_said_in_our_words() {
        let address = |text: &str| read(text).map(|it| it.address);
        assert_eq!(address("1.1.1.1"), Ok("udp://1.1.1.1".into()));
        assert_eq!(address("2620:fe::fe"), Ok("udp://[2620:fe::fe]".into()));
        assert_eq!(address("[::1]:5335"), Ok("udp://[::1]:5335".into()));
        assert_eq!(address("tcp://127.0.0.1:5335"), Ok("tcp://127.0.0.1:5335".into()));
        assert_eq!(
            address("h3://dns.example/dns-query"),
            Ok("https://dns.example/dns-query".into())
        );
        assert!(address("dns.example").is_err() && address("udp://dns.example").is_err());
        assert!(address("dnscrypt://x").is_err() && address("tls://a b").is_err());
    }

    #[test]
    fn an_address_stands_once_for_all_its_names() {
        let mut table = UpstreamTable::default();
        let router = read("192.168.1.1").unwrap();
        table.add(&read("tls://1.1.1.1").unwrap());
        table.add_for(&router, &["lan".into()]);
        table.add_for(&router, &["home".into()]);
        let due = json!(["tls://1.1.1.1", { "address": "udp://192.168.1.1", "domains": ["home", "lan"] }]);
        assert_eq!(table.value(), due);
        assert!(table.has_general());
    }
}
