//! The texts of rules, which the ledger asks for and does not know.

use vocab::RuleRef;

/// The source of the text of a rule: the policy, through the binary.
pub trait RuleTexts: Send + Sync + 'static {
    /// The list's name, the line there and the rule's text, for a rule that matched `host`; none if
    /// it is gone.
    fn text(&self, rule: RuleRef, host: &str) -> Option<(String, u32, String)>;
}
