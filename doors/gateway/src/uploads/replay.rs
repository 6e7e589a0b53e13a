//! A body that is here as a whole, and can be sent as often as one likes.
//!
//! Its bytes are held once, whoever sends them. It never changes. Made by `spool`; an extension of
//! every request whose body was taken, for whoever sends that again.

use super::spool::SpoolShares;
use bytes::Bytes;
use http::Request;
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_engine::content::{ContentSegment, FileContent};
use http_engine::{Body, BodyError};
use rustix::fd::OwnedFd;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// A body that can be sent again. Cheap to clone; clones are one body.
#[derive(Clone, Debug)]
pub(crate) struct ReplayBody(Arc<ReplayWhole>);

#[derive(Debug)]
struct ReplayWhole {
    before: Bytes,
    file: Option<(Arc<OwnedFd>, u64)>,
    /// Behind the file; nothing where there is none.
    after: Bytes,
    /// Given back with the last clone and the last body made of it.
    #[expect(dead_code, reason = "it is there to be dropped")]
    shares: SpoolShares,
}

/// A body in memory while it is being sent.
struct LentBody(ReplayBody);

impl AsRef<[u8]> for LentBody {
    fn as_ref(&self) -> &[u8] {
        &self.0.0.before
    }
}

/// One body, and another behind it.
pub(super) struct ChainedBody {
    first: Option<Body>,
    rest: Body,
}

impl ReplayBody {
    pub(super) fn new(
        before: Bytes,
        file: Option<(Arc<OwnedFd>, u64)>,
        after: Bytes,
        shares: SpoolShares,
    ) -> Self {
        Self(Arc::new(ReplayWhole { before, file, after, shares }))
    }

    /// Returns its length in bytes.
    pub(crate) fn len(&self) -> u64 {
        let whole = &*self.0;
        let in_file = whole.file.as_ref().map_or(0, |(_, len)| *len);
        whole.before.len() as u64 + in_file + whole.after.len() as u64
    }

    /// The whole of it, from its first byte.
    pub(crate) fn body(&self) -> Body {
        let whole = &*self.0;
        let Some((file, len)) = &whole.file else {
            return Body::full(Bytes::from_owner(LentBody(self.clone())));
        };
        let segments = vec![
            ContentSegment::Bytes(whole.before.clone()),
            ContentSegment::File { offset: 0, len: *len },
            ContentSegment::Bytes(whole.after.clone()),
        ];
        let held = self.clone();
        Body::boxed(FileContent::new(Arc::clone(file), segments, move |_| drop(held)))
    }

    /// A request with this body, which can be sent again in its turn.
    pub(crate) fn request(&self) -> Request<Body> {
        let mut request = Request::new(self.body());
        request.extensions_mut().insert(self.clone());
        request
    }
}

impl ChainedBody {
    pub(super) fn new(first: Body, rest: Body) -> Self {
        Self { first: Some(first), rest }
    }
}

impl HttpBody for ChainedBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        if let Some(first) = &mut self.first {
            match ready!(Pin::new(first).poll_frame(cx)) {
                Some(frame) => return Poll::Ready(Some(frame)),
                None => self.first = None,
            }
        }
        Pin::new(&mut self.rest).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.first.as_ref().is_none_or(HttpBody::is_end_stream) && self.rest.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let first = self.first.as_ref().map(HttpBody::size_hint).and_then(|hint| hint.exact());
        let first = if self.first.is_some() { first } else { Some(0) };
        match (first, self.rest.size_hint().exact()) {
            (Some(first), Some(rest)) => SizeHint::with_exact(first + rest),
            (_, _) => SizeHint::default(),
        }
    }
}
