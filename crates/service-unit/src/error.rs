//! Reasons why nothing was installed, removed or told, each with its remedy.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// A service that could not be installed, removed or looked at.
#[derive(Debug)]
pub enum ServiceError {
    /// Only root may.
    NotRoot,
    /// This machine is not run by systemd.
    NoSystemd,
    /// A unit that was not written here.
    ForeignUnit(PathBuf),
    /// The unit of a package.
    PackagedUnit(PathBuf),
    /// Nothing to remove.
    NotInstalled(PathBuf),
    /// A path that cannot stand in a unit.
    UnwritablePath(PathBuf),
    /// A file that the service could not see, because homes and temporary folders are closed to it.
    HiddenFile(PathBuf),
    /// A binary that others than root may change, and the file or folder by which they may.
    ChangeableBinary(PathBuf),
    /// No configuration there.
    NoConfiguration(PathBuf),
    /// A file that could not be read or written.
    File(PathBuf, io::Error),
    /// A program that failed: what was run, and what it said.
    Program(String, String),
    /// The unit is there, and the service did not start: what systemctl said.
    NotStarted(String),
}

impl fmt::Display for ServiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRoot => {
                f.write_str("only root may install or remove a service: run it by sudo")
            }
            Self::NoSystemd => f.write_str(
                "this machine is not run by systemd, so there is no service to install: have its own \
                 init run `tidegate run --config FILE`; the release's extras have a script for \
                 OpenWrt's procd and a compose.yaml for containers",
            ),
            Self::ForeignUnit(path) => write!(
                f,
                "{} was not written by `tidegate service install`, so it is left alone: move it \
                 away first",
                path.display()
            ),
            Self::PackagedUnit(path) => write!(
                f,
                "a package has put {} here: `systemctl enable --now tidegate` starts it",
                path.display()
            ),
            Self::NotInstalled(path) => {
                write!(f, "there is no {}: nothing is installed", path.display())
            }
            Self::UnwritablePath(path) => {
                write!(f, "{} cannot stand in a unit: choose a plainer path", path.display())
            }
            Self::HiddenFile(path) => write!(
                f,
                "{} is hidden from the service, which sees no homes and no temporary folders: copy \
                 it to /usr/local/bin or /etc/tidegate",
                path.display()
            ),
            Self::ChangeableBinary(path) => write!(
                f,
                "{} may be changed by others than root, who would become the service: install the \
                 binary by `install -m 755 -o root -g root tidegate /usr/local/bin/`",
                path.display()
            ),
            Self::NoConfiguration(path) => write!(
                f,
                "there is no configuration {}: write one, and `tidegate check --config` it",
                path.display()
            ),
            Self::File(path, why) if why.kind() == io::ErrorKind::ReadOnlyFilesystem => write!(
                f,
                "{}: {why}; this system's configuration is made elsewhere (an image, NixOS): put the \
                 unit there",
                path.display()
            ),
            Self::File(path, why) => write!(f, "{}: {why}", path.display()),
            Self::Program(what, said) => write!(f, "`{what}` failed: {said}"),
            Self::NotStarted(said) => write!(
                f,
                "the unit is installed, and does not run yet: {said}; `journalctl -u tidegate` \
                 says why"
            ),
        }
    }
}

impl std::error::Error for ServiceError {}
