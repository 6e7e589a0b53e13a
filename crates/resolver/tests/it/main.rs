//! The resolver against upstreams that answer, lie, stall and vanish, over real sockets.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod asking;
mod cache;
mod engines;
mod fake;
mod fastest;
mod groups;
mod hostile;
mod keeping;
mod second_level;
mod selection;
mod streams;

use dns_wire::record_type;
use fake::{DEADLINE, Fake};
use resolver::{
    GroupSettings, PlainServer, Resolution, ResolveError, Resolver, ResolverQuestion,
    ResolverSettings, SelectionStrategy, UpstreamSettings,
};
use settings::Text;
use std::net::IpAddr;
use std::time::Duration;
use transport::ClientTls;
use vocab::{DomainName, TimeSpan};

/// Long enough for loopback on a busy machine, short enough for a test that runs into it.
const TIMEOUT: Duration = Duration::from_millis(1500);

fn settings(upstreams: &[String]) -> ResolverSettings {
    let group = GroupSettings {
        upstreams: upstreams.iter().map(|it| UpstreamSettings::Address(it.clone())).collect(),
        strategy: SelectionStrategy::Ordered,
        timeout: Text(TimeSpan(TIMEOUT)),
        ..GroupSettings::default()
    };
    let mut settings = ResolverSettings { groups: vec![group], ..ResolverSettings::default() };
    settings.caches[0].stale_after = Text(TimeSpan(Duration::from_millis(300)));
    settings
}

fn udp(fake: &Fake) -> String {
    format!("udp://{}", fake.plain)
}

fn start(settings: &ResolverSettings) -> Resolver {
    Resolver::start(settings, ClientTls::new()).unwrap()
}

/// A resolver that trusts `fake` and asks it by its name at `url`, which it learns from `fake`.
fn trusting(fake: &Fake, url: String) -> Resolver {
    let mut settings = settings(&[url]);
    settings.groups[0].bootstrap = vec![Text(PlainServer(fake.plain))];
    Resolver::start(&settings, ClientTls::new().trusting(fake.pem.as_bytes()).unwrap()).unwrap()
}

fn question(name: &str) -> ResolverQuestion {
    ResolverQuestion::internal(DomainName::parse(name).unwrap().as_name(), record_type::A).unwrap()
}

async fn ask(resolver: &Resolver, name: &str) -> Resolution {
    tokio::time::timeout(DEADLINE, resolver.resolve(question(name))).await.unwrap()
}

fn addresses(resolution: &Resolution) -> Vec<IpAddr> {
    resolution.result.as_ref().unwrap().0.addresses().collect()
}

fn error(resolution: &Resolution) -> ResolveError {
    *resolution.result.as_ref().unwrap_err()
}
