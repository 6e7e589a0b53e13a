//! The body of a handler's answer on its way to the client: framed, piece by piece.
//!
//! Small pieces are copied behind one another until nothing more is at hand or a write is worth it;
//! a large one is handed on as it is. Whatever the body does, the framing holds: what goes beyond a
//! told length is left out, and what stays below it, or fails, breaks the connection off, for the
//! other side must not take it for whole. It writes nothing to a socket. Called by
//! [`super::connection`] for answers and by the client side for requests.

use super::sending::{OUTPUT_BYTES, SendBeside};
use crate::body::{Body, BodyError};
use crate::field_line::push_field;
use crate::trailers::{TrailerOf, is_allowed_trailer};
use bytes::Bytes;
use http::{HeaderMap, HeaderName};
use http_body::Body as HttpBody;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Pieces up to here are copied: below, a copy is cheaper than a second piece in a write.
const COPIED_BYTES_MAX: usize = 16 << 10;

/// Tells how the client knows where a body ends (RFC 9112 section 6.3).
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ClientFraming {
    /// After so many bytes from here.
    Length(u64),
    /// By its last chunk; behind it fields of these names may stand.
    Chunked(Vec<HeaderName>),
    /// With the connection.
    UntilClose,
}

/// A body on its way.
#[derive(Debug)]
pub(crate) struct AnswerProgress {
    pub(crate) body: Body,
    pub(crate) framing: ClientFraming,
}

/// Holds what was at hand of a body, beside what was appended.
#[derive(Debug)]
pub(crate) struct FilledBytes {
    /// A large piece, and what belongs behind it.
    pub(crate) large: SendBeside,
    pub(crate) continuation: BodyContinuation,
}

/// Tells how a body goes on.
#[derive(Debug)]
pub(crate) enum BodyContinuation {
    /// There may be more at once.
    More,
    /// There is no more for now; the task is woken when there is.
    Wait,
    /// That was all.
    End,
    /// Failed, or ended before its length.
    Broken(BodyError),
}

impl BodyContinuation {
    /// With nothing beside what was appended.
    pub(crate) fn without_large(self) -> FilledBytes {
        FilledBytes { large: SendBeside::default(), continuation: self }
    }
}

impl AnswerProgress {
    /// Appends to `out` what is at hand of the body.
    pub(crate) fn fill(&mut self, cx: &mut Context<'_>, out: &mut Vec<u8>) -> FilledBytes {
        loop {
            if out.len() >= OUTPUT_BYTES {
                return BodyContinuation::More.without_large();
            }
            let frame = match Pin::new(&mut self.body).poll_frame(cx) {
                Poll::Pending => return BodyContinuation::Wait.without_large(),
                Poll::Ready(None) => return self.end(None, out).without_large(),
                Poll::Ready(Some(Err(why))) => {
                    return BodyContinuation::Broken(why).without_large();
                }
                Poll::Ready(Some(Ok(frame))) => frame,
            };
            match frame.into_data() {
                Ok(data) => {
                    if let Some(filled) = self.add(data, out) {
                        return filled;
                    }
                }
                Err(frame) => {
                    if let Ok(trailers) = frame.into_trailers() {
                        return self.end(Some(&trailers), out).without_large();
                    }
                }
            }
        }
    }

    /// Frames a piece; `None`: it was copied, and more may follow.
    fn add(&mut self, mut data: Bytes, out: &mut Vec<u8>) -> Option<FilledBytes> {
        if let ClientFraming::Length(left) = &mut self.framing {
            data.truncate(usize::try_from(*left).unwrap_or(usize::MAX));
            *left -= data.len() as u64;
        }
        let is_last = self.framing == ClientFraming::Length(0) || self.body.is_end_stream();
        if data.is_empty() {
            return is_last.then(|| self.end(None, out).without_large());
        }
        let is_short = is_last && matches!(self.framing, ClientFraming::Length(left) if left > 0);
        let tail: &'static [u8] = match (&self.framing, is_last) {
            (ClientFraming::Length(_) | ClientFraming::UntilClose, _) => b"",
            (ClientFraming::Chunked(_), false) => b"\r\n",
            (ClientFraming::Chunked(_), true) => b"\r\n0\r\n\r\n",
        };
        if !tail.is_empty() {
            push_size(out, data.len());
        }
        let then = match is_last {
            true if is_short => BodyContinuation::Broken(BodyError::Aborted),
            true => BodyContinuation::End,
            false => BodyContinuation::More,
        };
        if data.len() > COPIED_BYTES_MAX {
            return Some(FilledBytes {
                large: SendBeside { chunk: data, tail },
                continuation: then,
            });
        }
        out.extend_from_slice(&data);
        out.extend_from_slice(tail);
        is_last.then(|| then.without_large())
    }

    /// The body has no more pieces.
    fn end(&self, trailers: Option<&HeaderMap>, out: &mut Vec<u8>) -> BodyContinuation {
        match &self.framing {
            ClientFraming::UntilClose | ClientFraming::Length(0) => BodyContinuation::End,
            ClientFraming::Length(_) => BodyContinuation::Broken(BodyError::Aborted),
            ClientFraming::Chunked(allowed) => {
                out.extend_from_slice(b"0\r\n");
                if let Some(trailers) = trailers {
                    for (name, value) in trailers {
                        if allowed.contains(name) && is_allowed_trailer(name, TrailerOf::Answer) {
                            push_field(out, name, value);
                        }
                    }
                }
                out.extend_from_slice(b"\r\n");
                BodyContinuation::End
            }
        }
    }
}

