//! Undoing a content coding, piece by piece, into a sink that bounds what comes out.
//!
//! It holds no more than a coding's window. How much may come out is the sink's to say: a body of a
//! few kilobytes can stand for gigabytes. brotli is not undone here: the decoder at hand takes
//! windows of a gigabyte on a stranger's word. Called by whoever fetches files.

use super::ContentCoding;
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, HeaderValue};
use std::fmt;
use std::io::{self, Write};

/// What to ask a server for.
pub const DECODABLE: HeaderValue = HeaderValue::from_static("zstd, gzip");
/// RFC 9659 §3: what is sent over the web needs no larger window than 8 MiB.
const ZSTD_WINDOW_LOG_MAX: u32 = 23;

/// A body's coding that cannot be undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndecodableBody(String);

/// Undoes a coding; what comes out goes to `W`. Whatever `W` refuses ends it.
pub struct BodyDecoder<W: Write>(DecoderKind<W>);

enum DecoderKind<W: Write> {
    Identity(W),
    Gzip(Box<flate2::write::MultiGzDecoder<W>>),
    Zstd(zstd::stream::write::Decoder<'static, W>),
}

/// The coding of a body with these fields; none if it comes as it is.
pub fn coding_of(headers: &HeaderMap) -> Result<Option<ContentCoding>, UndecodableBody> {
    let mut all = headers.get_all(CONTENT_ENCODING).iter();
    let (first, second) = (all.next(), all.next());
    let Some(named) = first else { return Ok(None) };
    let name = named.to_str().unwrap_or_default().trim().to_ascii_lowercase();
    match (name.as_str(), second) {
        ("identity" | "", None) => Ok(None),
        // RFC 9110 §8.4.1.3: the same thing by its old name.
        ("gzip" | "x-gzip", None) => Ok(Some(ContentCoding::Gzip)),
        ("zstd", None) => Ok(Some(ContentCoding::Zstd)),
        (_, None | Some(_)) => Err(UndecodableBody(name)),
    }
}

impl<W: Write> BodyDecoder<W> {
    /// Undoes `coding`, if there is one.
    pub fn new(coding: Option<ContentCoding>, sink: W) -> io::Result<Self> {
        Ok(Self(match coding {
            None => DecoderKind::Identity(sink),
            Some(ContentCoding::Gzip) => {
                DecoderKind::Gzip(Box::new(flate2::write::MultiGzDecoder::new(sink)))
            }
            Some(ContentCoding::Zstd) => {
                let mut decoder = zstd::stream::write::Decoder::new(sink)?;
                decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
                DecoderKind::Zstd(decoder)
            }
            Some(ContentCoding::Brotli) => {
                let why = UndecodableBody(ContentCoding::Brotli.as_str().into());
                return Err(io::Error::new(io::ErrorKind::Unsupported, why));
            }
        }))
    }

    /// Takes a piece of the body.
    pub fn write(&mut self, piece: &[u8]) -> io::Result<()> {
        match &mut self.0 {
            DecoderKind::Identity(sink) => sink.write_all(piece),
            DecoderKind::Gzip(decoder) => decoder.write_all(piece),
            DecoderKind::Zstd(decoder) => decoder.write_all(piece),
        }
    }

    /// The body has ended; an error if it ended within what is coded.
    pub fn finish(self) -> io::Result<W> {
        match self.0 {
            DecoderKind::Identity(sink) => Ok(sink),
            DecoderKind::Gzip(decoder) => decoder.finish(),
            DecoderKind::Zstd(decoder) => decoder.finish(),
        }
    }
}

impl fmt::Display for UndecodableBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "it came coded as {:?}, which was not asked for", self.0)
    }
}

impl std::error::Error for UndecodableBody {}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::super::{CodingLevel, compress};
    use super::*;

    const TEXT: &[u8] = b"||ads.example^\n||more.example^\n";

    /// Takes so many bytes and no more.
    struct Small(Vec<u8>);

    impl Write for Small {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.0.len() + bytes.len() > 1 << 20 {
                return Err(io::Error::other("too much"));
            }
            self.0.extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn decoded(coding: Option<ContentCoding>, body: &[u8], piece: usize) -> io::Result<Vec<u8>> {
        let mut decoder = BodyDecoder::new(coding, Small(Vec::new()))?;
        for piece in body.chunks(piece) {
            decoder.write(piece)?;
        }
        decoder.finish().map(|sink| sink.0)
    }

    #[test]
    fn what_was_coded_comes_back_in_whatever_pieces() {
        for coding in [ContentCoding::Gzip, ContentCoding::Zstd] {
            let body = compress(coding, CodingLevel::default_for(coding), TEXT).unwrap();
            for piece in [1, 7, 1000] {
                assert_eq!(decoded(Some(coding), &body, piece).unwrap(), TEXT, "{coding} {piece}");
            }
        }
        assert_eq!(decoded(None, TEXT, 5).unwrap(), TEXT);
    }

    #[test]
    fn a_cut_or_spoilt_body_is_an_error() {
        for coding in [ContentCoding::Gzip, ContentCoding::Zstd] {
            let body =
                compress(coding, CodingLevel::default_for(coding), &TEXT.repeat(100)).unwrap();
            for end in [5, body.len() / 2, body.len() - 1] {
                assert!(decoded(Some(coding), &body[..end], 100).is_err(), "{coding} to {end}");
            }
            assert!(decoded(Some(coding), TEXT, 100).is_err(), "{coding}");
        }
    }

    #[test]
    fn a_bomb_ends_at_what_the_sink_takes() {
        let zeros = vec![0; 32 << 20];
        for coding in [ContentCoding::Gzip, ContentCoding::Zstd] {
            let body = compress(coding, CodingLevel::default_for(coding), &zeros).unwrap();
            assert!(body.len() < 64 << 10, "{coding}");
            let why = decoded(Some(coding), &body, 16 << 10).unwrap_err();
            assert_eq!(why.to_string(), "too much", "{coding}");
        }
    }

    #[test]
    fn only_what_was_asked_for_is_undone() {
        let coding = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static(value));
            coding_of(&headers)
        };
        assert_eq!(coding("GZIP"), Ok(Some(ContentCoding::Gzip)));
        assert_eq!(coding("identity"), Ok(None));
        assert!(coding("br").is_err() && coding("gzip, gzip").is_err());
        assert_eq!(coding_of(&HeaderMap::new()), Ok(None));
    }
}
