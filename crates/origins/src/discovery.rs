//! The servers that a name stands for at the moment: by its addresses, or by its SRV records.
//!
//! It asks and sorts; it connects to nobody and remembers nothing. The gateway asks it again and
//! again, and sees to who comes and who goes.

use super::dialer::Dialer;
use super::origin::UrlHost;
use super::server::OriginServer;
use resolver::{AddressFamily, LastingResult, NoAddresses, Resolver};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use tokio::task::JoinSet;
use vocab::DomainName;

/// Hosts of one service that are looked up, those of the lowest priority first; the rest is left
/// out.
const TARGETS_MAX: usize = 256;
/// Servers that one look-up finds, those of the lowest priority first; the rest is left out. Many
/// more than a pool takes, and few beside what 256 hosts could be said to have.
const FOUND_MAX: usize = 4096;
/// Time for which an answer holds that nobody has to give: the addresses of `localhost`.
const KNOWN_TTL_S: u32 = 86_400;

/// Tells what a name is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResolveKind {
    /// A and AAAA records.
    Addresses,
    /// SRV records (RFC 2782), and the addresses of the hosts that they name.
    Srv,
}

/// A server that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundServer {
    /// It, by its address.
    pub server: OriginServer,
    /// The name whose address that is.
    pub name: DomainName,
    /// As the SRV record says: the lowest comes first. 0 without one.
    pub priority: u16,
    /// As the SRV record says: how much it gets beside others of its priority. 0 without one.
    pub weight: u16,
}

/// Holds what a look-up has brought.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeekResult {
    /// Those of a lower priority first; in the same order whenever they are the same.
    pub found: Vec<FoundServer>,
    /// Hosts that an SRV record names and that are too many to be looked up, and addresses beyond
    /// those that are taken.
    pub left_out: usize,
    /// Time for which what was answered may be believed.
    pub ttl: Duration,
    /// Why some of the questions were not answered, if so: see [`Self::is_unanswered`].
    pub failure: Option<NoAddresses>,
    unknown: Vec<(DomainName, AddressFamily)>,
}

impl SeekResult {
    /// True if nobody said if `name` has `address` still: that question failed, and others did not.
    pub fn is_unanswered(&self, name: &DomainName, address: IpAddr) -> bool {
        let family = if address.is_ipv4() { AddressFamily::V4 } else { AddressFamily::V6 };
        self.unknown.iter().any(|(it, of)| it == name && *of == family)
    }
}

/// Where to look.
struct SeekTarget {
    name: DomainName,
    port: u16,
    priority: u16,
    weight: u16,
}

/// Holds what is known of one host.
struct KnownAddresses {
    name: DomainName,
    found: Vec<IpAddr>,
    failed: Vec<(AddressFamily, NoAddresses)>,
    ttl_s: u32,
}

impl Dialer {
    /// Looks up whom the host of `server` stands for; nobody is an answer too. An error is where no
    /// question for addresses was answered. It takes as long as the resolver does.
    pub async fn discover(
        &self,
        server: &OriginServer,
        how: ResolveKind,
    ) -> Result<SeekResult, NoAddresses> {
        let (Some(name), Some(port)) = (server.name(), server.port()) else {
            return Err(NoAddresses::NoSuchName);
        };
        let (goes_by, mut targets, ttl_s) = match how {
            ResolveKind::Addresses => {
                let target = SeekTarget { name: name.clone(), port, priority: 0, weight: 0 };
                (name.clone(), vec![target], u32::MAX)
            }
            ResolveKind::Srv => {
                let LastingResult { found, ttl_s } =
                    self.resolver().services(name.as_name()).await?;
                // The root is no host: there is decidedly no such service.
                let targets = found.into_iter().filter(|it| it.port != 0 && !is_root(&it.target));
                let targets = targets.map(|it| SeekTarget {
                    name: it.target,
                    port: it.port,
                    priority: it.priority,
                    weight: it.weight,
                });
                (source_domain(name), targets.collect(), ttl_s)
            }
        };
        targets.sort_by(|one, other| {
            (one.priority, one.name.as_str()).cmp(&(other.priority, other.name.as_str()))
        });
        let mut names = BTreeSet::new();
        let before = targets.len();
        targets.retain(|it| {
            let name = it.name.as_str();
            names.contains(name) || (names.len() < TARGETS_MAX && names.insert(name.to_owned()))
        });
        let left_out = before - targets.len();
        let known = self.addresses_of(&targets).await?;
        let sought = collect_servers(server, &goes_by, &targets, &known);
        let ttl_s = known.values().map(|it| it.ttl_s).fold(ttl_s, u32::min);
        let left_out = left_out + sought.left_out;
        Ok(SeekResult { left_out, ttl: Duration::from_secs(ttl_s.into()), ..sought })
    }

