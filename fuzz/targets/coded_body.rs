//! Any body that says it is gzip or zstd, as lists come: nothing beyond the sink's bound comes out,
//! and the pieces in which it comes change nothing. The first byte chooses the coding.
#![no_main]

use http_engine::encoding::ContentCoding;
use http_engine::encoding::decode::BodyDecoder;
use libfuzzer_sys::fuzz_target;
use std::io::{self, Write};

const BYTES_MAX: usize = 1 << 20;

/// Takes so many bytes and no more.
struct Bounded(Vec<u8>);

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > BYTES_MAX {
            return Err(io::Error::other("too much"));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn decoded(coding: ContentCoding, body: &[u8], piece: usize) -> io::Result<Vec<u8>> {
    let mut decoder = BodyDecoder::new(Some(coding), Bounded(Vec::new()))?;
    for piece in body.chunks(piece) {
        decoder.write(piece)?;
    }
    decoder.finish().map(|sink| sink.0)
}

fuzz_target!(|data: &[u8]| {
    let Some((first, body)) = data.split_first() else { return };
    let coding = if first & 1 == 0 { ContentCoding::Gzip } else { ContentCoding::Zstd };
    let whole = decoded(coding, body, usize::MAX).ok();
    assert_eq!(whole, decoded(coding, body, 1 + usize::from(first >> 1)).ok());
    assert!(whole.is_none_or(|it| it.len() <= BYTES_MAX));
});
