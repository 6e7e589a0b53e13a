//! Where units stand, and what is done there: install, remove, look.

use crate::error::ServiceError;
use crate::status::ServiceStatus;
use crate::systemctl;
use crate::units::{self, MARK, SERVICE, SIGNER_SOCKET};
use rustix::fs::{Access, access};
use sandbox::SystemAccount;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Bits of a mode by which the group, and all others, may write.
const GROUP_WRITE: u32 = 0o020;
const OTHERS_WRITE: u32 = 0o002;

/// Folders of a system with systemd.
#[derive(Clone, Debug)]
pub struct ServicePlace {
    /// Units of the administrator.
    pub units: PathBuf,
    /// Units of packages, in whatever folder.
    pub packaged: Vec<PathBuf>,
    /// Folder that is there where systemd runs (`sd_booted(3)`).
    pub booted: PathBuf,
    /// The state folder that the units name.
    pub state: PathBuf,
    /// Folders that the units hide from the service (`ProtectHome=`, `PrivateTmp=`).
    pub hidden: Vec<PathBuf>,
    /// The user that the units name.
    pub user: String,
    /// The program by which systemd is talked to, looked for in `$PATH`.
    pub systemctl: PathBuf,
}

/// The program that is to be made a service.
#[derive(Clone, Debug)]
pub struct ServiceWish {
    /// The binary.
    pub binary: PathBuf,
    /// The configuration.
    pub configuration: PathBuf,
}

impl ServicePlace {
    /// The folders of this machine.
    pub fn of_system() -> Self {
        Self {
            units: "/etc/systemd/system".into(),
            packaged: vec!["/usr/lib/systemd/system".into(), "/lib/systemd/system".into()],
            booted: "/run/systemd/system".into(),
            state: "/var/lib/tidegate".into(),
            hidden: ["/home", "/root", "/run/user", "/tmp", "/var/tmp"].map(Into::into).into(),
            user: "tidegate".into(),
            systemctl: "systemctl".into(),
        }
    }

    /// Writes the units, and has the service started now and with the machine. Returns what was
    /// done, a sentence each.
    pub fn install(&self, wish: &ServiceWish) -> Result<Vec<String>, ServiceError> {
        must_be_root()?;
        self.must_have_systemd()?;
        self.must_be_free()?;
        let binary = self.safe_binary(&wish.binary)?;
        let configuration = &wish.configuration;
        if !configuration.is_file() {
            return Err(ServiceError::NoConfiguration(configuration.clone()));
        }
        let configuration = self.seen(configuration)?;
        // Before anything is changed: on a root that is read-only nothing can be.
        access(&self.units, Access::WRITE_OK)
            .map_err(|why| ServiceError::File(self.units.clone(), why.into()))?;
        let mut done = Vec::new();
        let account = self.have_user(&mut done)?;
        self.have_state(&account)?;
        for (name, text) in units::texts(&binary, &configuration)? {
            let path = self.units.join(name);
            write_whole(&path, &text).map_err(|why| ServiceError::File(path.clone(), why))?;
            done.push(format!("wrote {}", path.display()));
        }
        if let Err(why) = self.enable() {
            // Half of it would only be found by the next who looks.
            let _ = self.take_away();
            return Err(why);
        }
        self.run(&["start", SERVICE]).map_err(|why| match why {
            ServiceError::Program(_, said) => ServiceError::NotStarted(said),
            other => other,
        })?;
        done.push(format!("{SERVICE} runs, and starts with the machine"));
        Ok(done)
    }

    /// Stops the service and takes its units away; configuration and state stay.
    pub fn remove(&self) -> Result<Vec<String>, ServiceError> {
        must_be_root()?;
        let unit = self.units.join(SERVICE);
        if !is_there(&unit) {
            return Err(ServiceError::NotInstalled(unit));
        }
        for name in units::names() {
            let path = self.units.join(name);
            if is_there(&path) && !is_ours(&path) {
                return Err(ServiceError::ForeignUnit(path));
            }
        }
        self.must_have_systemd()?;
        self.run(&["disable", "--now", SERVICE, SIGNER_SOCKET])?;
        let mut done = self.take_away()?;
        self.run(&["daemon-reload"])?;
        done.push(format!("kept the configuration, and the state in {}", self.state.display()));
        Ok(done)
    }

    /// State of the unit.
    pub fn status(&self) -> Result<ServiceStatus, ServiceError> {
        self.must_have_systemd()?;
        ServiceStatus::ask(&self.systemctl)
    }

    fn must_have_systemd(&self) -> Result<(), ServiceError> {
        if self.booted.is_dir() { Ok(()) } else { Err(ServiceError::NoSystemd) }
    }

