//! Settings made in the dashboard: lists that are added, removed and switched off, and own rules.
//!
//! They stand in a file of the state folder that is part of the configuration, own rules in another
//! beside it ([`config::MadeSettings`]). A change is judged as `check` does, written, and taken
//! over by a reload; what the reload refuses is taken back. Called by the admin API.

use super::RunningApp;
use super::settings::complaints;
use admin::{ChangeAuthor, ListChange, SettingsRefusal};
use admin_api::{OwnRules, OwnRulesUpdate, ReloadOutcome};
use config::{
    ConfigLanguage, ConfigLayers, FileComplaint, MadeChange, MadeItems, MadeRefusal, MadeSettings,
    Plan,
};
use config_history::revision;
use serde_json::json;
use state_folder::replace_file;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

/// Name of the list of own rules.
pub(super) const OWN_LIST: &str = "own-rules";
/// The file of it in the state folder.
const OWN_FILE: &str = "own-rules.txt";
/// Largest text of own rules, in bytes.
const OWN_BYTES_MAX: u64 = 4 << 20;

impl RunningApp {
    /// Settings made in the dashboard, as their file has them now.
    pub(super) fn made_settings(&self) -> Result<Option<MadeSettings>, FileComplaint> {
        MadeSettings::read(self.state.path())
    }

    /// The same for a change, which is refused where it cannot be read.
    pub(super) fn made_before(&self) -> Result<Option<MadeSettings>, SettingsRefusal> {
        self.made_settings().map_err(|found| complaints([found.to_string()].into_iter()))
    }

    /// Adds a list, removes one that was added so, or switches one off or on.
    pub(super) fn change_lists(
        self: &Arc<Self>,
        change: &ListChange,
        author: &ChangeAuthor,
    ) -> Result<ReloadOutcome, SettingsRefusal> {
        let change = list_change(change);
        let _turn = self.editing.lock().unwrap_or_else(PoisonError::into_inner);
        self.change_made(&[change], author)
    }

    /// Own rules as they are.
    pub(super) fn own_rules(&self) -> Result<OwnRules, SettingsRefusal> {
        let text = read_own(&self.own_path()).map_err(|why| self.unreadable(&why))?;
        Ok(OwnRules { revision: revision(&text), text })
    }

    /// Replaces own rules, unless somebody else has meanwhile.
    pub(super) fn set_own_rules(
        self: &Arc<Self>,
        sent: &OwnRulesUpdate,
        author: &ChangeAuthor,
    ) -> Result<ReloadOutcome, SettingsRefusal> {
        let _turn = self.editing.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.own_rules()?;
        if before.revision != sent.revision {
            return Err(SettingsRefusal::Fixed {
                why: "the rules were changed meanwhile".into(),
                remedy: "ask for them again, and make your change there",
            });
        }
        let made = self.made_before()?;
        let author = ChangeAuthor { why: "own rules".into(), ..author.clone() };
        let path = self.own_path();
        write(&path, &sent.text)?;
        let is_listed = has_own_list(made.as_ref());
        let done = match (is_listed, sent.text.trim().is_empty()) {
            (false, false) => {
                let list = json!({ "name": OWN_LIST, "path": config_history::absolute(&path) });
                self.change_made(&[MadeChange::Add(MadeItems::Lists, list)], &author)
            }
            (true, true) => {
                self.change_made(&[MadeChange::Remove(MadeItems::Lists, OWN_LIST.into())], &author)
            }
            (true, false) | (false, true) => {
                self.reload().map_err(|found| complaints(found.into_iter()))
            }
        };
        if done.is_err() {
            write(&path, &before.text)?;
        }
        done
    }

    fn own_path(&self) -> PathBuf {
        self.state.path().join(OWN_FILE)
    }

