//! Records of one answer, kept as the bytes that go out: their owner is a pointer to the question,
//! so they fit any query for their name, whatever its case.
//!
//! Rendered once when a configuration is read; an answer is a copy. It chooses nothing: whoever
//! asks has found the records for name, type and class. Called by `pipeline`'s records.

use crate::codes::Rcode;
use crate::query::DnsQuery;
use crate::synthesize;
use crate::wire::{HEADER_BYTES, POINTER_TO_QUESTION, QUESTION_BYTES_MAX, push_u16, push_u32};

/// Bytes of the records of one answer, at most: a message has 65,535 with header, question and what
/// is added later.
pub const RENDERED_BYTES_MAX: usize = 60_000;

const _: () = assert!(RENDERED_BYTES_MAX + HEADER_BYTES + QUESTION_BYTES_MAX < 65_535 - 4096);

/// The records of one answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RenderedRecords {
    count: u16,
    wire: Vec<u8>,
}

/// The records of an answer are more than [`RENDERED_BYTES_MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge;

impl RenderedRecords {
    /// Adds a record of the name asked for. `data` is in wire form, without compressed names.
    pub fn push(&mut self, rtype: u16, class: u16, ttl: u32, data: &[u8]) -> Result<(), TooLarge> {
        let length = u16::try_from(data.len()).map_err(|_| TooLarge)?;
        if self.wire.len() + POINTER_TO_QUESTION.len() + 10 + data.len() > RENDERED_BYTES_MAX {
            return Err(TooLarge);
        }
        self.count += 1;
        self.wire.extend_from_slice(&POINTER_TO_QUESTION);
        push_u16(&mut self.wire, rtype);
        push_u16(&mut self.wire, class);
        push_u32(&mut self.wire, ttl);
        push_u16(&mut self.wire, length);
        self.wire.extend_from_slice(data);
        Ok(())
    }

    /// Gives back what the buffer kept in hand while it grew.
    pub fn shrink(&mut self) {
        self.wire.shrink_to_fit();
    }

    /// Returns how many records there are.
    pub fn len(&self) -> usize {
        usize::from(self.count)
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Bytes of memory.
    pub fn memory(&self) -> u64 {
        (size_of::<Self>() + self.wire.capacity()) as u64
    }

    /// Appends the whole answer to `query`, in full: without regard to what the client takes, and
    /// without OPT, whatever the query had.
    pub fn write(&self, query: &DnsQuery<'_>, out: &mut Vec<u8>) {
        synthesize::write_head(query, Rcode::NoError, [self.count, 0], out);
        out.extend_from_slice(&self.wire);
    }
}

impl std::fmt::Display for TooLarge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the records of one name and type are more than {RENDERED_BYTES_MAX} bytes")
    }
}

impl std::error::Error for TooLarge {}
