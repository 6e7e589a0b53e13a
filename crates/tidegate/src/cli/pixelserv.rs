//! `tidegate pixelserv`: runs what [`plain_commands::prepare_pixelserv`] has written.

use super::{CommandFailure, CommandSetup, ExitReason};
use crate::app;
use plain_commands::{PixelservFiles, prepare_pixelserv};
use std::ffi::OsString;

/// Runs with pixelserv-tls's options until a signal ends it.
pub(super) fn pixelserv(setup: &CommandSetup, args: &[OsString]) -> Result<(), CommandFailure> {
    if setup.config.is_some() {
        let message = "pixelserv writes its own configuration: leave --config out, or print one \
                       with --print and write tidegate run";
        return Err(CommandFailure::new(ExitReason::Wrong, message));
    }
    let usual = |plan: &_| setup.state_dir(plan);
    match prepare_pixelserv(args, setup.state.as_deref(), usual)? {
        Some(PixelservFiles { config, state }) => app::run(&CommandSetup {
            config: Some(config),
            state: Some(state),
            ..CommandSetup::default()
        }),
        None => Ok(()),
    }
}