/// Appends the line that begins a chunk.
fn push_size(out: &mut Vec<u8>, bytes: usize) {
    let digits = (usize::BITS - bytes.leading_zeros()).div_ceil(4).max(1);
    let digit = |at: u32| b"0123456789ABCDEF"[(bytes >> (4 * at)) & 15];
    out.extend((0..digits).rev().map(digit));
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderValue, header};
    use http_body::{Frame, SizeHint};
    use std::collections::VecDeque;
    use std::convert::Infallible;
    use std::task::Waker;

    /// These frames, one a poll.
    struct Frames(VecDeque<Frame<Bytes>>);

    impl HttpBody for Frames {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            Poll::Ready(self.0.pop_front().map(Ok))
        }

        fn size_hint(&self) -> SizeHint {
            SizeHint::default()
        }
    }

    /// What `frames` become, and how they end: "end" or "broken".
    fn framed(framing: ClientFraming, frames: Vec<Frame<Bytes>>) -> (Vec<u8>, &'static str) {
        let mut answering = AnswerProgress { body: Body::boxed(Frames(frames.into())), framing };
        let (mut all, mut cx) = (Vec::new(), Context::from_waker(Waker::noop()));
        loop {
            let mut out = Vec::new();
            let filled = answering.fill(&mut cx, &mut out);
            all.extend_from_slice(&out);
            all.extend_from_slice(&filled.large.chunk);
            all.extend_from_slice(filled.large.tail);
            match filled.continuation {
                BodyContinuation::More | BodyContinuation::Wait => {}
                BodyContinuation::End => return (all, "end"),
                BodyContinuation::Broken(_) => return (all, "broken"),
            }
        }
    }

    fn data(text: &str) -> Frame<Bytes> {
        Frame::data(Bytes::copy_from_slice(text.as_bytes()))
    }

    #[test]
    fn a_length_is_kept_to_whatever_the_body_does() {
        let length = |bytes, frames| framed(ClientFraming::Length(bytes), frames);
        assert_eq!(length(4, vec![data("ab"), data("cd")]), (b"abcd".to_vec(), "end"));
        assert_eq!(length(3, vec![data("ab"), data("cd"), data("e")]), (b"abc".to_vec(), "end"));
        assert_eq!(length(5, vec![data("ab"), data("cd")]), (b"abcd".to_vec(), "broken"));
        assert_eq!(length(5, vec![data("ab"), Frame::trailers(HeaderMap::new())]).1, "broken");
    }

    #[test]
    fn chunks_carry_their_sizes_and_the_trailers_that_were_named() {
        let mut trailers = HeaderMap::new();
        for name in ["sum", "other", "content-length"] {
            trailers.insert(name, HeaderValue::from_static("1"));
        }
        let allowed = vec![HeaderName::from_static("sum"), header::CONTENT_LENGTH];
        let large = "x".repeat(0x12_345);
        let frames = vec![data("ab"), data(""), data(&large), Frame::trailers(trailers)];
        let expected = format!("2\r\nab\r\n12345\r\n{large}\r\n0\r\nsum: 1\r\n\r\n");
        assert_eq!(framed(ClientFraming::Chunked(allowed), frames), (expected.into_bytes(), "end"));
        let empty = framed(ClientFraming::Chunked(Vec::new()), Vec::new());
        assert_eq!(empty, (b"0\r\n\r\n".to_vec(), "end"));
    }

    #[test]
    fn the_size_of_a_chunk_is_hexadecimal() {
        for bytes in [1, 9, 15, 16, 0xff, 0x100, 0x00ab_cdef, usize::MAX] {
            let mut out = Vec::new();
            push_size(&mut out, bytes);
            assert_eq!(out, format!("{bytes:X}\r\n").into_bytes());
        }
    }
}
