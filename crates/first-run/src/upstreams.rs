//! Resolvers that a first run offers: those in force, those of the network, and public ones.

use admin_api::UpstreamChoice;
use std::net::IpAddr;

/// Public resolvers, a line each.
const PUBLIC: &str = include_str!("upstreams.txt");
/// Resolvers of the network that are offered.
const LOCAL_MAX: usize = 4;

/// Resolvers that could be asked: those in force first, then those that this machine asks.
pub fn upstream_choices(in_force: &[String], local: &[IpAddr]) -> Vec<UpstreamChoice> {
    let known: Vec<UpstreamChoice> = public().collect();
    let is_ours = |address: &&IpAddr| !address.is_loopback();
    let local = local.iter().filter(is_ours).take(LOCAL_MAX).map(|address| UpstreamChoice {
        name: format!("this network's ({address})"),
        url: match address {
            IpAddr::V4(v4) => format!("udp://{v4}"),
            IpAddr::V6(v6) => format!("udp://[{v6}]"),
        },
        note: "this machine asks it now; questions cross the network in clear".into(),
        current: false,
    });
    let mut offered: Vec<UpstreamChoice> = Vec::new();
    for url in in_force {
        let known = known.iter().find(|it| it.url == *url).cloned();
        let other = || UpstreamChoice { name: url.clone(), url: url.clone(), ..<_>::default() };
        offered.push(UpstreamChoice { current: true, ..known.unwrap_or_else(other) });
    }
    for choice in known.iter().cloned().chain(local) {
        if !offered.iter().any(|it| it.url == choice.url) {
            offered.push(choice);
        }
    }
    offered
}

/// Addresses of the resolvers that are asked where nobody chooses any: as in the built-in
/// configuration.
pub(crate) fn usual() -> Vec<String> {
    vec!["https://dns.quad9.net/dns-query".into(), "tls://1.1.1.1".into()]
}

fn public() -> impl Iterator<Item = UpstreamChoice> {
    let lines = PUBLIC.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| {
        let mut parts = line.split('|').map(|part| part.trim().to_owned());
        Some(UpstreamChoice {
            name: parts.next()?,
            url: parts.next()?,
            note: parts.next()?,
            current: false,
        })
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn those_in_force_come_first_and_each_stands_once() {
        let in_force = ["udp://192.168.1.1".to_owned(), usual().remove(0)];
        let local = ["192.168.1.1".parse().unwrap(), "127.0.0.53".parse().unwrap()];
        let told = upstream_choices(&in_force, &local);
        assert!(told[0].current && told[1].current && !told[2].current);
        assert_eq!(told[1].name, "Quad9");
        let mut urls: Vec<_> = told.iter().map(|it| it.url.as_str()).collect();
        urls.sort_unstable();
        urls.dedup();
        assert_eq!(urls.len(), told.len());
        let fresh = upstream_choices(&[], &local);
        assert!(fresh.last().unwrap().name.contains("192.168.1.1"));
        assert!(usual().iter().all(|url| public().any(|it| it.url == *url)));
    }
}
