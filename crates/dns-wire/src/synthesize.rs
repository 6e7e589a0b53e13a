//! Answers that are made here: refusals, empty answers, addresses instead of others.
//!
//! All repeat the question as it was asked, add OPT exactly if the query had one, and fit 512
//! bytes, so that none is ever truncated. A negative answer carries an SOA record of our own,
//! without which clients would not keep it (RFC 2308 §5). Called by the DNS door and by
//! [`crate::records`].

pub use crate::codes::{Ede, EdeCode, Rcode};

use crate::codes::{CLASS_IN, EDE_TEXT_BYTES_MAX, record_type};
use crate::query::{BadReply, DnsQuery, Edns, UDP_BYTES_MAX, UDP_BYTES_WITHOUT_EDNS};
use crate::wire::{HEADER_BYTES, POINTER_TO_QUESTION, bits, push_u16, push_u32};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Addresses given in one answer, at most: 8 of IPv6 fit 512 bytes beside the longest question.
pub const ADDRESSES_MAX: usize = 8;

/// OPT without options.
const OPT_BYTES: usize = 11;
/// Code and length of an option, and the number of an extended error.
const EDE_BYTES: usize = 6;
/// The option's number (RFC 8914 §2).
const EDE_OPTION: u16 = 15;

/// `tidegate.invalid. nobody.invalid.`: who is in charge of what we make up. `.invalid` is nobody's
/// (RFC 6761 §6.4).
const SOA_NAMES: &[u8] = b"\x08tidegate\x07invalid\x00\x06nobody\x07invalid\x00";
/// Serial, refresh, retry and expire of it; only secondaries would care.
const SOA_NUMBERS: [u32; 4] = [1, 1800, 900, 604_800];

/// Just a response code.
pub fn error(query: &DnsQuery<'_>, rcode: Rcode, out: &mut Vec<u8>) {
    error_with(query, rcode, None, out);
}

/// A response code with its reason.
pub fn error_with(query: &DnsQuery<'_>, rcode: Rcode, ede: Option<Ede<'_>>, out: &mut Vec<u8>) {
    let start = write_head(query, rcode, [0, 0], out);
    push_opt_with(query, rcode, ede, start, out);
}

/// Just a response code by its number, of which the header holds the lower four bits; with an SOA
/// record where `soa_ttl` says how long clients may keep it.
pub fn code(query: &DnsQuery<'_>, rcode: u16, soa_ttl: Option<u32>, out: &mut Vec<u8>) {
    let start = write_head(query, Rcode::NoError, [0, u16::from(soa_ttl.is_some())], out);
    out[start + 3] |= (rcode & bits::RCODE) as u8;
    if let Some(ttl) = soa_ttl {
        push_soa(ttl, out);
    }
    push_opt_raw(query, rcode, None, &[], start, out);
}

/// REFUSED.
pub fn refused(query: &DnsQuery<'_>, ede: Option<Ede<'_>>, out: &mut Vec<u8>) {
    error_with(query, Rcode::Refused, ede, out);
}

/// SERVFAIL.
pub fn servfail(query: &DnsQuery<'_>, ede: Option<Ede<'_>>, out: &mut Vec<u8>) {
    error_with(query, Rcode::ServFail, ede, out);
}

/// The name exists and has nothing of that type; to be kept for `ttl` seconds.
pub fn nodata(query: &DnsQuery<'_>, ttl: u32, ede: Option<Ede<'_>>, out: &mut Vec<u8>) {
    negative(query, Rcode::NoError, ttl, ede, out);
}

/// There is no such name; to be kept for `ttl` seconds.
pub fn nxdomain(query: &DnsQuery<'_>, ttl: u32, ede: Option<Ede<'_>>, out: &mut Vec<u8>) {
    negative(query, Rcode::NxDomain, ttl, ede, out);
}

/// `0.0.0.0` or `::` for a query of type A or AAAA, [`nodata`] for any other.
pub fn null(query: &DnsQuery<'_>, ttl: u32, ede: Option<Ede<'_>>, out: &mut Vec<u8>) {
    let nowhere = [IpAddr::V4(Ipv4Addr::UNSPECIFIED), IpAddr::V6(Ipv6Addr::UNSPECIFIED)];
    addresses(query, &nowhere, ttl, ede, out);
}

