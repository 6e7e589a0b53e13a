//! Reads a query where it lies: header, the one question, and OPT if there is one.
//!
//! It copies nothing but the name's text, and refuses what no honest stub sends: several questions,
//! a compressed name in the question, records in the answer section, two OPT records. What is no
//! query at all is dropped, so that two servers never answer each other for ever. Called by the DNS
//! door for every message.

use crate::ask_options::OPTION_COOKIE;
use crate::codes::{Rcode, record_type};
use crate::options::iter_options;
use crate::wire::{self, HEADER_BYTES, MalformedMessage, NAME_BYTES_MAX, bits, u16_at};
use vocab::NameBuffer;

/// The largest UDP answer we send, and say that we take (DNS Flag Day 2020: it fits any path
/// without fragments).
pub const UDP_BYTES_MAX: usize = 1232;
/// The largest UDP answer to a client without EDNS (RFC 1035 §4.2.1).
pub const UDP_BYTES_WITHOUT_EDNS: usize = 512;

/// A query, read in place.
#[derive(Clone, Copy, Debug)]
pub struct DnsQuery<'p> {
    /// Number, which the answer repeats.
    pub id: u16,
    /// RD, AD and CD.
    pub flags: QueryFlags,
    /// Name, type and class as sent, case kept.
    pub question: &'p [u8],
    /// What is asked for.
    pub qtype: u16,
    /// In which class.
    pub qclass: u16,
    /// What its OPT record says, if there is one.
    pub edns: Option<Edns>,
    /// The options of its OPT record as they stand there; empty where there are none. They fill
    /// their record, so each has the length that it claims.
    pub options: &'p [u8],
}

/// The flags of a query that the answer depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueryFlags(u16);

/// EDNS (RFC 6891).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edns {
    /// The largest UDP answer that the client takes, as it says; under 512 means 512.
    pub udp_size: u16,
    /// DO: send DNSSEC records too.
    pub dnssec_ok: bool,
    /// 0; any other is refused.
    pub version: u8,
}

/// A message that is not a query that we answer from policy, cache or upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadQuery<'p> {
    /// Say nothing.
    Drop(DropReason),
    /// Say what is wrong, by [`crate::synthesize::bad`].
    Reply(BadReply<'p>),
    /// Has no question, and these options with a cookie: say what becomes of that (RFC 7873
    /// §5.4), by [`crate::synthesize::cookie_reply`].
    Cookie(BadReply<'p>, &'p [u8]),
}

/// Why a message deserves no reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropReason {
    /// Too short for a header.
    Runt,
    /// Is itself a response.
    Response,
}

/// Holds what a refusal repeats from the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadReply<'p> {
    /// `FormErr`, `NotImp` or `BadVers`; `NoError` where a cookie is all that was asked for.
    pub rcode: Rcode,
    /// The number of the message.
    pub id: u16,
    /// Opcode and RD, as they stand in the header.
    pub(crate) flags: u16,
    /// Question, where that could be read.
    pub(crate) question: Option<&'p [u8]>,
    pub(crate) edns: Option<Edns>,
}

/// Holds what tells two answers apart: lower-case name, type, class, and the DO and CD bits. It
/// stands on the stack; its owned form is `Box<[u8]>`.
pub struct KeyBuffer {
    bytes: [u8; wire::QUESTION_BYTES_MAX + 1],
    len: usize,
}

/// DO in the last byte of a key.
const KEY_DNSSEC_OK: u8 = 1;
/// CD in the last byte of a key.
const KEY_CHECKING_DISABLED: u8 = 2;

impl QueryFlags {
    /// RD: look it up for me.
    pub const fn recursion_desired(self) -> bool {
        self.0 & bits::RECURSION_DESIRED != 0
    }

    /// AD: I want to know whether it was validated (RFC 6840 §5.7).
    pub const fn authentic_data(self) -> bool {
        self.0 & bits::AUTHENTIC != 0
    }

    /// CD: do not validate for me.
    pub const fn checking_disabled(self) -> bool {
        self.0 & bits::CHECKING_DISABLED != 0
    }

