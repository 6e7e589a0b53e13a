//! Numbers of the house: how large things may be, and how much of each is allowed.
//!
//! What is over a limit today has a mark in `xtask/ratchet.toml`, which may only fall.

/// Lines of a file, those of its tests excluded.
pub(crate) const FILE_LINES_MAX: usize = 500;
/// Lines of a function, as clippy is told too.
pub(crate) const FUNCTION_LINES_MAX: usize = 70;
/// Columns of a line with a comment, a URL at its end apart.
pub(crate) const COLUMNS_MAX: usize = 100;
/// Columns of the subject of a commit, which tools show in one line.
pub(crate) const SUBJECT_COLUMNS_MAX: usize = 72;
/// Lines of a crate, those of its tests excluded.
pub(crate) const CRATE_LINES_MAX: usize = 10_000;
/// Step of the marks of crates that are larger.
pub(crate) const CRATE_LINES_STEP: usize = 250;
/// Files of a crate in one import circle.
pub(crate) const CIRCLE_MAX: usize = 12;
/// Types that may share a name.
pub(crate) const BEARERS_MAX: usize = 3;
/// Test binaries of the workspace: each is linked with everything that its crate needs.
pub(crate) const TEST_BINARIES_MAX: usize = 40;
