//! Coded bodies come back as they were, whole or piece by piece, and in time.
#![allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "a test fails by panicking")]

use bytes::Bytes;
use http_body::Body as _;
use http_engine::body::{Body, read_all};
use http_engine::encoding::{CodingLevel, ContentCoding, EncodedBody, PREFERENCE, compress};
use std::future::poll_fn;
use std::io::{Read, Write};
use std::pin::Pin;
use std::time::Duration;

fn decode(coding: ContentCoding, coded: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    match coding {
        ContentCoding::Gzip => {
            flate2::read::MultiGzDecoder::new(coded).read_to_end(&mut plain).unwrap()
        }
        ContentCoding::Brotli => {
            brotli::Decompressor::new(coded, 4096).read_to_end(&mut plain).unwrap()
        }
        ContentCoding::Zstd => {
            zstd::stream::read::Decoder::new(coded).unwrap().read_to_end(&mut plain).unwrap()
        }
    };
    plain
}

fn text(len: usize) -> Vec<u8> {
    let words = ["function ", "return ", "null; ", "var ", "element.", "=> {", "}\n", "0x1f, "];
    let (mut text, mut state) = (Vec::new(), 7_u32);
    while text.len() < len {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        text.extend_from_slice(words[(state >> 29) as usize].as_bytes());
        text.extend_from_slice(format!("{:x}", state >> 20).as_bytes());
    }
    text.truncate(len);
    text
}

#[test]
fn whole_bodies_come_back_at_every_level() {
    for coding in PREFERENCE {
        for level in CodingLevel::MIN..=CodingLevel::MAX {
            for len in [0, 1, 255, 90_000] {
                let plain = text(len);
                let coded = compress(coding, CodingLevel::new(level).unwrap(), &plain).unwrap();
                assert_eq!(decode(coding, &coded), plain, "{coding} {level} {len}");
                assert!(len < 1000 || coded.len() < len / 2, "{coding} {level}: {}", coded.len());
            }
        }
    }
}

#[test]
fn equal_input_gives_equal_bytes() {
    // The strong entity tag of a coded file stands on this.
    let plain = text(50_000);
    for coding in PREFERENCE {
        let level = CodingLevel::default_for(coding);
        let first = compress(coding, level, &plain).unwrap();
        compress(coding, level, &text(10)).unwrap();
        assert_eq!(compress(coding, level, &plain).unwrap(), first, "{coding}");
    }
}

/// zlib-rs gives zlib's sizes within a percent, so it stands for zlib here.
#[test]
fn gzip_is_no_larger_than_zlib_at_the_same_level() {
    let plain = text(89_700);
    for level in [1, 6, 9] {
        let mut zlib =
            flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(level.into()));
        zlib.write_all(&plain).unwrap();
        let zlib = zlib.finish().unwrap().len();
        let ours =
            compress(ContentCoding::Gzip, CodingLevel::new(level).unwrap(), &plain).unwrap().len();
        assert!(ours <= zlib + zlib / 50, "level {level}: {ours} beside {zlib}");
    }
}

#[tokio::test]
async fn streamed_bodies_come_back() {
    for coding in PREFERENCE {
        for len in [0, 5, 1_000_000] {
            let plain = text(len);
            let (mut feed, body) = Body::channel(2);
            let pieces = plain.clone();
            let feeding = tokio::spawn(async move {
                for piece in pieces.chunks(30_011) {
                    feed.send(Bytes::copy_from_slice(piece)).await.unwrap();
                }
                feed.finish();
            });
            let coded = EncodedBody::new(body, coding, CodingLevel::default_for(coding)).unwrap();
            let coded = read_all(coded, 10 << 20, Duration::from_secs(30)).await.unwrap();
            feeding.await.unwrap();
            assert_eq!(decode(coding, &coded), plain, "{coding} {len}");
        }
    }
}

#[tokio::test]
async fn a_slow_writers_line_leaves_when_it_is_written() {
    for coding in PREFERENCE {
        let (mut feed, body) = Body::channel(1);
        let mut coded = EncodedBody::new(body, coding, CodingLevel::default_for(coding)).unwrap();
        let mut seen: Vec<u8> = Vec::new();
        for line in ["first line\n", "second line\n"] {
            feed.send(line).await.unwrap();
            let frame = poll_fn(|cx| Pin::new(&mut coded).poll_frame(cx)).await.unwrap().unwrap();
            seen.extend_from_slice(&frame.into_data().unwrap());
        }
        feed.finish();
        while let Some(frame) = poll_fn(|cx| Pin::new(&mut coded).poll_frame(cx)).await {
            seen.extend_from_slice(&frame.unwrap().into_data().unwrap());
        }
        assert_eq!(decode(coding, &seen), b"first line\nsecond line\n", "{coding}");
        assert!(coded.is_end_stream());
    }
}

#[tokio::test]
async fn a_body_that_breaks_off_is_not_finished() {
    let (mut feed, body) = Body::channel(2);
    feed.send("half").await.unwrap();
    drop(feed);
    let coded =
        EncodedBody::new(body, ContentCoding::Gzip, CodingLevel::default_for(ContentCoding::Gzip))
            .unwrap();
    assert!(read_all(coded, 1 << 20, Duration::from_secs(5)).await.is_err());
}
