//! Hashed passwords: which forms are taken, and checking one.
//!
//! bcrypt, Argon2 and SHA-crypt. Plain text, MD5, SHA-1 and DES `crypt` are refused with what to
//! write instead: a stolen file of them is a file of passwords. It runs where it is called and
//! takes tens of milliseconds on purpose. Called by `users` and `desk`.

use argon2::Argon2;
use argon2::password_hash::phc;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
use sha_crypt::ShaCrypt;
use std::fmt;
use std::io;

/// The dearest bcrypt that is taken, as a power of two: some seconds a check.
const BCRYPT_COST_MAX: u32 = 15;
/// The most memory that one Argon2 check may take, in KiB: 256 MiB.
const ARGON2_KIB_MAX: u32 = 256 << 10;
/// The most rounds of SHA-crypt: about a second.
const SHA_CRYPT_ROUNDS_MAX: u32 = 1_000_000;
/// bcrypt looks at no more of a password, in bytes.
const BCRYPT_PASSWORD_BYTES_MAX: usize = 72;

/// A password's hash of a form that is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PasswordHash {
    kind: HashKind,
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HashKind {
    Bcrypt,
    Argon2,
    ShaCrypt,
}

/// Why a hash is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadHash {
    /// MD5, SHA-1, or the oldest `crypt`.
    Weak,
    /// No known form: plain text, most likely.
    Unknown,
    /// Of a known form, and malformed.
    Malformed,
    /// Would take seconds or hundreds of megabytes a check.
    TooExpensive,
}

impl PasswordHash {
    /// Reads a hash as it stands in a file.
    pub fn parse(text: &str) -> Result<Self, BadHash> {
        let is = |marks: &[&str]| marks.iter().any(|mark| text.starts_with(mark));
        let kind = if is(&["$2y$", "$2b$", "$2a$"]) {
            check_bcrypt(text)?;
            HashKind::Bcrypt
        } else if is(&["$argon2id$", "$argon2i$", "$argon2d$"]) {
            check_argon2(text)?;
            HashKind::Argon2
        } else if is(&["$5$", "$6$"]) {
            check_sha_crypt(text)?;
            HashKind::ShaCrypt
        } else if is(&["$apr1$", "$1$", "{SHA}", "{SSHA}", "$2x$"]) || is_des(text) {
            return Err(BadHash::Weak);
        } else {
            return Err(BadHash::Unknown);
        };
        Ok(Self { kind, text: text.into() })
    }

    /// Hashes a password as Argon2id, with the costs that OWASP asks for at least: 19 MiB and two
    /// passes. Fails where the system gives no randomness.
    pub fn make(password: &[u8]) -> io::Result<Self> {
        let mut salt = [0; 16];
        getrandom::fill(&mut salt).map_err(io::Error::other)?;
        let hash: phc::PasswordHash = Argon2::default()
            .hash_password_with_salt(password, &salt)
            .map_err(|why| io::Error::other(why.to_string()))?;
        Ok(Self { kind: HashKind::Argon2, text: hash.to_string() })
    }

    /// The hash as it stands in a file.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// True if `password` is the one that was hashed.
    pub fn is_of(&self, password: &[u8]) -> bool {
        match self.kind {
            // Two passwords that differ beyond would be the same: neither is.
            HashKind::Bcrypt if password.len() > BCRYPT_PASSWORD_BYTES_MAX => false,
            HashKind::Bcrypt => bcrypt::verify(password, &self.text).unwrap_or(false),
            HashKind::Argon2 => phc::PasswordHash::new(&self.text)
                .is_ok_and(|hash| Argon2::default().verify_password(password, &hash).is_ok()),
            HashKind::ShaCrypt => sha_crypt::PasswordHashRef::new(&self.text)
                .is_ok_and(|hash| ShaCrypt::default().verify_password(password, hash).is_ok()),
        }
    }
}

fn check_bcrypt(text: &str) -> Result<(), BadHash> {
    let cost = text.get(4..6).and_then(|it| it.parse::<u32>().ok()).ok_or(BadHash::Malformed)?;
    if text.len() != 60 || !(4..=31).contains(&cost) {
        return Err(BadHash::Malformed);
    }
    if cost > BCRYPT_COST_MAX { Err(BadHash::TooExpensive) } else { Ok(()) }
}

