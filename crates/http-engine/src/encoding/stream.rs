//! Coding a body that is under way.
//!
//! [`EncodedBody`] wraps any body. What has come in leaves as soon as nothing more is at hand: a
//! slow script's lines arrive when it writes them, a fast one's are coded in larger pieces. It
//! never reads ahead of its reader. Called by the web door for scripts' answers and for files too
//! large to keep.

use super::{CodingLevel, ContentCoding};
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use std::io::{self, Write};
use std::pin::Pin;
use std::task::{Context, Poll};

/// A piece leaves when it is so long, in bytes.
const CHUNK_BYTES: usize = 16 << 10;
/// So much is taken in before a piece must leave, in bytes: no turn of the core is longer.
const INTAKE_BYTES_MAX: usize = 128 << 10;
/// Windows of coders under way, as powers of two: 256 KiB and 1 MiB. There is one per answer.
const BROTLI_WINDOW_LOG: u32 = 18;
const ZSTD_WINDOW_LOG: u32 = 20;
const BROTLI_BUFFER_BYTES: usize = 4 << 10;

enum StreamCoder {
    Gzip(flate2::write::GzEncoder<Vec<u8>>),
    // Its tables are large.
    Brotli(Box<brotli::CompressorWriter<Vec<u8>>>),
    Zstd(zstd::stream::write::Encoder<'static, Vec<u8>>),
}

impl StreamCoder {
    fn new(coding: ContentCoding, level: CodingLevel) -> io::Result<Self> {
        Ok(match coding {
            ContentCoding::Gzip => {
                let level = flate2::Compression::new(u32::from(level.get()));
                Self::Gzip(flate2::write::GzEncoder::new(Vec::new(), level))
            }
            ContentCoding::Brotli => Self::Brotli(Box::new(brotli::CompressorWriter::new(
                Vec::new(),
                BROTLI_BUFFER_BYTES,
                u32::from(level.get()),
                BROTLI_WINDOW_LOG,
            ))),
            ContentCoding::Zstd => {
                let mut coder =
                    zstd::stream::write::Encoder::new(Vec::new(), i32::from(level.get()))?;
                coder.window_log(ZSTD_WINDOW_LOG)?;
                Self::Zstd(coder)
            }
        })
    }

    fn write(&mut self, input: &[u8]) -> io::Result<()> {
        match self {
            Self::Gzip(coder) => coder.write_all(input),
            Self::Brotli(coder) => coder.write_all(input),
            Self::Zstd(coder) => coder.write_all(input),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Gzip(coder) => coder.flush(),
            Self::Brotli(coder) => coder.flush(),
            Self::Zstd(coder) => coder.flush(),
        }
    }

    fn output(&mut self) -> &mut Vec<u8> {
        match self {
            Self::Gzip(coder) => coder.get_mut(),
            Self::Brotli(coder) => coder.get_mut(),
            Self::Zstd(coder) => coder.get_mut(),
        }
    }

    fn finish(self) -> io::Result<Vec<u8>> {
        match self {
            Self::Gzip(coder) => coder.finish(),
            Self::Brotli(coder) => Ok(coder.into_inner()),
            Self::Zstd(coder) => coder.finish(),
        }
    }
}

/// A body, coded as it goes.
pub struct EncodedBody<B> {
    inner: B,
    coder: Option<StreamCoder>,
    /// Bytes taken in since the last piece left.
    consumed: usize,
    trailers: Option<Frame<Bytes>>,
}

impl<B> EncodedBody<B> {
    /// Codes `inner`. Fails only if the coder cannot be made.
    pub fn new(inner: B, coding: ContentCoding, level: CodingLevel) -> io::Result<Self> {
        Ok(Self {
            inner,
            coder: Some(StreamCoder::new(coding, level)?),
            consumed: 0,
            trailers: None,
        })
    }
}

impl<B> EncodedBody<B> {
    fn next_chunk(&mut self) -> Option<Bytes> {
        let made = self.coder.as_mut()?.output();
        if made.is_empty() {
            return None;
        }
        self.consumed = 0;
        Some(Bytes::from(std::mem::take(made)))
    }

    /// Returns what is taken in leaves now.
    fn flushed(&mut self) -> io::Result<Option<Bytes>> {
        if self.consumed > 0
            && let Some(coder) = &mut self.coder
        {
            coder.flush()?;
            self.consumed = 0;
        }
        Ok(self.next_chunk())
    }
}

impl<B> HttpBody for EncodedBody<B>
where
    B: HttpBody<Data = Bytes> + Unpin,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Data = Bytes;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = &mut *self;
        loop {
            let Some(made) = this.coder.as_mut().map(|coder| coder.output().len()) else {
                return Poll::Ready(this.trailers.take().map(Ok));
            };
            if made >= CHUNK_BYTES {
                return Poll::Ready(this.next_chunk().map(|piece| Ok(Frame::data(piece))));
            }
            if this.consumed >= INTAKE_BYTES_MAX
                && let Some(piece) = this.flushed()?
            {
                return Poll::Ready(Some(Ok(Frame::data(piece))));
            }
            match Pin::new(&mut this.inner).poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                    Ok(data) => {
                        if let Some(coder) = &mut this.coder {
                            coder.write(&data)?;
                        }
                        this.consumed += data.len();
                    }
                    Err(trailers) => this.trailers = Some(trailers),
                },
                // What is not finished is not taken for whole.
                Poll::Ready(Some(Err(why))) => return Poll::Ready(Some(Err(why.into()))),
                Poll::Ready(None) => {
                    let Some(coder) = this.coder.take() else { unreachable!("looked at above") };
                    let last = coder.finish()?;
                    if !last.is_empty() {
                        return Poll::Ready(Some(Ok(Frame::data(Bytes::from(last)))));
                    }
                }
                Poll::Pending => {
                    return match this.flushed()? {
                        Some(piece) => Poll::Ready(Some(Ok(Frame::data(piece)))),
                        None => Poll::Pending,
                    };
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.coder.is_none() && self.trailers.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}
