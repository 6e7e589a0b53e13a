//! A question as it goes to an upstream: the query's bytes.
//!
//! It sends nothing; each transport writes it under a number of its own.

use dns_wire::ask_options::{PADDING_BLOCK_BYTES, pad_query};

/// Holds what an upstream is asked.
#[derive(Clone, Copy)]
pub(crate) struct UpstreamQuestion<'q> {
    /// The question, with DO and CD (see [`dns_wire::KeyBuffer`]).
    pub(crate) key: &'q [u8],
    /// Raw EDNS options that go with it.
    pub(crate) options: &'q [u8],
}

impl UpstreamQuestion<'_> {
    /// Appends it as a query under the number `id`.
    pub(crate) fn write(&self, id: u16, out: &mut Vec<u8>) {
        dns_wire::write_query(id, self.key, out);
        // The OPT record ends the query, and its length ends the record while it has no options.
        if let (Ok(length), Some(at)) =
            (u16::try_from(self.options.len()), out.len().checked_sub(2))
        {
            out[at..].copy_from_slice(&length.to_be_bytes());
            out.extend_from_slice(self.options);
        }
    }

    /// It as a query padded to a multiple of [`PADDING_BLOCK_BYTES`], for ways where nothing but
    /// its length shows.
    pub(crate) fn padded(&self, id: u16) -> Vec<u8> {
        let mut query = Vec::with_capacity(2 * PADDING_BLOCK_BYTES);
        self.write(id, &mut query);
        pad_query(&mut query);
        query
    }
}
