//! Options of EDNS between us and an upstream, and what else of a message they touch: they are
//! added to a query that is written already, and found in an answer that has come.
//!
//! It reads hostile answers without allocating and gives nothing where they are malformed; it
//! decides nothing by what it finds. Called by `resolver`.

use crate::codes::record_type;
use crate::wire::{self, HEADER_BYTES, MalformedMessage, u16_at};

/// Cookies (RFC 7873 §4).
pub const OPTION_COOKIE: u16 = 10;
/// Time for which a stream may stay idle (RFC 7828 §3.1).
pub const OPTION_KEEPALIVE: u16 = 11;
/// Padding (RFC 7830 §3).
pub const OPTION_PADDING: u16 = 12;
/// Queries over encrypted ways are padded to a multiple of so many bytes (RFC 8467 §4.1).
pub const PADDING_BLOCK_BYTES: usize = 128;

/// Bytes before an option's data: its code and its length.
const OPTION_HEAD_BYTES: usize = 4;
/// Bytes of an OPT record without options: root, type, size, TTL, length.
const OPT_BYTES: usize = 11;

/// Appends an option to `query`, a message with one question and an OPT record that ends it, as
/// [`crate::write_query`] makes them. One that has not this form, or no room, stays as it is.
pub fn add_option(query: &mut Vec<u8>, code: u16, data: &[u8]) {
    let Some(length_at) = options_length_at(query) else { return };
    let Ok(length) = u16_at(query, length_at) else { return };
    let length = usize::from(length) + OPTION_HEAD_BYTES + data.len();
    let Ok(length) = u16::try_from(length) else { return };
    query[length_at..length_at + 2].copy_from_slice(&length.to_be_bytes());
    wire::push_u16(query, code);
    wire::push_u16(query, data.len() as u16);
    query.extend_from_slice(data);
}

/// Bytes of the name in the question of `message`, which starts after the header and must not be
/// compressed; none if there is none.
pub fn question_name(message: &[u8]) -> Option<usize> {
    let mut end = HEADER_BYTES;
    loop {
        let length = usize::from(*message.get(end)?);
        end += 1 + length;
        if length > 63 || end - HEADER_BYTES > wire::NAME_BYTES_MAX {
            return None;
        }
        if length == 0 {
            return Some(end - HEADER_BYTES);
        }
    }
}

/// Pads such a query to a multiple of [`PADDING_BLOCK_BYTES`]; the last option to be added.
pub fn pad_query(query: &mut Vec<u8>) {
    const ZEROS: [u8; PADDING_BLOCK_BYTES] = [0; PADDING_BLOCK_BYTES];
    let over = (query.len() + OPTION_HEAD_BYTES) % PADDING_BLOCK_BYTES;
    let missing = (PADDING_BLOCK_BYTES - over) % PADDING_BLOCK_BYTES;
    add_option(query, OPTION_PADDING, &ZEROS[..missing]);
}

/// Where the length of the options stands, if the query has the form that we write.
fn options_length_at(query: &[u8]) -> Option<usize> {
    let opt = wire::skip_name(query, HEADER_BYTES).ok()? + 4;
    let counts = [1_u16, 0, 0, 1];
    let ours =
        counts.iter().enumerate().all(|(index, count)| u16_at(query, 4 + 2 * index) == Ok(*count));
    let record = wire::record_at(query, opt).ok()?;
    let ends = record.end == query.len() && record.data_at == opt + OPT_BYTES;
    (ours && ends && record.rtype == record_type::OPT).then_some(record.data_at - 2)
}

/// The OPT record of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResponseOpt<'m> {
    /// The whole response code, 0 to 4095 (RFC 6891 §6.1.3).
    pub rcode: u16,
    options: &'m [u8],
}

impl<'m> ResponseOpt<'m> {
    /// Finds it in `message`; none if there is none, or if the message is malformed before it.
    pub fn of(message: &'m [u8]) -> Option<Self> {
        let mut found = None;
        let flags = u16_at(message, 2).ok()?;
        for_each_record(message, |record| {
            let is_opt = record.rtype == record_type::OPT;
            if is_opt && found.is_none() {
                found = Some(*record);
            }
        })
        .ok()?;
        let record = found?;
        let upper = (record.ttl >> 24) as u16;
        Some(Self {
            rcode: upper << 4 | flags & wire::bits::RCODE,
            options: message.get(record.data_at..record.end)?,
        })
    }

    /// The data of its first option with this code.
    pub fn option(&self, code: u16) -> Option<&'m [u8]> {
        let mut rest = self.options;
        loop {
            let length = usize::from(u16_at(rest, 2).ok()?);
            let data = rest.get(OPTION_HEAD_BYTES..OPTION_HEAD_BYTES + length)?;
            if u16_at(rest, 0) == Ok(code) {
                return Some(data);
            }
            rest = &rest[OPTION_HEAD_BYTES + length..];
        }
    }
}

