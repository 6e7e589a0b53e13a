//! A cache's answers as bytes, so that they outlive the process.
//!
//! ```text
//! "tidegate-answers" version:u16 saved:u64 entries:u32
//! (stored:u64 key_length:u16 message_length:u16 key message)*  SHA-256 of all before
//! ```
//!
//! Numbers are big-endian, times are milliseconds since 1970. It opens no file and believes
//! nothing: what does not fit together to the last byte is refused with a reason. Called by
//! [`super::persist`].

use super::key::plain_key;
use dns_wire::{KeyBuffer, WireAnswer};
use sha2::{Digest, Sha256};
use std::fmt;

pub(crate) const MAGIC: &[u8] = b"tidegate-answers";
const VERSION: u16 = 1;
const HEAD_BYTES: usize = MAGIC.len() + 2 + 8 + 4;
const ENTRY_HEAD_BYTES: usize = 8 + 2 + 2;
const SUM_BYTES: usize = 32;
/// Longest snapshot that is written or read, in bytes. What does not fit is left out when writing.
pub const SNAPSHOT_BYTES_MAX: usize = 1 << 30;
/// Longest key that is written: a question, and the options of one that tells clients apart.
const KEY_BYTES_MAX: usize = 4096;

/// Why bytes are no snapshot. Each is refused whole: a cache fills again by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadSnapshot {
    /// Begins otherwise.
    Foreign,
    /// Is of another version than ours.
    Version(u16),
    /// Ends early, goes on too long, or has been changed.
    Damaged,
    /// Is longer than [`SNAPSHOT_BYTES_MAX`].
    TooLong,
}

/// Holds what is put into a snapshot.
pub(crate) struct CacheSnapshotWriter {
    bytes: Vec<u8>,
    entries: u32,
    left_out: usize,
}

/// One answer of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SnapshotAnswer {
    pub(crate) key: Box<[u8]>,
    pub(crate) answer: WireAnswer,
    /// When it came, in milliseconds since 1970.
    pub(crate) stored_unix_ms: u64,
}

impl CacheSnapshotWriter {
    pub(crate) fn new(saved_unix_ms: u64) -> Self {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(VERSION.to_be_bytes());
        bytes.extend(saved_unix_ms.to_be_bytes());
        bytes.extend(0_u32.to_be_bytes());
        Self { bytes, entries: 0, left_out: 0 }
    }

    /// Adds an answer, or counts it as left out where it does not fit.
    pub(crate) fn add(&mut self, key: &[u8], answer: &WireAnswer, came_unix_ms: u64) {
        let message = answer.message();
        let length = ENTRY_HEAD_BYTES + key.len() + message.len();
        let fits = key.len() <= KEY_BYTES_MAX
            && self.bytes.len() + length + SUM_BYTES <= SNAPSHOT_BYTES_MAX;
        let (true, Ok(message_length)) = (fits, u16::try_from(message.len())) else {
            self.left_out += 1;
            return;
        };
        self.bytes.extend(came_unix_ms.to_be_bytes());
        self.bytes.extend((key.len() as u16).to_be_bytes());
        self.bytes.extend(message_length.to_be_bytes());
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(message);
        self.entries += 1;
    }

    /// The snapshot, how many answers it holds, and how many were left out.
    pub(crate) fn finish(mut self) -> (Vec<u8>, usize, usize) {
        self.bytes[HEAD_BYTES - 4..HEAD_BYTES].copy_from_slice(&self.entries.to_be_bytes());
        let sum = Sha256::digest(&self.bytes);
        self.bytes.extend_from_slice(&sum);
        (self.bytes, self.entries as usize, self.left_out)
    }
}

/// Returns how many answers a snapshot holds that could be taken, whatever their age: for whoever
/// wants to know before taking them, and for fuzzing.
pub fn check_snapshot(bytes: &[u8]) -> Result<usize, BadSnapshot> {
    let mut count = 0;
    read(bytes, |_| count += 1).map(|()| count)
}

/// Gives every answer of a snapshot to `each`, once all of it is known to be whole. An answer that
/// is none to its key is passed over.
pub(crate) fn read(bytes: &[u8], mut each: impl FnMut(SnapshotAnswer)) -> Result<(), BadSnapshot> {
    if bytes.len() > SNAPSHOT_BYTES_MAX {
        return Err(BadSnapshot::TooLong);
    }
    let mut rest = bytes.strip_prefix(MAGIC).ok_or(BadSnapshot::Foreign)?;
    let version = u16::from_be_bytes(read_array(&mut rest)?);
    if version != VERSION {
        return Err(BadSnapshot::Version(version));
    }
    let body = bytes.len().checked_sub(SUM_BYTES).ok_or(BadSnapshot::Damaged)?;
    let (body, sum) = bytes.split_at(body);
    if Sha256::digest(body).as_slice() != sum {
        return Err(BadSnapshot::Damaged);
    }
    let mut rest = body.get(HEAD_BYTES - 4..).ok_or(BadSnapshot::Damaged)?;
    let entries = u32::from_be_bytes(read_array(&mut rest)?);
    let all = rest;
    for pass in [SnapshotPass::Check, SnapshotPass::Give] {
        rest = all;
        for _ in 0..entries {
            let (key, message, came_unix_ms) = entry(&mut rest)?;
            if pass == SnapshotPass::Check {
                continue;
            }
            let Some(plain) = plain_key(key) else { continue };
            match WireAnswer::from_response(message) {
                Ok(answer) if answer.matches(KeyBuffer::question(plain)) => {
                    each(SnapshotAnswer { key: key.into(), answer, stored_unix_ms: came_unix_ms });
                }
                Ok(_) | Err(_) => {}
            }
        }
        if !rest.is_empty() {
            return Err(BadSnapshot::Damaged);
        }
    }
    Ok(())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum SnapshotPass {
    Check,
    Give,
}

/// Key, message and time of the next entry.
fn entry<'b>(rest: &mut &'b [u8]) -> Result<(&'b [u8], &'b [u8], u64), BadSnapshot> {
    let stored = u64::from_be_bytes(read_array(rest)?);
    let key_length = usize::from(u16::from_be_bytes(read_array(rest)?));
    let message_length = usize::from(u16::from_be_bytes(read_array(rest)?));
    let (key, after) = rest.split_at_checked(key_length).ok_or(BadSnapshot::Damaged)?;
    let (message, after) = after.split_at_checked(message_length).ok_or(BadSnapshot::Damaged)?;
    *rest = after;
    Ok((key, message, stored))
}

