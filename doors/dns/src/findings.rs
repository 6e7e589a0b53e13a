//! What a run has learnt beside the answer, and what the review makes of it.

use dns_wire::EdeCode;
use vocab::{Cause, Source};

/// Holds what a run has learnt beside the answer.
#[derive(Clone, Copy)]
pub(crate) struct RunFindings {
    /// Why the policy let it pass, or blocked it.
    pub(crate) cause: Cause,
    /// What the client is told of the reason.
    pub(crate) error: Option<EdeCode>,
    /// The same in words, where the number says too little.
    pub(crate) text: Option<&'static str>,
}

/// What was found, and where the answer is from, as the client is told and the log says.
#[derive(Clone, Copy)]
pub(crate) struct ReviewedAnswer {
    pub(crate) findings: RunFindings,
    pub(crate) source: Source,
}

impl RunFindings {
    pub(crate) const NONE: Self = Self { cause: Cause::NotAsked, error: None, text: None };
}

/// True if an answer is what some upstream said, now or before.
pub(crate) fn is_foreign(source: Source) -> bool {
    matches!(source, Source::Cache | Source::Stale | Source::Upstream)
}
