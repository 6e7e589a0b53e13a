//! What every command is told: the configuration, and the state folder.

use clap::Args;
use command_output::{CommandFailure, ExitReason};
use config::{ConfigLanguage, MadeSettings, Plan};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The configuration that is found in the folder of the command, where none is named.
pub(super) const CONFIGURATION: &str = "tidegate.yaml";
/// The configuration of this machine's service, found where that one is not there.
pub(super) const SERVICE_CONFIGURATION: &str = "/etc/tidegate/tidegate.yaml";

/// Which configuration, which state folder.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct CommandSetup {
    /// The configuration file [default: ./tidegate.yaml if it exists, else
    /// /etc/tidegate/tidegate.yaml, else the built-in one]
    #[arg(long, short, value_name = "FILE", global = true)]
    pub(super) config: Option<PathBuf>,
    /// The state folder [default: `state_dir` of the configuration, else `$STATE_DIRECTORY`, else
    /// .tidegate-state beside the configuration, or /var/lib/tidegate for root and the service]
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
    /// The configuration that applies: the named one, one that is found, or the built-in one.
    pub(crate) fn plan(&self) -> Result<Plan, CommandFailure> {
        self.check_restored()?;
        let load = |made: Option<&MadeSettings>| {
            let loaded = match (&self.text, self.config_file()) {
                (Some(text), _) => config::parse(text, Path::new("serve")),
                (None, Some(path)) => config::load(path, made),
                (None, None) => config::built_in(made),
            };
            loaded.map_err(|complaints| CommandFailure::complaints(&complaints))
        };
        // The configuration says where the folder is that has the rest of it.
        let plan = load(None)?;
        if self.text.is_some() || plan.language() == ConfigLanguage::Foreign {
            return Ok(plan);
        }
        let made = MadeSettings::read(&self.state_dir(&plan));
        match made.map_err(|complaint| CommandFailure::complaints(&[complaint]))? {
            Some(made) => load(Some(&made)),
            None => Ok(plan),
        }
    }

    /// The configuration file that applies: the named one, `./tidegate.yaml`, or the service's. One
    /// that may not be looked at is there, so that nobody takes the built-in one for it.
    pub(crate) fn config_file(&self) -> Option<&Path> {
        if self.text.is_some() {
            return None;
        }
        let mut found = [CONFIGURATION, SERVICE_CONFIGURATION].into_iter().map(Path::new);
        self.config.as_deref().or_else(|| found.find(|place| is_there(place)))
    }

    /// The same with the configuration named that applies now, so that one that turns up later
    /// does not take its place.
    pub(super) fn with_config_settled(&self) -> Self {
        Self { config: self.config_file().map(Path::to_owned), ..self.clone() }
    }

    /// The state folder of the Tidegate that runs. A wrong configuration must not keep anybody
    /// from controlling what runs: only the folder is needed.
    pub(super) fn state_of_running(&self) -> Result<PathBuf, CommandFailure> {
        match (&self.state, self.plan()) {
            (Some(named), _) => Ok(named.clone()),
            (None, Ok(plan)) => Ok(self.state_dir(&plan)),
            (None, Err(failure)) => self.state_of_service().ok_or(failure),
        }
    }

    /// Refuses a configuration of which a restore that was cut off replaced some files.
    fn check_restored(&self) -> Result<(), CommandFailure> {
        let file = self.config_file().unwrap_or(Path::new(CONFIGURATION));
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

    /// The configuration file that was named or settled on.
    pub(crate) fn config_path(&self) -> Option<&Path> {
        self.config.as_deref()
    }
}

/// `true` for a file that is there, and for one in a folder that is closed to this user.
fn is_there(place: &Path) -> bool {
    place.try_exists().unwrap_or_else(|why| why.kind() == io::ErrorKind::PermissionDenied)
}
