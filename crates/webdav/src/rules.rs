//! Rules about paths beneath the folder: what a request may touch. The door has them.

use std::path::Path;

/// Where a path stands to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathStanding {
    /// Seen and changed by whoever asks.
    Open,
    /// Never served, by its name: hidden, or forbidden.
    Withheld,
    /// Guarded by another password than the request's own path.
    Guarded,
}

/// Tells where paths stand to one request.
pub trait PathRules: Send + Sync {
    /// Where `below` stands: a decoded path relative to the folder, without slashes at its ends.
    fn standing(&self, below: &Path) -> PathStanding;
}

/// True if what stands at `from` may be given the path `to`: nothing comes to light by a move that
/// was kept from sight before.
pub(crate) fn may_become(rules: &dyn PathRules, from: &Path, to: &Path) -> bool {
    match (rules.standing(from), rules.standing(to)) {
        (PathStanding::Open, PathStanding::Open | PathStanding::Withheld)
        | (PathStanding::Withheld, PathStanding::Withheld) => true,
        (PathStanding::Guarded, _)
        | (_, PathStanding::Guarded)
        | (PathStanding::Withheld, PathStanding::Open) => false,
    }
}
