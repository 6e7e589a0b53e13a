//! Service bindings (RFC 9460): the addresses that they hint at, taken out of an answer, and
//! bindings of our own.
//!
//! Records come from anywhere, so nothing in them is taken on trust, and nothing is allocated to
//! read them. What is no sound binding has no hints and stays as it is. Called by the DNS door.

mod strip;

pub use strip::{CUTS_MAX, CannotStrip, StripOutcome, strip_hints};

use crate::codes::Rcode;
use crate::query::DnsQuery;
use crate::synthesize;
use crate::wire::{self, u16_at};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use vocab::DomainName;

/// Keys of parameters (RFC 9460 §14.3.2, RFC 9461 §5).
pub(crate) mod key {
    pub(crate) const MANDATORY: u16 = 0;
    pub(crate) const ALPN: u16 = 1;
    pub(crate) const PORT: u16 = 3;
    pub(crate) const IPV4HINT: u16 = 4;
    pub(crate) const IPV6HINT: u16 = 6;
    pub(crate) const DOHPATH: u16 = 7;
}

/// Most hints of one family in a binding of our own: as many as one answer gives addresses.
pub const HINTS_MAX: usize = synthesize::ADDRESSES_MAX;

/// A binding of our own, before it has a form.
#[derive(Clone, Debug)]
pub struct ServiceBinding<'b> {
    /// From 1; the least is tried first.
    pub priority: u16,
    /// Who offers it.
    pub target: &'b DomainName,
    /// Protocol (RFC 9460 §7.1): `dot`, `doq`, `h2`. At most 255 bytes.
    pub alpn: &'b str,
    /// Port.
    pub port: u16,
    /// Where it is, as far as that is known; of each family the first [`HINTS_MAX`].
    pub addresses: &'b [IpAddr],
    /// The template of its path, for DNS over HTTPS (RFC 9461 §5).
    pub dohpath: Option<&'b str>,
}

/// The parameters in a binding's data, key and value; ends where they are malformed, and is empty
/// where the target is.
pub(crate) fn parameters(data: &[u8]) -> impl Iterator<Item = SvcParam<'_>> {
    let mut here = target_end(data);
    std::iter::from_fn(move || {
        let at = here?;
        let length = usize::from(u16_at(data, at + 2).ok()?);
        let value = data.get(at + 4..at + 4 + length)?;
        here = Some(at + 4 + length);
        Some(SvcParam { at, key: u16_at(data, at).ok()?, value })
    })
}

/// One parameter of a binding.
pub(crate) struct SvcParam<'m> {
    /// Where it starts in the record's data.
    pub(crate) at: usize,
    pub(crate) key: u16,
    pub(crate) value: &'m [u8],
}

/// Where the target ends, which is never compressed (RFC 9460 §2.2).
fn target_end(data: &[u8]) -> Option<usize> {
    let mut here = 2;
    loop {
        let length = usize::from(*data.get(here)?);
        here += 1 + length;
        match length {
            0 => return Some(here),
            1..=63 if here - 2 < wire::NAME_BYTES_MAX => {}
            _ => return None,
        }
    }
}

/// The addresses that a binding's data hint at (RFC 9460 §7.3).
pub fn hints(data: &[u8]) -> impl Iterator<Item = IpAddr> + '_ {
    parameters(data).flat_map(|it| {
        let (size, value) = match it.key {
            key::IPV4HINT => (4, it.value),
            key::IPV6HINT => (16, it.value),
            _ => (16, &[][..]),
        };
        value.chunks_exact(size).filter_map(|octets| match octets.len() {
            4 => <[u8; 4]>::try_from(octets).ok().map(|it| IpAddr::V4(Ipv4Addr::from(it))),
            _ => <[u8; 16]>::try_from(octets).ok().map(|it| IpAddr::V6(Ipv6Addr::from(it))),
        })
    })
}

impl ServiceBinding<'_> {
    /// The record's data. Parameters stand in the order of their keys (RFC 9460 §2.2).
    pub fn data(&self) -> Box<[u8]> {
        let mut data = self.priority.to_be_bytes().to_vec();
        for label in self.target.as_name().labels() {
            // A label of a name has 1 to 63 bytes.
            data.push(label.len() as u8);
            data.extend_from_slice(label.as_bytes());
        }
        data.push(0);
        let alpn = &self.alpn.as_bytes()[..self.alpn.len().min(255)];
        push(key::ALPN, &[&[alpn.len() as u8], alpn].concat(), &mut data);
        push(key::PORT, &self.port.to_be_bytes(), &mut data);
        let (mut ipv4, mut ipv6) = (Vec::new(), Vec::new());
        for address in self.addresses {
            match address.to_canonical() {
                IpAddr::V4(v4) => ipv4.extend(v4.octets()),
                IpAddr::V6(v6) => ipv6.extend(v6.octets()),
            }
        }
        ipv4.truncate(4 * HINTS_MAX);
        ipv6.truncate(16 * HINTS_MAX);
        for (key, hints) in [(key::IPV4HINT, ipv4), (key::IPV6HINT, ipv6)] {
            if !hints.is_empty() {
                push(key, &hints, &mut data);
            }
        }
        if let Some(path) = self.dohpath {
            push(key::DOHPATH, path.as_bytes(), &mut data);
        }
        data.into()
    }
}

fn push(key: u16, value: &[u8], data: &mut Vec<u8>) {
    wire::push_u16(data, key);
    // No value here is longer than 255 bytes, but a path, which is no longer than a setting.
    wire::push_u16(data, value.len() as u16);
    data.extend_from_slice(value);
}

/// Appends the answer to `query` that consists of these bindings' data, to be kept for `ttl`
/// seconds.
pub fn answer(query: &DnsQuery<'_>, bindings: &[Box<[u8]>], ttl: u32, out: &mut Vec<u8>) {
    let start = synthesize::write_head(query, Rcode::NoError, [bindings.len() as u16, 0], out);
    for data in bindings {
        synthesize::push_record(query.qtype, ttl, data, out);
    }
    synthesize::push_opt(query, None, start, out);
}
