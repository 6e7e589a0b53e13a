//! Addresses by rules about names: `full:router.lan 192.168.1.1 fd00::1`.
//!
//! Questions of class IN for A and AAAA are answered, and no others. A name that has addresses, but
//! none of the family asked for, gets an empty answer, so that nobody looks elsewhere. Called by
//! the machine; `hosts` of mosdns and OxiDNS.

use super::RecordsAnswered;
use crate::sets::{BadRule, DomainKind, DomainMap, DomainMapBuilder, DomainRule, RegexpCase};
use crate::sets::{excerpt, without_comment};
use dns_wire::rendered::RenderedRecords;
use dns_wire::{CLASS_IN, DnsQuery, record_type, synthesize};
use std::fmt;
use std::net::IpAddr;
use vocab::{Name, NameError};

/// Addresses of one entry, at most: as many as a message without OPT holds over TCP is absurd.
pub const HOST_ADDRESSES_MAX: usize = 1024;

/// Rules with their addresses.
///
/// ```
/// let hosts = pipeline::records::HostsTable::parse(
///     &["router.lan 192.168.1.1 fd00::1", "domain:dev.example 10.0.0.5 # ours"],
///     10,
/// );
/// assert_eq!(hosts.unwrap().len(), 2);
/// ```
#[derive(Debug, Default)]
pub struct HostsTable {
    rules: DomainMap<HostsAddresses>,
    ttl: u32,
}

/// Holds what an entry says, rendered.
#[derive(Debug, Default)]
struct HostsAddresses {
    v4: RenderedRecords,
    v6: RenderedRecords,
}

/// Entries in the making.
#[derive(Debug)]
pub struct HostsBuilder {
    rules: DomainMapBuilder<HostsAddresses>,
    ttl: u32,
}

/// Why a line is no entry of a [`HostsTable`] or [`super::RedirectTable`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadEntry {
    /// The rule cannot be used.
    Rule(BadRule),
    /// What follows the rule is no IP address.
    Address(String),
    /// There are more addresses than [`HOST_ADDRESSES_MAX`].
    TooManyAddresses,
    /// A redirect is a rule and one name.
    NotTwoFields(usize),
    /// The name to ask for is none.
    Target(NameError),
}

impl HostsTable {
    /// No entries yet. Answers carry `ttl`, in seconds: empty ones too.
    pub fn builder(ttl: u32) -> HostsBuilder {
        HostsBuilder { rules: DomainMap::builder(), ttl }
    }

    /// Reads entries, or says what is wrong with each bad one, by its place from 0.
    pub fn parse<L: AsRef<str>>(lines: &[L], ttl: u32) -> Result<Self, Vec<(usize, BadEntry)>> {
        let mut builder = Self::builder(ttl);
        let mut bad = Vec::new();
        for (at, line) in lines.iter().enumerate() {
            if let Err(why) = builder.add_line(line.as_ref()) {
                bad.push((at, why));
            }
        }
        if bad.is_empty() { Ok(builder.build()) } else { Err(bad) }
    }

    /// Appends the answer to `query`, whose name is `name`, as a whole message without OPT. Nothing
    /// is written where there is none.
    pub fn write(
        &self,
        query: &DnsQuery<'_>,
        name: Name<'_>,
        out: &mut Vec<u8>,
    ) -> RecordsAnswered {
        let is_ours = matches!(query.qtype, record_type::A | record_type::AAAA);
        if query.qclass != CLASS_IN || !is_ours {
            return RecordsAnswered::No;
        }
        let Some(addresses) = self.rules.find(name) else { return RecordsAnswered::No };
        let (wanted, other) = if query.qtype == record_type::A {
            (&addresses.v4, &addresses.v6)
        } else {
            (&addresses.v6, &addresses.v4)
        };
        if !wanted.is_empty() {
            wanted.write(query, out);
        } else if !other.is_empty() {
            synthesize::nodata(&DnsQuery { edns: None, ..*query }, self.ttl, None, out);
        } else {
            // An entry without addresses only hides those that it goes before.
            return RecordsAnswered::No;
        }
        RecordsAnswered::Yes
    }

    /// Returns how many entries there are.
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }
}

impl HostsBuilder {
    /// Returns how letters count in the regular expressions that are added from now on.
    #[must_use]
    pub fn regexp_case(mut self, case: RegexpCase) -> Self {
        self.rules = self.rules.regexp_case(case);
        self
    }

    /// Adds an entry, in place of one with the same rule: a rule, of kind `full` where none is
    /// written, and addresses. A comment after `#` is left out, and the line may be blank.
    pub fn add_line(&mut self, line: &str) -> Result<(), BadEntry> {
        let mut words = without_comment(line).split_whitespace();
        let Some(rule) = words.next() else { return Ok(()) };
        let rule = DomainRule::parse(rule, DomainKind::Full).map_err(BadEntry::Rule)?;
        let mut addresses = HostsAddresses::default();
        for (count, word) in words.enumerate() {
            let address: IpAddr = word.parse().map_err(|_| BadEntry::Address(excerpt(word)))?;
            if count == HOST_ADDRESSES_MAX {
                return Err(BadEntry::TooManyAddresses);
            }
            let pushed = match address {
                IpAddr::V4(v4) => {
                    addresses.v4.push(record_type::A, CLASS_IN, self.ttl, &v4.octets())
                }
                IpAddr::V6(v6) => {
                    addresses.v6.push(record_type::AAAA, CLASS_IN, self.ttl, &v6.octets())
                }
            };
            pushed.map_err(|_| BadEntry::TooManyAddresses)?;
        }
        addresses.v4.shrink();
        addresses.v6.shrink();
        self.rules.insert(&rule, addresses).map_err(BadEntry::Rule)
    }

    /// The entries.
    pub fn build(self) -> HostsTable {
        HostsTable { rules: self.rules.build(), ttl: self.ttl }
    }
}

impl fmt::Display for BadEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule(why) => why.fmt(f),
            Self::Address(text) => write!(
                f,
                "\"{text}\" is no IP address: an entry is a rule and addresses, as in router.lan 192.168.1.1"
            ),
            Self::TooManyAddresses => {
                write!(f, "the entry has more than {HOST_ADDRESSES_MAX} addresses")
            }
            Self::NotTwoFields(fields) => write!(
                f,
                "a redirect is a rule and one name, as in full:a.example b.example, not {fields} fields"
            ),
            Self::Target(why) => write!(f, "the name to ask for cannot be used: {why}"),
        }
    }
}

impl std::error::Error for BadEntry {}