/// Those of `addresses` that are of the type asked for, at most [`ADDRESSES_MAX`]; [`nodata`] if
/// there is none.
pub fn addresses(
    query: &DnsQuery<'_>,
    addresses: &[IpAddr],
    ttl: u32,
    ede: Option<Ede<'_>>,
    out: &mut Vec<u8>,
) {
    let wanted = |it: &&IpAddr| {
        query.qclass == CLASS_IN
            && match it {
                IpAddr::V4(_) => query.qtype == record_type::A,
                IpAddr::V6(_) => query.qtype == record_type::AAAA,
            }
    };
    let count = addresses.iter().filter(wanted).count().min(ADDRESSES_MAX);
    if count == 0 {
        return nodata(query, ttl, ede, out);
    }
    let start = write_head(query, Rcode::NoError, [count as u16, 0], out);
    for address in addresses.iter().filter(wanted).take(ADDRESSES_MAX) {
        match address {
            IpAddr::V4(v4) => push_record(query.qtype, ttl, &v4.octets(), out),
            IpAddr::V6(v6) => push_record(query.qtype, ttl, &v6.octets(), out),
        }
    }
    push_opt(query, ede, start, out);
}

/// The answer to a PTR question: `target`. Nothing is written where that is no name for the wire.
pub fn pointer(
    query: &DnsQuery<'_>,
    target: vocab::Name<'_>,
    ttl: u32,
    out: &mut Vec<u8>,
) -> ForgeOutcome {
    let Some(key) = crate::key_of(target, query.qtype) else { return ForgeOutcome::No };
    // Type, class and the last byte of a key follow the name.
    let name = &key[..key.len() - 5];
    let start = write_head(query, Rcode::NoError, [1, 0], out);
    push_record(record_type::PTR, ttl, name, out);
    push_opt(query, None, start, out);
    ForgeOutcome::Written
}

/// Tells whether something was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForgeOutcome {
    /// It was.
    Written,
    /// Was not.
    No,
}

/// The answer to ANY that says as little as is allowed: one HINFO record (RFC 8482 §4.2).
pub fn any(query: &DnsQuery<'_>, ttl: u32, out: &mut Vec<u8>) {
    const HINFO: u16 = 13;
    let start = write_head(query, Rcode::NoError, [1, 0], out);
    push_record(HINFO, ttl, b"\x07RFC8482\x00", out);
    push_opt(query, None, start, out);
}

/// The reply to a message that is no query we read.
pub fn bad(reply: &BadReply<'_>, out: &mut Vec<u8>) {
    let repeated = reply.flags & (bits::OPCODE | bits::RECURSION_DESIRED);
    let flags = bits::RESPONSE | repeated | reply.rcode.code() & bits::RCODE;
    let edns = reply.edns;
    let counts = [u16::from(reply.question.is_some()), 0, 0, u16::from(edns.is_some())];
    for word in [reply.id, flags].into_iter().chain(counts) {
        push_u16(out, word);
    }
    out.extend_from_slice(reply.question.unwrap_or(&[]));
    if let Some(edns) = edns {
        write_opt(edns, reply.rcode.code(), None, &[], out);
    }
}

/// The reply to a message that asks for nothing but a cookie, which is in `options` (raw, sound).
pub fn cookie_reply(reply: &BadReply<'_>, rcode: u16, options: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    bad(&BadReply { edns: None, ..*reply }, out);
    let Some(edns) = reply.edns else { return };
    out[start + 3] |= (rcode & bits::RCODE) as u8;
    out[start + 11] = 1;
    write_opt(edns, rcode, None, options, out);
}

fn negative(query: &DnsQuery<'_>, rcode: Rcode, ttl: u32, ede: Option<Ede<'_>>, out: &mut Vec<u8>) {
    let start = write_head(query, rcode, [0, 1], out);
    push_soa(ttl, out);
    push_opt(query, ede, start, out);
}

/// An SOA record whose owner is the name asked for: whatever a client makes of it, it says nothing
/// about any other name.
pub(crate) fn push_soa(ttl: u32, out: &mut Vec<u8>) {
    push_head(record_type::SOA, ttl, SOA_NAMES.len() + 20, out);
    out.extend_from_slice(SOA_NAMES);
    for number in SOA_NUMBERS {
        push_u32(out, number);
    }
    push_u32(out, ttl);
}