fn read_array<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], BadSnapshot> {
    let (taken, after) = rest.split_first_chunk().ok_or(BadSnapshot::Damaged)?;
    *rest = after;
    Ok(*taken)
}

impl fmt::Display for BadSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Foreign => f.write_str("it is no snapshot of answers; name another file"),
            Self::Version(version) => {
                write!(f, "it is of version {version}, not {VERSION}; it will be written again")
            }
            Self::Damaged => f.write_str("it is damaged; it will be written again"),
            Self::TooLong => f.write_str("it is longer than 1 GiB; remove it"),
        }
    }
}

impl std::error::Error for BadSnapshot {}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A test fails by panicking.
    use super::*;
    use dns_wire::{DnsQuery, key_of, synthesize, write_query};
    use vocab::{DomainName, NameBuffer};

    fn answer(name: &str) -> (Box<[u8]>, WireAnswer) {
        let key = key_of(DomainName::parse(name).unwrap().as_name(), 1).unwrap();
        let (mut query, mut message) = (Vec::new(), Vec::new());
        write_query(7, &key, &mut query);
        let query = DnsQuery::parse(&query, &mut NameBuffer::new()).unwrap();
        synthesize::addresses(&query, &["192.0.2.1".parse().unwrap()], 300, None, &mut message);
        (key, WireAnswer::from_response(&message).unwrap())
    }

    fn snapshot() -> Vec<u8> {
        let mut writer = CacheSnapshotWriter::new(5000);
        for name in ["a.example", "b.example"] {
            let (key, answer) = answer(name);
            writer.add(&key, &answer, 1000);
        }
        writer.finish().0
    }

    fn restored(bytes: &[u8]) -> Result<Vec<SnapshotAnswer>, BadSnapshot> {
        let mut all = Vec::new();
        read(bytes, |it| all.push(it)).map(|()| all)
    }

    /// `bytes` with a sum that is right.
    fn summed(bytes: &[u8]) -> Vec<u8> {
        let body = &bytes[..bytes.len() - SUM_BYTES];
        [body, Sha256::digest(body).as_slice()].concat()
    }

    #[test]
    fn what_is_written_is_read() {
        // What came beside the message in its OPT record is not written.
        let all: Vec<_> = restored(&snapshot())
            .unwrap()
            .into_iter()
            .map(|it| (it.key, it.answer.message().to_vec(), it.stored_unix_ms))
            .collect();
        let expected = ["a.example", "b.example"].map(|name| {
            let (key, answer) = answer(name);
            (key, answer.message().to_vec(), 1000)
        });
        assert_eq!(all, expected);
        assert_eq!(restored(&CacheSnapshotWriter::new(0).finish().0), Ok(Vec::new()));
    }

    #[test]
    fn any_change_is_noticed() {
        let good = snapshot();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1;
            assert!(restored(&bad).is_err(), "{at}");
            assert!(restored(&good[..at]).is_err(), "{at}");
        }
        assert_eq!(restored(b""), Err(BadSnapshot::Foreign));
        assert_eq!(restored(MAGIC), Err(BadSnapshot::Damaged));
        assert_eq!(restored(&[&good[..], &[0]].concat()), Err(BadSnapshot::Damaged));
        let mut newer = good.clone();
        newer[MAGIC.len() + 1] = 2;
        assert_eq!(restored(&newer), Err(BadSnapshot::Version(2)));
    }

    #[test]
    fn a_right_sum_makes_nothing_true() {
        let good = snapshot();
        // Whatever is changed by whoever can reckon the sum too: no panic, and no answer to
        // another question than that of its key.
        for at in MAGIC.len()..good.len() - SUM_BYTES {
            for bit in 0..8 {
                let mut bad = good.clone();
                bad[at] ^= 1 << bit;
                for stored in restored(&summed(&bad)).unwrap_or_default() {
                    let plain = plain_key(&stored.key).unwrap();
                    assert!(stored.answer.matches(KeyBuffer::question(plain)));
                }
            }
        }
        let (key, answer) = answer("a.example");
        let mut writer = CacheSnapshotWriter::new(0);
        writer.add(b"\x01b\x00\x00\x01\x00\x01\x00", &answer, 0);
        writer.add(&vec![0; KEY_BYTES_MAX + 1], &answer, 0);
        writer.add(&key, &answer, 0);
        let (bytes, entries, left_out) = writer.finish();
        assert_eq!((entries, left_out), (2, 1));
        assert_eq!(restored(&bytes).unwrap().len(), 1);
        assert_eq!(check_snapshot(&bytes), Ok(1));
    }
}
