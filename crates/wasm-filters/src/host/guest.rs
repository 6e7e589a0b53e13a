//! A filter's memory, as the functions that it calls read and write it.

use crate::fault::FilterFault;
use crate::guest_span::guest_span;
use crate::state::HostState;
use std::ops::Range;
use wasmtime::{Caller, Result};

/// The module of the ABI's functions.
pub(crate) const ABI: &str = "env";

/// Statuses of the ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HostStatus {
    Ok = 0,
    NotFound = 1,
    BadArgument = 2,
    ParseFailure = 4,
    CasMismatch = 8,
    InternalFailure = 10,
    Unimplemented = 12,
}

/// A call of one host function.
pub(crate) struct GuestCall<'c, 'i> {
    pub(crate) caller: &'c mut Caller<'i, HostState>,
    function: &'static str,
}

/// A text that a filter gives: where it is, and how long.
#[derive(Clone, Copy)]
pub(crate) struct GuestText {
    pub(crate) place: u32,
    pub(crate) size: u32,
}

/// Two places in which a filter wants to find a text: where it is, and how long.
#[derive(Clone, Copy)]
pub(crate) struct ReturnPlaces {
    pub(crate) data: u32,
    pub(crate) size: u32,
}

impl GuestText {
    pub(crate) const fn at(place: u32, size: u32) -> Self {
        Self { place, size }
    }

    fn span(self, length: usize) -> Option<Range<usize>> {
        guest_span(length, self.place, self.size)
    }
}

impl<'c, 'i> GuestCall<'c, 'i> {
    pub(crate) const fn new(caller: &'c mut Caller<'i, HostState>, function: &'static str) -> Self {
        Self { caller, function }
    }

    pub(crate) fn state(&mut self) -> &mut HostState {
        self.caller.data_mut()
    }

    const fn bad_pointer(&self) -> FilterFault {
        FilterFault::BadPointer { function: self.function }
    }

    /// The memory and the state at once.
    pub(crate) fn split(&mut self) -> Result<(&mut [u8], &mut HostState)> {
        let memory = self.caller.data().memory.ok_or(FilterFault::NoMemory)?;
        Ok(memory.data_and_store_mut(&mut *self.caller))
    }

    /// The bytes of a text, and the state.
    pub(crate) fn text(&mut self, text: GuestText) -> Result<(&[u8], &mut HostState)> {
        let bad = self.bad_pointer();
        let (memory, state) = self.split()?;
        let span = text.span(memory.len()).ok_or(bad)?;
        Ok((&memory[span], state))
    }

    /// The bytes of two texts, and the state.
    pub(crate) fn texts(
        &mut self,
        [first, second]: [GuestText; 2],
    ) -> Result<([&[u8]; 2], &mut HostState)> {
        let bad = self.bad_pointer();
        let (memory, state) = self.split()?;
        let length = memory.len();
        let spans = first.span(length).zip(second.span(length));
        let (first, second) = spans.ok_or(bad)?;
        Ok(([&memory[first], &memory[second]], state))
    }

    /// Writes bytes to a place.
    pub(crate) fn put(&mut self, pointer: u32, bytes: &[u8]) -> Result<()> {
        let bad = self.bad_pointer();
        let (memory, _) = self.split()?;
        let span = guest_span(memory.len(), pointer, bytes.len() as u32).ok_or(bad)?;
        memory[span].copy_from_slice(bytes);
        Ok(())
    }

    /// Writes a number to a place.
    pub(crate) fn put_number(&mut self, pointer: u32, number: u32) -> Result<()> {
        self.put(pointer, &number.to_le_bytes())
    }

    /// Gives bytes to the filter in memory that it hands out, and writes where they are, and how
    /// long, to two places.
    pub(crate) fn give(&mut self, bytes: &[u8], to: ReturnPlaces) -> Result<HostStatus> {
        // Looked at before the filter's code runs: an allocation that nobody hears of is lost.
        let (bad, ReturnPlaces { data, size }) = (self.bad_pointer(), to);
        let length = self.split()?.0.len();
        guest_span(length, data, 4).and(guest_span(length, size, 4)).ok_or(bad)?;
        let allocate = self.caller.data().allocate.clone().ok_or(FilterFault::NoAllocator)?;
        let place = allocate.call(&mut *self.caller, bytes.len() as u32)?;
        if place == 0 && !bytes.is_empty() {
            return Err(FilterFault::NoRoom.into());
        }
        self.put(place, bytes)?;
        self.put_number(data, place)?;
        self.put_number(size, bytes.len() as u32)?;
        Ok(HostStatus::Ok)
    }
}
