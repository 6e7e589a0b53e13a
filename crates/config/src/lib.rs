//! A configuration file, from text to [`Plan`].
//!
//! Text is read into a tree that knows every place ([`yaml`]), held against the schema of the
//! parts' own settings ([`shape`]), read by serde, and checked by each part and across parts
//! ([`plan`]). All complaints come out at once, with file, line, column and remedy; a `Plan`
//! exists only when there are none. What Polipo and pixelserv-tls were told is said in
//! our words ([`from_polipo`], [`from_pixelserv`]). No sockets, no tasks: this crate reads and
//! checks.

mod door_sections;
mod edit;
mod file;
mod foreign;
mod formats;
mod hinsightd;
mod own_certificates;
mod pixelserv;
mod plan;
mod polipo;
mod rewrite;
mod shape;
mod shown;
mod yaml;
mod yaml_text;

pub use door_sections::{DOOR_SECTIONS, DoorSection, PlacedCertificate, door_section};
pub use edit::{
    EditRefusal, PathError, SettingChange, SettingPath, ValueError, WrittenValue, edit_text,
};
pub use file::{ConfigFile, DEFAULT_YAML, LandlockMode};
pub use hinsightd::{ImportedHinsightd, from_hinsightd};
pub use pixelserv::{OnwardLink, PixelservOptions, from_pixelserv};
pub use plan::{ConfigLanguage, Plan, schema};
pub use polipo::{ReadFile, from_polipo};
pub use rewrite::{RewriteError, rewrite};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use std::fmt;
use std::path::{Path, PathBuf};

/// One complaint in a file, printed as `file:line:column: path: message; remedy`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileComplaint {
    /// The file as it was named.
    pub file: PathBuf,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The setting, keys joined by dots; empty when the file as a whole is meant.
    pub path: String,
    /// The fault, in one sentence.
    pub message: String,
    /// The remedy, if one is known.
    pub remedy: Option<String>,
}

impl FileComplaint {
    fn at(file: &Path, place: yaml::TextPosition, complaint: vocab::Complaint) -> Self {
        Self {
            file: file.into(),
            line: place.line,
            column: place.column,
            path: complaint.path,
            message: complaint.message,
            remedy: complaint.remedy,
        }
    }
}

impl fmt::Display for FileComplaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: ", self.file.display(), self.line, self.column)?;
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)?;
        match &self.remedy {
            Some(remedy) => write!(f, "; {remedy}"),
            None => Ok(()),
        }
    }
}

/// Reads and checks the file at `path`.
pub fn load(path: &Path) -> Result<Plan, Vec<FileComplaint>> {
    match std::fs::read(path) {
        Ok(bytes) => match String::from_utf8(bytes) {
            Ok(text) => parse(&text, path),
            Err(error) => Err(vec![whole_file(
                path,
                format!("byte {} is not UTF-8", error.utf8_error().valid_up_to()),
                "save the file as UTF-8",
            )]),
        },
        Err(error) => Err(vec![whole_file(
            path,
            format!("the file cannot be read: {error}"),
            "name a configuration with --config, or leave it out for the built-in one",
        )]),
    }
}

/// The plan of the embedded default configuration.
///
/// # Panics
/// Never in a released binary: a test loads it.
pub fn default_plan() -> Plan {
    parse(DEFAULT_YAML, Path::new("built-in")).expect("the embedded default is tested")
}

/// Reads and checks a configuration; `path` names it in complaints and anchors relative paths.
pub fn parse(text: &str, path: &Path) -> Result<Plan, Vec<FileComplaint>> {
    let mut node = tree(text, path)?;
    if foreign::is_foreign(&node) {
        let made = foreign::file(&node, path).and_then(|file| plan::plan(file, path, &node));
        let made = made.map(|plan| plan.read_from(text, ConfigLanguage::Foreign));
        return made.map_err(|found| in_order(path, &node, found));
    }
    let file = typed::<ConfigFile>(&mut node, schema(), path)?;
    let made = plan::plan(file, path, &node);
    let made = made.map(|plan| plan.read_from(text, ConfigLanguage::Own));
    made.map_err(|found| in_order(path, &node, found))
}

/// Reads data of another kind than a configuration as strictly: unknown keys and wrong types are
/// told by place, all at once. `path` names it in complaints.
pub fn read_data<T: DeserializeOwned + JsonSchema>(
    text: &str,
    path: &Path,
) -> Result<T, Vec<FileComplaint>> {
    let mut node = tree(text, path)?;
    typed(&mut node, &schemars::schema_for!(T).to_value(), path)
}

fn tree(text: &str, path: &Path) -> Result<yaml::YamlNode, Vec<FileComplaint>> {
    yaml::read(text).map_err(|error| {
        let complaint = vocab::Complaint::new("", error.message);
        vec![FileComplaint::at(path, error.position, complaint)]
    })
}

/// A tree as what it is to be, or every difference.
fn typed<T: DeserializeOwned>(
    node: &mut yaml::YamlNode,
    schema: &serde_json::Value,
    path: &Path,
) -> Result<T, Vec<FileComplaint>> {
    let mut complaints: Vec<FileComplaint> = shape::check(node, schema)
        .into_iter()
        .map(|found| FileComplaint {
            file: path.into(),
            line: found.position.line,
            column: found.position.column,
            path: found.path,
            message: found.message,
            remedy: found.remedy,
        })
        .collect();
    if complaints.is_empty() {
        match serde_path_to_error::deserialize::<_, T>(node.to_json()) {
            Ok(data) => return Ok(data),
            Err(error) => {
                let at = error.path().to_string().replace(['[', ']'], ".").replace("..", ".");
                let at = at.trim_matches('.').to_owned();
                let complaint = vocab::Complaint::new(at.clone(), error.into_inner().to_string());
                complaints.push(FileComplaint::at(path, node.locate(&at), complaint));
            }
        }
    }
    complaints.sort_by_key(|complaint| (complaint.line, complaint.column));
    Err(complaints)
}

/// Complaints of parts with their places, in the order of the file.
fn in_order(
    path: &Path,
    node: &yaml::YamlNode,
    found: Vec<vocab::Complaint>,
) -> Vec<FileComplaint> {
    let place = |found: vocab::Complaint| FileComplaint::at(path, node.locate(&found.path), found);
    let mut complaints: Vec<_> = found.into_iter().map(place).collect();
    complaints.sort_by_key(|complaint| (complaint.line, complaint.column));
    complaints
}

fn whole_file(path: &Path, message: String, remedy: &str) -> FileComplaint {
    FileComplaint {
        file: path.into(),
        line: 1,
        column: 1,
        path: String::new(),
        message,
        remedy: Some(remedy.into()),
    }
}
