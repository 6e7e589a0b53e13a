//! A reply while it is made: a whole message without OPT, looked into and changed in place.
//!
//! It is what `forge`, local records and kept answers write; matchers look into it, rewrites change
//! it, and [`finish`] makes it fit for the client. Everything here walks a message that may be
//! foreign, so nothing is taken on trust. Called by the pipeline's machine and the DNS door.

pub use crate::leave_out::{CannotLeaveOut, leave_out};

use crate::codes::{CLASS_IN, Ede, record_type};
use crate::query::DnsQuery;
use crate::synthesize;
use crate::wire::{
    self, HEADER_BYTES, MalformedMessage, POINTER_TO_QUESTION, bits, push_u16, push_u32,
};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use vocab::{DomainName, Name, NameBuffer};

/// The highest place that a compression pointer can name (RFC 1035 §4.1.4).
const POINTER_MAX: usize = 0x3fff;

/// Why a reply could not be renamed: it is malformed, or too long for its pointers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CannotRename;

/// A section of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageSection {
    /// What was asked for.
    Answer,
    /// Who is in charge.
    Authority,
    /// What may help.
    Additional,
}

/// One record of a reply.
#[derive(Clone, Copy, Debug)]
pub struct ReplyRecord<'m> {
    /// Where it stands.
    pub section: MessageSection,
    /// Type.
    pub rtype: u16,
    /// Class.
    pub class: u16,
    /// TTL, in seconds.
    pub ttl: u32,
    /// Data; names in it may be compressed.
    pub data: &'m [u8],
    pub(crate) places: wire::WireRecord,
}

/// Where a service stands (RFC 2782): what an SRV record says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceTarget {
    /// The lowest is asked first.
    pub priority: u16,
    /// Share that it gets beside others of its priority.
    pub weight: u16,
    /// Port.
    pub port: u16,
    /// The host; the root where there is decidedly no such service.
    pub target: DomainName,
}

/// The records of `message` in order; ends early where it is malformed.
pub fn records(message: &[u8]) -> impl Iterator<Item = ReplyRecord<'_>> {
    let count = |at| wire::u16_at(message, at).unwrap_or(0);
    let left = [count(6), count(8), count(10)];
    let mut sections =
        [MessageSection::Answer, MessageSection::Authority, MessageSection::Additional]
            .into_iter()
            .zip(left)
            .flat_map(|(section, count)| std::iter::repeat_n(section, usize::from(count)));
    let mut here = question_end(message);
    std::iter::from_fn(move || {
        let at = here?;
        let section = sections.next()?;
        let places = wire::record_at(message, at).ok()?;
        here = Some(places.end);
        let data = &message[places.data_at..places.end];
        let wire::WireRecord { rtype, class, ttl, .. } = places;
        Some(ReplyRecord { section, rtype, class, ttl, data, places })
    })
}

/// The response code in the header, 0 to 15.
pub fn rcode(message: &[u8]) -> u16 {
    message.get(3).map_or(0, |flags| u16::from(flags & 15))
}

/// The addresses in the answer section.
pub fn addresses(message: &[u8]) -> impl Iterator<Item = IpAddr> + '_ {
    records(message)
        .take_while(|record| record.section == MessageSection::Answer)
        .filter_map(|record| address(record.rtype, record.class, record.data))
}

/// The longest TTL of the addresses in the answer section, in seconds.
pub fn address_ttl(message: &[u8]) -> u32 {
    records(message)
        .take_while(|record| record.section == MessageSection::Answer)
        .filter(|record| address(record.rtype, record.class, record.data).is_some())
        .map(|record| record.ttl)
        .max()
        .unwrap_or(0)
}

/// The SRV records in the answer section; one that is malformed is left out.
pub fn services(message: &[u8]) -> impl Iterator<Item = ServiceTarget> + '_ {
    records(message)
        .take_while(|record| record.section == MessageSection::Answer)
        .filter_map(|record| service(message, &record))
}

