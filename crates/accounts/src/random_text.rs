//! Random texts that are secrets, and their digests.

use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::io;

/// Letters and digits of texts that people type: none that is taken for another.
const LEGIBLE: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

/// Random bytes as digits of sixteen: two for each byte.
pub fn random_digits<const BYTES: usize>() -> io::Result<String> {
    Ok(hex(&random_bytes::<BYTES>()?))
}

/// Random bytes.
pub(crate) fn random_bytes<const BYTES: usize>() -> io::Result<[u8; BYTES]> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes)
}

/// Three groups of four letters and digits, 60 random bits: `k7f3-9xqm-2hvt`.
pub(crate) fn random_code() -> io::Result<String> {
    let mut code = String::with_capacity(14);
    for (place, byte) in random_bytes::<12>()?.into_iter().enumerate() {
        if place > 0 && place % 4 == 0 {
            code.push('-');
        }
        code.push(char::from(LEGIBLE[usize::from(byte % 32)]));
    }
    Ok(code)
}

/// SHA-256 of a text of at least 60 random bits, which nobody finds by trying.
pub(crate) fn digest(text: &str) -> String {
    hex(&Sha256::digest(text))
}

/// Bytes as digits of sixteen.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // A text grows in memory and cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_legible_and_each_another() {
        let codes: Vec<String> = (0..64).map(|_| random_code().unwrap()).collect();
        for code in &codes {
            assert_eq!(code.len(), 14);
            assert!(code.bytes().all(|it| it == b'-' || LEGIBLE.contains(&it)), "{code}");
            assert_eq!(codes.iter().filter(|it| *it == code).count(), 1);
        }
        assert_eq!(digest("a").len(), 64);
        assert_ne!(digest("a"), digest("b"));
    }
}
