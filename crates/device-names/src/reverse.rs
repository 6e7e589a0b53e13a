//! The reverse name of an address: the question for it, and the name in an answer.
//!
//! Answers come from whoever is on the link: what is no whole answer to the question has no name.
//! Called by look-ups, and by the fuzzer.

use crate::clean_name::clean_name;
use dns_wire::{CLASS_IN, key_of, record_type, reply};
use std::fmt::Write;
use std::net::IpAddr;
use vocab::{DomainName, Name, NameBuffer};

/// Bit of a question's class that asks for an answer to the asker alone (RFC 6762 §5.4).
const UNICAST_RESPONSE: u8 = 0x80;
/// Type of the records that have reverse names (RFC 1035 §3.3.12).
pub const POINTER_TYPE: u16 = record_type::PTR;
/// Bytes of a message's header.
const HEADER_BYTES: usize = 12;

/// The name that has an address's name: `7.1.168.192.in-addr.arpa` (RFC 1035 §3.5, RFC 3596 §2.5).
pub fn reverse_name(address: IpAddr) -> Option<DomainName> {
    let mut text = String::new();
    match address.to_canonical() {
        IpAddr::V4(v4) => {
            for octet in v4.octets().into_iter().rev() {
                write!(text, "{octet}.").ok()?;
            }
            text.push_str("in-addr.arpa");
        }
        IpAddr::V6(v6) => {
            for octet in v6.octets().into_iter().rev() {
                write!(text, "{:x}.{:x}.", octet & 15, octet >> 4).ok()?;
            }
            text.push_str("ip6.arpa");
        }
    }
    DomainName::parse(&text).ok()
}

/// A question by multicast DNS for the name of an address, whose answer is to come to the asker
/// alone; `id` tells it from others.
pub(crate) fn multicast_question(name: Name<'_>, id: u16) -> Option<Vec<u8>> {
    let key = key_of(name, record_type::PTR)?;
    // The last byte of a key is no part of the question.
    let (_, question) = key.split_last()?;
    let mut message = vec![0; HEADER_BYTES];
    message[..2].copy_from_slice(&id.to_be_bytes());
    message[5] = 1;
    message.extend_from_slice(question);
    let class = message.len() - 2;
    message[class] |= UNICAST_RESPONSE;
    Some(message)
}

/// The name in an answer to the question for `asked`, made fit to be shown; `id` is the question's.
pub fn answered_name(message: &[u8], asked: Name<'_>, id: u16) -> Option<String> {
    let head = message.first_chunk::<HEADER_BYTES>()?;
    let is_answer = head[2] & 0x80 != 0 && u16::from_be_bytes([head[0], head[1]]) == id;
    if !is_answer || reply::rcode(message) != 0 {
        return None;
    }
    let mut found = NameBuffer::new();
    reply::pointer(message, asked, &mut found)?;
    // Bytes that no host name has are written as escapes.
    let text = found.as_name().as_str();
    if text.contains('\\') { None } else { clean_name(text) }
}

const _: () = assert!(CLASS_IN == 1, "the bit above a class is free");

#[cfg(test)]
mod tests {
    use super::*;

    /// An answer as a responder sends it: with the question, and the bit that its record is unique.
    fn answer(asked: &DomainName, id: u16, name: &[u8]) -> Vec<u8> {
        let mut message = multicast_question(asked.as_name(), id).unwrap();
        message[2] = 0x84;
        message[7] = 1;
        message.extend_from_slice(&[0xc0, 12, 0, 12, 0x80, 1, 0, 0, 0, 10, 0]);
        message.push(name.len() as u8);
        message.extend_from_slice(name);
        message
    }

    #[test]
    fn an_address_has_its_name_backwards() {
        let text = |address: &str| reverse_name(address.parse().unwrap()).unwrap().to_string();
        assert_eq!(text("192.168.1.7"), "7.1.168.192.in-addr.arpa");
        assert_eq!(text("::ffff:192.168.1.7"), "7.1.168.192.in-addr.arpa");
        assert!(
            text("fd00::17").starts_with("7.1.0.0.") && text("fd00::1").ends_with("d.f.ip6.arpa")
        );
    }

    #[test]
    fn the_name_of_an_answer_is_read_and_no_other() {
        let asked = reverse_name("192.168.1.7".parse().unwrap()).unwrap();
        let whole = answer(&asked, 7, b"\x0aannas-ipad\x05local\0");
        assert_eq!(answered_name(&whole, asked.as_name(), 7).as_deref(), Some("annas-ipad"));
        assert_eq!(answered_name(&whole, asked.as_name(), 8), None, "another question's");
        let other = reverse_name("192.168.1.8".parse().unwrap()).unwrap();
        assert_eq!(answered_name(&whole, other.as_name(), 7), None, "another address's");
        let mut question = whole.clone();
        question[2] = 0;
        assert_eq!(answered_name(&question, asked.as_name(), 7), None, "no answer");
        let odd = answer(&asked, 7, b"\x04a\x07b<\x05local\0");
        assert_eq!(answered_name(&odd, asked.as_name(), 7), None);
        for end in 0..whole.len() {
            assert_eq!(answered_name(&whole[..end], asked.as_name(), 7), None, "cut at {end}");
        }
    }
}
