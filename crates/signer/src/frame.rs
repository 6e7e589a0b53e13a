//! Messages between a Tidegate and its signer, of a fixed small form.
//!
//! Each is one packet of a `SOCK_SEQPACKET` pair, so there is no length to lie about: version,
//! kind, number, body. Both ends read as if the other were hostile; what does not fit exactly is no
//! message. It sends nothing itself. Used by `supervisor` and `process`.

use crate::bundles::{BUNDLE_BYTES_MAX, BUNDLE_NAMES_MAX};
use crate::coverage::LeafCoverage;
use crate::issuer::{KeyKind, SigningOrder, SigningRefusal};
use crate::names::BadName;
use crate::subject::IDENTITY_NAMES_MAX;
use std::net::IpAddr;

/// Longest message, in bytes: [`IDENTITY_NAMES_MAX`] names of 253 bytes, with room.
pub(crate) const FRAME_BYTES_MAX: usize = 24 << 10;
const _: () = assert!(IDENTITY_NAMES_MAX * (1 + 253 + 1 + 16) + HEAD_BYTES < FRAME_BYTES_MAX);
const _: () = assert!(BUNDLE_BYTES_MAX + 4096 < FRAME_BYTES_MAX, "a bundle's leaf fits");

/// Longest text that explains something, in bytes; more is cut.
const TEXT_BYTES_MAX: usize = 1024;
/// Raised when a form changes. Both ends are the same binary, unless somebody replaces it under a
/// running one.
const VERSION: u8 = 3;
const HEAD_BYTES: usize = 2 + 8;

/// To the signer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SignerRequest {
    /// Leaves of this kind are for this public key, as DER.
    Key(KeyKind, Vec<u8>),
    /// Sign, and answer by this number.
    Order(u64, SigningOrder),
    /// Tables of the policy in sealed memory, whose descriptor comes along. Sent before anything
    /// else, if at all.
    Tables,
}

/// From the signer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SignerReply {
    /// The authority is open: its certificate in PEM.
    Opened(String),
    /// The sandbox is entered, or why not (it goes on), and orders are taken from now on.
    Ready(Option<String>),
    /// Cannot run, and ends.
    Failed(String),
    /// A leaf as DER, and how many before it could not be written down.
    Leaf(u64, u64, Vec<u8>),
    /// No leaf.
    Refused(u64, SigningRefusal),
}

/// Reads bytes as a message in either direction; whether an order that was read is the same after
/// it was written and read again. Called by the fuzz target.
pub fn round_trips(bytes: &[u8]) -> bool {
    // What explains something may be cut when it is written, so it is only read.
    let _ = SignerReply::read(bytes);
    SignerRequest::read(bytes).is_none_or(|ask| SignerRequest::read(&ask.write()) == Some(ask))
}

struct FrameWriter(Vec<u8>);

impl FrameWriter {
    fn new(kind: u8, number: u64) -> Self {
        let mut bytes = vec![VERSION, kind];
        bytes.extend_from_slice(&number.to_le_bytes());
        Self(bytes)
    }

    fn byte(mut self, byte: u8) -> Self {
        self.0.push(byte);
        self
    }

    fn name(mut self, name: &str) -> Self {
        // Nobody orders a longer one; were it cut, it would be refused as another name.
        let name = &name.as_bytes()[..name.len().min(255)];
        self.0.push(name.len() as u8);
        self.0.extend_from_slice(name);
        self
    }

    fn rest(mut self, bytes: &[u8]) -> Vec<u8> {
        self.0.extend_from_slice(&bytes[..bytes.len().min(FRAME_BYTES_MAX - self.0.len())]);
        self.0
    }
}

struct FrameReader<'b>(&'b [u8]);

impl<'b> FrameReader<'b> {
    fn head(bytes: &'b [u8]) -> Option<(u8, u64, Self)> {
        let (head, rest) = bytes.split_at_checked(HEAD_BYTES)?;
        let number = u64::from_le_bytes(head[2..].try_into().ok()?);
        (head[0] == VERSION && bytes.len() <= FRAME_BYTES_MAX).then_some((
            head[1],
            number,
            Self(rest),
        ))
    }

    fn take(&mut self, count: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|it| it[0])
    }

    fn name(&mut self) -> Option<String> {
        let length = usize::from(self.byte()?);
        Some(std::str::from_utf8(self.take(length)?).ok()?.to_owned())
    }

    fn text(&mut self) -> Option<String> {
        let text = std::str::from_utf8(std::mem::take(&mut self.0)).ok()?;
        (text.len() <= FRAME_BYTES_MAX).then(|| text.to_owned())
    }

    fn end<T>(self, value: T) -> Option<T> {
        self.0.is_empty().then_some(value)
    }
}

fn key_of(byte: u8) -> Option<KeyKind> {
    [KeyKind::P256, KeyKind::Rsa].into_iter().find(|it| *it as u8 == byte)
}