    /// Makes changes in the file, all or none, and takes it over.
    pub(super) fn change_made(
        self: &Arc<Self>,
        changes: &[MadeChange],
        author: &ChangeAuthor,
    ) -> Result<ReloadOutcome, SettingsRefusal> {
        self.check_settled()?;
        let before = self.made_before()?;
        let (made, _) = self.made_with(before.as_ref(), changes)?;
        write(&made.path, &made.text)?;
        self.reload_as(author).map(|(done, _)| done).map_err(|mut found| {
            let back = match &before {
                Some(before) => replace_file(&before.path, before.text.as_bytes()),
                None => std::fs::remove_file(&made.path),
            };
            if let Err(why) = back {
                found.push(format!("{} could not be put back: {why}", made.path.display()));
            }
            complaints(found.into_iter())
        })
    }

    /// Settings of the dashboard as they would be with changes, and the whole as it is judged.
    pub(super) fn made_with(
        &self,
        before: Option<&MadeSettings>,
        changes: &[MadeChange],
    ) -> Result<(MadeSettings, Plan), SettingsRefusal> {
        let plan = self.plan();
        if self.setup.is_written_by_command() || plan.language() == ConfigLanguage::Foreign {
            return Err(SettingsRefusal::Fixed {
                why: "this configuration takes no settings of the dashboard".into(),
                remedy: "start Tidegate with a configuration of its own language",
            });
        }
        let mut made = before.cloned().unwrap_or_else(|| MadeSettings::blank(self.state.path()));
        for change in changes {
            made.text = made.changed(change).map_err(refused)?;
        }
        let judged =
            config::parse_with(plan.text(), &plan.source, ConfigLayers::of(&plan, Some(&made)));
        let judged = judged.map_err(|found| complaints(found.iter().map(ToString::to_string)))?;
        if let Some(hidden) = super::profile_order::hidden(&judged, &made, changes) {
            return Err(complaints([hidden].into_iter()));
        }
        Ok((made, judged))
    }

    fn unreadable(&self, why: &io::Error) -> SettingsRefusal {
        SettingsRefusal::Fixed {
            why: format!("{} cannot be read: {why}", self.own_path().display()).into(),
            remedy: "see to the file in the state folder, then try again",
        }
    }
}

/// A change of the lists, as the file of the dashboard takes it.
pub(super) fn list_change(change: &ListChange) -> MadeChange {
    match change.clone() {
        ListChange::Add(list) => MadeChange::Add(MadeItems::Lists, list),
        ListChange::Remove(name) => MadeChange::Remove(MadeItems::Lists, name),
        ListChange::SwitchOff(name) => MadeChange::SwitchOff(name),
        ListChange::SwitchOn(name) => MadeChange::SwitchOn(name),
    }
}

/// True if the list of own rules is among the lists.
pub(super) fn has_own_list(made: Option<&MadeSettings>) -> bool {
    made.is_some_and(|made| made.names(MadeItems::Lists).iter().any(|it| it == OWN_LIST))
}

pub(super) fn write(path: &Path, text: &str) -> Result<(), SettingsRefusal> {
    replace_file(path, text.as_bytes()).map_err(|why| SettingsRefusal::Fixed {
        why: format!("{} cannot be written: {why}", path.display()).into(),
        remedy: "see to the disk and the state folder, then try again",
    })
}

fn refused(why: MadeRefusal) -> SettingsRefusal {
    match why {
        MadeRefusal::NotMadeHere(_) => SettingsRefusal::Fixed {
            why: why.into(),
            remedy: "it is set in a file: change it there, or switch it off here",
        },
        MadeRefusal::Edit(_) | MadeRefusal::Value(_) => SettingsRefusal::Wrong(why.into()),
    }
}

fn read_own(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    match std::fs::File::open(path) {
        Ok(file) => file.take(OWN_BYTES_MAX).read_to_string(&mut text).map(|_| text),
        Err(why) if why.kind() == ErrorKind::NotFound => Ok(text),
        Err(why) => Err(why),
    }
}
