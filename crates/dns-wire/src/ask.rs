//! The other side of the wire: writes a query for an upstream, and tells its answer from anything
//! else that arrives.
//!
//! It chooses no number and no port: those are handed in. Called by `resolver`.

use crate::codes::{CLASS_IN, record_type};
use crate::query::UDP_BYTES_MAX;
use crate::wire::{HEADER_BYTES, bits, push_u16, push_u32, u16_at};

/// Holds what stands in the header of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResponseHeader {
    /// TC: the answer is cut, ask again over a stream.
    pub truncated: bool,
    /// The response code, without EDNS's upper bits.
    pub rcode: u8,
}

/// Why a message is not the answer that is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotOurs {
    /// Too short, or no response.
    NoResponse,
    /// Another number.
    Id,
    /// Another question, or none: somebody guesses, or the upstream is broken.
    Question,
}

impl std::fmt::Display for NotOurs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::NoResponse => "it is no response",
            Self::Id => "its number is another query's",
            Self::Question => "it answers another question",
        })
    }
}

impl std::error::Error for NotOurs {}

/// Appends a query for the question within `key` (see [`crate::KeyBuffer`]), with the key's DO and
/// CD bits. AD is always set: it asks for the upstream's word on validation (RFC 6840 §5.7), which
/// a kept answer needs for clients that ask for it later.
pub fn write_query(id: u16, key: &[u8], out: &mut Vec<u8>) {
    let question = crate::KeyBuffer::question(key);
    let mut flags = bits::RECURSION_DESIRED | bits::AUTHENTIC;
    if crate::KeyBuffer::checking_disabled(key) {
        flags |= bits::CHECKING_DISABLED;
    }
    for word in [id, flags, 1, 0, 0, 1] {
        push_u16(out, word);
    }
    out.extend_from_slice(question);
    out.push(0);
    push_u16(out, record_type::OPT);
    push_u16(out, UDP_BYTES_MAX as u16);
    push_u32(out, if crate::KeyBuffer::dnssec_ok(key) { bits::DNSSEC_OK } else { 0 });
    push_u16(out, 0);
}

/// The key of a question of class IN for `name` and `qtype`, without DO and CD; none if the name
/// has a text that no label can have.
pub fn key_of(name: vocab::Name<'_>, qtype: u16) -> Option<Box<[u8]>> {
    let mut key = Vec::with_capacity(name.as_str().len() + 7);
    for label in name.labels() {
        let at = key.len();
        key.push(0);
        let mut bytes = label.bytes();
        while let Some(byte) = bytes.next() {
            // `\DDD`, as `vocab::NameBuffer` writes it.
            let byte = if byte == b'\\' {
                let mut digit = || {
                    let digit = bytes.next().filter(u8::is_ascii_digit)?;
                    Some(u16::from(digit - b'0'))
                };
                u8::try_from(digit()? * 100 + digit()? * 10 + digit()?).ok()?
            } else {
                byte.to_ascii_lowercase()
            };
            key.push(byte);
        }
        let length = key.len() - at - 1;
        if !(1..=63).contains(&length) {
            return None;
        }
        key[at] = length as u8;
    }
    key.push(0);
    if key.len() > crate::wire::NAME_BYTES_MAX {
        return None;
    }
    push_u16(&mut key, qtype);
    push_u16(&mut key, CLASS_IN);
    key.push(0);
    Some(key.into())
}

/// Returns whether `message` answers the query with number `id` and `question` (name, type, class;
/// case does not matter).
pub fn check_response(message: &[u8], id: u16, question: &[u8]) -> Result<ResponseHeader, NotOurs> {
    let word = |at| u16_at(message, at).map_err(|_| NotOurs::NoResponse);
    let flags = word(2)?;
    if message.len() < HEADER_BYTES || flags & bits::RESPONSE == 0 || flags & bits::OPCODE != 0 {
        return Err(NotOurs::NoResponse);
    }
    if word(0)? != id {
        return Err(NotOurs::Id);
    }
    let same = message
        .get(HEADER_BYTES..HEADER_BYTES + question.len())
        .is_some_and(|asked| asked.eq_ignore_ascii_case(question));
    if word(4)? != 1 || !same || question.is_empty() {
        return Err(NotOurs::Question);
    }
    Ok(ResponseHeader {
        truncated: flags & bits::TRUNCATED != 0,
        rcode: (flags & bits::RCODE) as u8,
    })
}
