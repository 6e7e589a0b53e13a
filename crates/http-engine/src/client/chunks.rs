//! The chunked coding of an answer, read strictly (RFC 9112 §7.1).
//!
//! Lines end in CR LF and nothing else; sizes are plain hexadecimal. Extensions are passed over and
//! trailers kept, both under a cap. Pure: bytes are handed in as they come. Called by
//! [`super::answer_body`].

use crate::body_error::BadBody;
use bytes::{Buf, Bytes};
use http::{HeaderMap, HeaderName, HeaderValue};
use httparse::{EMPTY_HEADER, Status};

/// Bytes of extensions in all chunks of a body together, with the blanks around them.
const EXTENSION_BYTES_MAX: usize = 16 << 10;
/// Bytes of the trailers.
const TRAILER_BYTES_MAX: usize = 16 << 10;
/// Fields of the trailers.
const TRAILERS_MAX: usize = 100;
/// Digits of a size: as many as 64 bits have.
const SIZE_DIGITS_MAX: u32 = 16;

/// A reader of one chunked body.
#[derive(Debug)]
pub(super) struct ChunkReader {
    state: State,
    /// The size being read, then what is left of its chunk.
    remaining: u64,
    extensions: usize,
    trailers: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// After so many digits of a size.
    Size(u32),
    /// Blanks behind the digits, which some servers fill up with.
    Blank,
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    Trailers,
    End,
}

/// Tells how far [`ChunkReader::skip_to_data`] came.
#[derive(Debug)]
pub(super) enum ChunkProgress {
    /// [`ChunkReader::data`] has some.
    Data,
    /// The bytes at hand are used up.
    More,
    /// The body has ended; with its trailers, if there are any.
    End(Option<HeaderMap>),
}

impl ChunkReader {
    pub(super) const fn new() -> Self {
        Self { state: State::Size(0), remaining: 0, extensions: 0, trailers: Vec::new() }
    }

    /// Takes from the front of `ahead` what is not data. To be asked before each [`Self::data`],
    /// and not after the end.
    pub(super) fn skip_to_data(&mut self, ahead: &mut Bytes) -> Result<ChunkProgress, BadBody> {
        while self.state != State::End {
            if ahead.is_empty() {
                return Ok(ChunkProgress::More);
            }
            if self.state == State::Data {
                return Ok(ChunkProgress::Data);
            }
            let byte = ahead.get_u8();
            self.state = self.step(byte)?;
        }
        self.trailers().map(ChunkProgress::End)
    }

    /// The data of the chunk at hand, as much as has come.
    pub(super) fn data(&mut self, ahead: &mut Bytes) -> Bytes {
        let count = ahead.len().min(usize::try_from(self.remaining).unwrap_or(usize::MAX));
        self.remaining -= count as u64;
        if self.remaining == 0 {
            self.state = State::DataCr;
        }
        ahead.split_to(count)
    }

    fn step(&mut self, byte: u8) -> Result<State, BadBody> {
        Ok(match (self.state, byte) {
            (State::Size(digits), b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                if digits == SIZE_DIGITS_MAX {
                    return Err(BadBody::Chunk);
                }
                let digit = char::from(byte).to_digit(16).unwrap_or(0);
                self.remaining = self.remaining << 4 | u64::from(digit);
                State::Size(digits + 1)
            }
            (State::Size(1..) | State::Blank | State::Extension, b'\r') => State::SizeLf,
            (State::Size(1..) | State::Blank, b' ' | b'\t') => self.extended(State::Blank)?,
            (State::Size(1..) | State::Blank, b';')
            | (State::Extension, b'\t' | b' '..=b'~' | 0x80..) => {
                self.extended(State::Extension)?
            }
            (State::SizeLf, b'\n') if self.remaining == 0 => State::Trailers,
            (State::SizeLf, b'\n') => State::Data,
            (State::DataCr, b'\r') => State::DataLf,
            (State::DataLf, b'\n') => State::Size(0),
            (State::Trailers, _) => return self.push_trailer_byte(byte),
            _ => return Err(BadBody::Chunk),
        })
    }

    fn extended(&mut self, state: State) -> Result<State, BadBody> {
        self.extensions += 1;
        if self.extensions > EXTENSION_BYTES_MAX {
            return Err(BadBody::TooLarge);
        }
        Ok(state)
    }

    fn push_trailer_byte(&mut self, byte: u8) -> Result<State, BadBody> {
        if self.trailers.len() == TRAILER_BYTES_MAX {
            return Err(BadBody::TooLarge);
        }
        self.trailers.push(byte);
        let is_over = self.trailers == b"\r\n" || self.trailers.ends_with(b"\r\n\r\n");
        Ok(if is_over { State::End } else { State::Trailers })
    }

    fn trailers(&self) -> Result<Option<HeaderMap>, BadBody> {
        if self.trailers == b"\r\n" {
            return Ok(None);
        }
        let mut room = [EMPTY_HEADER; TRAILERS_MAX];
        let fields = match httparse::parse_headers(&self.trailers, &mut room) {
            // Ended earlier, by a bare line feed, it would leave us bytes of the next answer.
            Ok(Status::Complete((length, fields))) if length == self.trailers.len() => fields,
            Err(httparse::Error::TooManyHeaders) => return Err(BadBody::TooLarge),
            Ok(_) | Err(_) => return Err(BadBody::Trailers),
        };
        let mut trailers = HeaderMap::with_capacity(fields.len());
        for field in fields {
            let name = HeaderName::from_bytes(field.name.as_bytes());
            let value = HeaderValue::from_bytes(field.value);
            let (Ok(name), Ok(value)) = (name, value) else { return Err(BadBody::Trailers) };
            trailers.append(name, value);
        }
        Ok(Some(trailers))
    }
}
