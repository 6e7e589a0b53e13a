//! The files that the running configuration was read from, and what they say now.
//!
//! Only these can be named, by the path that was listed: what a client sends is never opened. A
//! file that has been exchanged for a link to elsewhere since it was loaded is not read.

use crate::revision::revision;
use admin::SettingsRefusal;
use admin_api::ConfigFileInfo;
use config::{ConfigLayers, FileComplaint, MADE_FILE, MadeSettings, Plan};
use rustix::fs::{Access, access};
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Largest text that is read, in bytes: as much as the configuration's reader takes.
const TEXT_BYTES_MAX: u64 = 4 << 20;

/// Files of a configuration, the one that was named first.
#[derive(Clone, Debug, Default)]
pub struct FilesInForce {
    files: Vec<FileInForce>,
}

/// One file of the running configuration.
#[derive(Clone, Debug)]
pub struct FileInForce {
    /// Path as the configuration has it.
    pub path: PathBuf,
    /// Absolute path, by which it is known to clients.
    pub name: String,
    /// Text in force.
    pub text: Arc<str>,
    /// Kind.
    pub kind: FileKind,
    /// Place behind links when it was loaded.
    target: Option<PathBuf>,
}

/// Kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// The one that was named.
    Main,
    /// Named by `include`.
    Included,
    /// Settings made in the dashboard.
    Dashboard,
}

/// Rule for changes of files that are not the dashboard's own.
#[derive(Debug)]
pub enum EditRule {
    /// They may be changed.
    Allowed,
    /// They may not.
    Refused(SettingsRefusal),
}

impl FilesInForce {
    /// Files of a plan that is in force from now on. The built-in configuration is no file.
    pub fn of(plan: &Plan, state_dir: &Path) -> Self {
        let made = state_dir.join(MADE_FILE);
        // Files of a fleet's revision are changed where it is published.
        let is_fleets =
            |path: &Path| plan.fleet_layers().is_some_and(|it| path.starts_with(&it.folder));
        let files = plan
            .files()
            .filter(|(path, _)| (!plan.is_built_in() || *path == made) && !is_fleets(path));
        let file = |(path, text): (&Path, &Arc<str>)| FileInForce {
            name: absolute(path),
            kind: match path {
                path if path == made => FileKind::Dashboard,
                path if path == plan.source => FileKind::Main,
                _ => FileKind::Included,
            },
            target: path.canonicalize().ok(),
            path: path.into(),
            text: Arc::clone(text),
        };
        Self { files: files.map(file).collect() }
    }

    /// The same with the dashboard's file where nothing was set there yet: it is written as an
    /// empty one would be.
    #[must_use]
    pub fn with_dashboard(mut self, state_dir: &Path) -> Self {
        if self.files.iter().all(|file| file.kind != FileKind::Dashboard) {
            let path = state_dir.join(MADE_FILE);
            self.files.push(FileInForce {
                name: absolute(&path),
                text: "".into(),
                kind: FileKind::Dashboard,
                target: None,
                path,
            });
        }
        self
    }

    /// The files.
    pub fn iter(&self) -> impl Iterator<Item = &FileInForce> {
        self.files.iter()
    }

    /// The file of this name.
    pub fn find(&self, name: &str) -> Option<&FileInForce> {
        self.files.iter().find(|file| file.name == name)
    }

    /// The file that was named; none where the built-in configuration runs.
    pub fn main(&self) -> Option<&FileInForce> {
        self.files.iter().find(|file| file.kind == FileKind::Main)
    }

