//! One wall of the house, and the usual ones.

use crate::bans::{Ban, PURE};

/// One crate and its walls.
pub(crate) struct Wall {
    pub(crate) name: &'static str,
    pub(crate) folder: &'static str,
    pub(crate) floor: u8,
    /// Ours that it may name.
    pub(crate) may: &'static [&'static str],
    /// Foreign crates that it must not name, and why.
    pub(crate) never: &'static [Ban],
    pub(crate) purity: Purity,
}

/// Whether sources are searched for the clock, sockets, files and threads of the standard library.
#[derive(PartialEq, Eq)]
pub(crate) enum Purity {
    Pure,
    Free,
}

pub(crate) const fn pure(
    name: &'static str,
    folder: &'static str,
    may: &'static [&'static str],
) -> Wall {
    Wall { name, folder, floor: 1, may, never: PURE, purity: Purity::Pure }
}

/// A crate of floor 2 that talks to the system.
pub(crate) const fn system(
    name: &'static str,
    folder: &'static str,
    may: &'static [&'static str],
    never: &'static [Ban],
) -> Wall {
    Wall { name, folder, floor: 2, may, never, purity: Purity::Free }
}
