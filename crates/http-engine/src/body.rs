//! One body type for requests and responses that we make.
//!
//! Nothing, bytes at hand, a body being received and passed on, a bounded channel, or anything
//! else that is an `http_body::Body`. It never buffers on its own: what is not read is not
//! received. Called by every HTTP door and by the client side.

pub use crate::body_error::BodyError;

use crate::incoming::Incoming;
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::sync::mpsc;

/// A body: see the module.
#[derive(Default)]
pub struct Body(BodyForm);

#[derive(Default)]
enum BodyForm {
    #[default]
    Empty,
    Full(Bytes),
    Incoming(Incoming),
    Channel(mpsc::Receiver<Result<Bytes, BodyError>>),
    Boxed(Pin<Box<dyn HttpBody<Data = Bytes, Error = BodyError>>>),
}

/// The writing end of [`Body::channel`]. Dropping it without [`BodyFeed::finish`] ends the body as
/// [`BodyError::Aborted`].
#[derive(Debug)]
pub struct BodyFeed {
    sender: mpsc::Sender<Result<Bytes, BodyError>>,
    finished: FeedEnd,
}

#[derive(Debug, PartialEq)]
enum FeedEnd {
    Yes,
    No,
}

/// The reader of a body has gone: stop producing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReaderGone;

impl Body {
    /// No body.
    pub const fn empty() -> Self {
        Self(BodyForm::Empty)
    }

    /// These bytes.
    pub fn full(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        Self(if bytes.is_empty() { BodyForm::Empty } else { BodyForm::Full(bytes) })
    }

    /// A body fed piece by piece. At most `pieces` wait unread; then [`BodyFeed::send`] waits.
    pub fn channel(pieces: usize) -> (BodyFeed, Self) {
        let (sender, receiver) = mpsc::channel(pieces.max(1));
        (BodyFeed { sender, finished: FeedEnd::No }, Self(BodyForm::Channel(receiver)))
    }

    /// Any other body; it need not be `Send`.
    pub fn boxed<B>(body: B) -> Self
    where
        B: HttpBody<Data = Bytes> + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        use http_body_util::BodyExt;
        Self(BodyForm::Boxed(Box::pin(body.map_err(|why| BodyError::Other(why.into())))))
    }

    /// The bytes, if they are all at hand.
    pub fn bytes(&self) -> Option<&[u8]> {
        match &self.0 {
            BodyForm::Empty => Some(b""),
            BodyForm::Full(bytes) => Some(bytes),
            BodyForm::Incoming(_) | BodyForm::Channel(_) | BodyForm::Boxed(_) => None,
        }
    }
}

impl BodyFeed {
    /// Adds a piece, waiting while the body is full.
    pub async fn send(&mut self, piece: impl Into<Bytes>) -> Result<(), ReaderGone> {
        let piece = piece.into();
        if piece.is_empty() {
            return Ok(());
        }
        self.sender.send(Ok(piece)).await.map_err(|_| ReaderGone)
    }

    /// Ends the body as complete.
    pub fn finish(mut self) {
        self.finished = FeedEnd::Yes;
    }

    /// Waits until nobody reads any more.
    pub async fn until_reader_gone(&self) {
        self.sender.closed().await;
    }

    /// True if nobody reads any more.
    pub fn reader_gone(&self) -> bool {
        self.sender.is_closed()
    }
}

impl Drop for BodyFeed {
    fn drop(&mut self) {
        if self.finished == FeedEnd::No {
            // Where no place is free the notice travels by itself: a receiver that never hears
            // it would take a broken body for a whole one.
            let sender = self.sender.clone();
            if let Err(mpsc::error::TrySendError::Full(notice)) =
                sender.try_send(Err(BodyError::Aborted))
                && let Ok(runtime) = tokio::runtime::Handle::try_current()
            {
                runtime.spawn(async move { sender.send(notice).await });
            }
        }
    }
}

/// Why a body was not read to its end.
#[derive(Debug)]
pub enum ReadError {
    /// Is longer than allowed: 413.
    TooLarge,
    /// Did not come in time: 408.
    TooSlow,
    /// It broke off or was malformed.
    Broken(Box<dyn std::error::Error + Send + Sync>),
}

/// Reads a whole body of at most `bytes_max` bytes within `deadline`.
pub async fn read_all<B>(body: B, bytes_max: usize, deadline: Duration) -> Result<Bytes, ReadError>
where
    B: HttpBody<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    use http_body_util::{BodyExt, LengthLimitError, Limited};
    if body.size_hint().lower() > bytes_max as u64 {
        return Err(ReadError::TooLarge);
    }
    match tokio::time::timeout(deadline, Limited::new(body, bytes_max).collect()).await {
        Ok(Ok(whole)) => Ok(whole.to_bytes()),
        Ok(Err(why)) if why.is::<LengthLimitError>() => Err(ReadError::TooLarge),
        Ok(Err(why)) => Err(ReadError::Broken(why)),
        Err(_) => Err(ReadError::TooSlow),
    }
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        match &mut self.0 {
            BodyForm::Empty => Poll::Ready(None),
            BodyForm::Full(bytes) => {
                let bytes = std::mem::take(bytes);
                self.0 = BodyForm::Empty;
                Poll::Ready(Some(Ok(Frame::data(bytes))))
            }
            BodyForm::Incoming(body) => Pin::new(body).poll_frame(cx),
            BodyForm::Channel(pieces) => {
                Poll::Ready(ready!(pieces.poll_recv(cx)).map(|piece| piece.map(Frame::data)))
            }
            BodyForm::Boxed(body) => body.as_mut().poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            BodyForm::Empty => true,
            BodyForm::Full(bytes) => bytes.is_empty(),
            BodyForm::Incoming(body) => body.is_end_stream(),
            BodyForm::Channel(_) => false,
            BodyForm::Boxed(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            BodyForm::Empty => SizeHint::with_exact(0),
            BodyForm::Full(bytes) => SizeHint::with_exact(bytes.len() as u64),
            BodyForm::Incoming(body) => body.size_hint(),
            BodyForm::Channel(_) => SizeHint::default(),
            BodyForm::Boxed(body) => body.size_hint(),
        }
    }
}

impl From<Incoming> for Body {
    fn from(mut body: Incoming) -> Self {
        body.take_if_complete().map_or_else(|| Self(BodyForm::Incoming(body)), Self::full)
    }
}

impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Self {
        Self::full(bytes)
    }
}

impl From<String> for Body {
    fn from(text: String) -> Self {
        Self::full(text)
    }
}

impl From<&'static str> for Body {
    fn from(text: &'static str) -> Self {
        Self::full(Bytes::from_static(text.as_bytes()))
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let form = match &self.0 {
            BodyForm::Empty => "empty",
            BodyForm::Full(_) => "full",
            BodyForm::Incoming(_) => "incoming",
            BodyForm::Channel(_) => "channel",
            BodyForm::Boxed(_) => "boxed",
        };
        write!(f, "Body({form})")
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge => f.write_str("the body is longer than allowed"),
            Self::TooSlow => f.write_str("the body did not come in time"),
            Self::Broken(why) => write!(f, "the body broke off: {why}"),
        }
    }
}

impl std::error::Error for ReadError {}

impl fmt::Display for ReaderGone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the reader of this body has gone")
    }
}

impl std::error::Error for ReaderGone {}