    /// Judges a plan as it would be with other texts: what `config` says of it. Files without one
    /// count as they are on disk.
    ///
    /// # Errors
    /// Every complaint.
    pub fn judge(
        &self,
        running: &Plan,
        made: Option<MadeSettings>,
        drafts: &[(&FileInForce, &str)],
    ) -> Result<Plan, Vec<FileComplaint>> {
        let draft = |kind: FileKind| drafts.iter().find(|(file, _)| file.kind == kind);
        let made = match (draft(FileKind::Dashboard), made) {
            (Some((file, text)), _) => {
                Some(MadeSettings { path: file.path.clone(), text: (*text).to_owned() })
            }
            (None, made) => made,
        };
        let now = self.main().and_then(|main| main.read_now().ok());
        let main = draft(FileKind::Main).map(|(_, text)| (*text).to_owned()).or(now);
        let main = main.as_deref().unwrap_or(running.text());
        let included = drafts.iter().filter(|(file, _)| file.kind == FileKind::Included);
        let included = included.map(|(file, text)| (file.path.clone(), (*text).to_owned()));
        let layers = ConfigLayers::of(running, made.as_ref());
        config::parse_draft(main, &running.source, layers, &included.collect())
    }
}

impl FileInForce {
    /// Text of the file now.
    ///
    /// # Errors
    /// Not readable, no plain file, too large, no UTF-8, or elsewhere than when it was loaded.
    pub fn read_now(&self) -> io::Result<String> {
        let target = match self.path.canonicalize() {
            Err(why) if why.kind() == ErrorKind::NotFound && self.is_new() => {
                return Ok(String::new());
            }
            target => target?,
        };
        if self.target.as_ref() != Some(&target) && !self.is_new() {
            return Err(io::Error::other("it leads elsewhere than when it was loaded"));
        }
        let file = File::open(&target)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is no plain file"));
        }
        let mut text = String::new();
        file.take(TEXT_BYTES_MAX + 1).read_to_string(&mut text)?;
        if text.len() as u64 > TEXT_BYTES_MAX {
            return Err(io::Error::other("it is larger than 4 MiB"));
        }
        Ok(text)
    }

    /// `true` for the dashboard's file that was not there.
    fn is_new(&self) -> bool {
        self.kind == FileKind::Dashboard && self.target.is_none()
    }

    /// The file as clients are told of it.
    pub fn info(&self, rule: &EditRule) -> ConfigFileInfo {
        let read = self.read_now();
        let fixed = self.refusal(rule, &read);
        let kind = match self.kind {
            FileKind::Main => "main",
            FileKind::Included => "included",
            FileKind::Dashboard => "dashboard",
        };
        let (fixed, remedy) = fixed.map(|(why, remedy)| (why, remedy.to_owned())).unzip();
        let text = read.ok();
        ConfigFileInfo {
            path: self.name.clone(),
            kind: kind.into(),
            revision: text.as_deref().map(revision).unwrap_or_default(),
            changed: text.as_deref() != Some(&*self.text),
            text,
            fixed,
            remedy,
        }
    }

    /// Refusal to write it, if there is one.
    pub fn check_writable(&self, rule: &EditRule) -> Result<(), SettingsRefusal> {
        match self.refusal(rule, &self.read_now()) {
            Some((why, remedy)) => Err(SettingsRefusal::Fixed { why: why.into(), remedy }),
            None => Ok(()),
        }
    }

    /// Reason why it cannot be written, with what to do about it.
    fn refusal(
        &self,
        rule: &EditRule,
        read: &io::Result<String>,
    ) -> Option<(String, &'static str)> {
        let told = |why: String, remedy: &'static str| Some((why, remedy));
        if let Err(why) = read {
            let remedy = "see to the file, then reload (`tidegate ctl reload`)";
            return told(format!("{} cannot be read: {why}", self.name), remedy);
        }
        if let (EditRule::Refused(why), FileKind::Main | FileKind::Included) = (rule, self.kind) {
            return match why {
                SettingsRefusal::Fixed { why, remedy } => told(why.to_string(), remedy),
                other => told(other.to_string(), ""),
            };
        }
        let folder = self.target.as_deref().unwrap_or(&self.path).parent()?;
        if access(folder, Access::WRITE_OK).is_err() {
            let why = format!("Tidegate's user may not write in {}", folder.display());
            return told(why, "give the user that Tidegate runs as the right to, and own the file");
        }
        None
    }
}

