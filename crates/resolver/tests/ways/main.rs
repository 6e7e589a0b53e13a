//! How upstreams are reached, against servers over real sockets that answer, lie, hang, close and
//! babble: streams, TLS with pins, QUIC, proxies, and proofs over UDP.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod bootstrap;
mod certificate;
mod https;
mod messages;
mod proofs;
mod proxy;
mod quic;
mod quic_server;
mod stream_server;
mod streams;

use certificate::Certificate;
use dns_wire::record_type;
use resolver::{
    GroupSettings, PlainServer, Resolution, ResolveError, Resolver, ResolverQuestion,
    ResolverSettings, UpstreamDetails, UpstreamSettings,
};
use settings::Text;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;
use transport::ClientTls;
use vocab::{DomainName, TimeSpan};

/// Longest wait for anything in these tests.
const DEADLINE: Duration = Duration::from_secs(20);
/// Long enough for loopback on a busy machine, short enough for a test that runs into it.
const TIMEOUT: Duration = Duration::from_secs(4);
/// What the servers answer with.
const ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7));

/// Settings for one upstream, found through this bootstrap server.
fn settings(details: UpstreamDetails, bootstrap: Option<SocketAddr>) -> ResolverSettings {
    let group = GroupSettings {
        upstreams: vec![UpstreamSettings::Detailed(details)],
        bootstrap: bootstrap.into_iter().map(|it| Text(PlainServer(it))).collect(),
        timeout: Text(TimeSpan(TIMEOUT)),
        ..GroupSettings::default()
    };
    ResolverSettings { groups: vec![group], ..ResolverSettings::default() }
}

/// A resolver with one upstream, whose certificate's authority it trusts.
fn start(details: UpstreamDetails, certificate: &Certificate) -> Resolver {
    Resolver::start(&settings(details, None), certificate.trusted()).unwrap()
}

/// The same where there is no certificate.
fn start_plain(details: UpstreamDetails) -> Resolver {
    Resolver::start(&settings(details, None), ClientTls::new()).unwrap()
}

fn at(address: String) -> UpstreamDetails {
    UpstreamDetails { address, ..UpstreamDetails::default() }
}

async fn ask(resolver: &Resolver, name: &str) -> Resolution {
    let name = DomainName::parse(name).unwrap();
    let question = ResolverQuestion::internal(name.as_name(), record_type::A).unwrap();
    tokio::time::timeout(DEADLINE, resolver.resolve(question)).await.unwrap()
}

/// Asks about as many names at once, all of which must be answered.
async fn ask_many(resolver: &Resolver, prefix: &str, count: usize) {
    let mut asking = tokio::task::JoinSet::new();
    for i in 0..count {
        let (resolver, name) = (resolver.clone(), format!("{prefix}{i}.example"));
        asking.spawn(async move { ask(&resolver, &name).await });
    }
    while let Some(found) = asking.join_next().await {
        assert_eq!(addresses(&found.unwrap()), [ADDRESS]);
    }
}

fn addresses(resolution: &Resolution) -> Vec<IpAddr> {
    resolution.result.as_ref().unwrap().0.addresses().collect()
}

fn error(resolution: &Resolution) -> ResolveError {
    *resolution.result.as_ref().unwrap_err()
}

/// Waits until `holds`, which the other side brings about.
async fn eventually(what: &str, holds: impl Fn() -> bool) {
    let waiting = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(DEADLINE, waiting).await.unwrap_or_else(|_| panic!("not in time: {what}"));
}
