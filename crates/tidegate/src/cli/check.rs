//! `tidegate check`: everything that is wrong with a configuration, and nothing started.

use super::{Exit, Failure, Setup};
use crate::app::lists;

/// Reads and checks the configuration and the list files it names.
pub(super) fn check(setup: &Setup) -> Result<(), Failure> {
    let plan = setup.plan()?;
    let state = setup.state_dir(&plan);
    let texts = lists::read(&plan, &state);
    if texts.problems.is_empty() {
        println!("{}: fine", plan.source.display());
        return Ok(());
    }
    let message = texts.problems.iter().map(|problem| format!("{problem}\n")).collect();
    Err(Failure { exit: Exit::Wrong, message })
}
