//! The data of records as their types demand them: lengths, names, texts, parameters.
//!
//! Whoever keeps a foreign answer checks it here first, so that no client is given what its own
//! reader would choke on. Types that nobody knows pass as they are (RFC 3597). Nothing allocates.
//! Called for each record of an upstream's answer.

use crate::codes::{CLASS_IN, record_type};
use crate::wire::{self, MalformedMessage, WireRecord, u16_at};

/// Octets of an address in an IPSECKEY record, by its gateway type (RFC 4025 §2.3).
const GATEWAY_BYTES: [usize; 3] = [0, 4, 16];
/// The least digest of ZONEMD (RFC 8976 §2.2.4).
const ZONE_DIGEST_BYTES_MIN: usize = 12;

/// Holds what stands in a record's data, in this order.
struct DataForm {
    /// Octets of any value.
    fixed: usize,
    /// Names.
    names: usize,
    pointers: NameCompression,
    tail: DataTail,
}

/// Tells whether names may be compressed. Only those may that everybody knows to mend when records
/// move (RFC 3597 §4).
#[derive(Clone, Copy, PartialEq, Eq)]
enum NameCompression {
    Allowed,
    Forbidden,
}

/// Tells what follows the names.
#[derive(Clone, Copy)]
enum DataTail {
    /// So many octets.
    Exactly(usize),
    Any,
    /// Character strings (RFC 1035 §3.3), as many as there are.
    Texts,
    /// The same, so many of them.
    TextsExactly(usize),
    /// The types of a name (RFC 4034 §4.1.2).
    TypeBitmap,
    /// What a service binding says (RFC 9460 §2.2).
    Parameters,
    /// A flag, a property and its value (RFC 8659 §4.1).
    Property,
    /// Salt, hash and types of a hashed name (RFC 5155 §3.2).
    HashedNext,
    /// A salt (RFC 5155 §4.2).
    Salt,
    /// Three texts and a name (RFC 3403 §4.1).
    Naptr,
    /// A gateway and a key (RFC 4025 §2.1).
    Gateway,
    /// At least so many octets.
    AtLeast(usize),
}

/// Checks the data of `record`. Types are the same in all classes, as far as we read their data,
/// but addresses, of which nothing is known outside IN (RFC 1035 §3.4).
pub(crate) fn check(message: &[u8], record: &WireRecord) -> Result<(), MalformedMessage> {
    let length = record.end - record.data_at;
    match record.rtype {
        record_type::A | record_type::AAAA if record.class != CLASS_IN => Ok(()),
        // Nearly every record.
        record_type::A => exactly(length, 4),
        record_type::AAAA => exactly(length, 16),
        rtype => form_of(rtype).map_or(Ok(()), |form| form.check(message, record)),
    }
}

fn exactly(length: usize, wanted: usize) -> Result<(), MalformedMessage> {
    if length == wanted { Ok(()) } else { Err(MalformedMessage) }
}

const fn form_of(rtype: u16) -> Option<DataForm> {
    let (fixed, names, pointers, tail) = match rtype {
        // NS MD MF CNAME MB MG MR PTR DNAME
        2..=5 | 7..=9 | 12 | 39 => (0, 1, NameCompression::Allowed, DataTail::Exactly(0)),
        // SOA
        6 => (0, 2, NameCompression::Allowed, DataTail::Exactly(20)),
        // MINFO RP
        14 | 17 => (0, 2, NameCompression::Allowed, DataTail::Exactly(0)),
        // MX AFSDB RT KX
        15 | 18 | 21 | 36 => (2, 1, NameCompression::Allowed, DataTail::Exactly(0)),
        // PX
        26 => (2, 2, NameCompression::Allowed, DataTail::Exactly(0)),
        // SRV
        33 => (6, 1, NameCompression::Allowed, DataTail::Exactly(0)),
        // HINFO
        13 => (0, 0, NameCompression::Forbidden, DataTail::TextsExactly(2)),
        // TXT SPF
        16 | 99 => (0, 0, NameCompression::Forbidden, DataTail::Texts),
        // NAPTR
        35 => (4, 0, NameCompression::Forbidden, DataTail::Naptr),
        // IPSECKEY
        45 => (0, 0, NameCompression::Forbidden, DataTail::Gateway),
        // RRSIG
        46 => (18, 1, NameCompression::Forbidden, DataTail::Any),
        // NSEC
        47 => (0, 1, NameCompression::Forbidden, DataTail::TypeBitmap),
        // DS DNSKEY CDS CDNSKEY
        43 | 48 | 59 | 60 => (4, 0, NameCompression::Forbidden, DataTail::Any),
        // NSEC3
        50 => (4, 0, NameCompression::Forbidden, DataTail::HashedNext),
        // NSEC3PARAM
        51 => (4, 0, NameCompression::Forbidden, DataTail::Salt),
        // SSHFP
        44 => (2, 0, NameCompression::Forbidden, DataTail::Any),
        // TLSA SMIMEA
        52 | 53 => (3, 0, NameCompression::Forbidden, DataTail::Any),
        // ZONEMD
        63 => (6, 0, NameCompression::Forbidden, DataTail::AtLeast(ZONE_DIGEST_BYTES_MIN)),
        // SVCB HTTPS
        64 | 65 => (2, 1, NameCompression::Forbidden, DataTail::Parameters),
        // CAA
        257 => (1, 0, NameCompression::Forbidden, DataTail::Property),
        _ => return None,
    };
    Some(DataForm { fixed, names, pointers, tail })
}