/// A path that means the same in every folder.
pub fn absolute(path: &Path) -> String {
    std::path::absolute(path).as_deref().unwrap_or(path).display().to_string()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use std::fs;
    use test_support::ScratchFolder;

    #[test]
    fn only_files_of_the_configuration_have_a_name_and_a_link_to_elsewhere_is_not_read() {
        let folder = ScratchFolder::new();
        let (main, more) = (folder.path().join("t.yaml"), folder.path().join("more.yaml"));
        fs::write(&main, "include: [more.yaml]\n").unwrap();
        fs::write(&more, "admin: { listen: 127.0.0.1:0 }\n").unwrap();
        let plan = config::load(&main, ConfigLayers::default()).unwrap();
        let files = FilesInForce::of(&plan, folder.path());
        let kinds: Vec<_> = files.iter().map(|it| it.kind).collect();
        assert_eq!(kinds, [FileKind::Main, FileKind::Included]);
        let name = more.display().to_string();
        let file = files.find(&name).unwrap();
        assert_eq!(file.info(&EditRule::Allowed).fixed, None);
        assert!(!file.info(&EditRule::Allowed).changed);
        for stranger in [format!("{name}/../t.yaml"), "more.yaml".into(), String::new()] {
            assert!(files.find(&stranger).is_none(), "{stranger}");
        }
        let secret = folder.path().join("secret");
        fs::write(&secret, "s3cret").unwrap();
        fs::remove_file(&more).unwrap();
        std::os::unix::fs::symlink(&secret, &more).unwrap();
        let told = file.info(&EditRule::Allowed);
        assert_eq!((told.text, told.changed), (None, true));
        assert!(told.fixed.unwrap().contains("leads elsewhere"));
    }

    #[test]
    fn texts_of_several_files_are_judged_together_and_none_is_touched() {
        let folder = ScratchFolder::new();
        let (main, more) = (folder.path().join("t.yaml"), folder.path().join("more.yaml"));
        fs::write(&main, "include: [more.yaml]\nuser: a\n").unwrap();
        fs::write(&more, "admin: { listen: 127.0.0.1:0 }\n").unwrap();
        let plan = config::load(&main, ConfigLayers::default()).unwrap();
        let files = FilesInForce::of(&plan, folder.path());
        let (first, second) = (files.main().unwrap(), files.iter().nth(1).unwrap());
        let made = files.judge(&plan, None, &[(second, "user: b\n")]).unwrap_err();
        assert_eq!((&made[0].file, made[0].line), (&more, 1), "{made:?}");
        let drafts = [(first, "include: [more.yaml]\n"), (second, "user: b\n")];
        let made = files.judge(&plan, None, &drafts).unwrap();
        assert_eq!(made.file.user.as_deref(), Some("b"));
        assert_eq!(fs::read_to_string(&more).unwrap(), "admin: { listen: 127.0.0.1:0 }\n");
    }

    #[test]
    fn the_dashboards_file_may_be_written_before_it_is_there() {
        let folder = ScratchFolder::new();
        let main = folder.path().join("t.yaml");
        fs::write(&main, "user: a\n").unwrap();
        let plan = config::load(&main, ConfigLayers::default()).unwrap();
        let state = folder.path().join("state");
        fs::create_dir(&state).unwrap();
        let files = FilesInForce::of(&plan, &state).with_dashboard(&state);
        let file = files.iter().nth(1).unwrap();
        let refused = || EditRule::Refused(SettingsRefusal::Wrong("off".into()));
        let info = file.info(&refused());
        assert_eq!((info.text.as_deref(), info.fixed, info.changed), (Some(""), None, false));
        assert_eq!(info.revision, revision(""));
        let list = "policy: { lists: [{ name: made, rules: [\"||a.example^\"] }] }\n";
        let judged = files.judge(&plan, None, &[(file, list)]).unwrap();
        assert_eq!(judged.file.policy.lists.len(), 1);
        // Somebody was quicker: that is seen by its revision.
        fs::write(state.join(MADE_FILE), list).unwrap();
        assert_eq!(file.info(&refused()).revision, revision(list));
        let again = FilesInForce::of(&judged, &state).with_dashboard(&state);
        assert_eq!(again.iter().count(), 2);
    }
}
