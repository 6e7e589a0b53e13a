//! A line of a list, taken apart: nothing, names, an entry, a rule, or a reason against it.
//!
//! It reads only what all syntaxes share. Made by the readers of the syntaxes and by `detect`,
//! taken by `compile`.

use super::adblock::AdblockRule;
use crate::names::NameForm;
use crate::report::{ListSyntax, SkipReason};

/// One line.
#[expect(clippy::large_enum_variant, reason = "one at a time, on the stack, for each line")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DetectedLine<'l> {
    /// A comment, a header or nothing.
    Blank,
    /// Not in force.
    Skip(SkipReason),
    /// Names with a separator between them.
    Names { form: NameForm, names: &'l str, separator: NameSeparator },
    /// A name in a syntax whose lines say more than that name.
    Entry { syntax: ListSyntax, form: NameForm, name: &'l str, effect: EntryEffect },
    /// A filter rule.
    Rule(AdblockRule<'l>),
}

/// Effect of a line on the name that stands on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryEffect {
    /// The name is blocked, or gets what its list is for.
    Blocks,
    /// The name passes.
    Excepts,
}

/// Tells what stands between names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameSeparator {
    /// White space.
    Blank,
    /// A slash.
    Slash,
}

impl<'l> DetectedLine<'l> {
    /// A line of names.
    pub(crate) const fn names(form: NameForm, names: &'l str, separator: NameSeparator) -> Self {
        Self::Names { form, names, separator }
    }
}

/// Text before a comment, which is a `#` behind a blank; without a blank it may be part of a rule.
pub(crate) fn before_comment(line: &str) -> &str {
    let bytes = line.as_bytes();
    let is_comment = |at: &usize| *at > 0 && bytes[at - 1].is_ascii_whitespace();
    let end = memchr::memchr_iter(b'#', bytes).find(is_comment);
    line[..end.unwrap_or(line.len())].trim_end()
}
