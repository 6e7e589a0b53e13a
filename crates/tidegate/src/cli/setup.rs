//! What every command is told: the configuration, and the state folder.

use clap::Args;
use command_output::CommandFailure;
use config::Plan;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The configuration that is found where none is named.
pub(super) const CONFIGURATION: &str = "tidegate.yaml";

/// Which configuration, which state folder.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct CommandSetup {
    /// The configuration file [default: ./tidegate.yaml if it exists, else the built-in one]
    #[arg(long, short, value_name = "FILE", global = true)]
    pub(super) config: Option<PathBuf>,
    /// The state folder [default: `state_dir` of the configuration, else `$STATE_DIRECTORY`, else
    /// .tidegate-state beside the configuration, or /var/lib/tidegate for root]
    #[arg(long, value_name = "DIR", global = true)]
    pub(super) state: Option<PathBuf>,
    /// The configuration itself, where a command has written it.
    #[arg(skip)]
    pub(super) text: Option<Arc<str>>,
}

impl CommandSetup {
    /// The configuration that applies: the named one, `./tidegate.yaml`, or the built-in one.
    pub(crate) fn plan(&self) -> Result<Plan, CommandFailure> {
        let found = Path::new(CONFIGURATION);
        let loaded = match (&self.text, &self.config) {
            (Some(text), _) => config::parse(text, Path::new("serve")),
            (None, Some(path)) => config::load(path),
            (None, None) if found.exists() => config::load(found),
            (None, None) => return Ok(config::default_plan()),
        };
        loaded.map_err(|complaints| CommandFailure::complaints(&complaints))
    }

    /// The state folder of the Tidegate that runs. A wrong configuration must not keep anybody
    /// from controlling what runs: only the folder is needed.
    pub(super) fn state_of_running(&self) -> Result<PathBuf, CommandFailure> {
        match (&self.state, self.plan()) {
            (Some(named), _) => Ok(named.clone()),
            (None, Ok(plan)) => Ok(self.state_dir(&plan)),
            (None, Err(failure)) => Err(failure),
        }
    }

    /// The configuration file that was named.
    pub(crate) fn config_path(&self) -> Option<&Path> {
        self.config.as_deref()
    }
}
