//! `tidegate fleet`, in this program: `fleet-commands` does the work.

use super::serve::FreshFolder;
use super::{CommandFailure, CommandSetup};
use crate::app::judged::{self, ListReading};
use config::Plan;
use fleet_commands::{FleetCommand, FleetHost};
use fleet_edge::S3Credentials;
use std::path::PathBuf;

impl FleetHost for CommandSetup {
    fn judge(&self, plan: &Plan) -> Result<Vec<String>, Vec<String>> {
        let state = FreshFolder::make().map_err(|why| vec![why.to_string()])?;
        let found = judged::judge(self, plan, &state.0, ListReading::Read);
        if found.complaints.is_empty() {
            return Ok(found.warnings);
        }
        Err(found.complaints.iter().map(ToString::to_string).collect())
    }

    fn state_dir(&self) -> Result<PathBuf, CommandFailure> {
        Ok(Self::state_dir(self, &self.own_plan()?))
    }

    fn s3_credentials(&self) -> Option<S3Credentials> {
        self.own_plan().ok()?.file.fleet.as_ref()?.s3_credentials()
    }
}

/// Runs a command of `tidegate fleet`.
pub(super) fn fleet(setup: &CommandSetup, what: &FleetCommand) -> Result<(), CommandFailure> {
    fleet_commands::fleet(setup, what)
}
