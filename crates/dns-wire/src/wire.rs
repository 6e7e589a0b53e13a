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
/// Compression pointers of one name, at most: it has no more labels than that.
pub(crate) const POINTERS_MAX: usize = 127;
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
pub(crate) struct MalformedMessage;

pub(crate) fn u16_at(message: &[u8], at: usize) -> Result<u16, MalformedMessage> {
    let bytes = message.get(at..at + 2).ok_or(MalformedMessage)?;
    Ok(u16::from_be_bytes([bytes[0], bytes[1]]))
}

pub(crate) fn u32_at(message: &[u8], at: usize) -> Result<u32, MalformedMessage> {
    let bytes = message.get(at..at + 4).ok_or(MalformedMessage)?;
    Ok(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
}

/// Where the name that starts at `at` ends: after its root label or its first pointer.
pub(crate) fn skip_name(message: &[u8], at: usize) -> Result<usize, MalformedMessage> {
    let mut here = at;
    loop {
        let length = usize::from(*message.get(here).ok_or(MalformedMessage)?);
        match length {
            0 => here += 1,
            1..=63 => {
                here += 1 + length;
                if here - at >= NAME_BYTES_MAX {
                    return Err(MalformedMessage);
                }
                continue;
            }
            // The target is checked by whoever follows it.
            192.. => {
                here += 2;
                if here > message.len() {
                    return Err(MalformedMessage);
                }
            }
            _ => return Err(MalformedMessage),
        }
        return Ok(here);
    }
}

/// Where the pointer at `here` leads, which must be before `earliest` and behind the header.
fn pointer_target(message: &[u8], here: usize, earliest: usize) -> Result<usize, MalformedMessage> {
    let target = usize::from(u16_at(message, here)? & 0x3fff);
    if (HEADER_BYTES..earliest).contains(&target) { Ok(target) } else { Err(MalformedMessage) }
}

/// Where the name that starts at `at` ends, as [`skip_name`] says, once all of it was followed to
/// its root: pointers lead ever further back, to what ends before whatever points there (RFC 1035
/// §4.1.4: a prior occurrence), and 255 bytes are the end.
pub(crate) fn check_name(message: &[u8], at: usize) -> Result<usize, MalformedMessage> {
    // Nearly every owner; whoever asks this has read the question already.
    if message.get(at..at + 2) == Some(&POINTER_TO_QUESTION[..]) && at > HEADER_BYTES {
        return Ok(at + 2);
    }
    let (mut here, mut earliest, mut bytes, mut pointers) = (at, at, 0, 0);
    let (mut end, mut within) = (None, message);
    loop {
        let length = usize::from(*within.get(here).ok_or(MalformedMessage)?);
        match length {
            0 => return Ok(end.unwrap_or(here + 1)),
            1..=63 => {
                bytes += 1 + length;
                here += 1 + length;
                if bytes >= NAME_BYTES_MAX {
                    return Err(MalformedMessage);
                }
            }
            192.. => {
                let target = pointer_target(within, here, earliest)?;
                pointers += 1;
                if pointers > POINTERS_MAX {
                    return Err(MalformedMessage);
                }
                end.get_or_insert(here + 2);
                within = &message[..earliest];
                (here, earliest) = (target, target);
            }
            _ => return Err(MalformedMessage),
        }
    }
}

/// Where the name at `at` ends with its root label; none where it ends with a pointer.
pub(crate) fn plain_name_end(message: &[u8], at: usize) -> Option<usize> {
    let mut here = at;
    loop {
        match usize::from(*message.get(here)?) {
            0 => return Some(here + 1),
            length @ 1..=63 => here += 1 + length,
            _ => return None,
        }
    }
}

/// The place of the first label of the name at `at`, past any pointers; none where they lead
/// nowhere.
pub(crate) fn first_label(message: &[u8], at: usize) -> Option<usize> {
    let mut here = at;
    for _ in 0..=POINTERS_MAX {
        match *message.get(here)? {
            192.. => here = usize::from(u16_at(message, here).ok()? & 0x3fff),
            _ => return Some(here),
        }
    }
    None
}

/// The length of the label at `here`, which is none of a pointer, and what stands behind it.
fn label_at(message: &[u8], here: usize) -> Option<(&[u8], usize)> {
    let length = usize::from(*message.get(here)?);
    let label = message.get(here + 1..here + 1 + length)?;
    Some((label, here + 1 + length))
}

/// True if two sound names are the same, whatever the case of their letters.
pub(crate) fn is_same_name(message: &[u8], one: usize, other: usize) -> bool {
    let (mut one, mut other) = (one, other);
    loop {
        let (Some(first), Some(second)) = (first_label(message, one), first_label(message, other))
        else {
            return false;
        };
        if first == second {
            return true;
        }
        match (label_at(message, first), label_at(message, second)) {
            (Some((a, _)), Some((b, _))) if !a.eq_ignore_ascii_case(b) => return false,
            (Some(([], _)), Some(_)) => return true,
            (Some((_, next)), Some((_, other_next))) => (one, other) = (next, other_next),
            (None, _) | (_, None) => return false,
        }
    }
}

/// True if the sound name at `name` is the one at `above`, or stands below it.
pub(crate) fn is_name_at_or_below(message: &[u8], name: usize, above: usize) -> bool {
    let mut here = name;
    loop {
        if is_same_name(message, here, above) {
            return true;
        }
        match first_label(message, here).and_then(|it| label_at(message, it)) {
            None | Some(([], _)) => return false,
            Some((_, next)) => here = next,
        }
    }
}

/// Gives the labels of the name at `at` to `each`, following pointers, which must lead ever
/// further back: so a loop is impossible, and 255 bytes are the end.
pub(crate) fn for_each_label(
    message: &[u8],
    at: usize,
    mut each: impl FnMut(&[u8]) -> Result<(), MalformedMessage>,
) -> Result<(), MalformedMessage> {
    let mut here = at;
    let mut earliest = at;
    let (mut bytes, mut pointers) = (0, 0);
    loop {
        let length = usize::from(*message.get(here).ok_or(MalformedMessage)?);
        match length {
            0 => return Ok(()),
            1..=63 => {
                let label = message.get(here + 1..here + 1 + length).ok_or(MalformedMessage)?;
                bytes += 1 + length;
                if bytes >= NAME_BYTES_MAX {
                    return Err(MalformedMessage);
                }
                each(label)?;
                here += 1 + length;
            }
            192.. => {
                let target = pointer_target(message, here, earliest)?;
                pointers += 1;
                if pointers > POINTERS_MAX {
                    return Err(MalformedMessage);
                }
                earliest = target;
                here = target;
            }
            _ => return Err(MalformedMessage),
        }
    }
}

/// Writes the name at `at` as text.
pub(crate) fn read_name(
    message: &[u8],
    at: usize,
    text: &mut NameBuffer,
) -> Result<(), MalformedMessage> {
    text.clear();
    for_each_label(message, at, |label| text.push_label(label).map_err(|_| MalformedMessage))
}

/// One record, by its places in the message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WireRecord {
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
pub(crate) fn record_at(message: &[u8], at: usize) -> Result<WireRecord, MalformedMessage> {
    let fixed = skip_name(message, at)?;
    let data_at = fixed + 10;
    let end = data_at + usize::from(u16_at(message, fixed + 8)?);
    if end > message.len() {
        return Err(MalformedMessage);
    }
    Ok(WireRecord {
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
