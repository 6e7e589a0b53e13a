//! A question, read, and who asks it.

use crate::caller::DnsCaller;
use dns_wire::DnsQuery;
use vocab::Name;

/// A question, read.
#[derive(Clone, Copy)]
pub(crate) struct DnsRequest<'a> {
    pub(crate) query: &'a DnsQuery<'a>,
    pub(crate) name: Name<'a>,
    pub(crate) caller: DnsCaller<'a>,
}

/// The query as one without EDNS: what is written for it has no OPT, which `shape` adds.
pub(crate) fn bare<'q>(query: &DnsQuery<'q>) -> DnsQuery<'q> {
    DnsQuery { edns: None, ..*query }
}