impl SignerRequest {
    pub(crate) fn write(&self) -> Vec<u8> {
        match self {
            Self::Key(kind, spki) => FrameWriter::new(1, 0).byte(*kind as u8).rest(spki),
            Self::Tables => FrameWriter::new(5, 0).0,
            Self::Order(number, SigningOrder::Blocked { names, key }) => {
                let mut out = FrameWriter::new(2, *number).byte(*key as u8);
                for coverage in &names[..names.len().min(BUNDLE_NAMES_MAX)] {
                    let (wide, name) = match coverage {
                        LeafCoverage::Exact(name) => (0, name),
                        LeafCoverage::WithWildcard(base) => (1, base),
                    };
                    out = out.byte(wide).name(name);
                }
                out.0
            }
            Self::Order(number, SigningOrder::Vouched { name, key }) => {
                FrameWriter::new(3, *number).byte(*key as u8).name(name).rest(&[])
            }
            Self::Order(number, SigningOrder::Own { names, addresses }) => {
                let names = &names[..names.len().min(IDENTITY_NAMES_MAX)];
                let addresses = &addresses[..addresses.len().min(IDENTITY_NAMES_MAX)];
                let mut out = FrameWriter::new(4, *number).byte(names.len() as u8);
                for name in names {
                    out = out.name(name);
                }
                out = out.byte(addresses.len() as u8);
                for address in addresses {
                    let octets = match address {
                        IpAddr::V4(it) => it.octets().to_vec(),
                        IpAddr::V6(it) => it.octets().to_vec(),
                    };
                    out = out.byte(octets.len() as u8);
                    out.0.extend_from_slice(&octets);
                }
                out.0
            }
        }
    }

    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let (kind, number, mut rest) = FrameReader::head(bytes)?;
        match kind {
            1 => Some(Self::Key(key_of(rest.byte()?)?, rest.0.to_vec())),
            2 => {
                let (key, mut names) = (key_of(rest.byte()?)?, Vec::new());
                // Never of no name. A packet bounds them before the cap does.
                while names.is_empty() || !rest.0.is_empty() {
                    names.push(match (rest.byte()?, rest.name()?) {
                        (0, name) => LeafCoverage::Exact(name),
                        (1, base) => LeafCoverage::WithWildcard(base),
                        _ => return None,
                    });
                }
                let fits = names.len() <= BUNDLE_NAMES_MAX;
                fits.then_some(Self::Order(number, SigningOrder::Blocked { names, key }))
            }
            3 => {
                let (key, name) = (key_of(rest.byte()?)?, rest.name()?);
                rest.end(Self::Order(number, SigningOrder::Vouched { name, key }))
            }
            4 => {
                let mut names = Vec::new();
                for _ in 0..count(&mut rest)? {
                    names.push(rest.name()?);
                }
                let mut addresses = Vec::new();
                for _ in 0..count(&mut rest)? {
                    addresses.push(match rest.byte()? {
                        4 => IpAddr::from(<[u8; 4]>::try_from(rest.take(4)?).ok()?),
                        16 => IpAddr::from(<[u8; 16]>::try_from(rest.take(16)?).ok()?),
                        _ => return None,
                    });
                }
                rest.end(Self::Order(number, SigningOrder::Own { names, addresses }))
            }
            5 => rest.end(Self::Tables),
            _ => None,
        }
    }
}

fn count(rest: &mut FrameReader<'_>) -> Option<usize> {
    rest.byte().map(usize::from).filter(|count| *count <= IDENTITY_NAMES_MAX)
}