    /// Returns what is known of each host among `targets`; the failure where all failed.
    async fn addresses_of(
        &self,
        targets: &[SeekTarget],
    ) -> Result<BTreeMap<String, KnownAddresses>, NoAddresses> {
        let mut asking = JoinSet::new();
        let names: BTreeMap<_, _> = targets.iter().map(|it| (it.name.as_str(), &it.name)).collect();
        for name in names.into_values() {
            asking.spawn(addresses(self.resolver().clone(), name.clone()));
        }
        let mut known = BTreeMap::new();
        while let Some(asked) = asking.join_next().await {
            if let Ok(addresses) = asked {
                known.insert(addresses.name.as_str().to_owned(), addresses);
            }
        }
        let all_failed = !known.is_empty() && known.values().all(|it| it.failed.len() == 2);
        match known.values().flat_map(|it| &it.failed).next() {
            Some((_, why)) if all_failed => Err(*why),
            Some(_) | None => Ok(known),
        }
    }
}

/// The servers among what is known, without their time.
fn collect_servers(
    server: &OriginServer,
    goes_by: &DomainName,
    targets: &[SeekTarget],
    known: &BTreeMap<String, KnownAddresses>,
) -> SeekResult {
    let mut sought = SeekResult::default();
    for target in targets {
        let Some(addresses) = known.get(target.name.as_str()) else { continue };
        for ip in &addresses.found {
            if sought.found.len() == FOUND_MAX {
                sought.left_out += 1;
                continue;
            }
            let address = SocketAddr::new(ip.to_canonical(), target.port);
            if let Some(server) = server.found_at(address, goes_by) {
                let SeekTarget { priority, weight, .. } = *target;
                let name = target.name.clone();
                sought.found.push(FoundServer { server, name, priority, weight });
            }
        }
    }
    sought.found.sort_by_key(|it| (it.priority, it.server.address()));
    let mut seen = BTreeSet::new();
    sought.found.retain(|it| seen.insert(it.server.address()));
    for addresses in known.values() {
        let failed = addresses.failed.iter();
        sought.unknown.extend(failed.map(|(family, _)| (addresses.name.clone(), *family)));
        sought.failure = sought.failure.or(addresses.failed.first().map(|(_, why)| *why));
    }
    sought
}

async fn addresses(resolver: Resolver, name: DomainName) -> KnownAddresses {
    let host = UrlHost::Name(name);
    let known = host.known_addresses();
    let UrlHost::Name(name) = host else { unreachable!("it was made of a name") };
    let mut addresses =
        KnownAddresses { name, found: Vec::new(), failed: Vec::new(), ttl_s: u32::MAX };
    if let Some(known) = known {
        return KnownAddresses { found: known, ttl_s: KNOWN_TTL_S, ..addresses };
    }
    let asked = |family| resolver.addresses_in(addresses.name.as_name(), family);
    let (v4, v6) = tokio::join!(asked(AddressFamily::V4), asked(AddressFamily::V6));
    for (family, asked) in [(AddressFamily::V4, v4), (AddressFamily::V6, v6)] {
        match asked {
            Ok(LastingResult { found, ttl_s }) => {
                addresses.found.extend(found);
                addresses.ttl_s = addresses.ttl_s.min(ttl_s);
            }
            Err(why) => addresses.failed.push((family, why)),
        }
    }
    // In the same order whenever they are the same: of too many the same are taken.
    addresses.found.sort_unstable();
    addresses
}

fn is_root(name: &DomainName) -> bool {
    name.as_str().is_empty()
}