/// Takes `age_s` seconds from every TTL in `message`, down to 0: the time that an HTTP cache on the
/// way has held it (RFC 8484 §5.1). A malformed message stays as it is from there on.
pub fn age_ttls(message: &mut [u8], age_s: u32) {
    if age_s == 0 {
        return;
    }
    let mut places = Vec::new();
    // What is malformed is refused by whoever reads it next.
    let _ = for_each_record(message, |record| {
        if record.rtype != record_type::OPT {
            places.push((record.ttl_at, record.ttl));
        }
    });
    for (at, ttl) in places {
        message[at..at + 4].copy_from_slice(&ttl.saturating_sub(age_s).to_be_bytes());
    }
}

fn for_each_record(
    message: &[u8],
    mut each: impl FnMut(&wire::WireRecord),
) -> Result<(), MalformedMessage> {
    let mut here = HEADER_BYTES;
    for _ in 0..u16_at(message, 4)? {
        here = wire::skip_name(message, here)? + 4;
    }
    // Each is 11 bytes at least, so the message's end bounds them, whatever the counts claim.
    for count_at in [6, 8, 10] {
        for _ in 0..u16_at(message, count_at)? {
            let record = wire::record_at(message, here)?;
            here = record.end;
            each(&record);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A test fails by panicking.
    use super::*;
    use crate::{DnsQuery, WireAnswer, key_of, write_query};
    use vocab::{DomainName, NameBuffer};

    fn query(name: &str) -> Vec<u8> {
        let key = key_of(DomainName::parse(name).unwrap().as_name(), 1).unwrap();
        let mut query = Vec::new();
        write_query(7, &key, &mut query);
        query
    }

    #[test]
    fn a_query_with_options_is_read_as_one() {
        let mut query = query("www.example");
        add_option(&mut query, OPTION_KEEPALIVE, &[]);
        add_option(&mut query, OPTION_COOKIE, &[1; 8]);
        let mut text = NameBuffer::new();
        let read = DnsQuery::parse(&query, &mut text).unwrap();
        assert_eq!(read.options[..4], [0, 11, 0, 0]);
        assert_eq!(read.options[4..], [0, 10, 0, 8, 1, 1, 1, 1, 1, 1, 1, 1]);
    }

    #[test]
    fn padded_queries_are_multiples_of_a_block() {
        for length in 1..=63 {
            let mut query = query(&format!("{}.example", "a".repeat(length)));
            pad_query(&mut query);
            assert_eq!(query.len() % PADDING_BLOCK_BYTES, 0, "{length}");
            assert!(DnsQuery::parse(&query, &mut NameBuffer::new()).is_ok());
        }
    }

    #[test]
    fn what_is_not_of_our_making_stays_as_it_is() {
        let mut query = query("www.example");
        query.push(0);
        let before = query.clone();
        add_option(&mut query, OPTION_COOKIE, &[1; 8]);
        pad_query(&mut query);
        assert_eq!(query, before);
        let mut short = vec![0; 5];
        add_option(&mut short, OPTION_COOKIE, &[]);
        assert_eq!(short, [0; 5]);
    }

    /// An answer with one address, TTL 300, and an OPT with extended response code and options.
    fn answer(options: &[u8]) -> Vec<u8> {
        let mut message = vec![0, 7, 0x81, 0x80 | 7, 0, 1, 0, 1, 0, 0, 0, 1];
        message.extend(b"\x03www\x07example\x00\x00\x01\x00\x01");
        message.extend(b"\xc0\x0c\x00\x01\x00\x01\x00\x00\x01\x2c\x00\x04\xc0\x00\x02\x07");
        message.extend(b"\x00\x00\x29\x04\xd0\x01\x00\x00\x00");
        message.extend((options.len() as u16).to_be_bytes());
        message.extend(options);
        message
    }

    #[test]
    fn options_of_an_answer_are_found() {
        let message = answer(b"\x00\x0b\x00\x02\x00\x64\x00\x0a\x00\x01x");
        let opt = ResponseOpt::of(&message).unwrap();
        assert_eq!(opt.rcode, 16 + 7);
        assert_eq!(opt.option(OPTION_KEEPALIVE), Some(&[0, 100][..]));
        assert_eq!(opt.option(OPTION_COOKIE), Some(&b"x"[..]));
        assert_eq!(opt.option(OPTION_PADDING), None);
        // An option that claims more than there is.
        let message = answer(b"\x00\x0b\x00\x09\x00\x64");
        assert_eq!(ResponseOpt::of(&message).unwrap().option(OPTION_KEEPALIVE), None);
        for cut in 0..message.len() {
            assert_eq!(ResponseOpt::of(&message[..cut]), None, "{cut}");
        }
    }

    #[test]
    fn age_is_taken_from_every_ttl_but_not_from_opt() {
        let mut message = answer(&[]);
        message[3] = 0x80;
        age_ttls(&mut message, 100);
        assert_eq!(WireAnswer::from_response(&message).unwrap().ttl(), 200);
        assert_eq!(ResponseOpt::of(&message).unwrap().rcode, 16);
        age_ttls(&mut message, u32::MAX);
        assert_eq!(WireAnswer::from_response(&message).unwrap().ttl(), 0);
    }
}
