//! Which traces are recorded: those of a parent that is, and of others a share.
//!
//! Pure. The share goes by the random bits of a trace's identifier, so that all who sample with
//! the same ratio record the same traces.

use crate::trace_context::{SpanId, TraceContext, TraceId};

/// Random bits that a trace's identifier has.
const RANDOM_BITS: i32 = 56;

/// A parent-based sampler with a ratio for traces that begin here.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RatioSampler {
    /// Traces below this are not recorded.
    threshold: u64,
}

impl RatioSampler {
    /// Records this share of the traces that begin here: from 0 to 1.
    pub(crate) fn new(ratio: f64) -> Self {
        let all = 2_f64.powi(RANDOM_BITS);
        // From 0 to 2^56: within what both types hold.
        #[allow(clippy::cast_sign_loss, reason = "a ratio is at most one")]
        let threshold = ((1.0 - ratio.clamp(0.0, 1.0)) * all) as u64;
        Self { threshold }
    }

    /// A trace that begins here.
    pub(crate) fn root(self) -> TraceContext {
        let trace = TraceId::random();
        let is_sampled = trace.randomness() >= self.threshold;
        TraceContext { trace, span: SpanId::random(), is_sampled }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_records_its_share() {
        let share = |ratio| {
            let sampler = RatioSampler::new(ratio);
            (0..20_000).filter(|_| sampler.root().is_sampled).count()
        };
        assert_eq!((share(0.0), share(1.0)), (0, 20_000));
        let tenth = share(0.1);
        assert!((1_600..2_400).contains(&tenth), "{tenth} of 20000");
    }
}