/// Appends header and question; gives where the message starts.
pub(crate) fn write_head(
    query: &DnsQuery<'_>,
    rcode: Rcode,
    [answers, authorities]: [u16; 2],
    out: &mut Vec<u8>,
) -> usize {
    let start = out.len();
    let flags = bits::RESPONSE
        | bits::RECURSION_AVAILABLE
        | query.flags.repeated()
        | rcode.code() & bits::RCODE;
    out.reserve(UDP_BYTES_WITHOUT_EDNS);
    for word in [query.id, flags, 1, answers, authorities, 0] {
        push_u16(out, word);
    }
    out.extend_from_slice(query.question);
    start
}

pub(crate) fn push_record(rtype: u16, ttl: u32, data: &[u8], out: &mut Vec<u8>) {
    push_head(rtype, ttl, data.len(), out);
    out.extend_from_slice(data);
}

fn push_head(rtype: u16, ttl: u32, data_len: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&POINTER_TO_QUESTION);
    push_u16(out, rtype);
    push_u16(out, CLASS_IN);
    push_u32(out, ttl);
    push_u16(out, data_len as u16);
}

/// Returns how many bytes [`push_opt`] will add.
pub(crate) fn opt_len(query: &DnsQuery<'_>, ede: Option<Ede<'_>>) -> usize {
    match (query.edns, ede) {
        (None, _) => 0,
        (Some(_), None) => OPT_BYTES,
        (Some(_), Some(ede)) => OPT_BYTES + EDE_BYTES + short(ede.text).len(),
    }
}

/// Ends the message that starts at `start` with OPT, if the query had one.
pub(crate) fn push_opt(
    query: &DnsQuery<'_>,
    ede: Option<Ede<'_>>,
    start: usize,
    out: &mut Vec<u8>,
) {
    push_opt_with(query, Rcode::NoError, ede, start, out);
}

fn push_opt_with(
    query: &DnsQuery<'_>,
    rcode: Rcode,
    ede: Option<Ede<'_>>,
    start: usize,
    out: &mut Vec<u8>,
) {
    // The reason is a courtesy: it goes before the answer would outgrow any client.
    let ede = ede.filter(|_| out.len() - start + opt_len(query, ede) <= query.udp_limit());
    push_opt_raw(query, rcode.code(), ede, &[], start, out);
}

/// The same with a response code that may be over 15, with raw `options` before the extended error,
/// and whatever its length: that it fits is the caller's to see to.
pub(crate) fn push_opt_raw(
    query: &DnsQuery<'_>,
    rcode: u16,
    ede: Option<Ede<'_>>,
    options: &[u8],
    start: usize,
    out: &mut Vec<u8>,
) {
    let Some(edns) = query.edns else { return };
    // Another may be there already: the count is the message's own.
    let count = u16::from_be_bytes([out[start + 10], out[start + 11]]).saturating_add(1);
    out[start + 10..start + HEADER_BYTES].copy_from_slice(&count.to_be_bytes());
    write_opt(edns, rcode, ede, options, out);
}

/// OPT: our own size, no version but 0, DO repeated (RFC 6891 §6.1.3, RFC 3225 §3).
fn write_opt(edns: Edns, rcode: u16, ede: Option<Ede<'_>>, options: &[u8], out: &mut Vec<u8>) {
    out.push(0);
    push_u16(out, record_type::OPT);
    push_u16(out, UDP_BYTES_MAX as u16);
    let dnssec_ok = if edns.dnssec_ok { bits::DNSSEC_OK } else { 0 };
    push_u32(out, u32::from(rcode >> 4) << 24 | dnssec_ok);
    let text = ede.map(|ede| short(ede.text));
    push_u16(out, (options.len() + text.map_or(0, |text| EDE_BYTES + text.len())) as u16);
    out.extend_from_slice(options);
    if let (Some(ede), Some(text)) = (ede, text) {
        push_u16(out, EDE_OPTION);
        push_u16(out, 2 + text.len() as u16);
        push_u16(out, ede.code.code());
        out.extend_from_slice(text.as_bytes());
    }
}

fn short(text: &str) -> &str {
    let mut end = text.len().min(EDE_TEXT_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
