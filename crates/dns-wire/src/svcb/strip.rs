//! Takes address hints out of service bindings, where they lie in an answer.
//!
//! What follows moves forward, so every compression pointer behind is mended. It allocates nothing.
//! A signature over a changed record no longer holds, as with every answer that is changed on the
//! way, so AD goes too. Called by the DNS door where a family of addresses is filtered.

use super::{key, parameters};
use crate::codes::{CLASS_IN, record_type};
use crate::reply::names_in;
use crate::wire::{self, HEADER_BYTES, MalformedMessage, WireRecord, bits, u16_at};

/// Pieces that are taken out of one answer, at most; an answer with more is not stripped.
pub const CUTS_MAX: usize = 64;

/// Outcome of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StripOutcome {
    /// It had none of these hints and is as it was.
    Untouched,
    /// They are gone.
    Changed,
}

/// The answer is malformed or holds over [`CUTS_MAX`] hints. It may be half changed: answer
/// something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CannotStrip;

/// Takes the hints at addresses of type `address_type` (A or AAAA; there are no others) out of
/// every service binding in the message that starts at `start`, which has no OPT yet.
pub fn strip_hints(
    out: &mut Vec<u8>,
    start: usize,
    address_type: u16,
) -> Result<StripOutcome, CannotStrip> {
    let hint = match address_type {
        record_type::A => key::IPV4HINT,
        record_type::AAAA => key::IPV6HINT,
        _ => return Ok(StripOutcome::Untouched),
    };
    let message = &mut out[start..];
    let cuts = find(message, hint).map_err(|MalformedMessage| CannotStrip)?;
    if cuts.count == 0 {
        return Ok(StripOutcome::Untouched);
    }
    cuts.fix_pointers(message).map_err(|MalformedMessage| CannotStrip)?;
    // There is a header: records were found behind it.
    message[3] &= !(bits::AUTHENTIC as u8);
    let left = cuts.close(message);
    out.truncate(start + left);
    Ok(StripOutcome::Changed)
}

/// Pieces to be taken out, in order.
struct ByteCuts {
    ranges: [CutRange; CUTS_MAX],
    count: usize,
}

#[derive(Clone, Copy)]
struct CutRange {
    at: usize,
    len: usize,
}

impl ByteCuts {
    fn push(&mut self, at: usize, len: usize) -> Result<(), MalformedMessage> {
        *self.ranges.get_mut(self.count).ok_or(MalformedMessage)? = CutRange { at, len };
        self.count += 1;
        Ok(())
    }

    fn as_slice(&self) -> &[CutRange] {
        &self.ranges[..self.count]
    }

    /// Where what stands at `old` will stand; nothing may stand within a piece.
    fn new_offset(&self, old: usize) -> Result<usize, MalformedMessage> {
        let mut gone = 0;
        for piece in self.as_slice() {
            if old < piece.at {
                break;
            }
            if old < piece.at + piece.len {
                return Err(MalformedMessage);
            }
            gone += piece.len;
        }
        Ok(old - gone)
    }

    /// Bytes that go between `from` and `to`.
    fn removed_between(&self, from: usize, to: usize) -> usize {
        self.as_slice().iter().filter(|it| (from..to).contains(&it.at)).map(|it| it.len).sum()
    }

    /// Writes the pointers and lengths that will hold, while everything is still in its old place.
    fn fix_pointers(&self, message: &mut [u8]) -> Result<(), MalformedMessage> {
        let mut here = records_at(message)?;
        for _ in 0..records(message)? {
            let record = wire::record_at(message, here)?;
            self.fix_name_pointers(message, record.start)?;
            let names = names_in(record.rtype);
            let mut at = record.data_at + names.skip;
            for _ in 0..names.count {
                self.fix_name_pointers(message, at)?;
                at = wire::skip_name(message, at)?;
                if at > record.end {
                    return Err(MalformedMessage);
                }
            }
            let left =
                record.end - record.data_at - self.removed_between(record.data_at, record.end);
            message[record.data_at - 2..record.data_at]
                .copy_from_slice(&(left as u16).to_be_bytes());
            here = record.end;
        }
        Ok(())
    }