fn service(message: &[u8], record: &ReplyRecord<'_>) -> Option<ServiceTarget> {
    if (record.rtype, record.class) != (record_type::SRV, CLASS_IN) {
        return None;
    }
    let at = record.places.data_at;
    let number = |index: usize| wire::u16_at(message, at + 2 * index).ok();
    // Its name should not be compressed (RFC 2782), but is by some.
    if wire::skip_name(message, at + 6).ok()? != record.places.end {
        return None;
    }
    let mut target = NameBuffer::new();
    wire::read_name(message, at + 6, &mut target).ok()?;
    let target = target.as_name().to_owned();
    Some(ServiceTarget { priority: number(0)?, weight: number(1)?, port: number(2)?, target })
}

/// The name that the first PTR record of `owner` in the answer section says. The highest bit of a
/// class is not looked at: by multicast DNS it says that the record is the only one (RFC 6762
/// §10.2).
pub fn pointer(message: &[u8], owner: Name<'_>, text: &mut NameBuffer) -> Option<()> {
    let mut of_owner = records(message)
        .take_while(|record| record.section == MessageSection::Answer)
        .filter(|record| (record.rtype, record.class & 0x7fff) == (record_type::PTR, CLASS_IN));
    let found = of_owner.find(|record| {
        wire::read_name(message, record.places.start, text).is_ok() && text.as_name() == owner
    })?;
    let at = found.places.data_at;
    if wire::skip_name(message, at).ok()? != found.places.end {
        return None;
    }
    wire::read_name(message, at, text).ok()
}

/// True if the answer section holds a record of type `qtype`.
pub fn has_type(message: &[u8], qtype: u16) -> bool {
    records(message)
        .take_while(|record| record.section == MessageSection::Answer)
        .any(|record| record.rtype == qtype)
}