impl DataForm {
    fn check(&self, message: &[u8], record: &WireRecord) -> Result<(), MalformedMessage> {
        let mut here = record.data_at + self.fixed;
        for _ in 0..self.names {
            here = name(message, here, self.pointers)?;
        }
        let rest = message.get(here..record.end).ok_or(MalformedMessage)?;
        match self.tail {
            DataTail::Exactly(octets) => exactly(rest.len(), octets),
            DataTail::AtLeast(octets) if rest.len() < octets => Err(MalformedMessage),
            DataTail::Any | DataTail::AtLeast(_) => Ok(()),
            DataTail::Texts => texts(rest),
            DataTail::TextsExactly(count) => {
                let end = (0..count).try_fold(rest, |rest, _| text(rest).map(|it| it.1))?;
                exactly(end.len(), 0)
            }
            DataTail::TypeBitmap => type_bitmap(rest),
            DataTail::Parameters => parameters(rest),
            DataTail::Property => property(rest),
            DataTail::HashedNext => {
                let (_, rest) = text(rest)?;
                let (hash, types) = text(rest)?;
                if hash.is_empty() { Err(MalformedMessage) } else { type_bitmap(types) }
            }
            DataTail::Salt => exactly(text(rest)?.1.len(), 0),
            DataTail::Naptr => check_naptr(message, here, record.end),
            DataTail::Gateway => gateway(message, here, record.end),
        }
    }
}

/// The end of the name at `at`.
fn name(message: &[u8], at: usize, pointers: NameCompression) -> Result<usize, MalformedMessage> {
    let end = wire::check_name(message, at)?;
    // A name ends with its root label, or with the second octet of a pointer.
    let is_plain = || wire::plain_name_end(message, at) == Some(end);
    if pointers == NameCompression::Allowed || is_plain() { Ok(end) } else { Err(MalformedMessage) }
}

/// The first character string, and what follows it.
fn text(data: &[u8]) -> Result<(&[u8], &[u8]), MalformedMessage> {
    let (length, rest) = data.split_first().ok_or(MalformedMessage)?;
    rest.split_at_checked(usize::from(*length)).ok_or(MalformedMessage)
}

fn texts(mut data: &[u8]) -> Result<(), MalformedMessage> {
    while !data.is_empty() {
        data = text(data)?.1;
    }
    Ok(())
}

fn type_bitmap(mut data: &[u8]) -> Result<(), MalformedMessage> {
    while let Some((_window, rest)) = data.split_first() {
        let (types, rest) = text(rest)?;
        if !(1..=32).contains(&types.len()) {
            return Err(MalformedMessage);
        }
        data = rest;
    }
    Ok(())
}

/// Parameters in the order of their keys, none twice.
fn parameters(data: &[u8]) -> Result<(), MalformedMessage> {
    let (mut here, mut last) = (0, None);
    while here < data.len() {
        let key = u16_at(data, here)?;
        here += 4 + usize::from(u16_at(data, here + 2)?);
        if last.replace(key).is_some_and(|last| last >= key) {
            return Err(MalformedMessage);
        }
    }
    exactly(here, data.len())
}

fn property(data: &[u8]) -> Result<(), MalformedMessage> {
    let (tag, _value) = text(data)?;
    let is_sound = !tag.is_empty() && tag.iter().all(u8::is_ascii_alphanumeric);
    if is_sound { Ok(()) } else { Err(MalformedMessage) }
}

fn check_naptr(message: &[u8], at: usize, end: usize) -> Result<(), MalformedMessage> {
    let data = message.get(at..end).ok_or(MalformedMessage)?;
    let rest = (0..3).try_fold(data, |rest, _| text(rest).map(|it| it.1))?;
    exactly(name(message, end - rest.len(), NameCompression::Forbidden)?, end)
}

fn gateway(message: &[u8], at: usize, end: usize) -> Result<(), MalformedMessage> {
    let data = message.get(at..end).ok_or(MalformedMessage)?;
    let [_precedence, gateway, algorithm] = *data.first_chunk().ok_or(MalformedMessage)?;
    let key_at = match GATEWAY_BYTES.get(usize::from(gateway)) {
        Some(bytes) => at + 3 + bytes,
        None if gateway == 3 => name(message, at + 3, NameCompression::Forbidden)?,
        None => return Err(MalformedMessage),
    };
    let key = message.get(key_at..end).ok_or(MalformedMessage)?;
    if key.is_empty() && algorithm != 0 { Err(MalformedMessage) } else { Ok(()) }
}
