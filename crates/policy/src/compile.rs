//! Texts of lists into rules.

use crate::report::ListKind;
use crate::rules::Rules;

/// The text of a list.
#[derive(Clone, Copy, Debug)]
pub struct ListSource<'t> {
    /// Its name in the configuration.
    pub name: &'t str,
    /// Whether it blocks or allows.
    pub kind: ListKind,
    /// Its bytes, in any syntax; what is no UTF-8 is skipped line by line.
    pub text: &'t [u8],
}

/// Compiles at most 64 lists; never fails, for bad lines are counted with their reason.
/// `seed` is a secret random number: without it nobody can make up a name whose fingerprint is
/// that of a listed one.
pub fn compile(lists: &[ListSource<'_>], seed: u64) -> Rules {
    let _ = (lists, seed);
    Rules::default()
}
