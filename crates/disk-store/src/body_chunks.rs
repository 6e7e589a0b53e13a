//! Bytes of a body that wait in memory to be written.
//!
//! In pieces of one size, whatever the body's: blocks of many large sizes would leave holes in the
//! heap that no other size fills. A body that is known to be short has a piece of its own length.
//! Called by writers, read by the disk's thread.

use crate::format::BLOCK_BYTES;

/// Bytes of a piece: of a block, what leaves the allocator room for its own.
const PIECE_BYTES: usize = BLOCK_BYTES as usize - 256;

/// Bytes, in their order.
#[derive(Debug, Default)]
pub(crate) struct BodyPieces {
    /// All but the last are full.
    pieces: Vec<Vec<u8>>,
    len: usize,
}

impl From<Vec<Vec<u8>>> for BodyPieces {
    fn from(pieces: Vec<Vec<u8>>) -> Self {
        let len = pieces.iter().map(Vec::len).sum();
        Self { pieces, len }
    }
}

impl BodyPieces {
    /// A copy of `bytes`.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let mut pieces = Self::default();
        pieces.expect(bytes.len());
        pieces.push(bytes);
        pieces
    }

    /// Makes room for so many bytes in the first piece, where there is none yet.
    pub(crate) fn expect(&mut self, bytes: usize) {
        if self.pieces.is_empty() && (1..PIECE_BYTES).contains(&bytes) {
            self.pieces.push(Vec::with_capacity(bytes));
        }
    }

    /// Appends a copy of `bytes`.
    pub(crate) fn push(&mut self, mut bytes: &[u8]) {
        self.len += bytes.len();
        while !bytes.is_empty() {
            if let Some(last) = self.pieces.last_mut().filter(|last| last.len() < PIECE_BYTES) {
                let (now, later) = bytes.split_at(bytes.len().min(PIECE_BYTES - last.len()));
                grow(last, now.len());
                last.extend_from_slice(now);
                bytes = later;
            } else {
                // The first grows by and by: most bodies are short.
                let capacity = if self.pieces.is_empty() { 0 } else { PIECE_BYTES };
                self.pieces.push(Vec::with_capacity(capacity));
            }
        }
    }

    /// The bytes.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of memory that it holds.
    pub(crate) fn weight(&self) -> usize {
        self.pieces.iter().map(Vec::capacity).sum()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.pieces.iter().map(Vec::as_slice)
    }
}

/// Makes room for `more` bytes in a piece: twice what it had, and never more than a piece.
fn grow(piece: &mut Vec<u8>, more: usize) {
    let needed = piece.len() + more;
    if needed > piece.capacity() {
        let capacity = needed.max(2 * piece.capacity()).min(PIECE_BYTES);
        piece.reserve_exact(capacity - piece.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_stay_in_their_order_and_pieces_are_of_one_size() {
        let bytes: Vec<u8> = (0..200_000_u32).map(|it| it as u8).collect();
        let mut pieces = BodyPieces::default();
        for some in bytes.chunks(30_011) {
            pieces.push(some);
        }
        assert_eq!((pieces.len(), pieces.iter().collect::<Vec<_>>().concat()), (200_000, bytes));
        assert_eq!(pieces.weight(), 200_000_usize.next_multiple_of(PIECE_BYTES));
    }

    #[test]
    fn a_short_body_has_its_own_length_also_where_it_was_said_wrongly() {
        for (said, weight) in [(100, 100), (40, 160), (0, 120), (PIECE_BYTES, 120)] {
            let mut pieces = BodyPieces::default();
            pieces.expect(said);
            pieces.push(&[7; 60]);
            pieces.push(&[7; 40]);
            assert_eq!((pieces.len(), pieces.weight()), (100, weight));
        }
    }
}
