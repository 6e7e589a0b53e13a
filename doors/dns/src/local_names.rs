//! What the settings answer by themselves: local records, and other names in a name's stead.
//!
//! Clients get them by the operations that `simple` places; whoever dials a name, at any door, gets
//! the same through the resolver. Nobody is asked. Made by `plan`.

use crate::settings::Settings;
use dns_wire::records::LocalRecords;
use dns_wire::{DnsQuery, WireAnswer, key_of, write_query};
use pipeline::records::RedirectTable;
use resolver::LocalOverrides;
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::sync::Arc;
use vocab::{Complaint, DomainName, Name, NameBuffer};

/// Longest message that is written here: what a stream can carry.
const MESSAGE_BYTES_MAX: usize = 65_535;

/// The records and rewrites of one configuration.
#[derive(Debug, Default)]
pub struct LocalNames {
    pub(crate) rewrites: Option<Arc<RedirectTable>>,
    pub(crate) records: LocalRecords,
    /// Of the lines of both, in their order.
    digest: u64,
}

impl LocalNames {
    /// Returns those of `settings`, or every complaint about them. A pipeline alone says what is
    /// done: beside it there are none.
    pub fn of(settings: &Settings) -> Result<Self, Vec<Complaint>> {
        if settings.foreign.is_some() {
            return Ok(Self::default());
        }
        let rewrites = settings.redirects()?.map(Arc::new);
        let digest = BuildHasherDefault::<DefaultHasher>::default()
            .hash_one((&settings.rewrites, &settings.local));
        Ok(Self { rewrites, records: settings.local_records()?, digest })
    }
}

impl LocalOverrides for LocalNames {
    fn digest(&self) -> u64 {
        self.digest
    }

    fn rewrite_target(&self, name: Name<'_>) -> Option<DomainName> {
        self.rewrites.as_ref()?.find(name).map(|target| target.name.clone())
    }

    fn answer(&self, name: Name<'_>, qtype: u16) -> Option<Arc<WireAnswer>> {
        let local = self.records.lookup(name, qtype)?;
        let (mut asked, mut message) = (Vec::new(), Vec::new());
        write_query(0, &key_of(name, qtype)?, &mut asked);
        let mut text = NameBuffer::new();
        let query = DnsQuery::parse(&asked, &mut text).ok()?;
        local.write(&query, MESSAGE_BYTES_MAX, &mut message);
        WireAnswer::from_response(&message).ok().map(Arc::new)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A test fails by panicking.
    use super::*;
    use dns_wire::record_type;

    fn names() -> LocalNames {
        let lines = |all: &[&str]| all.iter().map(|line| (*line).to_owned()).collect();
        let local = lines(&[
            "nas.lan A 192.168.1.9",
            "files.lan CNAME nas.lan.",
            "||dev.example^ AAAA fd00::5",
            "_http._tcp.lan SRV 1 2 8080 nas.lan.",
        ]);
        let rewrites = lines(&["old.lan nas.lan", "||intern.example^ gateway.example"]);
        LocalNames::of(&Settings { rewrites, local, ..Settings::default() }).unwrap()
    }

    fn name(text: &str) -> Name<'_> {
        Name::from_lowercase(text).unwrap()
    }

    fn addresses(host: &str, qtype: u16) -> Option<Vec<String>> {
        let answer = names().answer(name(host), qtype)?;
        Some(answer.addresses().map(|it| it.to_string()).collect())
    }

    #[test]
    fn records_are_found_by_name_alias_and_domain() {
        let some = |text: &str| Some(vec![text.to_owned()]);
        assert_eq!(addresses("nas.lan", record_type::A), some("192.168.1.9"));
        assert_eq!(addresses("files.lan", record_type::A), some("192.168.1.9"));
        assert_eq!(addresses("a.dev.example", record_type::AAAA), some("fd00::5"));
        let services = names().answer(name("_http._tcp.lan"), record_type::SRV).unwrap();
        let service = services.services().next().unwrap();
        assert_eq!((service.target.as_str(), service.port), ("nas.lan", 8080));
    }

    #[test]
    fn a_local_name_has_nothing_else_and_other_names_are_for_others() {
        assert_eq!(addresses("nas.lan", record_type::AAAA), Some(Vec::new()));
        assert_eq!(addresses("www.example", record_type::A), None);
        assert_eq!(addresses("old.lan", record_type::A), None, "its other name has one");
    }

    #[test]
    fn rewrites_name_another_once() {
        let instead = |host| names().rewrite_target(name(host)).map(|it| it.to_string());
        assert_eq!(instead("old.lan").as_deref(), Some("nas.lan"));
        assert_eq!(instead("a.intern.example").as_deref(), Some("gateway.example"));
        assert_eq!(instead("nas.lan"), None);
    }
}
