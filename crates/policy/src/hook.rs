//! The hook of the policy: verdicts in place of those of the rules, as a script gives them.
//!
//! Such a verdict names a line of the script as others name a line of a list, so that log, page and
//! `why` show it as they show rules. Called by `decide`; implemented by whoever runs scripts.

use crate::ask::Ask;
use crate::verdict::{RuleText, Verdict};
use std::any::Any;
use std::fmt;
use std::sync::Arc;
use vocab::{Action, Cause, ListId, RuleRef};

/// A hook that may give another verdict than the rules.
pub trait VerdictHook: Any + Send + Sync + fmt::Debug {
    /// The verdict on a request of which the rules say `verdict`; none leaves theirs. It may be
    /// asked more than once about one request, and must not wait.
    fn decide(&self, ask: &Ask<'_>, verdict: Verdict) -> Option<HookVerdict>;

    /// Name of the script, where a list has its own.
    fn name(&self) -> &str;

    /// Words for the verdicts of a line.
    fn reason(&self, line: u32) -> Option<String>;
}

/// Verdict of a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HookVerdict {
    /// Pass or block.
    pub action: Action,
    /// The line of the script that says so, from 1.
    pub line: u32,
}

/// The hook of a policy, if it has one.
#[derive(Clone, Debug, Default)]
pub(crate) struct PolicyHook(pub(crate) Option<Arc<dyn VerdictHook>>);

impl PolicyHook {
    /// The verdict in the end.
    #[inline]
    pub(crate) fn review(&self, ask: &Ask<'_>, verdict: Verdict) -> Verdict {
        let Some(hook) = &self.0 else { return verdict };
        match hook.decide(ask, verdict) {
            Some(HookVerdict { action, line }) => {
                Verdict::usual(action, Cause::Rule(RuleRef { list: ListId::SCRIPT, line }))
            }
            None => verdict,
        }
    }

    /// True for a line of the hook.
    pub(crate) fn is_of(rule: RuleRef) -> bool {
        rule.list == ListId::SCRIPT
    }

    /// A line of the hook in words.
    pub(crate) fn text(&self, rule: RuleRef) -> Option<RuleText> {
        let hook = self.0.as_ref().filter(|_| Self::is_of(rule))?;
        let text = hook.reason(rule.line).unwrap_or_default();
        Some(RuleText { list: hook.name().to_owned(), line: rule.line, text })
    }
}
