//! Parts that each door is started with: a policy of one list, a ledger in a folder.

use ledger::{Ledger, RuleTexts};
use policy::{ClientProfiles, ListKind, ListSource, Policy, compile};
use std::path::Path;
use std::sync::Arc;
use vocab::RuleRef;

/// Seed of the names table, the same in every run.
const SEED: u64 = 1;

/// A policy of one block list, `mine`, with these rules.
pub fn blocking(rules: &str) -> Policy {
    let list =
        ListSource { name: "mine", kind: ListKind::Block, text: rules.as_bytes(), files: &[] };
    Policy::new(Arc::new(compile(&[list], SEED)), ClientProfiles::everyone())
}

/// Texts of rules where no test asks for one.
struct NoRuleTexts;

impl RuleTexts for NoRuleTexts {
    fn text(&self, _: RuleRef, _: &str) -> Option<(String, u32, String)> {
        None
    }
}

/// A ledger in this folder that knows no texts of rules.
pub fn open_ledger(folder: &Path) -> Ledger {
    ledger::open(&ledger::Settings::default(), folder, Arc::new(NoRuleTexts)).unwrap()
}
