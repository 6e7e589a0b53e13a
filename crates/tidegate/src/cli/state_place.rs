//! The place of the state folder, where neither the command line nor the configuration names one.
//!
//! Every command that is given the same configuration by the same user comes to the same folder,
//! from wherever it is run. The signer's process is told, and seeks none.

use super::CommandSetup;
use super::setup::SERVICE_CONFIGURATION;
use config::Plan;
use rustix::fs::{Access, access};
use state_folder::ADDRESS_FILE;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Beside a configuration: hidden, so that a web server with that root does not serve it.
const HIDDEN_NAME: &str = ".tidegate-state";
/// The same until 0.1, in the folder that Tidegate was started in.
const LEGACY_NAME: &str = "tidegate-state";
/// For all users of a machine.
const SYSTEM: &str = "/var/lib/tidegate";
/// Below the folder that a user's programs keep their state in.
const OF_USER: &str = "tidegate";
/// Files by which a state folder is known.
const STATE_FILES: [&str; 4] = ["ca", "admin.token", "ledger.db", "lock"];

impl CommandSetup {
    /// The state folder that was named on the command line.
    pub(crate) fn state_path(&self) -> Option<&Path> {
        self.state.as_deref()
    }

    /// The state folder that applies.
    pub(crate) fn state_dir(&self, plan: &Plan) -> PathBuf {
        match (&self.state, &plan.file.state_dir) {
            (Some(named), _) => named.clone(),
            (None, Some(configured)) => PathBuf::from(configured),
            (None, None) if self.uses_legacy(plan) => PathBuf::from(LEGACY_NAME),
            (None, None) => self.default_state_dir(plan),
        }
    }

    /// A sentence for an administrator whose state folder is where earlier versions had it.
    pub(crate) fn state_note(&self, plan: &Plan) -> Option<String> {
        let is_chosen = self.state.is_some() || plan.file.state_dir.is_some();
        (!is_chosen && self.uses_legacy(plan)).then(|| {
            format!(
                "the state folder is ./{LEGACY_NAME}, as with earlier versions; a new one would be {new}: \
                 stop Tidegate, and mv {LEGACY_NAME} {new}",
                new = self.default_state_dir(plan).display()
            )
        })
    }

    /// State folders and configurations that are probably some Tidegate's own, by their places.
    pub(crate) fn default_places(&self, roots: &[PathBuf]) -> Vec<PathBuf> {
        let here = Path::new("").to_path_buf();
        let mut places: Vec<PathBuf> =
            [Some(SYSTEM.into()), of_user()].into_iter().flatten().collect();
        for folder in roots.iter().chain([&here]) {
            places.extend([HIDDEN_NAME, LEGACY_NAME].map(|name| folder.join(name)));
        }
        places.retain(|place| is_state(place));
        if self.text.is_some() {
            places.extend(roots.iter().map(|root| root.join(super::setup::CONFIGURATION)));
        }
        places
    }

    /// `true` where a command has written the configuration: there is no such file.
    pub(crate) fn is_written_by_command(&self) -> bool {
        self.text.is_some()
    }

    /// `true` where the former folder has an authority and the new one is not there: devices trust
    /// that authority, and a second one would only confuse.
    fn uses_legacy(&self, plan: &Plan) -> bool {
        let has_authority = Path::new(LEGACY_NAME).join("ca/ca.pem").exists();
        has_authority && !self.default_state_dir(plan).exists()
    }

    /// `true` for the configuration of this machine's service, by whatever path.
    fn is_of_service(&self) -> bool {
        let Some(file) = self.config_file() else { return false };
        let real = |path: &Path| std::fs::canonicalize(path).ok();
        let service = Path::new(SERVICE_CONFIGURATION);
        file == service || real(file).is_some_and(|it| real(service) == Some(it))
    }

    /// The state folder of this machine's service, if one runs there by this configuration.
    pub(super) fn state_of_service(&self) -> Option<PathBuf> {
        let state = Path::new(SYSTEM);
        let runs = self.is_of_service() && state.join(ADDRESS_FILE).exists();
        runs.then(|| state.to_owned())
    }

    fn default_state_dir(&self, plan: &Plan) -> PathBuf {
        // systemd's StateDirectory=, several of them with colons between.
        let given = std::env::var_os("STATE_DIRECTORY").unwrap_or_default();
        let given = given.as_bytes().split(|byte| *byte == b':').next().unwrap_or_default();
        let given = PathBuf::from(OsString::from_vec(given.to_vec()));
        if given.is_absolute() {
            return given;
        }
        let folder = self.config_file().and_then(Path::parent).unwrap_or(Path::new(""));
        let beside = folder.join(HIDDEN_NAME);
        let is_root = rustix::process::geteuid().is_root();
        if self.is_of_service() && !beside.is_dir() && (is_root || Path::new(SYSTEM).is_dir()) {
            return SYSTEM.into();
        }
        // Who tries the built-in one finds everything in the folder where that was done.
        let is_here = plan.is_built_in() || is_current(folder);
        if is_root {
            return if is_here || beside.is_dir() { beside } else { SYSTEM.into() };
        }
        let places = [Some(beside.clone()), of_user()];
        places.into_iter().flatten().find(|place| is_usable(place)).unwrap_or(beside)
    }
}

/// The XDG base directory for state.
fn of_user() -> Option<PathBuf> {
    let absolute = |path: OsString| Some(PathBuf::from(path)).filter(|path| path.is_absolute());
    let named = std::env::var_os("XDG_STATE_HOME").and_then(absolute);
    let home = || Some(std::env::var_os("HOME").and_then(absolute)?.join(".local/state"));
    Some(named.or_else(home)?.join(OF_USER))
}

/// `true` for the folder that this program was started in.
fn is_current(folder: &Path) -> bool {
    let real = |folder: &Path| std::fs::canonicalize(folder).ok();
    folder.as_os_str().is_empty() || real(folder).is_some_and(|it| real(Path::new(".")) == Some(it))
}

/// `true` for a folder that is there, or can be made.
fn is_usable(place: &Path) -> bool {
    if place.is_dir() {
        return true;
    }
    let above =
        place.ancestors().skip(1).find(|above| above.as_os_str().is_empty() || above.exists());
    let above = above.filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    access(above, Access::WRITE_OK | Access::EXEC_OK).is_ok()
}

fn is_state(place: &Path) -> bool {
    STATE_FILES.iter().any(|mark| place.join(mark).exists())
}
