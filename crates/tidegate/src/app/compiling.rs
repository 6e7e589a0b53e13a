//! The policy of a plan: its lists read and compiled, or taken from the snapshot.

use super::{block_page, overrides, scripts, shared_tables};
use ::signer::SealedMemory;
use command_output::CommandFailure;
use config::Plan;
use policy::{ClientProfiles, Policy, VerdictHook};
use policy_lists::{ListTexts, RulesOrigin};
use std::path::Path;
use std::sync::Arc;

/// A policy that is to be put in force.
pub(crate) struct CompiledPolicy {
    pub(crate) policy: Policy,
    pub(crate) origin: RulesOrigin,
    /// The tables of names, where a signer can share them.
    pub(crate) tables: Option<SealedMemory>,
}

/// The lists of a plan; what is wrong with some of them is the failure of all.
pub(crate) fn read_lists(plan: &Plan, state_dir: &Path) -> Result<ListTexts, CommandFailure> {
    let texts = policy_lists::read(plan, state_dir);
    if texts.problems.is_empty() {
        Ok(texts)
    } else {
        Err(CommandFailure::complaints(&texts.problems))
    }
}

/// Reads the lists and compiles the policy, or takes it from the snapshot; of lists that stand in
/// the rules of before, only those that changed are compiled.
pub(crate) fn compile(
    plan: &Plan,
    state_dir: &Path,
    before: Option<&Policy>,
) -> Result<CompiledPolicy, CommandFailure> {
    let texts = read_lists(plan, state_dir)?;
    let (mut rules, origin) = texts.rules(state_dir, before.map(Policy::rules));
    let changed = texts.changed();
    // The signer needs a policy only where there is a pixel door.
    let tables = plan.file.pixel.as_ref().and_then(|_| shared_tables::seal(&mut rules));
    let page = block_page::read(plan, state_dir)
        .map_err(|complaints| CommandFailure::complaints(&complaints))?;
    let policy = Policy::new(rules.into(), profiles(plan));
    let policy = policy.with_list_times(changed).with_block_page(page);
    let hook = before.and_then(Policy::hook);
    let policy = policy.with_hook(hook_of(plan, state_dir, hook)?);
    Ok(CompiledPolicy { policy, origin, tables })
}

/// The same for the signer, which shares the tables that the program sent ahead if they are its
/// own.
pub(crate) fn compile_for_signer(
    plan: &Plan,
    state_dir: &Path,
    tables: Option<&SealedMemory>,
) -> Result<Policy, CommandFailure> {
    let texts = read_lists(plan, state_dir)?;
    let (mut rules, _) = texts.rules(state_dir, None);
    if let Some(tables) = tables {
        shared_tables::share(&mut rules, tables);
    }
    Ok(Policy::new(rules.into(), profiles(plan)).with_list_times(texts.changed()))
}

/// The policy that a start would have, with what is let through; beside one in force, of whose
/// lists those that changed alone are compiled. Nothing is written.
pub(crate) fn policy_of(
    plan: &Plan,
    state_dir: &Path,
    before: Option<&Policy>,
) -> Result<Policy, CommandFailure> {
    let texts = read_lists(plan, state_dir)?;
    let rules = texts.rules_unkept(state_dir, before.map(Policy::rules));
    let policy = Policy::new(rules.into(), profiles(plan)).with_list_times(texts.changed());
    // A script of its own: what is tried leaves no trace in the tables of the one in force.
    let policy = policy.with_hook(hook_of(plan, state_dir, None)?);
    overrides::restore(state_dir, &policy, transport::clock::now());
    Ok(policy)
}

fn hook_of(
    plan: &Plan,
    state_dir: &Path,
    before: Option<&Arc<dyn VerdictHook>>,
) -> Result<Option<Arc<dyn VerdictHook>>, CommandFailure> {
    let opened = scripts::decision_script(plan, state_dir, before);
    opened.map_err(|complaint| CommandFailure::complaints(&[complaint]))
}

/// Returns who gets which lists.
pub(crate) fn profiles(plan: &Plan) -> ClientProfiles {
    ClientProfiles::build(&plan.file.policy)
}
