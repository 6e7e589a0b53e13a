//! The addresses of a host that is dialled: those that the configuration gives it, else those that
//! upstreams say.
//!
//! Both families are asked for at once, and the second is not waited for long (RFC 8305). It dials
//! nothing. Called by the crate `origins`, and by `lasting` for one question of a name.

use crate::handle::Resolver;
use crate::local_overrides::LocalOverride;
use crate::question::{NoAddresses, Resolution, ResolverQuestion};
use dns_wire::{WireAnswer, record_type};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use vocab::{DomainName, Name, Source};

/// When one family's addresses are there, the other's are waited for so long (RFC 8305 §3).
const OTHER_FAMILY_DELAY: Duration = Duration::from_millis(50);

/// Where a host stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostAddresses {
    /// Addresses, in the order in which they are to be tried.
    pub found: Vec<IpAddr>,
    /// What upstreams say that its name is an alias (CNAME) of, all the way, and the name that was
    /// looked up in its place: at most 17 in the answer for each family, some of them twice.
    pub aliases: Vec<DomainName>,
}

/// Holds what is there of a name that is dialled.
pub(crate) struct DialledName {
    pub(crate) resolution: Resolution,
    /// The name that was looked up in its place, if another was.
    rewrite_target: Option<DomainName>,
}

impl DialledName {
    /// Returns what the name is an alias of by `answer`, which is its own, with the name that was
    /// looked up in its place. None where the operator himself gave the answer: that he knows.
    pub(crate) fn aliases(&self, answer: &WireAnswer) -> Vec<DomainName> {
        if self.resolution.source == Source::Local {
            return Vec::new();
        }
        self.rewrite_target.iter().chain(answer.aliases()).cloned().collect()
    }
}

impl Resolver {
    /// The addresses of `host`, IPv6 and IPv4 by turns, IPv6 first (RFC 8305 §4): those that the
    /// configuration gives it, else those that upstreams say.
    pub async fn addresses(&self, host: Name<'_>) -> Result<HostAddresses, NoAddresses> {
        let v6 = self.dialled(host, record_type::AAAA);
        let v4 = self.dialled(host, record_type::A);
        tokio::pin!(v6, v4);
        let (v6, v4) = tokio::select! {
            first = &mut v6 => (Some(first), Some(v4.await)),
            first = &mut v4 => {
                // An empty answer cannot be dialled: then the other is worth its full wait.
                let second = if found(&first).is_ok() {
                    tokio::time::timeout(OTHER_FAMILY_DELAY, v6).await.ok()
                } else {
                    Some(v6.await)
                };
                (second, Some(first))
            }
        };
        let v6 = v6.map_or(Err(NoAddresses::None), |it| found(&it));
        let v4 = v4.map_or(Err(NoAddresses::None), |it| found(&it));
        match (v6, v4) {
            (Ok(v6), Ok(v4)) => Ok(HostAddresses {
                found: by_turns(&v6.found, &v4.found),
                aliases: [v6.aliases, v4.aliases].concat(),
            }),
            (Ok(found), Err(_)) | (Err(_), Ok(found)) => Ok(found),
            // What went wrong says more than that there is nothing.
            (Err(NoAddresses::None), Err(why)) | (Err(why), Err(_)) => Err(why),
        }
    }

    /// Returns what the configuration says of `name`. A guard may ask it: where the operator
    /// himself gave a name an address, nobody else has led it there.
    pub fn local_override(&self, name: Name<'_>) -> LocalOverride {
        let Some(own) = self.local_overrides() else { return LocalOverride::default() };
        let instead = own.rewrite_target(name);
        let asked = instead.as_ref().map_or(name, DomainName::as_name);
        let types = [record_type::AAAA, record_type::A];
        let answers = types.iter().filter_map(|qtype| own.answer(asked, *qtype));
        let addresses = answers.flat_map(|it| it.addresses().collect::<Vec<_>>()).collect();
        LocalOverride { rewrite_target: instead, addresses }
    }

    /// Returns what is there of a name that is dialled: by the configuration, else as
    /// [`Self::resolve`] finds it.
    pub(crate) async fn dialled(
        &self,
        name: Name<'_>,
        qtype: u16,
    ) -> Result<DialledName, NoAddresses> {
        let own = self.local_overrides();
        let instead = own.as_ref().and_then(|own| own.rewrite_target(name));
        let asked = instead.as_ref().map_or(name, DomainName::as_name);
        if let Some(answer) = own.and_then(|own| own.answer(asked, qtype)) {
            let (result, source) = (Ok((answer, 0)), Source::Local);
            let resolution = Resolution { result, source, upstream: Arc::from("") };
            return Ok(DialledName { resolution, rewrite_target: instead });
        }
        let question = ResolverQuestion::internal(asked, qtype).ok_or(NoAddresses::NoSuchName)?;
        Ok(DialledName { resolution: self.resolve(question).await, rewrite_target: instead })
    }
}

