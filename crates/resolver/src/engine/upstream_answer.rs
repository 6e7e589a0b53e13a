//! An answer and who gave it.

use dns_wire::WireAnswer;
use std::sync::Arc;

/// An answer of an upstream, with the upstream's name.
pub(crate) struct UpstreamAnswer {
    pub(crate) answer: WireAnswer,
    pub(crate) upstream: Arc<str>,
}