    /// Refuses where a package or somebody else has units of these names.
    fn must_be_free(&self) -> Result<(), ServiceError> {
        for name in units::names() {
            let packaged = self.packaged.iter().map(|folder| folder.join(name));
            if let Some(path) = packaged.into_iter().find(|path| is_there(path)) {
                return Err(ServiceError::PackagedUnit(path));
            }
            let path = self.units.join(name);
            if is_there(&path) && !is_ours(&path) {
                return Err(ServiceError::ForeignUnit(path));
            }
        }
        Ok(())
    }

    /// The state folder, the account's, and in it the authority's, which is root's.
    fn have_state(&self, account: &SystemAccount) -> Result<(), ServiceError> {
        let failed = |why: sandbox::OwnershipError| ServiceError::File(why.path, why.why);
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.state);
        made.map_err(|why| ServiceError::File(self.state.clone(), why))?;
        sandbox::give_ownership(&self.state, account, Some(c"ca")).map_err(failed)?;
        sandbox::make_folder_of_root(&self.state.join("ca")).map_err(failed)?;
        Ok(())
    }

    fn run(&self, args: &[&str]) -> Result<String, ServiceError> {
        systemctl::run(&self.systemctl, args)
    }

    fn enable(&self) -> Result<String, ServiceError> {
        self.run(&["daemon-reload"])?;
        self.run(&["enable", "--now", SIGNER_SOCKET])?;
        self.run(&["enable", SERVICE])
    }

    /// The path without links, if the service can see it.
    fn seen(&self, path: &Path) -> Result<PathBuf, ServiceError> {
        let whole = path.canonicalize().map_err(|why| ServiceError::File(path.into(), why))?;
        let is_hidden = self.hidden.iter().any(|folder| whole.starts_with(folder));
        if is_hidden { Err(ServiceError::HiddenFile(whole)) } else { Ok(whole) }
    }

    /// The binary's path, if nobody but root can put another one there.
    fn safe_binary(&self, path: &Path) -> Result<PathBuf, ServiceError> {
        let whole = self.seen(path)?;
        for part in whole.ancestors() {
            let told = part.metadata().map_err(|why| ServiceError::File(part.into(), why))?;
            // Debian's older systems let the group `staff` write in /usr/local.
            let is_of_group = told.is_file() && told.gid() != 0 && told.mode() & GROUP_WRITE != 0;
            if told.uid() != 0 || is_of_group || told.mode() & OTHERS_WRITE != 0 {
                return Err(ServiceError::ChangeableBinary(part.into()));
            }
        }
        Ok(whole)
    }

    /// The account of the service, made where there is none.
    fn have_user(&self, done: &mut Vec<String>) -> Result<SystemAccount, ServiceError> {
        let user = self.user.as_str();
        let command = format!("useradd --system {user}");
        if let Ok(account) = SystemAccount::find(user, None) {
            return Ok(account);
        }
        let mut program = Command::new("useradd");
        program.args(["--system", "--user-group", "--no-create-home", "--home-dir"]);
        program.arg(&self.state).args(["--shell", "/usr/sbin/nologin", user]);
        systemctl::run_program(&mut program, command.clone())?;
        done.push(format!("made the user {user}"));
        SystemAccount::find(user, None)
            .map_err(|why| ServiceError::Program(command, why.to_string()))
    }

    fn take_away(&self) -> Result<Vec<String>, ServiceError> {
        let mut done = Vec::new();
        for path in units::names().map(|name| self.units.join(name)) {
            match fs::remove_file(&path) {
                Ok(()) => done.push(format!("removed {}", path.display())),
                Err(why) if why.kind() == io::ErrorKind::NotFound => {}
                Err(why) => return Err(ServiceError::File(path, why)),
            }
        }
        Ok(done)
    }
}

fn must_be_root() -> Result<(), ServiceError> {
    if rustix::process::geteuid().is_root() { Ok(()) } else { Err(ServiceError::NotRoot) }
}

/// True where something has the name, be it a link that leads nowhere.
fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

fn is_ours(path: &Path) -> bool {
    let is_file = path.symlink_metadata().is_ok_and(|it| it.is_file());
    is_file && fs::read_to_string(path).is_ok_and(|text| text.starts_with(MARK))
}

/// Writes a file that is there as a whole or not at all.
fn write_whole(path: &Path, text: &str) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let beside = PathBuf::from(beside);
    let mut options = fs::OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(0o644).open(&beside);
    let outcome = file.and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    let outcome = outcome.and_then(|()| fs::rename(&beside, path));
    if outcome.is_err() {
        let _ = fs::remove_file(&beside);
    }
    outcome
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests;
