//! Random texts: state, nonce, verifier, and the cookie's.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

/// 256 random bits as 43 letters, digits, `-` and `_`: what PKCE takes at least (RFC 7636 §4.1).
pub(crate) fn random_text() -> Result<String, getrandom::Error> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// The challenge of a verifier, by the method `S256` (RFC 7636 §4.2).
pub(crate) fn challenge(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier))
}

/// True for the same text, in a time that tells nothing of how much of it is right.
pub(crate) fn is_same(a: &str, b: &str) -> bool {
    let differing = |(a, b): (u8, u8)| a ^ b;
    a.len() == b.len() && a.bytes().zip(b.bytes()).map(differing).fold(0, |all, it| all | it) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_long_and_each_another() {
        let [a, b] = [random_text().unwrap(), random_text().unwrap()];
        assert!(a.len() == 43 && a != b);
        assert!(is_same(&a, &a) && !is_same(&a, &b) && !is_same(&a, &a[1..]));
    }

    #[test]
    fn the_challenge_is_that_of_the_standard() {
        // RFC 7636, appendix B.
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        assert_eq!(challenge(verifier), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    }
}
