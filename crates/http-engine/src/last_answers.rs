//! The end of all connections in peace: each is told with its next answer.
//!
//! A connection that is closed while it is idle may meet a request that is on its way already,
//! which then fails. So a server that others take over from leaves idle connections open until
//! their next request, answers it with `Connection: close` (RFC 9112 §9.6) or, over HTTP/2, says
//! `GOAWAY` first (RFC 9113 §6.8). One flag for the process, which ends as a whole. Set by the
//! binary; asked once a request by both versions.

use std::sync::atomic::{AtomicBool, Ordering};

static DUE: AtomicBool = AtomicBool::new(false);

/// Has every connection that is served in this process end with its next answer.
pub fn make_due() {
    DUE.store(true, Ordering::Relaxed);
}

/// True once connections are to end.
pub(crate) fn are_due() -> bool {
    DUE.load(Ordering::Relaxed)
}