    /// RD and CD, which an answer repeats.
    pub(crate) const fn repeated(self) -> u16 {
        self.0 & (bits::RECURSION_DESIRED | bits::CHECKING_DISABLED)
    }
}

impl<'p> DnsQuery<'p> {
    /// Reads `packet`; its name goes to `name` as text.
    pub fn parse(packet: &'p [u8], name: &mut NameBuffer) -> Result<Self, BadQuery<'p>> {
        name.clear();
        if packet.len() < HEADER_BYTES {
            return Err(BadQuery::Drop(DropReason::Runt));
        }
        let word = |at: usize| u16::from_be_bytes([packet[at], packet[at + 1]]);
        let (id, flags) = (word(0), word(2));
        if flags & bits::RESPONSE != 0 {
            return Err(BadQuery::Drop(DropReason::Response));
        }
        let counts = [word(4), word(6), word(8), word(10)];
        if flags & bits::OPCODE != 0 {
            return Err(refused(packet, counts, Rcode::NotImp));
        }
        let Ok((question, edns, options)) = read(packet, counts, name) else {
            name.clear();
            return Err(refused(packet, counts, Rcode::FormErr));
        };
        if edns.is_some_and(|edns| edns.version != 0) {
            return Err(refused(packet, counts, Rcode::BadVers));
        }
        let tail = question.len() - 4;
        Ok(Self {
            id,
            flags: QueryFlags(flags),
            question,
            qtype: u16::from_be_bytes([question[tail], question[tail + 1]]),
            qclass: u16::from_be_bytes([question[tail + 2], question[tail + 3]]),
            edns,
            options,
        })
    }

    /// Writes what answers to this query are kept under.
    pub fn key(&self, out: &mut KeyBuffer) {
        let name = self.question.len() - 4;
        out.bytes[..self.question.len()].copy_from_slice(self.question);
        // Length bytes are at most 63 and so never letters.
        out.bytes[..name].make_ascii_lowercase();
        let mut last = 0;
        if self.wants_dnssec() {
            last |= KEY_DNSSEC_OK;
        }
        if self.flags.checking_disabled() {
            last |= KEY_CHECKING_DISABLED;
        }
        out.bytes[self.question.len()] = last;
        out.len = self.question.len() + 1;
    }

    /// Returns how many bytes a UDP answer may have: what the client takes, but never over
    /// [`UDP_BYTES_MAX`].
    pub fn udp_limit(&self) -> usize {
        self.edns.map_or(UDP_BYTES_WITHOUT_EDNS, |edns| {
            usize::from(edns.udp_size).clamp(UDP_BYTES_WITHOUT_EDNS, UDP_BYTES_MAX)
        })
    }

    /// DO.
    pub fn wants_dnssec(&self) -> bool {
        self.edns.is_some_and(|edns| edns.dnssec_ok)
    }
}

/// The question, EDNS and the options of it.
type Parts<'p> = (&'p [u8], Option<Edns>, &'p [u8]);

/// Question and EDNS of a message whose header is sound.
fn read<'p>(
    packet: &'p [u8],
    [questions, answers, authorities, additionals]: [u16; 4],
    name: &mut NameBuffer,
) -> Result<Parts<'p>, MalformedMessage> {
    // A query holds one question (RFC 9619 §4) and no records but OPT and a signature.
    if questions != 1 || answers != 0 || authorities != 0 || additionals > 2 {
        return Err(MalformedMessage);
    }
    let mut here = HEADER_BYTES;
    loop {
        let length = usize::from(*packet.get(here).ok_or(MalformedMessage)?);
        here += 1;
        match length {
            0 => break,
            1..=63 => {
                let label = packet.get(here..here + length).ok_or(MalformedMessage)?;
                name.push_label(label).map_err(|_| MalformedMessage)?;
                here += length;
                if here - HEADER_BYTES >= NAME_BYTES_MAX {
                    return Err(MalformedMessage);
                }
            }
            // There is nothing before the first name that it could point to.
            _ => return Err(MalformedMessage),
        }
    }
    let question = packet.get(HEADER_BYTES..here + 4).ok_or(MalformedMessage)?;
    here += 4;
    let mut edns = None;
    let mut options: &[u8] = &[];
    for _ in 0..additionals {
        let record = wire::record_at(packet, here)?;
        here = record.end;
        if record.rtype == record_type::OPT {
            let root = packet[record.start] == 0;
            if edns.replace(edns_of(packet, &record)?).is_some() || !root {
                return Err(MalformedMessage);
            }
            options = &packet[record.data_at..record.end];
        }
    }
    Ok((question, edns, options))
}

