//! Answers as the server keeps them: named by a keyed hash, sealed with a key of their own.
//!
//! ```text
//! version:u8 nonce:12 sealed(came:u64 number:u64 line_length:u8 line message)
//! ```
//!
//! Keys come from the fleet's secret (HKDF), one for each name, so that a value under another name
//! is none, and a nonce by chance is never drawn often enough to come twice.

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::hkdf::{HKDF_SHA256, Prk, Salt};
use aws_lc_rs::{hmac, rand};
use fleet_live::PurgeMark;
use http_cache::SharedResponseKey;
use resolver::SecondLevelKey;

/// Version of the form; another is none.
const VERSION: u8 = 1;
/// Lead of another machine's clock that is passed over, in milliseconds.
const AHEAD_MS_MAX: u64 = 2_000;

/// Seal of a fleet's answers.
pub struct AnswerSeal {
    names: hmac::Key,
    values: Prk,
}

/// Answer as it was sealed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedAnswer {
    /// Moment at which it came, in milliseconds since 1970.
    pub came_unix_ms: u64,
    /// Last purge before it came.
    pub mark: PurgeMark,
    /// DNS response in wire form, or HTTP response as bytes.
    pub message: Vec<u8>,
}

impl AnswerSeal {
    /// The seal of a secret, for keys under this prefix; none where the library makes none.
    pub fn new(secret: &str, prefix: &str) -> Option<Self> {
        let values = Salt::new(HKDF_SHA256, b"tidegate fleet cache").extract(secret.as_bytes());
        let info = [b"names of ", prefix.as_bytes()];
        let names = hmac::Key::from(values.expand(&info, hmac::HMAC_SHA256).ok()?);
        Some(Self { names, values })
    }

    /// The name under which the answer to a question is kept.
    pub fn name(&self, key: &SecondLevelKey) -> u128 {
        let mut context = hmac::Context::with_key(&self.names);
        for part in [b"dns ", &key.scope[..], &key.question] {
            context.update(part);
        }
        context.sign().as_ref().first_chunk().map_or(0, |it| u128::from_be_bytes(*it))
    }

    /// The name under which a response is kept.
    pub fn response_name(&self, key: &SharedResponseKey) -> u128 {
        let mut context = hmac::Context::with_key(&self.names);
        let length = (key.url.len() as u64).to_be_bytes();
        for part in [b"http ", &key.scope[..], &length, key.url.as_bytes()] {
            context.update(part);
        }
        if let Some(codings) = &key.codings {
            context.update(b" ");
            context.update(codings);
        }
        context.sign().as_ref().first_chunk().map_or(0, |it| u128::from_be_bytes(*it))
    }

    /// An answer, sealed; none where the system gives no randomness.
    pub fn seal(&self, name: u128, answer: &SealedAnswer) -> Option<Vec<u8>> {
        let line = answer.mark.line.as_bytes();
        let mut sealed = Vec::with_capacity(answer.message.len() + line.len() + 17);
        sealed.extend(answer.came_unix_ms.to_be_bytes());
        sealed.extend(answer.mark.number.to_be_bytes());
        sealed.push(u8::try_from(line.len()).ok()?);
        sealed.extend_from_slice(line);
        sealed.extend_from_slice(&answer.message);
        let mut nonce = [0; NONCE_LEN];
        rand::fill(&mut nonce).ok()?;
        let used = Nonce::assume_unique_for_key(nonce);
        self.key(name)?.seal_in_place_append_tag(used, Aad::empty(), &mut sealed).ok()?;
        Some([&[VERSION], &nonce[..], &sealed].concat())
    }

