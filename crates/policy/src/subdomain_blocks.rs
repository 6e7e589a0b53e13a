//! Blocks that hold for a name and every name directly below it, whatever that may be.
//!
//! A wildcard certificate is for names that nobody asked about. The table of names keeps
//! fingerprints, from which no name can be read back; so the parents of the names that exceptions
//! are about are kept here, and exceptions with patterns are tried on all names of a level at once.
//! In doubt there is an exception. Made by `compile`, asked for the signer.

use crate::fingerprint::HashKeys;
use crate::urls::flags::RuleFlags;
use crate::urls::rule::RuleTable;
use filter_patterns::level;
use filter_patterns::regexes;
use filter_patterns::{MatchEnd, MatchStart, behind_scheme};

/// Bits of an entry that say which list it came from, so that a list can be compiled again alone.
/// The rest are of a fingerprint: two names with the same cost a wildcard, never grant one.
const LIST_BITS: u64 = 63;
/// Exceptions with patterns that are tried for one name. With more of them no name has a
/// wildcard: each handshake would go through all.
const PATTERNS_MAX: usize = 256;

/// Exceptions by the names that they may let through.
#[derive(Debug, Default)]
pub(crate) struct ExceptionsBelow {
    /// Fingerprints of the parents of the names that exceptions are about, in order.
    parents: Vec<u64>,
    patterns: ExceptionPatterns,
}

/// Exceptions that are about no single name.
#[derive(Debug)]
enum ExceptionPatterns {
    Few(Vec<LooseException>),
    /// More than [`PATTERNS_MAX`].
    TooMany,
}

/// One exception with a pattern.
#[derive(Debug)]
struct LooseException {
    rule: u32,
    /// Texts that whatever a regular expression matches must hold.
    literals: Vec<Vec<u8>>,
}

impl Default for ExceptionPatterns {
    fn default() -> Self {
        Self::Few(Vec::new())
    }
}

impl ExceptionsBelow {
    /// Returns those of these parents, and of the rules with patterns.
    pub(crate) fn build(mut parents: Vec<u64>, table: &RuleTable) -> Self {
        parents.sort_unstable();
        parents.dedup();
        parents.shrink_to_fit();
        let is_loose = |rule: &u32| {
            let flags = table.rules[*rule as usize].flags;
            let other =
                RuleFlags::HOST_ONLY.with(RuleFlags::REWRITE).with(RuleFlags::REMOVE_PARAMETERS);
            flags.contains(RuleFlags::EXCEPTION)
                && flags.contains(RuleFlags::FOR_NAMES)
                && !flags.contains(other)
        };
        let loose: Vec<u32> = (0..table.rules.len() as u32).filter(is_loose).collect();
        let patterns = if loose.len() > PATTERNS_MAX {
            ExceptionPatterns::TooMany
        } else {
            let read = |rule: u32| LooseException { rule, literals: literals(table, rule) };
            ExceptionPatterns::Few(loose.into_iter().map(read).collect())
        };
        Self { parents, patterns }
    }

    /// The entry of a name that an exception of a list is about; none for a name without a parent.
    pub(crate) fn entry(keys: &HashKeys, name: &str, list: u8) -> Option<u64> {
        let (_, parent) = name.split_once('.')?;
        Some(keys.of(parent).hash & !LIST_BITS | u64::from(list) & LIST_BITS)
    }

    /// The list that an entry came from.
    pub(crate) fn list_of(entry: u64) -> u8 {
        (entry & LIST_BITS) as u8
    }

    /// The entries, as they are stored.
    pub(crate) fn entries(&self) -> &[u64] {
        &self.parents
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> u64 {
        (self.parents.capacity() * size_of::<u64>()) as u64
    }

    /// True if an exception may hold for `base` or a name directly below it, whoever asks.
    pub(crate) fn may_apply(&self, base: &str, keys: &HashKeys, table: &RuleTable) -> bool {
        let first = keys.of(base).hash & !LIST_BITS;
        let at = self.parents.partition_point(|entry| *entry < first);
        if self.parents.get(at).is_some_and(|entry| entry & !LIST_BITS == first) {
            return true;
        }
        match &self.patterns {
            ExceptionPatterns::TooMany => true,
            ExceptionPatterns::Few(loose) => loose.iter().any(|it| it.may_match(base, table)),
        }
    }
}

fn literals(table: &RuleTable, rule: u32) -> Vec<Vec<u8>> {
    let rule = &table.rules[rule as usize];
    if rule.flags.contains(RuleFlags::REGEX) {
        // Of an expression that cannot be read nothing is known.
        regexes::literals(table.pattern(rule)).unwrap_or_default()
    } else {
        Vec::new()
    }
}

impl LooseException {
    /// True if it may match `base`, or a name directly below it.
    fn may_match(&self, base: &str, table: &RuleTable) -> bool {
        let rule = &table.rules[self.rule as usize];
        if rule.flags.contains(RuleFlags::REGEX) {
            let folded = |literal: &Vec<u8>| literal.to_ascii_lowercase();
            return self.literals.iter().map(folded).all(|literal| {
                level::may_match(&literal, MatchStart::Anywhere, MatchEnd::Anywhere, base)
            });
        }
        let (pattern, end) = (table.pattern(rule), rule.flags.end());
        // `://name^` is held against names without its scheme, from their beginning.
        let (pattern, start) = match behind_scheme(pattern) {
            Some(host) => (host, MatchStart::Text),
            None => (pattern, rule.flags.start()),
        };
        level::may_match(pattern.as_bytes(), start, end, base)
    }
}
