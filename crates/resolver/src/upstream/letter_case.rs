//! Random case of letters in a question (0x20): bits that an answer must repeat and that whoever
//! forges one must guess.
//!
//! The case follows from the query's number, the question and a secret of the upstream, so nothing
//! is kept per query. Servers that do not repeat it are not wrong (RFC 1035 §2.3.3 asks for it in
//! spirit only): what to do about them is for [`super::proof`], its only caller.

use super::random::RandomBytes;
use dns_wire::ask_options;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};

/// Bytes of a message header.
const HEADER_BYTES: usize = 12;
/// Bytes of a name in wire form, at most.
const NAME_BYTES_MAX: usize = 255;

/// The secret.
pub(crate) struct LetterCase {
    secret: u64,
    hash: RandomState,
}

impl LetterCase {
    pub(crate) fn new(dice: &RandomBytes) -> Self {
        let secret = (0..4).fold(0, |secret, _| secret << 16 | u64::from(dice.number()));
        Self { secret, hash: RandomState::new() }
    }

    /// Gives the letters of the question in `query` their case. Its number must stand already.
    pub(crate) fn apply(&self, query: &mut [u8]) {
        let id = query.first_chunk().map_or(0, |it| u16::from_be_bytes(*it));
        if let Some(name) = ask_options::question_name(query) {
            self.set(id, &mut query[HEADER_BYTES..HEADER_BYTES + name]);
        }
    }

    /// True if the question in `message` has the case that it was sent with.
    pub(crate) fn is_repeated(&self, message: &[u8]) -> bool {
        let id = message.first_chunk().map_or(0, |it| u16::from_be_bytes(*it));
        let Some(length) = ask_options::question_name(message) else { return false };
        let name = &message[HEADER_BYTES..HEADER_BYTES + length];
        let mut sent = [0; NAME_BYTES_MAX];
        let Some(sent) = sent.get_mut(..length) else { return false };
        sent.copy_from_slice(name);
        self.set(id, sent);
        sent == name
    }

    fn set(&self, id: u16, name: &mut [u8]) {
        name.make_ascii_lowercase();
        let mut hasher = self.hash.build_hasher();
        (self.secret, id, &*name).hash(&mut hasher);
        let mut bits = 0;
        for (index, byte) in name.iter_mut().filter(|it| it.is_ascii_alphabetic()).enumerate() {
            if index % 64 == 0 {
                hasher.write_usize(index);
                bits = hasher.finish();
            }
            // Lengths of labels are below the letters, so only letters change.
            if bits & 1 == 1 {
                *byte ^= 0x20;
            }
            bits >>= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A test fails by panicking.
    use super::*;
    use dns_wire::{key_of, write_query};
    use vocab::DomainName;

    fn query(id: u16, name: &str) -> Vec<u8> {
        let key = key_of(DomainName::parse(name).unwrap().as_name(), 1).unwrap();
        let mut query = Vec::new();
        write_query(id, &key, &mut query);
        query
    }

    #[test]
    fn only_the_case_of_letters_changes_and_it_is_recognised() {
        let case = LetterCase::new(&RandomBytes::new());
        let name = format!("{0}.{0}.{0}.x-1.example", "abcdefghij".repeat(6));
        let plain = query(7, &name);
        let mut sent = plain.clone();
        case.apply(&mut sent);
        assert_ne!(sent, plain);
        assert!(sent.eq_ignore_ascii_case(&plain));
        assert!(case.is_repeated(&sent));
        // 180 letters and more: all in lower case, or one of them changed, is another case.
        assert!(!case.is_repeated(&plain));
        sent[14] ^= 0x20;
        assert!(!case.is_repeated(&sent));
    }

    #[test]
    fn each_number_and_each_secret_has_its_own_case() {
        let (one, two) =
            (LetterCase::new(&RandomBytes::new()), LetterCase::new(&RandomBytes::new()));
        let name = "abcdefghijklmnopqrstuvwxyz.abcdefghijklmnopqrstuvwxyz.example";
        let (mut first, mut second, mut third) = (query(1, name), query(2, name), query(1, name));
        one.apply(&mut first);
        one.apply(&mut second);
        two.apply(&mut third);
        assert_ne!(first[12..], second[12..]);
        assert_ne!(first[12..], third[12..]);
    }

    #[test]
    fn messages_without_a_question_are_not_repeated_and_do_no_harm() {
        let case = LetterCase::new(&RandomBytes::new());
        for message in [&[][..], &[0; 11], &[0; 12], &[9; 40], &[63; 400]] {
            case.apply(&mut message.to_vec());
            case.is_repeated(message);
        }
    }
}
