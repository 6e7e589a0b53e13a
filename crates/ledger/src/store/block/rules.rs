//! The rules that rows of a block name.
//!
//! A row keeps its rule as it read then: the list may be gone, or another rule may stand in the
//! line. Used where blocks are written, joined and read.

use std::collections::HashMap;

/// A rule as it read when it decided.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::store) struct RuleLine {
    pub(in crate::store) list: String,
    pub(in crate::store) line: u32,
    pub(in crate::store) text: String,
}

/// The rules of several blocks, each once.
#[derive(Default)]
pub(in crate::store) struct RuleTable {
    pub(in crate::store) lines: Vec<RuleLine>,
    places: HashMap<RuleLine, u32>,
}

impl RuleTable {
    /// The place of a rule.
    pub(in crate::store) fn place(&mut self, rule: RuleText<'_>) -> u32 {
        let line = RuleLine { list: rule.list.into(), line: rule.line, text: rule.text.into() };
        *self.places.entry(line).or_insert_with_key(|line| {
            self.lines.push(line.clone());
            self.lines.len() as u32 - 1
        })
    }
}

/// A rule's text in a block.
#[derive(Clone, Copy)]
pub(in crate::store) struct RuleText<'b> {
    pub(in crate::store) list: &'b str,
    pub(in crate::store) line: u32,
    pub(in crate::store) text: &'b str,
}
