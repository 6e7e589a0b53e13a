//! `tidegate service`: the units, where there is no package.

use super::setup::CONFIGURATION;
use super::{CommandFailure, CommandSetup, ExitReason};
use clap::Subcommand;
use service_unit::{ServiceError, ServicePlace, ServiceWish};
use std::path::Path;

/// Actions on the service.
#[derive(Debug, Subcommand)]
pub(crate) enum ServiceCommand {
    /// Write the units of systemd, enable them and start the service
    Install,
    /// Stop the service and take its units away; configuration and state stay
    Remove,
    /// Show whether there is a unit, and whether it runs; exit code 3 where it does not
    Status {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// Does it.
pub(super) fn service(
    setup: &CommandSetup,
    command: &ServiceCommand,
) -> Result<(), CommandFailure> {
    let place = ServicePlace::of_system();
    let failed = |why: ServiceError| CommandFailure::new(ExitReason::NotStarted, why);
    let done = match command {
        ServiceCommand::Install => {
            // What cannot be read would only fail at each start.
            setup.plan()?;
            let configuration = setup.config_file().unwrap_or(Path::new(CONFIGURATION)).into();
            let binary = std::env::current_exe()
                .map_err(|why| CommandFailure::new(ExitReason::NotStarted, why))?;
            place.install(&ServiceWish { binary, configuration }).map_err(failed)?
        }
        ServiceCommand::Remove => place.remove().map_err(failed)?,
        ServiceCommand::Status { json } => {
            let status = place.status().map_err(failed)?;
            if *json {
                println!("{}", serde_json::json!(status));
            } else {
                println!("{status}");
            }
            let stopped =
                || CommandFailure::new(ExitReason::NotStarted, "the service does not run");
            return status.is_active().then_some(()).ok_or_else(stopped);
        }
    };
    for line in &done {
        println!("{line}");
    }
    Ok(())
}
