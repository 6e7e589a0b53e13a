//! Another name that is asked for in place of the first.

use std::fmt;
use vocab::DomainName;

/// Another name that is asked for.
#[derive(Clone, PartialEq, Eq)]
pub struct RedirectTarget {
    /// As text.
    pub name: DomainName,
    /// In wire form, root label included.
    pub wire: Box<[u8]>,
}

impl RedirectTarget {
    /// Of a name; none if it is too long for the wire.
    pub fn new(name: DomainName) -> Option<Self> {
        // Type, class and the last byte of a key follow the name.
        let key = dns_wire::key_of(name.as_name(), 0)?;
        let wire = key[..key.len() - 5].into();
        Some(Self { name, wire })
    }
}

impl fmt::Debug for RedirectTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Target({})", self.name)
    }
}
