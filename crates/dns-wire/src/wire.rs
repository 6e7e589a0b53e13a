//! The small steps that every reader of a message takes: integers, names, records.
//!
//! Nothing here allocates, and every loop ends: a name is at most 255 bytes, a compression pointer
//! must lead to an earlier place than the last, and records are counted by what is left of the
//! message, not by what its header claims.

use vocab::NameBuffer;

/// Bytes of a message header (RFC 1035 §4.1.1).
pub(crate) const HEADER_BYTES: usize = 12;
/// Bytes of a name in wire form, at most (RFC 1035 §2.3.4).
pub(crate) const NAME_BYTES_MAX: usize = 255;
/// A question: a name, its type, its class.
pub(crate) const QUESTION_BYTES_MAX: usize = NAME_BYTES_MAX + 4;
/// A pointer to the name of the question, which stands right after the header.
pub(crate) const POINTER_TO_QUESTION: [u8; 2] = [0xc0, HEADER_BYTES as u8];

/// Flag bits of the third and fourth header byte.
pub(crate) mod bits {
    pub(crate) const RESPONSE: u16 = 0x8000;
    pub(crate) const OPCODE: u16 = 0x7800;
    pub(crate) const TRUNCATED: u16 = 0x0200;
    pub(crate) const RECURSION_DESIRED: u16 = 0x0100;
    pub(crate) const RECURSION_AVAILABLE: u16 = 0x0080;
    pub(crate) const AUTHENTIC: u16 = 0x0020;
    pub(crate) const CHECKING_DISABLED: u16 = 0x0010;
    pub(crate) const RCODE: u16 = 0x000f;
    /// In the TTL field of an OPT record.
    pub(crate) const DNSSEC_OK: u32 = 0x8000;
}

/// The message ends early, or a name in it is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

pub(crate) fn u16_at(message: &[u8], at: usize) -> Result<u16, Malformed> {
    let bytes = message.get(at..at + 2).ok_or(Malformed)?;
    Ok(u16::from_be_bytes([bytes[0], bytes[1]]))
}

pub(crate) fn u32_at(message: &[u8], at: usize) -> Result<u32, Malformed> {
    let bytes = message.get(at..at + 4).ok_or(Malformed)?;
    Ok(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
}

/// Where the name that starts at `at` ends: after its root label or its first pointer.
pub(crate) fn skip_name(message: &[u8], at: usize) -> Result<usize, Malformed> {
    let mut here = at;
    loop {
        let length = usize::from(*message.get(here).ok_or(Malformed)?);
        match length {
            0 => here += 1,
            1..=63 => {
                here += 1 + length;
                if here - at >= NAME_BYTES_MAX {
                    return Err(Malformed);
                }
                continue;
            }
            // The target is checked by whoever follows it.
            192.. => {
                here += 2;
                if here > message.len() {
                    return Err(Malformed);
                }
            }
            _ => return Err(Malformed),
        }
        return Ok(here);
    }
}

/// Gives the labels of the name at `at` to `each`, following pointers, which must lead ever
/// further back: so a loop is impossible, and 255 bytes are the end.
pub(crate) fn each_label(
    message: &[u8],
    at: usize,
    mut each: impl FnMut(&[u8]) -> Result<(), Malformed>,
) -> Result<(), Malformed> {
    let mut here = at;
    let mut earliest = at;
    let mut bytes = 0;
    loop {
        let length = usize::from(*message.get(here).ok_or(Malformed)?);
        match length {
            0 => return Ok(()),
            1..=63 => {
                let label = message.get(here + 1..here + 1 + length).ok_or(Malformed)?;
                bytes += 1 + length;
                if bytes >= NAME_BYTES_MAX {
                    return Err(Malformed);
                }
                each(label)?;
                here += 1 + length;
            }
            192.. => {
                let target = usize::from(u16_at(message, here)? & 0x3fff);
                if target >= earliest {
                    return Err(Malformed);
                }
                earliest = target;
                here = target;
            }
            _ => return Err(Malformed),
        }
    }
}

/// Writes the name at `at` as text.
pub(crate) fn read_name(message: &[u8], at: usize, text: &mut NameBuffer) -> Result<(), Malformed> {
    text.clear();
    each_label(message, at, |label| text.push_label(label).map_err(|_| Malformed))
}

/// One record, by its places in the message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    /// Where its owner starts.
    pub(crate) start: usize,
    pub(crate) rtype: u16,
    pub(crate) class: u16,
    /// Where its TTL stands.
    pub(crate) ttl_at: usize,
    pub(crate) ttl: u32,
    pub(crate) data_at: usize,
    pub(crate) end: usize,
}

/// Reads the record at `at`.
pub(crate) fn record_at(message: &[u8], at: usize) -> Result<Record, Malformed> {
    let fixed = skip_name(message, at)?;
    let data_at = fixed + 10;
    let end = data_at + usize::from(u16_at(message, fixed + 8)?);
    if end > message.len() {
        return Err(Malformed);
    }
    Ok(Record {
        start: at,
        rtype: u16_at(message, fixed)?,
        class: u16_at(message, fixed + 2)?,
        ttl_at: fixed + 4,
        ttl: u32_at(message, fixed + 4)?,
        data_at,
        end,
    })
}

/// Appends a number in network order.
pub(crate) fn push_u16(out: &mut Vec<u8>, number: u16) {
    out.extend_from_slice(&number.to_be_bytes());
}

/// Appends a number in network order.
pub(crate) fn push_u32(out: &mut Vec<u8>, number: u32) {
    out.extend_from_slice(&number.to_be_bytes());
}
