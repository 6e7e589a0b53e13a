//! The number of a question in flight, as those know it who report to it later.

/// A place in the table of flights, and which of all its questions is meant: places are used again,
/// so an answer that comes late must not end another's question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FlightId {
    pub(crate) index: usize,
    pub(crate) serial: u64,
}