impl SignerReply {
    pub(crate) fn write(&self) -> Vec<u8> {
        match self {
            Self::Opened(pem) => FrameWriter::new(1, 0).rest(pem.as_bytes()),
            Self::Ready(None) => FrameWriter::new(2, 0).0,
            Self::Ready(Some(why)) => FrameWriter::new(2, 1).rest(cut(why).as_bytes()),
            Self::Failed(why) => FrameWriter::new(3, 0).rest(cut(why).as_bytes()),
            Self::Leaf(number, lost, der) => {
                let mut out = FrameWriter::new(4, *number);
                out.0.extend_from_slice(&lost.to_le_bytes());
                out.rest(der)
            }
            Self::Refused(number, why) => {
                let (code, text) = match why {
                    SigningRefusal::BadName(BadName::Length) => (1, ""),
                    SigningRefusal::BadName(BadName::Label) => (2, ""),
                    SigningRefusal::BadName(BadName::Address) => (3, ""),
                    SigningRefusal::NotBlocked => (4, ""),
                    SigningRefusal::Excluded => (5, ""),
                    SigningRefusal::RateLimited => (6, ""),
                    SigningRefusal::Failed(why) => (7, cut(why)),
                    SigningRefusal::BadName(BadName::PublicSuffix) => (8, ""),
                    SigningRefusal::NotOurName => (9, ""),
                };
                FrameWriter::new(5, *number).byte(code).rest(text.as_bytes())
            }
        }
    }

    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let (kind, number, mut rest) = FrameReader::head(bytes)?;
        match kind {
            1 => Some(Self::Opened(rest.text()?)),
            2 => {
                let why = rest.text()?;
                Some(Self::Ready((number == 1).then_some(why)))
            }
            3 => Some(Self::Failed(rest.text()?)),
            4 => {
                let lost = u64::from_le_bytes(rest.take(8)?.try_into().ok()?);
                Some(Self::Leaf(number, lost, rest.0.to_vec()))
            }
            5 => {
                let (code, text) = (rest.byte()?, rest.text()?);
                let why = match code {
                    1 => SigningRefusal::BadName(BadName::Length),
                    2 => SigningRefusal::BadName(BadName::Label),
                    3 => SigningRefusal::BadName(BadName::Address),
                    4 => SigningRefusal::NotBlocked,
                    5 => SigningRefusal::Excluded,
                    6 => SigningRefusal::RateLimited,
                    7 => SigningRefusal::Failed(text),
                    8 => SigningRefusal::BadName(BadName::PublicSuffix),
                    9 => SigningRefusal::NotOurName,
                    _ => return None,
                };
                Some(Self::Refused(number, why))
            }
            _ => None,
        }
    }
}

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(TEXT_BYTES_MAX)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asks() -> Vec<SignerRequest> {
        let (name, key) = ("ads.example".to_owned(), KeyKind::Rsa);
        let wide = LeafCoverage::WithWildcard(name.clone());
        vec![
            SignerRequest::Tables,
            SignerRequest::Key(KeyKind::P256, vec![1, 2, 3]),
            SignerRequest::Order(
                7,
                SigningOrder::Blocked { names: vec![LeafCoverage::Exact(name.clone())], key },
            ),
            SignerRequest::Order(
                u64::MAX,
                SigningOrder::Blocked { names: vec![wide; 3], key: KeyKind::P256 },
            ),
            SignerRequest::Order(8, SigningOrder::Vouched { name: name.clone(), key }),
            SignerRequest::Order(
                9,
                SigningOrder::Own {
                    names: vec![name; IDENTITY_NAMES_MAX],
                    addresses: vec![[192, 0, 2, 1].into(), [0x20; 16].into()],
                },
            ),
        ]
    }

    fn says() -> Vec<SignerReply> {
        let mut all = vec![
            SignerReply::Opened("-----BEGIN".into()),
            SignerReply::Ready(None),
            SignerReply::Ready(Some("no seccomp".into())),
            SignerReply::Failed("why".into()),
            SignerReply::Leaf(3, 1, vec![0x30; 600]),
        ];
        let bad = [BadName::Length, BadName::Label, BadName::Address, BadName::PublicSuffix];
        let bad = bad.map(SigningRefusal::BadName);
        let others = [
            SigningRefusal::NotBlocked,
            SigningRefusal::NotOurName,
            SigningRefusal::Excluded,
            SigningRefusal::RateLimited,
        ];
        all.extend(bad.into_iter().chain(others).map(|why| SignerReply::Refused(5, why)));
        all.push(SignerReply::Refused(6, SigningRefusal::Failed("why".into())));
        all
    }

    #[test]
    fn messages_come_back_as_they_went() {
        for ask in asks() {
            assert_eq!(SignerRequest::read(&ask.write()), Some(ask));
        }
        for say in says() {
            assert_eq!(SignerReply::read(&say.write()), Some(say));
        }
    }

    #[test]
    fn what_is_cut_or_longer_is_no_message_or_another_one() {
        for ask in asks() {
            let bytes = ask.write();
            for end in 0..bytes.len() {
                assert_ne!(SignerRequest::read(&bytes[..end]), Some(ask.clone()));
            }
            for at in 0..bytes.len().min(64) {
                let mut changed = bytes.clone();
                changed[at] ^= 0xFF;
                // Nothing is asked of it but an answer.
                let _ = SignerRequest::read(&changed);
            }
        }
        for say in says() {
            let bytes = say.write();
            for end in 0..bytes.len() {
                let _ = SignerReply::read(&bytes[..end]);
            }
        }
        assert_eq!(SignerRequest::read(&[]), None);
        assert_eq!(SignerRequest::read(&[VERSION + 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]), None);
    }

    #[test]
    fn a_long_explanation_is_cut_between_letters() {
        let why = "é".repeat(2000);
        let Some(SignerReply::Failed(text)) = SignerReply::read(&SignerReply::Failed(why).write())
        else {
            panic!("no message")
        };
        assert_eq!(text.len(), TEXT_BYTES_MAX);
    }
}
