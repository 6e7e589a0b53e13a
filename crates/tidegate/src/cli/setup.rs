//! What every command is told: the configuration, and the state folder.

use clap::Args;
use command_output::{CommandFailure, ExitReason};
use config::{ConfigLanguage, ConfigLayers, MadeSettings, Plan};
use fleet_edge::{RevisionLayers, RevisionStore};
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
        self.with_layers(self.own_plan()?)
    }

    /// The configuration's own file alone, which says where the folder is that has the rest of it.
    pub(crate) fn own_plan(&self) -> Result<Plan, CommandFailure> {
        self.check_restored()?;
        self.load(ConfigLayers::default())
    }

    fn load(&self, layers: ConfigLayers<'_>) -> Result<Plan, CommandFailure> {
        let loaded = match (&self.text, self.config_file()) {
            (Some(text), _) => config::parse(text, Path::new("serve")),
            (None, Some(path)) => config::load(path, layers),
            (None, None) => config::built_in(layers),
        };
        loaded.map_err(|complaints| CommandFailure::complaints(&complaints))
    }

    /// The configuration of this own file with what was set in the dashboard, and with the bundle
    /// of its fleet.
    pub(crate) fn with_layers(&self, plan: Plan) -> Result<Plan, CommandFailure> {
        if self.text.is_some() || plan.language() == ConfigLanguage::Foreign {
            return Ok(plan);
        }
        let state = self.state_dir(&plan);
        let made = MadeSettings::read(&state);
        let made = made.map_err(|complaint| CommandFailure::complaints(&[complaint]))?;
        let fleet = fleet_layers(&plan, &state)?;
        if made.is_none() && fleet.is_none() {
            return Ok(plan);
        }
        self.load(ConfigLayers { made: made.as_ref(), fleet: fleet.as_ref() })
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

/// Files of the revision that a machine of a fleet runs; none before its first.
fn fleet_layers(plan: &Plan, state: &Path) -> Result<Option<RevisionLayers>, CommandFailure> {
    let is_member = plan.file.fleet.as_ref().is_some_and(|it| it.bundles.is_some());
    if !is_member {
        return Ok(None);
    }
    let store = RevisionStore::of(state);
    let wrong = |why: io::Error| {
        let message = format!("the fleet's revision in {}: {why}", state.display());
        CommandFailure::new(ExitReason::Wrong, message)
    };
    match store.record().map_err(wrong)?.chosen() {
        Some(chosen) => RevisionLayers::read(&store.files(chosen.number)).map(Some).map_err(wrong),
        None => Ok(None),
    }
}

/// `true` for a file that is there, and for one in a folder that is closed to this user.
fn is_there(place: &Path) -> bool {
    place.try_exists().unwrap_or_else(|why| why.kind() == io::ErrorKind::PermissionDenied)
}
