//! The keys of a cache: the name within one, and what stands behind the question.
//!
//! A key is what [`dns_wire::KeyBuffer`] makes of a question, and after it whatever else tells
//! answers apart. It knows no cache.

use dns_wire::key_of;
use vocab::DomainName;

/// Type, class and the last byte of a key follow the name.
const AFTER_NAME_BYTES: usize = 5;

/// A name in wire form; none if it has a text that no label can have, so that no key has it either.
pub fn wire_of(name: &DomainName) -> Option<Box<[u8]>> {
    let key = key_of(name.as_name(), 0)?;
    Some(key[..key.len() - AFTER_NAME_BYTES].into())
}

/// The name in a key, in wire form; none if it is no key.
pub(crate) fn name_in(key: &[u8]) -> Option<&[u8]> {
    let mut end = 0;
    loop {
        let length = usize::from(*key.get(end)?);
        end += 1 + length;
        if length == 0 {
            return key.get(..end);
        }
    }
}

/// The key proper, without what is appended to tell answers apart by more than the question; none
/// if it is no key.
pub(crate) fn plain_key(key: &[u8]) -> Option<&[u8]> {
    key.get(..name_in(key)?.len() + AFTER_NAME_BYTES)
}

pub(crate) fn is_at_or_below(key: &[u8], wanted: &[u8]) -> bool {
    let Some(mut name) = name_in(key) else { return false };
    while name.len() > wanted.len() {
        let length = usize::from(name[0]);
        name = &name[1 + length..];
    }
    name == wanted
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A test fails by panicking.
    use super::*;

    fn key(name: &str) -> Box<[u8]> {
        key_of(DomainName::parse(name).unwrap().as_name(), 1).unwrap()
    }

    fn below(name: &str, above: &str) -> bool {
        is_at_or_below(&key(name), &wire_of(&DomainName::parse(above).unwrap()).unwrap())
    }

    #[test]
    fn names_are_compared_label_by_label() {
        assert!(below("a.b.example", "b.example"));
        assert!(below("b.example", "B.example"));
        assert!(!below("ab.example", "b.example"));
        assert!(!below("example", "b.example"));
        // The label `\001b` ends like a label `b` with its length.
        assert!(!is_at_or_below(b"\x03a\x01b\x00\x00\x01\x00\x01\x00", b"\x01b\x00"));
    }

    #[test]
    fn what_is_appended_to_a_key_is_told_from_it() {
        let plain = key("www.example");
        let longer = [&plain[..], &[0, 8, 0, 4, 1, 2, 3, 4]].concat();
        assert_eq!(plain_key(&longer), Some(&plain[..]));
        for bad in [&[][..], &[5, 1], &[0, 0, 1]] {
            assert_eq!(plain_key(bad), None);
            assert!(!is_at_or_below(bad, b"\x00") || bad == [0, 0, 1]);
        }
    }
}