/// Returns what is said of a message that has a header and is no query of ours.
#[cold]
fn refused(packet: &[u8], counts: [u16; 4], rcode: Rcode) -> BadQuery<'_> {
    let (id, flags) = (u16_at(packet, 0).unwrap_or(0), u16_at(packet, 2).unwrap_or(0));
    let (question, edns, options) = parse_leniently(packet, counts);
    let reply = BadReply { rcode, id, flags, question, edns };
    if rcode == Rcode::FormErr && counts[..3] == [0; 3] && has_cookie(options) {
        return BadQuery::Cookie(BadReply { rcode: Rcode::NoError, ..reply }, options);
    }
    BadQuery::Reply(reply)
}

/// Question, EDNS and options of a message that is no query of ours, as far as it can be followed:
/// what of them was sound is repeated (RFC 6891 §7).
fn parse_leniently(packet: &[u8], counts: [u16; 4]) -> (Option<&[u8]>, Option<Edns>, &[u8]) {
    let [questions, records @ ..] = counts;
    let mut here = HEADER_BYTES;
    let mut question = None;
    for _ in 0..questions {
        let Ok(end) = wire::check_name(packet, here) else { return (None, None, &[]) };
        let Some(found) = packet.get(here..end + 4) else { return (question, None, &[]) };
        // The reply repeats one question, in whose name nothing is left to point to.
        let is_plain = wire::plain_name_end(packet, here) == Some(end);
        question = (questions == 1 && is_plain).then_some(found);
        here = end + 4;
    }
    let mut found = (None, &[][..]);
    for _ in 0..records.iter().map(|count| u32::from(*count)).sum() {
        let Ok(record) = wire::record_at(packet, here) else { return (question, None, &[]) };
        here = record.end;
        if record.rtype != record_type::OPT {
            continue;
        }
        match edns_of(packet, &record) {
            // A second one makes both worthless.
            Ok(edns) if found.0.is_none() && packet[record.start] == 0 => {
                found = (Some(edns), &packet[record.data_at..record.end]);
            }
            Ok(_) | Err(MalformedMessage) => return (question, None, &[]),
        }
    }
    (question, found.0, found.1)
}

fn has_cookie(options: &[u8]) -> bool {
    iter_options(options).any(|(code, _)| code == OPTION_COOKIE)
}

fn edns_of(packet: &[u8], record: &wire::WireRecord) -> Result<Edns, MalformedMessage> {
    // Ones that do not fill their record are no options.
    let mut option = record.data_at;
    while option < record.end {
        option += 4 + usize::from(u16_at(packet, option + 2)?);
    }
    if option != record.end {
        return Err(MalformedMessage);
    }
    Ok(Edns {
        udp_size: record.class,
        dnssec_ok: record.ttl & bits::DNSSEC_OK != 0,
        version: (record.ttl >> 16) as u8,
    })
}

impl KeyBuffer {
    /// An empty one.
    pub const fn new() -> Self {
        Self { bytes: [0; wire::QUESTION_BYTES_MAX + 1], len: 0 }
    }

    /// The key.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// The question within a key, lower-case: name, type, class. Empty if `key` is none.
    pub fn question(key: &[u8]) -> &[u8] {
        key.split_last().map_or(&[], |(_, question)| question)
    }

    /// DO within a key.
    pub fn dnssec_ok(key: &[u8]) -> bool {
        key.last().is_some_and(|last| last & KEY_DNSSEC_OK != 0)
    }

    /// CD within a key.
    pub fn checking_disabled(key: &[u8]) -> bool {
        key.last().is_some_and(|last| last & KEY_CHECKING_DISABLED != 0)
    }
}

impl Default for KeyBuffer {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for KeyBuffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "KeyBuffer({:02x?})", self.as_bytes())
    }
}
