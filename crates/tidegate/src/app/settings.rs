//! Settings of the running program: shown, and changed in its configuration's file.
//!
//! A change is made in the text, the text judged as `check` does, the file replaced, and a reload
//! takes it over; what the reload refuses is taken back. It refuses files that somebody else has
//! changed meanwhile, and all files unless `admin.config_edits` says `on`. Called by the admin API.

use super::RunningApp;
use admin::{ChangeAuthor, ConfigEdits, ControlRefusal, SettingsRefusal};
use admin_api::{ConfigText, ReloadOutcome, SettingEdit};
use config::{
    ConfigLanguage, ConfigLayers, Plan, RewriteError, SettingChange, SettingPath, WrittenValue,
};
use config_history::{FileChange, WriteRefusal, WrittenFiles};
use serde_json::Value as Json;
use std::path::Path;
use std::sync::{Arc, PoisonError};

impl RunningApp {
    pub(super) fn plan(&self) -> Plan {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).plan.clone()
    }

    /// The configuration that runs.
    pub(super) fn config_text(&self) -> ConfigText {
        let plan = self.plan();
        let file = (!plan.is_built_in()).then(|| config_history::absolute(&plan.source));
        ConfigText { file, text: plan.shown_text() }
    }

    /// One setting as it is in force.
    pub(super) fn setting(&self, path: &str) -> Result<Json, ControlRefusal> {
        let found = self.plan().shown_value(&SettingPath::parse(path)?);
        found.ok_or_else(|| format!("there is no setting {path}").into())
    }

    /// Changes settings in the file, all or none, and takes it over.
    pub(super) fn change_settings(
        self: &Arc<Self>,
        edits: &[SettingEdit],
        author: &ChangeAuthor,
    ) -> Result<ReloadOutcome, SettingsRefusal> {
        let mut changes = Vec::with_capacity(edits.len());
        for edit in edits {
            let change = change_of(edit)
                .map_err(|why| SettingsRefusal::Wrong(format!("{}: {why}", edit.path).into()))?;
            changes.push(change);
        }
        // One at a time: each begins with what the one before it has left.
        let _turn = self.editing.lock().unwrap_or_else(PoisonError::into_inner);
        self.check_settled()?;
        let plan = self.plan();
        self.check_file(&plan)?;
        let mut text = plan.text().to_owned();
        for (path, change) in &changes {
            let edited = config::edit_text(&text, path, change);
            text = edited.map_err(|why| SettingsRefusal::Wrong(why.into()))?;
        }
        let made = self.made_before()?;
        let judged =
            config::parse_with(&text, &plan.source, ConfigLayers::of(&plan, made.as_ref()));
        judged.map_err(|found| complaints(found.iter().map(ToString::to_string)))?;
        let (path, before) = (plan.source.clone(), plan.text().to_owned());
        let changes = vec![FileChange { path, before, after: text }];
        self.write_and_reload(Some(&plan.source), changes, author).map(|(done, _)| done)
    }

    /// Writes files and takes them over; what the reload refuses is put back.
    pub(super) fn write_and_reload(
        self: &Arc<Self>,
        main: Option<&Path>,
        changes: Vec<FileChange>,
        author: &ChangeAuthor,
    ) -> Result<(ReloadOutcome, Option<u64>), SettingsRefusal> {
        let written = write_files(main, changes)?;
        match self.reload_as(author) {
            Ok(done) => {
                written.keep();
                Ok(done)
            }
            Err(mut found) => {
                found.extend(written.take_back());
                Err(complaints(found.into_iter()))
            }
        }
    }

    /// Refuses files that are not to be changed.
    pub(super) fn check_file(&self, plan: &Plan) -> Result<(), SettingsRefusal> {
        let fixed = |why: &str, remedy| Err(SettingsRefusal::Fixed { why: why.into(), remedy });
        if plan.is_built_in() {
            return fixed(
                "the built-in configuration runs, which has no file",
                "write a file, and start Tidegate with --config",
            );
        }
        if self.setup.is_written_by_command() {
            return fixed(
                "a command has written this configuration, which has no file",
                "start Tidegate with a configuration",
            );
        }
        if plan.language() == ConfigLanguage::Foreign {
            return fixed(
                "the configuration is written in the language of mosdns or OxiDNS",
                "change the file in an editor, then reload",
            );
        }
        if self.admin.load().config_edits == ConfigEdits::Off {
            return fixed(
                "commands may not change the configuration's file",
                "write `config_edits: on` below `admin` and restart, or change the file in an \
                 editor and reload",
            );
        }
        Ok(())
    }
}

fn change_of(edit: &SettingEdit) -> Result<(SettingPath, SettingChange), ControlRefusal> {
    let path = SettingPath::parse(&edit.path)?;
    let change = match &edit.value {
        Some(value) => SettingChange::Set(WrittenValue::parse(value)?),
        None => SettingChange::Unset,
    };
    Ok((path, change))
}

pub(super) fn complaints(found: impl Iterator<Item = String>) -> SettingsRefusal {
    SettingsRefusal::Complaints(found.collect())
}

/// Writes files that are not in force yet.
pub(super) fn write_files(
    main: Option<&Path>,
    changes: Vec<FileChange>,
) -> Result<WrittenFiles, SettingsRefusal> {
    WrittenFiles::write(main, changes).map_err(not_replaced)
}

fn not_replaced(why: WriteRefusal) -> SettingsRefusal {
    let remedy = match &why {
        WriteRefusal::File(RewriteError::Changed(_)) => {
            "reload first (`tidegate ctl reload`), then change it again"
        }
        WriteRefusal::File(RewriteError::Unreadable(..)) => {
            "see to it that Tidegate's user can read it"
        }
        WriteRefusal::File(RewriteError::Unwritable(..)) | WriteRefusal::Mark(..) => {
            "give the user that Tidegate runs as the right to write the file's folder, and own the \
             file; or change it in an editor and reload"
        }
    };
    SettingsRefusal::Fixed { why: why.into(), remedy }
}
