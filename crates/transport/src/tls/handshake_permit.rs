//! A cap on the handshakes that one core has under way, so that a flood of them takes no memory
//! that connections need.
//!
//! A core is a thread, so that a count per thread needs no lock. It closes nothing itself: who gets
//! no place refuses the handshake. Called by [`super::ServerTls::accept`].

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Handshakes under way on one core, at most: at some 20 KiB each 20 MiB. At 1 ms of computing and
/// a quarter of a second of waiting each, a core cannot keep up with as many honest ones.
pub const HANDSHAKES_PER_CORE_MAX: usize = 1024;

thread_local! {
    static UNDER_WAY: Arc<AtomicUsize> = Arc::default();
}

/// A handshake's place on the core where it began; dropping it gives it up.
#[derive(Debug)]
pub(super) struct HandshakePermit(Arc<AtomicUsize>);

impl HandshakePermit {
    /// A place, if one is left.
    pub(super) fn acquire() -> Option<Self> {
        let place = Self(UNDER_WAY.with(Arc::clone));
        // Counted before it is looked at: dropping gives back what was counted.
        let before = place.0.fetch_add(1, Relaxed);
        (before < HANDSHAKES_PER_CORE_MAX).then_some(place)
    }
}

impl Drop for HandshakePermit {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn a_core_has_so_many_places_and_no_more() {
        let mut places: Vec<_> =
            (0..HANDSHAKES_PER_CORE_MAX).map(|_| HandshakePermit::acquire().unwrap()).collect();
        assert!(HandshakePermit::acquire().is_none());
        places.pop();
        let _again = HandshakePermit::acquire().unwrap();
        assert!(HandshakePermit::acquire().is_none());
    }
}
