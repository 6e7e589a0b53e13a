//! Names that the configuration answers itself, for whoever dials one: local records, and names
//! that are looked up under another.
//!
//! They are asked for before the cache and the upstreams, so that every door is led where clients
//! of the DNS door are; the questions of those do not come by here. It holds no record itself: the
//! DNS door has them. Called by `handle` and `lasting`.

use crate::handle::Resolver;
use crate::question::{NoAddresses, Resolution, ResolverQuestion};
use dns_wire::{WireAnswer, record_type};
use std::net::IpAddr;
use std::sync::Arc;
use vocab::{DomainName, Name, Source};

/// Time for which the configuration's answer holds, in seconds, whatever its records say: nobody
/// has to be asked again, and a reload may change it.
pub(crate) const OWN_TTL_S: u32 = 10;

/// What the configuration says of names.
pub trait OwnNames: Send + Sync {
    /// A number that other records or rewrites would not have: connections that were opened under
    /// another are not used again.
    fn digest(&self) -> u64;

    /// The name that is looked up in place of `name`, if another is.
    fn instead(&self, name: Name<'_>) -> Option<DomainName>;

    /// Returns what there is of `name` in type `qtype`, which may be nothing; none where others are
    /// to be asked.
    fn answer(&self, name: Name<'_>, qtype: u16) -> Option<Arc<WireAnswer>>;
}

/// Holds what the configuration says of one name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnWord {
    /// The name that is looked up in its place, if another is.
    pub instead: Option<DomainName>,
    /// Addresses; empty where the configuration gives none.
    pub addresses: Vec<IpAddr>,
}

/// Holds what is there of a name that is dialled.
pub(crate) struct DialledName {
    pub(crate) resolution: Resolution,
    /// The name that was looked up in its place, if another was.
    instead: Option<DomainName>,
}

impl DialledName {
    /// Returns what the name is an alias of by `answer`, which is its own, with the name that was
    /// looked up in its place. None where the operator himself gave the answer: that he knows.
    pub(crate) fn aliases(&self, answer: &WireAnswer) -> Vec<DomainName> {
        if self.resolution.source == Source::Local {
            return Vec::new();
        }
        self.instead.iter().chain(answer.aliases()).cloned().collect()
    }
}

impl Resolver {
    /// Returns what the configuration says of `name`. A guard may ask it: where the operator
    /// himself gave a name an address, nobody else has led it there.
    pub fn own_word(&self, name: Name<'_>) -> OwnWord {
        let Some(own) = self.own_names() else { return OwnWord::default() };
        let instead = own.instead(name);
        let asked = instead.as_ref().map_or(name, DomainName::as_name);
        let types = [record_type::AAAA, record_type::A];
        let answers = types.iter().filter_map(|qtype| own.answer(asked, *qtype));
        let addresses = answers.flat_map(|it| it.addresses().collect::<Vec<_>>()).collect();
        OwnWord { instead, addresses }
    }

    /// Returns what is there of a name that is dialled: by the configuration, else as
    /// [`Self::resolve`] finds it.
    pub(crate) async fn dialled(
        &self,
        name: Name<'_>,
        qtype: u16,
    ) -> Result<DialledName, NoAddresses> {
        let own = self.own_names();
        let instead = own.as_ref().and_then(|own| own.instead(name));
        let asked = instead.as_ref().map_or(name, DomainName::as_name);
        if let Some(answer) = own.and_then(|own| own.answer(asked, qtype)) {
            let (result, source) = (Ok((answer, 0)), Source::Local);
            let resolution = Resolution { result, source, upstream: Arc::from("") };
            return Ok(DialledName { resolution, instead });
        }
        let question = ResolverQuestion::about(asked, qtype).ok_or(NoAddresses::NoSuchName)?;
        Ok(DialledName { resolution: self.resolve(question).await, instead })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;
    use crate::{AddressFamily, HostAddresses, LastingResult, ResolverSettings};
    use dns_wire::reply::ServiceTarget;
    use dns_wire::{DnsQuery, forge, key_of, write_query};
    use std::net::Ipv4Addr;
    use transport::ClientTls;
    use vocab::NameBuffer;

    /// `nas.lan` has an IPv4 address, and `old.lan` is looked up as `nas.lan`.
    struct House;

    const NAS: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 168, 1, 9));

    impl OwnNames for House {
        fn digest(&self) -> u64 {
            1
        }

        fn instead(&self, name: Name<'_>) -> Option<DomainName> {
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
            forge::addresses(&query, &[NAS], 3600, None, &mut message);
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
            assert_eq!(lasting, Ok(LastingResult { found: vec![NAS], ttl_s: OWN_TTL_S }), "{host}");
        }
        let nothing: LastingResult<ServiceTarget> =
            LastingResult { found: Vec::new(), ttl_s: OWN_TTL_S };
        assert_eq!(resolver.services(name("nas.lan")).await, Ok(nothing), "and of nothing else");
    }

    #[tokio::test]
    async fn its_word_is_known_until_it_is_taken_back() {
        let resolver = resolver();
        let word = |host| resolver.own_word(name(host));
        assert_eq!(word("nas.lan"), OwnWord { instead: None, addresses: vec![NAS] });
        let instead = Some(name("nas.lan").to_owned());
        assert_eq!(word("old.lan"), OwnWord { instead, addresses: vec![NAS] });
        assert_eq!(word("www.example"), OwnWord::default());
        resolver.answer_from(None);
        assert_eq!(word("nas.lan"), OwnWord::default());
    }
}
