//! Digests that a request gives of its body: `Content-MD5` (RFC 1864), `Digest` (RFC 3230),
//! `Content-Digest` and `Repr-Digest` (RFC 9530).
//!
//! A digest by an algorithm that we do not know says nothing; MD5 and SHA-2 are checked. A body has
//! no content coding here, so that content and representation are the same. Called by `folder`,
//! and by `upload` for each piece.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderMap;
use md5::Md5;
use sha2::{Digest, Sha256, Sha512};

/// Digests in one request: more are a mistake.
const DIGESTS_MAX: usize = 8;

/// Digests that the body must have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ExpectedDigests(Vec<(DigestAlgorithm, Vec<u8>)>);

/// A field that gives no digest, though its name says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BadDigest;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DigestAlgorithm {
    Md5,
    Sha256,
    Sha512,
}

/// Digests of what has come so far.
#[derive(Debug, Default)]
pub(crate) struct RunningDigests {
    md5: Option<Md5>,
    sha256: Option<Sha256>,
    sha512: Option<Sha512>,
}

impl ExpectedDigests {
    /// Reads the fields of a request.
    pub(crate) fn of(headers: &HeaderMap) -> Result<Self, BadDigest> {
        let mut all = Vec::new();
        for value in headers.get_all("content-md5") {
            all.push((DigestAlgorithm::Md5, decoded(DigestAlgorithm::Md5, value.as_bytes())?));
        }
        for name in ["digest", "content-digest", "repr-digest"] {
            for value in headers.get_all(name) {
                let text = value.to_str().map_err(|_| BadDigest)?;
                for member in text.split(',').map(str::trim).filter(|it| !it.is_empty()) {
                    let (algorithm, digest) = member.split_once('=').ok_or(BadDigest)?;
                    let Some(algorithm) = DigestAlgorithm::named(algorithm) else { continue };
                    // A byte sequence of a structured field stands between colons.
                    let bare = digest.strip_prefix(':').and_then(|it| it.strip_suffix(':'));
                    all.push((algorithm, decoded(algorithm, bare.unwrap_or(digest).as_bytes())?));
                }
            }
        }
        if all.len() > DIGESTS_MAX { Err(BadDigest) } else { Ok(Self(all)) }
    }

    /// Digests to be fed with the body.
    pub(crate) fn begin(&self) -> RunningDigests {
        let has = |wanted| self.0.iter().any(|(algorithm, _)| *algorithm == wanted);
        RunningDigests {
            md5: has(DigestAlgorithm::Md5).then(Md5::new),
            sha256: has(DigestAlgorithm::Sha256).then(Sha256::new),
            sha512: has(DigestAlgorithm::Sha512).then(Sha512::new),
        }
    }

    /// True if the body was what the request said.
    pub(crate) fn agree(&self, running: RunningDigests) -> bool {
        let RunningDigests { md5, sha256, sha512 } = running;
        let md5 = md5.map(|it| it.finalize().to_vec());
        let sha256 = sha256.map(|it| it.finalize().to_vec());
        let sha512 = sha512.map(|it| it.finalize().to_vec());
        self.0.iter().all(|(algorithm, expected)| {
            let found = match algorithm {
                DigestAlgorithm::Md5 => &md5,
                DigestAlgorithm::Sha256 => &sha256,
                DigestAlgorithm::Sha512 => &sha512,
            };
            found.as_ref() == Some(expected)
        })
    }
}

impl DigestAlgorithm {
    fn named(text: &str) -> Option<Self> {
        match text.to_ascii_lowercase().as_str() {
            "md5" => Some(Self::Md5),
            "sha-256" => Some(Self::Sha256),
            "sha-512" => Some(Self::Sha512),
            _ => None,
        }
    }

    fn len(self) -> usize {
        match self {
            Self::Md5 => 16,
            Self::Sha256 => 32,
            Self::Sha512 => 64,
        }
    }
}

impl RunningDigests {
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        if let Some(md5) = &mut self.md5 {
            md5.update(bytes);
        }
        if let Some(sha256) = &mut self.sha256 {
            sha256.update(bytes);
        }
        if let Some(sha512) = &mut self.sha512 {
            sha512.update(bytes);
        }
    }
}

fn decoded(algorithm: DigestAlgorithm, text: &[u8]) -> Result<Vec<u8>, BadDigest> {
    let bytes = STANDARD.decode(text.trim_ascii()).map_err(|_| BadDigest)?;
    if bytes.len() == algorithm.len() { Ok(bytes) } else { Err(BadDigest) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn of(name: &'static str, value: &str) -> Result<ExpectedDigests, BadDigest> {
        ExpectedDigests::of(&HeaderMap::from_iter([(
            name.parse().unwrap(),
            HeaderValue::from_str(value).unwrap(),
        )]))
    }

    fn agrees(expected: &ExpectedDigests, body: &[u8]) -> bool {
        let mut running = expected.begin();
        body.chunks(2).for_each(|piece| running.update(piece));
        expected.agree(running)
    }

    #[test]
    fn a_body_is_held_against_every_digest_of_it() {
        for (name, value) in [
            ("content-md5", "XUFAKrxLKna5cZ2REBfFkg=="),
            ("digest", "MD5=XUFAKrxLKna5cZ2REBfFkg==, unixsum=30637"),
            ("content-digest", "sha-256=:LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=:"),
            ("repr-digest", "sha-256=:LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=:, x=:AA==:"),
        ] {
            let expected = of(name, value).unwrap();
            assert!(agrees(&expected, b"hello") && !agrees(&expected, b"hellO"), "{name}");
        }
        assert!(agrees(&of("digest", "sha=whatever").unwrap(), b"hello"));
    }

    #[test]
    fn what_is_no_digest_is_refused() {
        for (name, value) in [
            ("content-md5", "XUFAKrxL"),
            ("content-md5", "not base64!"),
            ("content-digest", "sha-256"),
            ("digest", "md5=:AAAA:"),
        ] {
            assert_eq!(of(name, value), Err(BadDigest), "{name}: {value}");
        }
        assert_eq!(of("content-type", "md5=x").unwrap(), ExpectedDigests::default());
    }
}