fn check_argon2(text: &str) -> Result<(), BadHash> {
    let hash = phc::PasswordHash::new(text).map_err(|_| BadHash::Malformed)?;
    let params = argon2::Params::try_from(&hash).map_err(|_| BadHash::Malformed)?;
    if hash.hash.is_none() || hash.salt.is_none() {
        return Err(BadHash::Malformed);
    }
    if params.m_cost() > ARGON2_KIB_MAX { Err(BadHash::TooExpensive) } else { Ok(()) }
}

fn check_sha_crypt(text: &str) -> Result<(), BadHash> {
    sha_crypt::PasswordHashRef::new(text).map_err(|_| BadHash::Malformed)?;
    let rounds = text.split('$').nth(2).and_then(|it| it.strip_prefix("rounds="));
    match rounds.map(str::parse::<u32>) {
        None => Ok(()),
        Some(Ok(rounds)) if rounds <= SHA_CRYPT_ROUNDS_MAX => Ok(()),
        Some(Ok(_)) => Err(BadHash::TooExpensive),
        Some(Err(_)) => Err(BadHash::Malformed),
    }
}

/// Thirteen characters of DES `crypt`: also a plain password of that form, which is as bad.
fn is_des(text: &str) -> bool {
    text.len() == 13
        && text.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'.' || it == b'/')
}

impl fmt::Display for BadHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Weak => "this hash is broken (MD5, SHA-1 or DES)",
            Self::Unknown => "this is no hash, or of a form that is not known",
            Self::Malformed => "this hash is malformed",
            Self::TooExpensive => "this hash takes too long, or too much memory, to check",
        })
    }
}

impl std::error::Error for BadHash {}

#[cfg(test)]
mod tests {
    use super::*;

    /// "Hello world!", the example of the specification of SHA-crypt.
    const SHA512: &str = "$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnIFNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS35inz1";

    #[test]
    fn each_form_knows_its_password() {
        let bcrypt = bcrypt::hash("secret", 4).unwrap().replacen("$2b$", "$2y$", 1);
        let argon2 = {
            use argon2::password_hash::CustomizedPasswordHasher as _;
            let params = argon2::Params::new(64, 1, 1, None).unwrap();
            let salt = b"saltsaltsaltsalt";
            Argon2::default()
                .hash_password_with_params(b"secret", salt, params)
                .map(|it: phc::PasswordHash| it.to_string())
                .unwrap()
        };
        for text in [&bcrypt, &argon2] {
            let hash = PasswordHash::parse(text).unwrap();
            assert!(hash.is_of(b"secret"), "{text}");
            assert!(!hash.is_of(b"Secret"), "{text}");
            assert!(!hash.is_of(b""), "{text}");
        }
        let hash = PasswordHash::parse(SHA512).unwrap();
        assert!(hash.is_of(b"Hello world!"));
        assert!(!hash.is_of(b"Hello world"));
    }

    #[test]
    fn a_hash_that_is_made_here_is_taken_here() {
        let made = PasswordHash::make(b"correct horse").unwrap();
        assert!(made.as_str().starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{made:?}");
        let read = PasswordHash::parse(made.as_str()).unwrap();
        assert!(read.is_of(b"correct horse") && !read.is_of(b"correct house"));
        assert_ne!(PasswordHash::make(b"correct horse").unwrap(), made, "salted");
    }

    #[test]
    fn what_is_weak_or_plain_is_refused() {
        let check = |text: &str, expected: BadHash| {
            assert_eq!(PasswordHash::parse(text), Err(expected), "{text}");
        };
        check("$apr1$xxxxxxxx$0123456789012345678901", BadHash::Weak);
        check("$1$abc$def", BadHash::Weak);
        check("{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=", BadHash::Weak);
        check("rqXexS6ZhobKA", BadHash::Weak);
        check("secret", BadHash::Unknown);
        check("", BadHash::Unknown);
        check("$2y$05$short", BadHash::Malformed);
        check("$argon2id$v=19$m=1", BadHash::Malformed);
        let dear = bcrypt::hash("x", 4).unwrap().replacen("$04$", "$31$", 1);
        check(&dear, BadHash::TooExpensive);
        check(&SHA512.replacen("$6$", "$6$rounds=999999999$", 1), BadHash::TooExpensive);
    }
}
