//! Unguessable numbers: whoever can guess a query's number and port can answer it.

use std::cell::RefCell;

/// Bytes fetched at once: some hundred questions' worth.
const BUFFER_BYTES: usize = 2048;

/// Random bytes of the system, fetched by the buffer.
pub(crate) struct RandomBytes(RefCell<RandomBuffer>);

struct RandomBuffer {
    bytes: [u8; BUFFER_BYTES],
    used: usize,
}

impl RandomBytes {
    pub(crate) const fn new() -> Self {
        Self(RefCell::new(RandomBuffer { bytes: [0; BUFFER_BYTES], used: BUFFER_BYTES }))
    }

    /// Any number.
    pub(crate) fn number(&self) -> u16 {
        let mut buffer = self.0.borrow_mut();
        if buffer.used == buffer.bytes.len() {
            getrandom::fill(&mut buffer.bytes).expect("the system has random bytes once it is up");
            buffer.used = 0;
        }
        let at = buffer.used;
        buffer.used += 2;
        u16::from_ne_bytes([buffer.bytes[at], buffer.bytes[at + 1]])
    }

    /// A number below `bound`, which is not 0.
    pub(crate) fn below(&self, bound: usize) -> usize {
        // The bias is below bound / 65,536: nothing that is chosen here could be told by it.
        usize::from(self.number()) % bound.max(1)
    }
}