    fn fix_name_pointers(&self, message: &mut [u8], at: usize) -> Result<(), MalformedMessage> {
        let mut here = at;
        loop {
            let length = usize::from(*message.get(here).ok_or(MalformedMessage)?);
            match length {
                0 => return Ok(()),
                1..=63 => here += 1 + length,
                192.. => {
                    let target = usize::from(u16_at(message, here)? & 0x3fff);
                    let target = 0xc000 | self.new_offset(target)? as u16;
                    message[here..here + 2].copy_from_slice(&target.to_be_bytes());
                    return Ok(());
                }
                _ => return Err(MalformedMessage),
            }
        }
    }

    /// Moves what is left together; gives how much that is.
    fn close(&self, message: &mut [u8]) -> usize {
        let pieces = self.as_slice();
        let mut to = pieces.first().map_or(message.len(), |piece| piece.at);
        for (index, piece) in pieces.iter().enumerate() {
            let from = piece.at + piece.len;
            let end = pieces.get(index + 1).map_or(message.len(), |next| next.at);
            message.copy_within(from..end, to);
            to += end - from;
        }
        to
    }
}

/// Finds what is to go. Also writes how long lists of mandatory keys will be, which stand before
/// the hints that they name.
fn find(message: &mut [u8], hint: u16) -> Result<ByteCuts, MalformedMessage> {
    let mut cuts = ByteCuts { ranges: [CutRange { at: 0, len: 0 }; CUTS_MAX], count: 0 };
    let mut here = records_at(message)?;
    for _ in 0..records(message)? {
        let record = wire::record_at(message, here)?;
        here = record.end;
        let is_binding = matches!(record.rtype, record_type::SVCB | record_type::HTTPS);
        if is_binding && record.class == CLASS_IN {
            cut(message, &record, hint, &mut cuts)?;
        }
    }
    Ok(cuts)
}

fn cut(
    message: &mut [u8],
    record: &WireRecord,
    hint: u16,
    cuts: &mut ByteCuts,
) -> Result<(), MalformedMessage> {
    let data = &message[record.data_at..record.end];
    if !parameters(data).any(|it| it.key == hint) {
        return Ok(());
    }
    let mut shorter = None;
    let mut last = None;
    for it in parameters(data) {
        // RFC 9460 §2.2: keys that repeat or go back make a record malformed, and two lists of
        // mandatory keys could not both be mended here.
        if last.is_some_and(|last| last >= it.key) {
            return Err(MalformedMessage);
        }
        last = Some(it.key);
        let at = record.data_at + it.at;
        if it.key == hint {
            cuts.push(at, 4 + it.value.len())?;
        } else if it.key == key::MANDATORY {
            // A key that is gone must not be called mandatory, or the record is void (RFC 9460 §8).
            let mut named = it.value.chunks_exact(2);
            let Some(index) = named.position(|key| key == hint.to_be_bytes()) else { continue };
            if it.value.len() == 2 {
                cuts.push(at, 6)?;
            } else {
                cuts.push(at + 4 + 2 * index, 2)?;
                shorter = Some((at + 2, it.value.len() as u16 - 2));
            }
        }
    }
    if let Some((at, len)) = shorter {
        message[at..at + 2].copy_from_slice(&len.to_be_bytes());
    }
    Ok(())
}

fn records_at(message: &[u8]) -> Result<usize, MalformedMessage> {
    let mut here = HEADER_BYTES;
    for _ in 0..u16_at(message, 4)? {
        here = wire::skip_name(message, here)? + 4;
    }
    Ok(here)
}

/// As many as the header claims; the message's end bounds them.
fn records(message: &[u8]) -> Result<usize, MalformedMessage> {
    let count = |at| u16_at(message, at).map(usize::from);
    Ok(count(6)? + count(8)? + count(10)?)
}