/// True if `found` holds for the target of an alias in the answer section.
pub fn any_alias(message: &[u8], mut found: impl FnMut(Name<'_>) -> bool) -> bool {
    let mut text = NameBuffer::new();
    records(message).take_while(|record| record.section == MessageSection::Answer).any(|record| {
        record.rtype == record_type::CNAME
            && wire::read_name(message, record.places.data_at, &mut text).is_ok()
            && found(text.as_name())
    })
}

/// Gives every record the TTL that `rule` makes of its own.
pub fn set_ttls(message: &mut [u8], rule: impl Fn(u32) -> u32) {
    let Some(mut here) = question_end(message) else { return };
    let count = |at| usize::from(wire::u16_at(message, at).unwrap_or(0));
    for _ in 0..count(6) + count(8) + count(10) {
        let Ok(record) = wire::record_at(message, here) else { return };
        let ttl = rule(record.ttl).to_be_bytes();
        message[record.ttl_at..record.ttl_at + 4].copy_from_slice(&ttl);
        here = record.end;
    }
}

/// Puts the addresses of the answer section in the order of what `rank` makes of them, equal ones
/// as they stand. The records stay where they are, and so does what points into them.
pub fn order_addresses<K: Ord>(message: &mut [u8], rank: impl Fn(IpAddr) -> K) {
    let Some(mut here) = question_end(message) else { return };
    let mut places: Vec<(usize, IpAddr)> = Vec::new();
    for _ in 0..wire::u16_at(message, 6).unwrap_or(0) {
        let Ok(record) = wire::record_at(message, here) else { return };
        let data = &message[record.data_at..record.end];
        if let Some(found) = address(record.rtype, record.class, data) {
            // Of one family only: the other is longer, and no answer to the same question.
            if places.first().is_none_or(|(_, first)| first.is_ipv4() == found.is_ipv4()) {
                places.push((record.data_at, found));
            }
        }
        here = record.end;
    }
    let mut ordered: Vec<IpAddr> = places.iter().map(|(_, address)| *address).collect();
    ordered.sort_by_cached_key(|address| rank(*address));
    for ((at, _), address) in places.into_iter().zip(ordered) {
        match address {
            IpAddr::V4(v4) => message[at..at + 4].copy_from_slice(&v4.octets()),
            IpAddr::V6(v6) => message[at..at + 16].copy_from_slice(&v6.octets()),
        }
    }
}

/// The least TTL of the answer section, or of the SOA record where that is empty; none where there
/// is neither.
pub fn least_ttl(message: &[u8]) -> Option<u32> {
    records(message)
        .filter(|it| it.section == MessageSection::Answer || it.rtype == record_type::SOA)
        .map(|it| it.ttl)
        .min()
}

/// Makes the message that starts at `start` answer `question` (name, type and class in wire form)
/// instead: an alias from its name to the name answered so far is put first, with `ttl` seconds.
///
/// The old name then stands in the alias record, and every compression pointer is moved with what
/// it points to.
pub fn rename(
    out: &mut Vec<u8>,
    start: usize,
    question: &[u8],
    ttl: u32,
) -> Result<(), CannotRename> {
    let message = &out[start..];
    let old_end = question_end(message).ok_or(CannotRename)?;
    let old_name = old_end - HEADER_BYTES - 4;
    let mut renamed = Vec::with_capacity(message.len() + question.len() + 16);
    renamed.extend_from_slice(&message[..HEADER_BYTES]);
    renamed.extend_from_slice(question);
    renamed.extend_from_slice(&POINTER_TO_QUESTION);
    push_u16(&mut renamed, record_type::CNAME);
    push_u16(&mut renamed, CLASS_IN);
    push_u32(&mut renamed, ttl);
    push_u16(&mut renamed, old_name as u16);
    let moved =
        MovedParts { name_to: renamed.len(), old_end, records_to: renamed.len() + old_name };
    renamed.extend_from_slice(&message[HEADER_BYTES..HEADER_BYTES + old_name]);
    renamed.extend_from_slice(&message[old_end..]);
    moved.fix_pointers(message, &mut renamed).map_err(|MalformedMessage| CannotRename)?;
    let answers =
        u16::from_be_bytes([message[6], message[7]]).checked_add(1).ok_or(CannotRename)?;
    renamed[6..8].copy_from_slice(&answers.to_be_bytes());
    out.truncate(start);
    out.append(&mut renamed);
    Ok(())
}

/// Where the parts of a renamed message went.
struct MovedParts {
    /// The old name, from the header's end.
    name_to: usize,
    /// Where the old question ended.
    old_end: usize,
    /// The records, from there.
    records_to: usize,
}

impl MovedParts {
    /// Mends the pointers of all records of `old` in `new`.
    fn fix_pointers(&self, old: &[u8], new: &mut [u8]) -> Result<(), MalformedMessage> {
        let count = |at| wire::u16_at(old, at).map(usize::from);
        let mut here = self.old_end;
        for _ in 0..count(6)? + count(8)? + count(10)? {
            let record = wire::record_at(old, here)?;
            self.fix_name_pointers(old, record.start, new)?;
            let names = names_in(record.rtype);
            let mut at = record.data_at + names.skip;
            for _ in 0..names.count {
                self.fix_name_pointers(old, at, new)?;
                at = wire::skip_name(old, at)?;
                if at > record.end {
                    return Err(MalformedMessage);
                }
            }
            here = record.end;
        }
        Ok(())
    }

    fn fix_name_pointers(
        &self,
        old: &[u8],
        at: usize,
        new: &mut [u8],
    ) -> Result<(), MalformedMessage> {
        let end = wire::skip_name(old, at)?;
        if ends_with_pointer(old, at, end) {
            let target = usize::from(wire::u16_at(old, end - 2)? & 0x3fff);
            let target = self.new_offset(target);
            if target > POINTER_MAX {
                return Err(MalformedMessage);
            }
            let place = self.new_offset(end - 2);
            new[place..place + 2].copy_from_slice(&(0xc000 | target as u16).to_be_bytes());
        }
        Ok(())
    }

    fn new_offset(&self, old: usize) -> usize {
        if old < HEADER_BYTES {
            old
        } else if old < self.old_end {
            old - HEADER_BYTES + self.name_to
        } else {
            old - self.old_end + self.records_to
        }
    }
}

/// True if the name from `at` to `end` ends with a pointer.
pub(crate) fn ends_with_pointer(message: &[u8], at: usize, end: usize) -> bool {
    let mut here = at;
    while here < end {
        let length = usize::from(message[here]);
        match length {
            0 => return false,
            1..=63 => here += 1 + length,
            _ => return true,
        }
    }
    false
}

/// The names in a record's data that may be compressed: those of RFC 1035, and of the few types
/// after it that old servers compress too (RFC 3597 §4).
pub(crate) struct NamesIn {
    pub(crate) skip: usize,
    pub(crate) count: usize,
}

pub(crate) const fn names_in(rtype: u16) -> NamesIn {
    let (skip, count) = match rtype {
        // NS MD MF CNAME MB MG MR PTR, and DNAME.
        2..=5 | 7..=9 | 12 | 39 => (0, 1),
        // SOA MINFO, and RP.
        6 | 14 | 17 => (0, 2),
        // MX, and AFSDB RT KX.
        15 | 18 | 21 | 36 => (2, 1),
        // PX
        26 => (2, 2),
        // SRV
        33 => (6, 1),
        _ => (0, 0),
    };
    NamesIn { skip, count }
}

/// Ends the message that starts at `start`: leaves out what does not fit `limit` bytes, and appends
/// OPT with `options` (raw, sound) if the query had EDNS.
///
/// An extended error is left out first, if that is enough; then additional records, silently; then
/// everything, with TC set (RFC 2181 §9). `rcode` replaces the code of the message where one over
/// 15 is due.
pub fn finish(
    query: &DnsQuery<'_>,
    rcode: Option<u16>,
    ede: Option<Ede<'_>>,
    options: &[u8],
    limit: usize,
    start: usize,
    out: &mut Vec<u8>,
) {
    let options = if query.edns.is_some() { options } else { &[] };
    let with = |ede| synthesize::opt_len(query, ede) + options.len();
    let len = out.len() - start;
    // The reason is a courtesy: no record goes for its sake.
    let ede = ede.filter(|_| len + with(ede) <= limit || len + with(None) > limit);
    if len + with(ede) > limit {
        cut(limit.saturating_sub(with(ede)), start, out);
    }
    if let Some(rcode) = rcode {
        out[start + 3] = out[start + 3] & 0xf0 | (rcode & bits::RCODE) as u8;
    }
    synthesize::push_opt_raw(query, rcode.unwrap_or(0), ede, options, start, out);
}

/// Leaves the additional records out of the message that starts at `start`; one that is malformed
/// stays as it is.
pub fn drop_additional(out: &mut Vec<u8>, start: usize) {
    let message = &out[start..];
    let Some(question_end) = question_end(message) else { return };
    let end = records(message)
        .take_while(|record| record.section != MessageSection::Additional)
        .last()
        .map_or(question_end, |record| record.places.end);
    out[start + 10..start + 12].fill(0);
    out.truncate(start + end);
}

fn cut(limit: usize, start: usize, out: &mut Vec<u8>) {
    let message = &out[start..];
    let Some(question_end) = question_end(message) else { return };
    let needed = records(message)
        .take_while(|record| record.section != MessageSection::Additional)
        .last()
        .map_or(question_end, |record| record.places.end);
    let has_additional = message[10..12] != [0, 0];
    let end = if has_additional && needed <= limit { needed } else { question_end };
    if end == question_end {
        out[start + 2] |= (bits::TRUNCATED >> 8) as u8;
        out[start + 6..start + 10].fill(0);
    }
    out[start + 10..start + 12].fill(0);
    out.truncate(start + end);
}

/// Where the one question ends; none where there is not one.
pub(crate) fn question_end(message: &[u8]) -> Option<usize> {
    if wire::u16_at(message, 4) != Ok(1) {
        return None;
    }
    let end = wire::skip_name(message, HEADER_BYTES).ok()? + 4;
    (end <= message.len()).then_some(end)
}

/// The address in a record's data.
pub(crate) fn address(rtype: u16, class: u16, data: &[u8]) -> Option<IpAddr> {
    if class != CLASS_IN {
        return None;
    }
    match rtype {
        record_type::A => <[u8; 4]>::try_from(data).ok().map(|it| IpAddr::V4(Ipv4Addr::from(it))),
        record_type::AAAA => {
            <[u8; 16]>::try_from(data).ok().map(|it| IpAddr::V6(Ipv6Addr::from(it)))
        }
        _ => None,
    }
}