fn found(dialled: &Result<DialledName, NoAddresses>) -> Result<HostAddresses, NoAddresses> {
    const NXDOMAIN: u8 = 3;
    let dialled = dialled.as_ref().map_err(|why| *why)?;
    let (answer, _) =
        dialled.resolution.result.as_ref().map_err(|why| NoAddresses::Failed(*why))?;
    let found: Vec<IpAddr> = answer.addresses().collect();
    match answer.rcode() {
        0 if found.is_empty() => Err(NoAddresses::None),
        0 => Ok(HostAddresses { found, aliases: dialled.aliases(answer) }),
        NXDOMAIN => Err(NoAddresses::NoSuchName),
        _ => Err(NoAddresses::UpstreamFailed),
    }
}

fn by_turns(first: &[IpAddr], second: &[IpAddr]) -> Vec<IpAddr> {
    let longest = first.len().max(second.len());
    (0..longest).flat_map(|i| [first.get(i), second.get(i)]).flatten().copied().collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;
    use crate::local_overrides::{LOCAL_OVERRIDE_TTL_S, LocalOverrides};
    use crate::{AddressFamily, HostAddresses, LastingResult, ResolverSettings};
    use dns_wire::reply::ServiceTarget;
    use dns_wire::{DnsQuery, key_of, synthesize, write_query};
    use std::net::Ipv4Addr;
    use transport::ClientTls;
    use vocab::NameBuffer;

    /// `nas.lan` has an IPv4 address, and `old.lan` is looked up as `nas.lan`.
    struct House;

    const NAS: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 168, 1, 9));

    impl LocalOverrides for House {
        fn digest(&self) -> u64 {
            1
        }

        fn rewrite_target(&self, name: Name<'_>) -> Option<DomainName> {
            (name.as_str() == "old.lan").then(|| DomainName::parse("nas.lan").unwrap())
        }

        fn answer(&self, name: Name<'_>, qtype: u16) -> Option<Arc<WireAnswer>> {
            if name.as_str() != "nas.lan" {
                return None;
            }
            let (mut query, mut message) = (Vec::new(), Vec::new());
            write_query(0, &key_of(name, qtype)?, &mut query);
            let mut text = NameBuffer::new();
            let query = DnsQuery::parse(&query, &mut text).unwrap();
            synthesize::addresses(&query, &[NAS], 3600, None, &mut message);
            Some(Arc::new(WireAnswer::from_response(&message).unwrap()))
        }
    }

    fn name(text: &str) -> Name<'_> {
        Name::from_lowercase(text).unwrap()
    }

    fn resolver() -> Resolver {
        let resolver = Resolver::start(&ResolverSettings::default(), ClientTls::new()).unwrap();
        resolver.answer_from(Some(Arc::new(House)));
        resolver
    }

    #[tokio::test]
    async fn a_name_that_is_dialled_has_what_the_configuration_gives_it() {
        let resolver = resolver();
        for host in ["nas.lan", "old.lan"] {
            let expected = HostAddresses { found: vec![NAS], aliases: Vec::new() };
            assert_eq!(resolver.addresses(name(host)).await, Ok(expected), "{host}");
            let lasting = resolver.addresses_in(name(host), AddressFamily::V4).await;
            assert_eq!(
                lasting,
                Ok(LastingResult { found: vec![NAS], ttl_s: LOCAL_OVERRIDE_TTL_S }),
                "{host}"
            );
        }
        let nothing: LastingResult<ServiceTarget> =
            LastingResult { found: Vec::new(), ttl_s: LOCAL_OVERRIDE_TTL_S };
        assert_eq!(resolver.services(name("nas.lan")).await, Ok(nothing), "and of nothing else");
    }

    #[tokio::test]
    async fn its_word_is_known_until_it_is_taken_back() {
        let resolver = resolver();
        let word = |host| resolver.local_override(name(host));
        assert_eq!(word("nas.lan"), LocalOverride { rewrite_target: None, addresses: vec![NAS] });
        let instead = Some(name("nas.lan").to_owned());
        assert_eq!(
            word("old.lan"),
            LocalOverride { rewrite_target: instead, addresses: vec![NAS] }
        );
        assert_eq!(word("www.example"), LocalOverride::default());
        resolver.answer_from(None);
        assert_eq!(word("nas.lan"), LocalOverride::default());
    }
}
