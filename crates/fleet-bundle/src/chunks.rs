//! Files in chunks, cut by their content (`FastCDC`), so that a list of which a line has changed is
//! sent as one chunk.
//!
//! A chunk is kept and sent compressed, and named by the digest of what is sent: nothing of an
//! engine that is not trusted reaches the decompressor unverified.

use crate::digest::ContentDigest;
use fastcdc::v2020::FastCDC;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io::Read;

/// Bytes of the smallest chunk that is cut, of most, and of the largest.
const CHUNK_BYTES_MIN: usize = 64 << 10;
const CHUNK_BYTES: usize = 256 << 10;
/// Bytes of the largest chunk before it is compressed.
pub const CHUNK_BYTES_MAX: usize = 1 << 20;
/// Level of zstd: lists become a third at a few hundred megabytes a second.
const LEVEL: i32 = 3;

/// One chunk of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChunkRef {
    /// Digest of it as it is kept.
    pub digest: ContentDigest,
    /// Bytes of its content.
    pub size: u32,
}

/// One chunk as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredChunk {
    /// Digest of the bytes here.
    pub digest: ContentDigest,
    /// Bytes of it, compressed by zstd.
    pub bytes: Vec<u8>,
    /// Bytes that it has uncompressed.
    pub size: u32,
}

/// Reason why bytes are not the chunk that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkFault {
    /// Other bytes.
    Digest,
    /// They cannot be uncompressed, or have another length than was said.
    Content,
}

/// Cuts a file into chunks, each handed over as it is made; an empty file has none.
///
/// # Errors
/// A failure of `take`, or of the compressor.
pub fn split<E: From<std::io::Error>>(
    file: &[u8],
    mut take: impl FnMut(StoredChunk) -> Result<(), E>,
) -> Result<(), E> {
    if file.is_empty() {
        return Ok(());
    }
    for cut in FastCDC::new(file, CHUNK_BYTES_MIN, CHUNK_BYTES, CHUNK_BYTES_MAX) {
        let piece = &file[cut.offset..cut.offset + cut.length];
        let bytes = zstd::bulk::compress(piece, LEVEL)?;
        let digest = ContentDigest::of(&bytes);
        // A chunk has at most CHUNK_BYTES_MAX bytes.
        take(StoredChunk { digest, bytes, size: piece.len() as u32 })?;
    }
    Ok(())
}

/// The content of a chunk of this digest and size.
///
/// # Errors
/// [`ChunkFault`] for anything else.
pub fn read_chunk(bytes: &[u8], digest: &ContentDigest, size: u32) -> Result<Vec<u8>, ChunkFault> {
    if ContentDigest::of(bytes) != *digest {
        return Err(ChunkFault::Digest);
    }
    if size as usize > CHUNK_BYTES_MAX {
        return Err(ChunkFault::Content);
    }
    let mut content = Vec::with_capacity(size as usize);
    let decoder = zstd::stream::read::Decoder::new(bytes).map_err(|_| ChunkFault::Content)?;
    let read = decoder.take(u64::from(size) + 1).read_to_end(&mut content);
    match read {
        Ok(length) if length == size as usize => Ok(content),
        Ok(_) | Err(_) => Err(ChunkFault::Content),
    }
}

impl fmt::Display for ChunkFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Digest => "it has another digest",
            Self::Content => "it cannot be uncompressed to the size that was said",
        })
    }
}

impl std::error::Error for ChunkFault {}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::fmt::Write as _;

    fn list(names: u32) -> String {
        let mut text = String::new();
        for number in 0..names {
            let mixed = number.wrapping_mul(2_654_435_761);
            writeln!(text, "||host-{mixed:x}.example^").unwrap();
        }
        text
    }

    fn chunks(text: &str) -> Vec<StoredChunk> {
        let mut made = Vec::new();
        split::<std::io::Error>(text.as_bytes(), |chunk| {
            made.push(chunk);
            Ok(())
        })
        .unwrap();
        made
    }

    #[test]
    fn chunks_join_to_the_file_that_was_cut() {
        let text = list(100_000);
        let made = chunks(&text);
        assert!(made.len() > 3);
        let mut whole = Vec::new();
        for chunk in &made {
            whole.extend(read_chunk(&chunk.bytes, &chunk.digest, chunk.size).unwrap());
        }
        assert_eq!(whole, text.as_bytes());
        assert!(chunks("").is_empty());
    }

    #[test]
    fn a_changed_line_changes_at_most_two_chunks() {
        let text = list(200_000);
        let changed = text.replacen("||host-", "||another-host-", 1);
        let known: BTreeSet<_> = chunks(&text).iter().map(|it| it.digest).collect();
        let fresh = chunks(&changed).iter().filter(|it| !known.contains(&it.digest)).count();
        assert!((1..=2).contains(&fresh), "{fresh} of {}", known.len());
    }

    #[test]
    fn a_chunk_that_lies_about_itself_is_refused() {
        let made = chunks(&"a".repeat(500_000));
        let chunk = &made[0];
        let mut bytes = chunk.bytes.clone();
        bytes[5] ^= 1;
        assert_eq!(read_chunk(&bytes, &chunk.digest, chunk.size), Err(ChunkFault::Digest));
        let bomb = zstd::bulk::compress(&vec![0; 64 << 20], 19).unwrap();
        let digest = ContentDigest::of(&bomb);
        assert_eq!(read_chunk(&bomb, &digest, 1000), Err(ChunkFault::Content));
        assert_eq!(read_chunk(&bomb, &digest, u32::MAX), Err(ChunkFault::Content));
        let digest = ContentDigest::of(b"no zstd");
        assert_eq!(read_chunk(b"no zstd", &digest, 7), Err(ChunkFault::Content));
    }
}
