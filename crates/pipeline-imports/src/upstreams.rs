//! Upstreams of a `forward`, as settings.

use crate::steps::ForwardUse;
use mosdns_compat::language::{AnswerChoice, PipeliningMode, UpstreamSpec, VerifyCertificate};
use serde_json::{Map, Value, json};
use std::collections::{BTreeSet, HashSet};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use vocab::{NEAR_NETWORKS, Network, TimeSpan};

/// Time that an upstream may take where nothing is said, in both peers and here.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Names of one upstream, at most.
const DOMAINS_MAX: usize = 4096;

/// Upstreams in the making, with what holds for all of them.
#[derive(Debug, Default)]
pub(crate) struct UpstreamTable {
    pub(crate) upstreams: Vec<Value>,
    names: HashSet<String>,
    bootstrap: BTreeSet<SocketAddr>,
    timeout: Option<Duration>,
}

/// Manner in which several upstreams are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GroupManner {
    pub(crate) concurrent: u8,
    pub(crate) selection: AnswerChoice,
}

impl GroupManner {
    pub(crate) fn of(forward: &ForwardUse<'_>) -> Self {
        Self { concurrent: forward.plugin.concurrent, selection: forward.plugin.selection }
    }

    /// The word of `dns.strategy`.
    pub(crate) fn strategy(self) -> &'static str {
        if self.concurrent > 1 { "race" } else { "random" }
    }

    /// The word of `dns.response_selection`.
    pub(crate) fn selection(self) -> &'static str {
        match self.selection {
            AnswerChoice::First => "first",
            AnswerChoice::Fastest => "fastest",
            AnswerChoice::Balanced => "balanced",
            AnswerChoice::PreferPositive => "prefer_positive",
            AnswerChoice::Consensus => "consensus",
        }
    }
}

impl UpstreamTable {
    /// Adds upstreams that are asked about everything.
    pub(crate) fn add(&mut self, forward: &ForwardUse<'_>) {
        self.add_for(forward, &[]);
    }

    /// Adds upstreams that are asked about these names and those below.
    pub(crate) fn add_for(&mut self, forward: &ForwardUse<'_>, domains: &[String]) {
        for spec in &forward.chosen {
            self.bootstrap.extend(spec.bootstrap.iter().chain(&spec.profile_servers));
            let timeout = spec.timeout.unwrap_or(TIMEOUT);
            self.timeout = self.timeout.max(Some(timeout));
            let mut keys = details(spec);
            if domains.is_empty() {
                self.push(spec, keys);
                continue;
            }
            for part in domains.chunks(DOMAINS_MAX) {
                keys.insert("domains".into(), json!(part));
                self.push(spec, keys.clone());
            }
        }
    }

    fn push(&mut self, spec: &UpstreamSpec, mut keys: Map<String, Value>) {
        let wanted = if spec.tag.is_empty() { &spec.address } else { &spec.tag };
        let numbered = (2..).map(|number| format!("{wanted} ({number})"));
        let mut names = std::iter::once(wanted.clone()).chain(numbered);
        let name = names.find(|name| !self.names.contains(name)).unwrap_or_default();
        if name != spec.address {
            keys.insert("name".into(), name.clone().into());
        }
        self.names.insert(name);
        let is_address = keys.len() == 1;
        self.upstreams.push(match keys.remove("address") {
            Some(address) if is_address => address,
            Some(address) => {
                keys.insert("address".into(), address);
                keys.into()
            }
            None => keys.into(),
        });
    }

    /// Takes over what holds for all groups.
    pub(crate) fn join(&mut self, other: &Self) {
        self.bootstrap.extend(&other.bootstrap);
        self.timeout = self.timeout.max(other.timeout);
    }

    /// Servers that find names.
    pub(crate) fn bootstrap(&self) -> Vec<String> {
        let plain = |it: &SocketAddr| match it.port() {
            53 => it.ip().to_string(),
            _ => it.to_string(),
        };
        self.bootstrap.iter().map(plain).collect()
    }

    /// The time for a question, where it is not the usual one.
    pub(crate) fn timeout(&self) -> Option<String> {
        let long = self.timeout.filter(|it| *it != TIMEOUT)?;
        Some(TimeSpan(long.clamp(Duration::from_millis(100), Duration::from_secs(30))).to_string())
    }
}

/// The keys of an upstream.
fn details(spec: &UpstreamSpec) -> Map<String, Value> {
    let mut keys = Map::new();
    keys.insert("address".into(), spec.address.clone().into());
    let mut set = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            keys.insert(key.into(), value);
        }
    };
    set("dial", spec.dial.clone().map(Value::from));
    set(
        "family",
        match spec.bootstrap_version {
            Some(4) => Some("ipv4".into()),
            Some(6) => Some("ipv6".into()),
            Some(_) | None => None,
        },
    );
    set("interface", spec.interface.clone().map(Value::from));
    set("mark", spec.mark.map(Value::from));
    set("socks5", spec.socks5.clone().map(Value::from));
    set("verify", (spec.verify == VerifyCertificate::No).then(|| "none".into()));
    set("pipeline", (spec.pipeline == PipeliningMode::Off).then(|| "off".into()));
    set("idle", spec.idle.map(|it| TimeSpan(it).to_string().into()));
    set("connections", spec.connections.map(Value::from));
    let standing = Some(spec.min_connections).filter(|least| *least > 0);
    set("min_connections", standing.map(Value::from));
    // The peers pass on what they are told, whoever may have told it.
    set("trust_ad", (!is_trusted(spec)).then(|| "on".into()));
    keys
}

/// True if nobody else can answer in its place, so that its AD flag is passed on by itself.
fn is_trusted(spec: &UpstreamSpec) -> bool {
    let is_plain = spec.address.starts_with("udp://") || spec.address.starts_with("tcp://");
    if is_plain {
        ip_of(spec).is_some_and(|ip| ip.is_loopback())
    } else {
        spec.verify != VerifyCertificate::No
    }
}

fn ip_of(spec: &UpstreamSpec) -> Option<IpAddr> {
    let rest = spec.address.split_once("://").map_or("", |(_, rest)| rest);
    let authority = rest.split('/').next().unwrap_or_default();
    let dialled = spec.dial.as_deref().and_then(|it| it.parse().ok());
    dialled.or_else(|| authority.parse::<SocketAddr>().ok().map(|it| it.ip()))
}

/// Addresses of upstreams that stand in a network of one's own, which know its reverse names.
pub(crate) fn near(forward: &ForwardUse<'_>) -> Vec<Value> {
    let networks: Vec<Network> = NEAR_NETWORKS.iter().filter_map(|it| it.parse().ok()).collect();
    let is_near = |spec: &&&UpstreamSpec| {
        ip_of(spec).is_some_and(|ip| networks.iter().any(|network| network.contains(ip)))
    };
    let plain = |spec: &&UpstreamSpec| {
        let mut keys = details(spec);
        keys.remove("trust_ad");
        match keys.len() {
            1 => Value::from(spec.address.clone()),
            _ => keys.into(),
        }
    };
    forward.chosen.iter().filter(is_near).map(plain).collect()
}
