//! Pieces of answers on their way through h2, and what is noted when they leave it.
//!
//! h2 takes bytes from a piece when the client's windows have room for them, and drops it when the
//! last has left or its stream is reset. It sends nothing. Used by all that send on a stream.

use super::pace::{ClientDue, StreamPace};
use crate::watch::{ConnectionWatch, InFlight};
use bytes::{Buf, Bytes};
use std::io::IoSlice;
use std::sync::Arc;

/// Bytes that wait to be sent.
pub(crate) struct StreamPiece {
    bytes: Bytes,
    due: PieceDue,
}

/// Accounts that the bytes of a piece are on.
enum PieceDue {
    /// Nothing: a tunnel's bytes, or none at all.
    Nothing,
    /// All of them have room within the client's windows.
    AtHand(UnwatchedPiece),
    /// The stream's task watches whether the client takes them.
    Watched(ClientDue),
}

/// Accounts of a request that is under way.
pub(super) enum RequestCourse {
    /// By its connection alone: nothing of it waits.
    Alone(InFlight),
    /// By its stream too.
    Paced(Arc<StreamPace>),
}

/// A piece that no task watches over, counted while it is queued.
struct UnwatchedPiece(RequestCourse);

impl RequestCourse {
    fn watch(&self) -> &ConnectionWatch {
        match self {
            Self::Alone(busy) => busy.watch(),
            Self::Paced(pace) => pace.watch(),
        }
    }

    /// Returns the pace of the stream, which begins where there is none.
    pub(super) fn into_pace(self) -> Arc<StreamPace> {
        match self {
            Self::Alone(busy) => StreamPace::new(busy),
            Self::Paced(pace) => pace,
        }
    }
}

impl Drop for UnwatchedPiece {
    fn drop(&mut self) {
        self.0.watch().piece_left();
    }
}

impl StreamPiece {
    /// Bytes that nothing depends on.
    pub(super) const fn plain(bytes: Bytes) -> Self {
        Self { bytes, due: PieceDue::Nothing }
    }

    /// A whole body for which there is room.
    pub(super) fn at_hand(bytes: Bytes, course: RequestCourse) -> Self {
        course.watch().piece_queued();
        Self { bytes, due: PieceDue::AtHand(UnwatchedPiece(course)) }
    }

    /// A piece of a body that its stream's task watches over.
    pub(super) const fn watched(bytes: Bytes, due: ClientDue) -> Self {
        Self { bytes, due: PieceDue::Watched(due) }
    }

    fn took(&self, bytes: usize) {
        match &self.due {
            PieceDue::Nothing => {}
            PieceDue::AtHand(UnwatchedPiece(course)) => course.watch().stream_took(bytes),
            PieceDue::Watched(due) => due.took(bytes),
        }
    }
}

impl Buf for StreamPiece {
    fn remaining(&self) -> usize {
        self.bytes.remaining()
    }

    fn chunk(&self) -> &[u8] {
        self.bytes.chunk()
    }

    fn chunks_vectored<'a>(&'a self, into: &mut [IoSlice<'a>]) -> usize {
        self.bytes.chunks_vectored(into)
    }

    fn advance(&mut self, count: usize) {
        self.took(count);
        self.bytes.advance(count);
    }

    fn copy_to_bytes(&mut self, count: usize) -> Bytes {
        self.took(count);
        self.bytes.copy_to_bytes(count)
    }
}
