//! What every command is told: the configuration, and the state folder.

use clap::Args;
use command_output::{CommandFailure, ExitReason};
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
    /// Colour: on terminals that want it (`NO_COLOR`), always, never
    #[arg(
        long,
        value_name = "WHEN",
        global = true,
        default_value = "auto",
        hide_possible_values = false
    )]
    pub(super) color: clap::ColorChoice,
    /// The configuration itself, where a command has written it.
    #[arg(skip)]
    pub(super) text: Option<Arc<str>>,
}

impl CommandSetup {
    /// The configuration that applies: the named one, `./tidegate.yaml`, or the built-in one.
    pub(crate) fn plan(&self) -> Result<Plan, CommandFailure> {
        let found = Path::new(CONFIGURATION);
        self.check_restored(found)?;
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

    /// Refuses a configuration of which a restore that was cut off replaced some files.
    fn check_restored(&self, found: &Path) -> Result<(), CommandFailure> {
        let file = self.config.as_deref().unwrap_or(found);
        let mark = file.with_file_name(state_archive::UNFINISHED_MARK);
        if self.text.is_some() || !mark.exists() {
            return Ok(());
        }
        let message = format!(
            "{}: a restore was cut off here, and the files of this configuration may be of two \
             times; run tidegate restore again, or see to the files and remove this one",
            mark.display()
        );
        Err(CommandFailure::new(ExitReason::Wrong, message))
    }

    /// True where nothing is named and nothing is found. A supervisor names a folder.
    pub(super) fn is_bare(&self) -> bool {
        let named = self.config.is_some()
            || self.state.is_some()
            || std::env::var_os("STATE_DIRECTORY").is_some();
        !named && !Path::new(CONFIGURATION).exists()
    }

    /// The configuration file that was named.
    pub(crate) fn config_path(&self) -> Option<&Path> {
        self.config.as_deref()
    }
}
