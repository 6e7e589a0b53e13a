//! Installing and removing, with a `systemctl` that only writes down how it is called. What systemd
//! makes of the units is tried with the package, in packaging/tests.

use super::*;
use std::os::unix::fs::{PermissionsExt, symlink};

/// A system in a folder, gone when this is dropped.
struct FolderSystem {
    root: PathBuf,
    place: ServicePlace,
}

impl FolderSystem {
    fn new(name: &str) -> Self {
        let root = std::env::temp_dir().join(format!("service-unit-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        for folder in ["units", "packaged", "booted", "home", "etc"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        fs::write(root.join("etc/tidegate.yaml"), "dns: {}\n").unwrap();
        let place = ServicePlace {
            units: root.join("units"),
            packaged: vec![root.join("packaged")],
            booted: root.join("booted"),
            state: root.join("state"),
            hidden: vec![root.join("home")],
            user: "nobody".into(),
            systemctl: root.join("systemctl"),
        };
        let system = Self { root, place };
        system.systemctl("exit 0");
        system
    }

    /// Has `systemctl` write its arguments down and then do this.
    fn systemctl(&self, then: &str) {
        let calls = self.root.join("calls");
        let text = format!("#!/bin/sh\necho \"$*\" >> {}\n{then}\n", calls.display());
        fs::write(&self.place.systemctl, text).unwrap();
        fs::set_permissions(&self.place.systemctl, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn calls(&self) -> Vec<String> {
        let text = fs::read_to_string(self.root.join("calls")).unwrap_or_default();
        text.lines().map(Into::into).collect()
    }

    fn wish(&self) -> ServiceWish {
        let configuration = self.root.join("etc/tidegate.yaml");
        ServiceWish { binary: "/usr/bin/env".into(), configuration }
    }

    fn install(&self) -> Result<Vec<String>, ServiceError> {
        self.place.install(&self.wish())
    }

    fn units(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.place.units).unwrap();
        let mut names: Vec<String> =
            entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for FolderSystem {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// Only root may install: what follows is tried where the tests are root, as in CI.
fn is_root(system: &FolderSystem) -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        assert!(matches!(system.install(), Err(ServiceError::NotRoot)));
        assert!(matches!(system.place.remove(), Err(ServiceError::NotRoot)));
    }
    is_root
}

const UNITS: [&str; 3] = ["tidegate-signer.socket", "tidegate-signer@.service", "tidegate.service"];

#[test]
fn what_is_installed_runs_at_once_and_is_removed_without_a_trace_but_its_state() {
    let system = FolderSystem::new("whole");
    if !is_root(&system) {
        return;
    }
    system.install().unwrap();
    assert_eq!(system.units(), UNITS);
    let text = fs::read_to_string(system.place.units.join(SERVICE)).unwrap();
    let configuration = system.wish().configuration;
    let line = format!("ExecStart=/usr/bin/env run --config {}", configuration.display());
    assert!(text.contains(&line), "{text}");
    let authority = system.place.state.join("ca").metadata().unwrap();
    assert_eq!(authority.uid(), 0, "the authority's folder is root's");
    assert_ne!(system.place.state.metadata().unwrap().uid(), 0);

    let done = system.place.remove().unwrap();
    assert!(done.iter().any(|line| line.contains("kept the configuration")), "{done:?}");
    assert!(system.units().is_empty() && system.place.state.is_dir());
    assert_eq!(
        system.calls(),
        [
            "daemon-reload",
            "enable --now tidegate-signer.socket",
            "enable tidegate.service",
            "start tidegate.service",
            "disable --now tidegate.service tidegate-signer.socket",
            "daemon-reload",
        ]
    );
    assert!(matches!(system.place.remove(), Err(ServiceError::NotInstalled(_))));
}

#[test]
fn installing_twice_writes_the_units_again() {
    let system = FolderSystem::new("twice");
    if !is_root(&system) {
        return;
    }
    system.install().unwrap();
    system.install().unwrap();
    assert_eq!(system.units(), UNITS);
}

#[test]
fn a_unit_of_another_origin_is_left_alone() {
    let system = FolderSystem::new("foreign");
    if !is_root(&system) {
        return;
    }
    let unit = system.place.units.join(SERVICE);
    fs::write(&unit, "[Service]\nExecStart=/bin/true\n").unwrap();
    assert!(matches!(system.install(), Err(ServiceError::ForeignUnit(path)) if path == unit));
    assert!(matches!(system.place.remove(), Err(ServiceError::ForeignUnit(path)) if path == unit));
    assert_eq!(fs::read_to_string(&unit).unwrap(), "[Service]\nExecStart=/bin/true\n");

    fs::remove_file(&unit).unwrap();
    symlink("/dev/null", &unit).unwrap();
    assert!(matches!(system.install(), Err(ServiceError::ForeignUnit(_))), "a masked unit");
    fs::remove_file(&unit).unwrap();
    fs::write(system.place.packaged[0].join(SERVICE), "[Service]\n").unwrap();
    assert!(matches!(system.install(), Err(ServiceError::PackagedUnit(_))));
    assert!(system.units().is_empty() && system.calls().is_empty());
}

#[test]
fn a_binary_that_others_can_change_is_made_no_service() {
    let system = FolderSystem::new("changeable");
    if !is_root(&system) {
        return;
    }
    let mut wish = system.wish();
    wish.binary = system.root.join("tidegate");
    fs::copy("/usr/bin/env", &wish.binary).unwrap();
    // The folder of the tests is one in which everybody may write.
    let refused = system.place.install(&wish);
    assert!(matches!(refused, Err(ServiceError::ChangeableBinary(_))), "{refused:?}");
    wish.binary = system.root.join("home/tidegate");
    fs::copy("/usr/bin/env", &wish.binary).unwrap();
    assert!(matches!(system.place.install(&wish), Err(ServiceError::HiddenFile(_))));
    wish = system.wish();
    wish.configuration = system.root.join("etc/missing.yaml");
    assert!(matches!(system.place.install(&wish), Err(ServiceError::NoConfiguration(_))));
    assert!(system.units().is_empty());
}

#[test]
fn without_systemd_it_says_what_to_do() {
    let mut system = FolderSystem::new("none");
    if !is_root(&system) {
        return;
    }
    system.place.systemctl = "/nonexistent/systemctl".into();
    let why = system.install().unwrap_err();
    assert!(why.to_string().contains("not run by systemd"), "{why}");
    assert!(system.units().is_empty(), "what was begun is taken back");
    fs::remove_dir(&system.place.booted).unwrap();
    assert!(matches!(system.install(), Err(ServiceError::NoSystemd)));
    assert!(matches!(system.place.status(), Err(ServiceError::NoSystemd)));
}

#[test]
fn units_that_cannot_be_enabled_are_taken_back_and_a_start_that_fails_leaves_them() {
    let system = FolderSystem::new("failing");
    if !is_root(&system) {
        return;
    }
    system.systemctl("case $1 in enable) echo 'no bus' >&2; exit 1;; esac");
    let why = system.install().unwrap_err().to_string();
    assert!(why.contains("enable --now tidegate-signer.socket` failed: no bus"), "{why}");
    assert!(system.units().is_empty());
    system.systemctl("case $1 in start) echo 'control process exited' >&2; exit 1;; esac");
    let why = system.install().unwrap_err();
    assert!(matches!(&why, ServiceError::NotStarted(said) if said == "control process exited"));
    assert_eq!(system.units(), UNITS);
}

#[test]
fn a_read_only_folder_is_named_with_a_remedy() {
    let read_only = io::Error::from(io::ErrorKind::ReadOnlyFilesystem);
    let why = ServiceError::File("/etc/systemd/system/tidegate.service".into(), read_only);
    assert!(why.to_string().contains("read-only") && why.to_string().contains("NixOS"), "{why}");
}

#[test]
fn status_is_what_systemctl_shows() {
    let system = FolderSystem::new("status");
    system.systemctl("echo LoadState=loaded; echo ActiveState=active; echo MainPID=7");
    let status = system.place.status().unwrap();
    assert!(status.is_active() && status.process == 7);
    assert!(system.calls()[0].starts_with("show tidegate.service --property="));
}