    /// The answer of this name; none where it was sealed by nobody of the fleet, or for another
    /// name.
    pub fn open(&self, name: u128, value: &[u8]) -> Option<SealedAnswer> {
        let (version, rest) = value.split_first()?;
        let (nonce, sealed) = rest.split_first_chunk::<NONCE_LEN>()?;
        if *version != VERSION {
            return None;
        }
        let mut sealed = sealed.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let plain = &*self.key(name)?.open_in_place(nonce, Aad::empty(), &mut sealed).ok()?;
        let (came, rest) = plain.split_first_chunk()?;
        let (number, rest) = rest.split_first_chunk()?;
        let (length, rest) = rest.split_first()?;
        let (line, message) = rest.split_at_checked(usize::from(*length))?;
        let line = String::from_utf8(line.to_vec()).ok()?;
        Some(SealedAnswer {
            came_unix_ms: u64::from_be_bytes(*came),
            mark: PurgeMark { line, number: u64::from_be_bytes(*number) },
            message: message.to_vec(),
        })
    }

    fn key(&self, name: u128) -> Option<LessSafeKey> {
        let name = name.to_be_bytes();
        let info = [&b"answer "[..], &name];
        let key: UnboundKey = self.values.expand(&info, &AES_256_GCM).ok()?.into();
        Some(LessSafeKey::new(key))
    }
}

impl SealedAnswer {
    /// The age at this moment, in milliseconds; none if it comes from the future.
    pub fn age_ms(&self, now_unix_ms: u64) -> Option<u64> {
        let is_early = self.came_unix_ms > now_unix_ms.saturating_add(AHEAD_MS_MAX);
        (!is_early).then(|| now_unix_ms.saturating_sub(self.came_unix_ms))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;

    const SECRET: &str = "0123456789abcdef0123456789abcdef";

    fn key(question: &[u8]) -> SecondLevelKey {
        SecondLevelKey { scope: [7; 16], question: question.into() }
    }

    fn answer() -> SealedAnswer {
        let mark = PurgeMark { line: "00ff".into(), number: 5 };
        SealedAnswer { came_unix_ms: 1000, mark, message: b"message".to_vec() }
    }

    #[test]
    fn an_answer_is_opened_under_its_own_name_and_secret_alone() {
        let seal = AnswerSeal::new(SECRET, "tidegate").unwrap();
        let (one, two) = (seal.name(&key(b"one")), seal.name(&key(b"two")));
        let sealed = seal.seal(one, &answer()).unwrap();
        assert_eq!(seal.open(one, &sealed), Some(answer()));
        assert_eq!(seal.open(two, &sealed), None, "an answer under another name");
        assert_ne!(seal.seal(one, &answer()).unwrap(), sealed, "no nonce twice");
        assert!(!sealed.windows(7).any(|it| it == b"message"));
        for (secret, prefix) in [("another secret of the fleet's ...", "tidegate"), (SECRET, "a")] {
            let other = AnswerSeal::new(secret, prefix).unwrap();
            assert_ne!(other.name(&key(b"one")), one);
        }
        let other = AnswerSeal::new("another secret of the fleet's ...", "tidegate").unwrap();
        assert_eq!(other.open(one, &sealed), None);
    }

    #[test]
    fn what_was_changed_is_none() {
        let seal = AnswerSeal::new(SECRET, "tidegate").unwrap();
        let sealed = seal.seal(1, &answer()).unwrap();
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert_eq!(seal.open(1, &changed), None, "{at}");
            assert_eq!(seal.open(1, &sealed[..at]), None, "{at}");
        }
    }

    #[test]
    fn machines_of_other_upstreams_have_other_names() {
        let seal = AnswerSeal::new(SECRET, "tidegate").unwrap();
        let other = SecondLevelKey { scope: [8; 16], ..key(b"one") };
        assert_ne!(seal.name(&other), seal.name(&key(b"one")));
    }

    #[test]
    fn clocks_may_differ_by_two_seconds() {
        let answer = answer();
        assert_eq!(answer.age_ms(61_000), Some(60_000));
        assert_eq!(SealedAnswer { came_unix_ms: 2_000, ..answer.clone() }.age_ms(0), Some(0));
        assert_eq!(SealedAnswer { came_unix_ms: 2_001, ..answer }.age_ms(0), None);
    }
}
