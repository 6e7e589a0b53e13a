//! The policy of a plan: its lists read and compiled, or taken from the snapshot.

use super::allows;
use super::lists::{self, RulesOrigin};
use crate::cli::CommandFailure;
use config::Plan;
use policy::{ClientProfiles, Policy, RuleSet};
use std::path::Path;

/// Reads the lists and compiles the policy, or takes it from the snapshot; of lists that stand in
/// the rules of before, only those that changed are compiled.
pub(crate) fn compile(
    plan: &Plan,
    state_dir: &Path,
    before: Option<&RuleSet>,
) -> Result<(Policy, RulesOrigin), CommandFailure> {
    let texts = lists::read(plan, state_dir);
    if !texts.problems.is_empty() {
        return Err(CommandFailure::complaints(&texts.problems));
    }
    let (rules, origin) = texts.rules(state_dir, before);
    let policy = Policy::new(rules, profiles(plan)).with_list_times(texts.changed());
    Ok((policy, origin))
}

/// The policy that a start would have, with what is let through. Nothing is written.
pub(crate) fn policy_of(plan: &Plan, state_dir: &Path) -> Result<Policy, CommandFailure> {
    let texts = lists::read(plan, state_dir);
    if !texts.problems.is_empty() {
        return Err(CommandFailure::complaints(&texts.problems));
    }
    let rules = texts.rules_unkept(state_dir);
    let policy = Policy::new(rules, profiles(plan)).with_list_times(texts.changed());
    allows::restore(state_dir, &policy, transport::clock::now());
    Ok(policy)
}

/// Returns who gets which lists.
pub(crate) fn profiles(plan: &Plan) -> ClientProfiles {
    ClientProfiles::build(&plan.file.policy)
}