/// The domain whose service `owner` names: without the labels that say which service. Certificates
/// must be for this one, not for the host that an unsigned answer names (RFC 9525 §6.1).
fn source_domain(owner: &DomainName) -> DomainName {
    let mut domain = owner.as_name();
    while domain.as_str().starts_with('_')
        && let Some(parent) = domain.parent()
        && !parent.as_str().is_empty()
    {
        domain = parent;
    }
    domain.to_owned()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;

    fn name(text: &str) -> DomainName {
        DomainName::parse(text).unwrap()
    }

    fn known(rows: &[(&str, &[&str])]) -> BTreeMap<String, KnownAddresses> {
        let row = |(host, ips): &(&str, &[&str])| {
            let found = ips.iter().map(|ip| ip.parse().unwrap()).collect();
            let failed = Vec::new();
            ((*host).to_owned(), KnownAddresses { name: name(host), found, failed, ttl_s: 9 })
        };
        rows.iter().map(row).collect()
    }

    #[test]
    fn a_service_is_certified_for_its_domain() {
        for (owner, domain) in [
            ("_http._tcp.app.internal", "app.internal"),
            ("app.service.consul", "app.service.consul"),
            ("_http._tcp", "_tcp"),
        ] {
            assert_eq!(source_domain(&name(owner)).as_str(), domain);
        }
    }

    #[test]
    fn each_address_is_a_server_that_goes_by_the_name() {
        let target =
            |host: &str, port, priority| SeekTarget { name: name(host), port, priority, weight: 5 };
        let targets =
            [target("b.test", 81, 10), target("a.test", 80, 20), target("a.test", 81, 20)];
        let known = known(&[
            ("a.test", &["10.0.0.2", "10.0.0.1", "::ffff:10.0.0.2"]),
            ("b.test", &["::1"]),
        ]);
        let server: OriginServer = "https://_https._tcp.app.test".parse().unwrap();
        let sought = collect_servers(&server, &name("app.test"), &targets, &known);
        let told: Vec<_> =
            sought.found.iter().map(|it| (it.server.to_string(), it.priority)).collect();
        let expected = [
            ("https://[::1]:81", 10),
            ("https://10.0.0.1:80", 20),
            ("https://10.0.0.1:81", 20),
            ("https://10.0.0.2:80", 20),
            ("https://10.0.0.2:81", 20),
        ];
        assert_eq!(told, expected.map(|(url, priority)| (url.to_owned(), priority)));
        assert_eq!(sought.found[0].server.authority(), "app.test:81");
        assert!(sought.found[0].server.is_secure());
        let leads = |url: &str| sought.found[1].server.is_at(&url.parse().unwrap());
        assert!(leads("https://10.0.0.1:80") && leads("https://app.test:80"));
        assert!(!leads("https://10.0.0.2:80") && !leads("http://10.0.0.1:80"));
    }

    #[test]
    fn of_too_many_addresses_those_of_the_lowest_priority_are_taken() {
        let many: Vec<_> =
            (0..FOUND_MAX).map(|n| format!("10.0.{}.{}", n / 256, n % 256)).collect();
        let many: Vec<_> = many.iter().map(String::as_str).collect();
        let known = known(&[("a.test", &["10.9.0.1", "10.9.0.2"]), ("b.test", &many)]);
        let target =
            |host: &str, priority| SeekTarget { name: name(host), port: 80, priority, weight: 0 };
        let server: OriginServer = "http://app.test".parse().unwrap();
        let targets = [target("a.test", 1), target("b.test", 2)];
        let sought = collect_servers(&server, &name("app.test"), &targets, &known);
        assert_eq!((sought.found.len(), sought.left_out), (FOUND_MAX, 2));
        assert_eq!(sought.found[1].server.to_string(), "http://10.9.0.2");
    }

    #[test]
    fn a_family_whose_question_failed_is_left_open() {
        let mut known = known(&[("a.test", &["10.0.0.1"])]);
        let failed = (AddressFamily::V6, NoAddresses::UpstreamFailed);
        known.get_mut("a.test").unwrap().failed.push(failed);
        let server: OriginServer = "http://a.test".parse().unwrap();
        let targets = [SeekTarget { name: name("a.test"), port: 80, priority: 0, weight: 0 }];
        let sought = collect_servers(&server, &name("a.test"), &targets, &known);
        let open = |ip: &str| sought.is_unanswered(&name("a.test"), ip.parse().unwrap());
        assert!(open("2001:db8::1") && !open("10.0.0.9"));
        assert_eq!(sought.failure, Some(NoAddresses::UpstreamFailed));
        assert!(!sought.is_unanswered(&name("b.test"), "2001:db8::1".parse().unwrap()));
    }
}
