//! Seal of questions and answers: AES-256-GCM, with keys of the fleet's secret.
//!
//! ```text
//! version:u8 nonce:12 sealed
//! ```
//!
//! Each question has keys of its own (HKDF), one for itself and one for its answers, so that what
//! was sealed for one is none for another, and a nonce by chance is never drawn often enough to
//! come twice. An answer is bound to the name of its machine.

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::hkdf::{HKDF_SHA256, Prk, Salt};
use aws_lc_rs::rand;
use fleet_live::QuestionId;

/// Version of the form; another is none.
const VERSION: u8 = 1;

/// Seal of a fleet's questions and answers.
#[derive(Clone)]
pub(crate) struct QuestionSeal {
    secret: Prk,
    prefix: String,
}

/// Purpose of what is sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SealPurpose<'e> {
    /// A question.
    Question,
    /// An answer of the machine with this name.
    AnswerOf(&'e str),
}

impl QuestionSeal {
    /// The seal of a secret, for a fleet with this prefix.
    pub(crate) fn new(secret: &str, prefix: &str) -> Self {
        let salt = Salt::new(HKDF_SHA256, b"tidegate fleet questions");
        Self { secret: salt.extract(secret.as_bytes()), prefix: prefix.to_owned() }
    }

    /// A text, sealed; none where the system gives no randomness.
    pub(crate) fn seal(
        &self,
        id: QuestionId,
        purpose: SealPurpose<'_>,
        mut text: Vec<u8>,
    ) -> Option<Vec<u8>> {
        let mut nonce = [0; NONCE_LEN];
        rand::fill(&mut nonce).ok()?;
        let used = Nonce::assume_unique_for_key(nonce);
        let key = self.key(id, purpose)?;
        key.seal_in_place_append_tag(used, Aad::from(purpose.bound_to()), &mut text).ok()?;
        Some([&[VERSION], &nonce[..], &text].concat())
    }

    /// The text that was sealed; none where that was with another secret, or for another purpose.
    pub(crate) fn open(
        &self,
        id: QuestionId,
        purpose: SealPurpose<'_>,
        sealed: &[u8],
    ) -> Option<Vec<u8>> {
        let (version, rest) = sealed.split_first()?;
        let (nonce, sealed) = rest.split_first_chunk::<NONCE_LEN>()?;
        if *version != VERSION {
            return None;
        }
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let mut sealed = sealed.to_vec();
        let key = self.key(id, purpose)?;
        let opened = key.open_in_place(nonce, Aad::from(purpose.bound_to()), &mut sealed).ok()?;
        Some(opened.to_vec())
    }

    fn key(&self, id: QuestionId, purpose: SealPurpose<'_>) -> Option<LessSafeKey> {
        let id = id.0.to_be_bytes();
        let what = match purpose {
            SealPurpose::Question => &b"question "[..],
            SealPurpose::AnswerOf(_) => b"answer ",
        };
        let info = [what, &id, self.prefix.as_bytes()];
        let key: UnboundKey = self.secret.expand(&info, &AES_256_GCM).ok()?.into();
        Some(LessSafeKey::new(key))
    }
}

impl<'e> SealPurpose<'e> {
    fn bound_to(self) -> &'e [u8] {
        match self {
            Self::Question => b"",
            Self::AnswerOf(edge) => edge.as_bytes(),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;

    const SECRET: &str = "0123456789abcdef0123456789abcdef";
    const ID: QuestionId = QuestionId(7);

    #[test]
    fn what_was_sealed_is_opened_by_its_own_secret_fleet_number_purpose_and_machine_alone() {
        let seal = QuestionSeal::new(SECRET, "tidegate");
        let of = SealPurpose::AnswerOf("harbour-1");
        let sealed = seal.seal(ID, of, b"text".to_vec()).unwrap();
        assert_eq!(seal.open(ID, of, &sealed).unwrap(), b"text");
        assert_ne!(seal.seal(ID, of, b"text".to_vec()).unwrap(), sealed, "no nonce twice");
        for (id, purpose) in [
            (QuestionId(8), of),
            (ID, SealPurpose::Question),
            (ID, SealPurpose::AnswerOf("harbour-2")),
        ] {
            assert_eq!(seal.open(id, purpose, &sealed), None, "{id} {purpose:?}");
        }
        for (secret, prefix) in [("another secret of the fleet's ...", "tidegate"), (SECRET, "a")] {
            assert_eq!(QuestionSeal::new(secret, prefix).open(ID, of, &sealed), None);
        }
    }

    #[test]
    fn what_was_changed_or_cut_is_none() {
        let seal = QuestionSeal::new(SECRET, "tidegate");
        let sealed = seal.seal(ID, SealPurpose::Question, b"text".to_vec()).unwrap();
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert_eq!(seal.open(ID, SealPurpose::Question, &changed), None, "{at}");
            assert_eq!(seal.open(ID, SealPurpose::Question, &sealed[..at]), None, "{at}");
        }
    }
}
