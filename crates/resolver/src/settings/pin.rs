//! The written form of a pinned public key: `sha256/` and the Base64 of its SHA-256, as browsers
//! and `openssl` pipelines print it (RFC 7469 §2.4).
//!
//! What meets a pin is decided by `transport`. Called by the settings of upstreams.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::fmt;
use std::str::FromStr;

/// What stands before the hash.
const PREFIX: &str = "sha256/";

/// The SHA-256 of a public key with its algorithm (`SubjectPublicKeyInfo`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeyPin(pub [u8; 32]);

/// A text is no pin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadPin(pub String);

impl FromStr for KeyPin {
    type Err = BadPin;

    fn from_str(text: &str) -> Result<Self, BadPin> {
        let bad = || BadPin(text.into());
        let hash = text.strip_prefix(PREFIX).ok_or_else(bad)?;
        let hash = STANDARD.decode(hash).map_err(|_| bad())?;
        hash.try_into().map(Self).map_err(|_| bad())
    }
}

impl fmt::Display for KeyPin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", STANDARD.encode(self.0))
    }
}

impl fmt::Display for BadPin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is no pin: write sha256/ and the Base64 of a key's SHA-256", self.0)
    }
}

impl std::error::Error for BadPin {}

impl settings::WrittenWord for KeyPin {
    const FORMAT: &'static str = "pin";
    const EXAMPLE: &'static str = "sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=";
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A test fails by panicking.
    use super::*;
    use settings::WrittenWord;

    #[test]
    fn a_pin_is_read_and_written_back() {
        assert_eq!(KeyPin::EXAMPLE.parse::<KeyPin>().unwrap().to_string(), KeyPin::EXAMPLE);
        let short = "sha256/47DEQpj8HBSa";
        for bad in ["", "sha256/", short, "sha1/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="] {
            assert_eq!(bad.parse::<KeyPin>(), Err(BadPin(bad.into())));
        }
    }
}
