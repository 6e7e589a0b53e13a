//! Files that a configuration was read from, and texts of it that nobody is to read.

use crate::FileComplaint;
use crate::shown::HIDDEN;
use crate::yaml::TextPosition;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use vocab::Complaint;

/// Files of a configuration: the one that was named, then those that it includes.
#[derive(Clone, Debug)]
pub(crate) struct SourceFiles {
    paths: Vec<PathBuf>,
    /// Texts of those that it includes, as they were read.
    texts: Vec<Arc<str>>,
    /// Files whose content became a value.
    pub(crate) secret_files: Vec<PathBuf>,
    /// Values that came from such files.
    secrets: Vec<String>,
    /// Files of the fleet's bundle: their first number, the number after the last, their folder.
    fleet: Option<(u16, u16, PathBuf)>,
}

impl SourceFiles {
    /// The file `path` alone.
    pub(crate) fn only(path: &Path) -> Self {
        Self {
            paths: vec![path.into()],
            texts: Vec::new(),
            secret_files: Vec::new(),
            secrets: Vec::new(),
            fleet: None,
        }
    }

    /// Takes another file in; its number in positions.
    pub(crate) fn add(&mut self, path: PathBuf) -> u16 {
        self.paths.push(path);
        self.texts.push("".into());
        u16::try_from(self.paths.len() - 1).unwrap_or(u16::MAX)
    }

    /// Takes in the text of the file with this number, which is one that was added.
    pub(crate) fn set_text(&mut self, number: u16, text: &str) {
        let added = usize::from(number).checked_sub(1);
        if let Some(place) = added.and_then(|at| self.texts.get_mut(at)) {
            *place = text.into();
        }
    }

    /// Says that the files that were added since there were so many are a bundle's.
    pub(crate) fn mark_fleet(&mut self, included: usize, folder: &Path) {
        let number = |count: usize| u16::try_from(count).unwrap_or(u16::MAX);
        let (first, end) = (number(included + 1), number(self.paths.len()));
        self.fleet = Some((first, end, folder.into()));
    }

    /// The folder of the bundle that a position is in; none elsewhere.
    pub(crate) fn fleet_folder(&self, position: TextPosition) -> Option<&Path> {
        let (first, end, folder) = self.fleet.as_ref()?;
        (*first..*end).contains(&position.file).then_some(folder)
    }

    /// Files that it includes, each with the text that was read.
    pub(crate) fn included_texts(&self) -> impl Iterator<Item = (&Path, &Arc<str>)> {
        self.included().iter().map(PathBuf::as_path).zip(&self.texts)
    }

    /// Takes a value in that is not to be shown.
    pub(crate) fn add_secret(&mut self, file: PathBuf, value: &str) {
        self.secret_files.push(file);
        if !value.is_empty() {
            self.secrets.push(value.to_owned());
        }
    }

    /// Files that it includes.
    pub(crate) fn included(&self) -> &[PathBuf] {
        &self.paths[1..]
    }

    /// The file of a position.
    pub(crate) fn path(&self, position: TextPosition) -> &Path {
        self.paths.get(usize::from(position.file)).unwrap_or(&self.paths[0])
    }

    /// A complaint with its place, and without secrets.
    pub(crate) fn place(&self, position: TextPosition, mut complaint: Complaint) -> FileComplaint {
        complaint.message = self.hide(complaint.message);
        complaint.remedy = complaint.remedy.map(|remedy| self.hide(remedy));
        FileComplaint::at(self.path(position), position, complaint)
    }

    /// A text with secrets hidden.
    pub(crate) fn hide(&self, mut text: String) -> String {
        for secret in &self.secrets {
            if text.contains(secret.as_str()) {
                text = text.replace(secret.as_str(), HIDDEN);
            }
        }
        text
    }

    /// A value with secrets hidden.
    pub(crate) fn hide_in(&self, value: serde_json::Value) -> serde_json::Value {
        use serde_json::Value as Json;
        match value {
            Json::String(text) => Json::String(self.hide(text)),
            Json::Array(items) => items.into_iter().map(|it| self.hide_in(it)).collect(),
            Json::Object(entries) => {
                entries.into_iter().map(|(key, it)| (key, self.hide_in(it))).collect()
            }
            Json::Number(number) => match self.hide(number.to_string()) {
                text if text == number.to_string() => Json::Number(number),
                text => Json::String(text),
            },
            Json::Null | Json::Bool(_) => value,
        }
    }
}
