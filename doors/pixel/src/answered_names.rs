//! Names that the door answers: those that the policy blocks, or any that comes.
//!
//! Called by `decision` and `preview`; `settings` says which.

use policy::{Ask, Policy, Verdict};
use vocab::Now;

/// Names that are answered as blocked ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AnsweredNames {
    /// Names that the policy blocks.
    #[default]
    Blocked,
    /// Blocked names, and each that no rule names: another blocker sends them here
    /// (`pixel.any_name`).
    Any,
}

impl AnsweredNames {
    /// The verdict about a request that no rule blocks, which by `policy` has `verdict`.
    pub(crate) fn judge(
        self,
        policy: &Policy,
        ask: &Ask<'_>,
        verdict: Verdict,
        now: Now,
    ) -> Verdict {
        if self == Self::Any && !ask.host.as_str().is_empty() {
            return policy.block_unnamed(verdict, ask, now);
        }
        verdict
    }
}
