//! Coding a body that is all at hand.
//!
//! The coders' tables are made once a thread and used again: making them costs as much as coding a
//! small file. It runs where it is called; whoever has much to code calls it off the core's thread.

use super::{CodingLevel, ContentCoding};
use std::cell::RefCell;
use std::fmt;
use std::io;

/// The largest body that is coded in one go, in bytes: the input and the output stand in memory.
pub const INPUT_BYTES_MAX: usize = 64 << 20;
/// Brotli's window, as a power of two: 4 MiB, what browsers allocate for it at most times anyway.
const BROTLI_WINDOW_LOG: i32 = 22;
/// RFC 9659 §3: a decoder for the web need not hold more than 8 MiB.
const ZSTD_WINDOW_LOG_MAX: u32 = 23;
/// libdeflate's effort for each level of zlib's: the least that gives no larger a file (jQuery 3.6
/// minified, 89 kB: level 6 gives 30,932 bytes beside zlib's 31,031, level 1 33,427 beside 36,090).
const GZIP_EFFORT: [i32; 9] = [1, 2, 3, 4, 6, 7, 8, 9, 10];

/// Why a body was not coded.
#[derive(Debug)]
pub enum EncodeError {
    /// Is longer than [`INPUT_BYTES_MAX`]: send it as it is, or piece by piece.
    TooLarge,
    /// The coder failed; the original can be sent.
    Coder(io::Error),
}

/// Codes `input`. The result may be longer than it: the caller then sends the original.
pub fn compress(
    coding: ContentCoding,
    level: CodingLevel,
    input: &[u8],
) -> Result<Vec<u8>, EncodeError> {
    if input.len() > INPUT_BYTES_MAX {
        return Err(EncodeError::TooLarge);
    }
    match coding {
        ContentCoding::Gzip => gzip(level, input),
        ContentCoding::Brotli => brotli(level, input),
        ContentCoding::Zstd => zstd(level, input),
    }
}

/// Holds what gzip needs on one thread, kept between bodies.
struct GzipEncoder {
    level: CodingLevel,
    coder: libdeflater::Compressor,
    /// Where bodies of at most [`SCRATCH_BYTES_MAX`] are coded to: memory that is touched already.
    scratch: Vec<u8>,
}

/// A result of this length at most is made in memory that the thread keeps, in bytes.
const SCRATCH_BYTES_MAX: usize = 512 << 10;

thread_local! {
    static GZIP: RefCell<Option<GzipEncoder>> = const { RefCell::new(None) };
}

fn gzip(level: CodingLevel, input: &[u8]) -> Result<Vec<u8>, EncodeError> {
    GZIP.with_borrow_mut(|kept| {
        let failed = |why: String| EncodeError::Coder(io::Error::other(why));
        if kept.as_ref().is_none_or(|it| it.level != level) {
            let effort = GZIP_EFFORT[usize::from(level.get() - CodingLevel::MIN)];
            let effort = libdeflater::CompressionLvl::new(effort)
                .map_err(|why| failed(format!("{why:?}")))?;
            let coder = libdeflater::Compressor::new(effort);
            *kept = Some(GzipEncoder { level, coder, scratch: Vec::new() });
        }
        let Some(GzipEncoder { coder, scratch, .. }) = kept else {
            unreachable!("made just above")
        };
        let bound = coder.gzip_compress_bound(input.len());
        let mut large = Vec::new();
        let output = if bound <= SCRATCH_BYTES_MAX { scratch } else { &mut large };
        if output.len() < bound {
            output.resize(bound, 0);
        }
        let len = coder.gzip_compress(input, output).map_err(|why| failed(format!("{why:?}")))?;
        Ok(output[..len].to_vec())
    })
}

fn brotli(level: CodingLevel, input: &[u8]) -> Result<Vec<u8>, EncodeError> {
    let params = brotli::enc::BrotliEncoderParams {
        quality: i32::from(level.get()),
        lgwin: BROTLI_WINDOW_LOG,
        size_hint: input.len(),
        ..Default::default()
    };
    let mut output = Vec::with_capacity(input.len() / 3);
    brotli::BrotliCompress(&mut &input[..], &mut output, &params).map_err(EncodeError::Coder)?;
    output.shrink_to_fit();
    Ok(output)
}

fn zstd(level: CodingLevel, input: &[u8]) -> Result<Vec<u8>, EncodeError> {
    let mut coder =
        zstd::bulk::Compressor::new(i32::from(level.get())).map_err(EncodeError::Coder)?;
    let window = zstd::zstd_safe::CParameter::WindowLog(
        input.len().max(1 << 10).ilog2().saturating_add(1).min(ZSTD_WINDOW_LOG_MAX),
    );
    coder.set_parameter(window).map_err(EncodeError::Coder)?;
    let mut output = coder.compress(input).map_err(EncodeError::Coder)?;
    output.shrink_to_fit();
    Ok(output)
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge => write!(f, "longer than {INPUT_BYTES_MAX} bytes: send it uncoded"),
            Self::Coder(why) => write!(f, "the coder failed, send the original: {why}"),
        }
    }
}

impl std::error::Error for EncodeError {}
