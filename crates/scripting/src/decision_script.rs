//! The script of the policy: `on_decide`, with the reasons that it gave.
//!
//! Asked by the policy on every thread; it keeps the last reason of each line, for people.

use crate::hook::{ScriptHook, ScriptPlace};
use crate::log_budget::ScriptLog;
use crate::script::LuauScript;
use crate::settings::LuauChoice;
use policy::{Ask, HookVerdict, Verdict, VerdictHook};
use std::any::Any;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use vocab::Complaint;

/// Lines whose reasons are kept; a script that gives verdicts at more is told of by number alone.
const LINES_MAX: usize = 10_000;

/// A script whose `on_decide` may give other verdicts than the rules. One that fails leaves theirs.
#[derive(Debug)]
pub struct DecisionScript {
    script: LuauScript,
    reasons: Mutex<HashMap<u32, String>>,
}

impl DecisionScript {
    /// Reads the script `file`, a relative one from `base`, as [`LuauScript::open_at`] does; an
    /// unchanged one of `before` keeps its globals, and a changed one what was shared.
    pub fn open(
        file: &str,
        base: &Path,
        log: &ScriptLog,
        before: Option<&dyn VerdictHook>,
    ) -> Result<Self, Complaint> {
        let before = before.and_then(|hook| (hook as &dyn Any).downcast_ref::<Self>());
        let choice = LuauChoice::File(file.to_owned());
        let known = before.map(|before| &before.script);
        let script = LuauScript::open_at(ScriptPlace::Policy, &choice, base, log, known)?;
        // Lines of another text are others.
        let kept = before.filter(|before| before.script.is_same_as(&script));
        let reasons = kept.map(|before| before.reasons().clone()).unwrap_or_default();
        Ok(Self { script, reasons: Mutex::new(reasons) })
    }

    /// The script.
    pub const fn script(&self) -> &LuauScript {
        &self.script
    }

    /// The script of a policy's hook, if it is one.
    pub fn of(hook: &dyn VerdictHook) -> Option<&LuauScript> {
        (hook as &dyn Any).downcast_ref::<Self>().map(Self::script)
    }

    fn reasons(&self) -> MutexGuard<'_, HashMap<u32, String>> {
        self.reasons.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl VerdictHook for DecisionScript {
    fn decide(&self, ask: &Ask<'_>, verdict: Verdict) -> Option<HookVerdict> {
        if !self.script.has(ScriptHook::Decide) {
            return None;
        }
        let given = self.script.on_decide(ask, verdict)?;
        let mut reasons = self.reasons();
        let is_known = reasons.get(&given.line).is_some_and(|known| *known == given.reason);
        if !is_known && (reasons.len() < LINES_MAX || reasons.contains_key(&given.line)) {
            reasons.insert(given.line, given.reason);
        }
        drop(reasons);
        Some(HookVerdict { action: given.action, line: given.line })
    }

    fn name(&self) -> &str {
        self.script.name()
    }

    fn reason(&self, line: u32) -> Option<String> {
        self.reasons().get(&line).cloned()
    }
}
