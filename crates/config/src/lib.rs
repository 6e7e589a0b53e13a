//! A configuration file, from text to [`Plan`].
//!
//! Text is read into a tree that knows every place ([`yaml`]), held against the schema of the
//! parts' own settings ([`shape`]), read by serde, and checked by each part and across parts
//! ([`plan`]). All complaints come out at once, with file, line, column and remedy; a `Plan`
//! exists only when there are none. What Polipo and pixelserv-tls were told is said in
//! our words ([`from_polipo`], [`from_pixelserv`]). No sockets, no tasks: this crate reads and
//! checks.

mod difference;
mod door_sections;
mod draft;
mod edit;
mod file;
mod foreign;
mod formats;
mod hinsightd;
mod include;
mod layers;
mod made;
mod own_certificates;
mod perlbal;
mod pixelserv;
mod plan;
mod polipo;
mod rewrite;
mod shape;
mod shown;
mod sources;
mod variables;
mod written;
mod yaml;

pub use difference::{DIFFERENCES_MAX, EffectTime, SettingDifference, differences};
pub use door_sections::{DOOR_SECTIONS, DoorSection, PlacedCertificate, door_section};
pub use draft::DraftTexts;
pub use edit::{
    EditRefusal, PathError, SettingChange, SettingPath, ValueError, WrittenValue, edit_text,
};
pub use file::{ConfigFile, DEFAULT_YAML, LandlockMode};
pub use hinsightd::{ImportedHinsightd, from_hinsightd};
pub use layers::ConfigLayers;
pub use made::{MADE_FILE, MadeChange, MadeItems, MadeRefusal, MadeSettings};
pub use perlbal::{PerlbalSurroundings, from_perlbal};
pub use pixelserv::{OnwardLink, PixelservOptions, from_pixelserv};
pub use plan::{ConfigLanguage, Plan, schema};
pub use polipo::{ReadFile, from_polipo};
pub use rewrite::{RewriteError, rewrite};
pub use written::{WrittenSetting, find_setting};
pub use yaml::YamlDocument;

use crate::sources::SourceFiles;
use crate::variables::ProcessSurroundings;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use std::fmt;
use std::io;
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

/// Reads and checks the file at `path`, with the layers beside it.
pub fn load(path: &Path, layers: ConfigLayers<'_>) -> Result<Plan, Vec<FileComplaint>> {
    match std::fs::read(path) {
        Ok(bytes) => match String::from_utf8(bytes) {
            Ok(text) => parse_with(&text, path, layers),
            Err(error) => Err(vec![whole_file(
                path,
                format!("byte {} is not UTF-8", error.utf8_error().valid_up_to()),
                "save the file as UTF-8",
            )]),
        },
        Err(error) => {
            let remedy = match error.kind() {
                io::ErrorKind::PermissionDenied => {
                    "ask as a user who may read it, such as by sudo, or name another with --config"
                }
                _ => "name a configuration with --config, or leave it out for the built-in one",
            };
            let message = format!("the file cannot be read: {error}");
            Err(vec![whole_file(path, message, remedy)])
        }
    }
}

/// The plan of the embedded default configuration.
///
/// # Panics
/// Never in a released binary: a test loads it.
pub fn default_plan() -> Plan {
    built_in(ConfigLayers::default()).expect("the embedded default is tested")
}

/// The embedded default configuration, with the layers beside it.
pub fn built_in(layers: ConfigLayers<'_>) -> Result<Plan, Vec<FileComplaint>> {
    parse_with(DEFAULT_YAML, Path::new("built-in"), layers)
}

/// Reads and checks a configuration; `path` names it in complaints and anchors relative paths.
pub fn parse(text: &str, path: &Path) -> Result<Plan, Vec<FileComplaint>> {
    parse_with(text, path, ConfigLayers::default())
}

/// Reads and checks a configuration, with the layers beside it; one in another program's language
/// stands alone.
pub fn parse_with(
    text: &str,
    path: &Path,
    layers: ConfigLayers<'_>,
) -> Result<Plan, Vec<FileComplaint>> {
    parse_draft(text, path, layers, &DraftTexts::default())
}

/// The same with texts in the place of those that included files have.
pub fn parse_draft(
    text: &str,
    path: &Path,
    layers: ConfigLayers<'_>,
    drafts: &DraftTexts,
) -> Result<Plan, Vec<FileComplaint>> {
    let mut node = tree(text, path)?;
    let mut sources = SourceFiles::only(path);
    let (language, made) = if foreign::is_foreign(&node, path) {
        let made = foreign::file(&node, path).and_then(|file| plan::plan(file, path, &node));
        (ConfigLanguage::Foreign, made)
    } else {
        include::take_in(&mut node, path, drafts, &mut sources)?;
        if let Some(fleet) = layers.fleet {
            layers::take_fleet(&mut node, fleet, &mut sources)?;
        }
        if let Some(made) = layers.made {
            include::take_made(&mut node, made, &mut sources)?;
        }
        let base = path.parent().unwrap_or(Path::new(""));
        variables::put_in(&mut node, base, &ProcessSurroundings, &mut sources)?;
        let file = typed::<ConfigFile>(&mut node, schema(), &sources)?;
        (ConfigLanguage::Own, plan::plan(file, path, &node))
    };
    match made {
        Ok(plan) => Ok(plan.read_from(text, language, sources).with_fleet(layers.fleet)),
        Err(found) => Err(in_order(&sources, &node, found)),
    }
}

/// Reads data of another kind than a configuration as strictly: unknown keys and wrong types are
/// told by place, all at once. `path` names it in complaints.
pub fn read_data<T: DeserializeOwned + JsonSchema>(
    text: &str,
    path: &Path,
) -> Result<T, Vec<FileComplaint>> {
    let mut node = tree(text, path)?;
    typed(&mut node, &schemars::schema_for!(T).to_value(), &SourceFiles::only(path))
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
    sources: &SourceFiles,
) -> Result<T, Vec<FileComplaint>> {
    let placed = |shape::PlacedComplaint { position, path, message, remedy }| {
        (position, vocab::Complaint { path, message, remedy })
    };
    let mut found: Vec<_> = shape::check(node, schema).into_iter().map(placed).collect();
    if found.is_empty() {
        match serde_path_to_error::deserialize::<_, T>(node.to_json()) {
            Ok(data) => return Ok(data),
            Err(error) => {
                let at = error.path().to_string().replace(['[', ']'], ".").replace("..", ".");
                let at = at.trim_matches('.').to_owned();
                let complaint = vocab::Complaint::new(at.clone(), error.into_inner().to_string());
                found.push((node.locate(&at), complaint));
            }
        }
    }
    Err(placed_in_order(sources, found))
}

/// Complaints of parts with their places, in the order of the file.
fn in_order(
    sources: &SourceFiles,
    node: &yaml::YamlNode,
    found: Vec<vocab::Complaint>,
) -> Vec<FileComplaint> {
    let place = |found: vocab::Complaint| (node.locate(&found.path), found);
    placed_in_order(sources, found.into_iter().map(place).collect())
}

fn placed_in_order(
    sources: &SourceFiles,
    mut found: Vec<(yaml::TextPosition, vocab::Complaint)>,
) -> Vec<FileComplaint> {
    found.sort_by_key(|(position, _)| *position);
    found.into_iter().map(|(position, found)| sources.place(position, found)).collect()
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

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod tests {
    use super::*;
    use std::fs;

    /// A folder of files, and the complaints about its `main.yaml`.
    fn loaded(name: &str, files: &[(&str, &str)]) -> Result<Plan, Vec<String>> {
        let folder = std::env::temp_dir().join(format!("tidegate-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        for (name, text) in files {
            let file = folder.join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        let loaded = load(&folder.join("main.yaml"), ConfigLayers::default());
        let folder = format!("{}/", folder.display());
        let told = loaded.map_err(|wrong| {
            wrong.iter().map(|it| it.to_string().replace(&folder, "")).collect::<Vec<_>>()
        });
        fs::remove_dir_all(&folder).unwrap();
        told
    }

    #[test]
    fn included_files_add_sections_and_items() {
        let plan = loaded(
            "include",
            &[
                (
                    "main.yaml",
                    "include: [\"conf.d/*.yaml\"]\nweb:\n  - { listen: [\"http://127.0.0.1:1\"], \
                     root: a }\nadmin: { listen: 127.0.0.1:2 }\n",
                ),
                (
                    "conf.d/2.yaml",
                    "web: [{ listen: [\"http://127.0.0.1:1\"], hosts: [c], root: c }]",
                ),
                (
                    "conf.d/1.yaml",
                    "web:\n  - { listen: [\"http://127.0.0.1:1\"], hosts: [b], root: b }\nadmin: { hosts: [x] }",
                ),
                ("conf.d/3.yml", "not: read"),
            ],
        );
        let plan = plan.unwrap();
        let roots: Vec<&str> = plan.file.web.iter().map(|site| site.root.as_str()).collect();
        assert_eq!(roots, ["a", "b", "c"]);
        assert_eq!(plan.file.admin.hosts.len(), 1);
        assert_eq!(plan.included_files().len(), 2);
    }

    #[test]
    fn faults_of_included_files_are_named_with_their_own_lines() {
        let wrong = loaded(
            "include-wrong",
            &[
                ("main.yaml", "include: [a.yaml, b.yaml, none.yaml, \"**/[\"]\nuser: one\n"),
                ("a.yaml", "\nuser: two\nledger: 3\n"),
                ("b.yaml", "a: [1\nb: 2\n"),
            ],
        );
        let wrong = wrong.unwrap_err();
        assert_eq!(
            wrong[0],
            "a.yaml:2:7: user: is set already, in main.yaml:2; set it in one of the files"
        );
        assert!(wrong[1].starts_with("b.yaml:2:2: this is no YAML:"), "{wrong:?}");
        assert!(wrong[2].starts_with("none.yaml:1:1: the file cannot be read:"), "{wrong:?}");
        assert!(
            wrong[3].starts_with("main.yaml:1:38: include: \"**/[\" is no pattern:"),
            "{wrong:?}"
        );
        assert_eq!(wrong.len(), 4);
        let nested = loaded(
            "include-nested",
            &[("main.yaml", "include: [a.yaml]"), ("a.yaml", "include: [b.yaml]")],
        );
        assert!(
            nested.unwrap_err()[0].starts_with("a.yaml:1:1: an included file includes nothing")
        );
        let typed = loaded(
            "include-typed",
            &[
                ("main.yaml", "include: [a.yaml]\nweb: []\n"),
                ("a.yaml", "\nweb:\n  - { rot: x }\n"),
            ],
        );
        assert!(typed.unwrap_err()[0].starts_with("a.yaml:3:7: web.0.rot: "));
    }

    #[test]
    fn what_came_from_a_file_is_not_told() {
        let yaml =
            "proxy: { parent: \"${file:parent}\" }\ngateway: { listen: [\"${file:listen}\"] }\n";
        let wrong = loaded(
            "secret",
            &[
                ("main.yaml", yaml),
                ("parent", "http://ann:hunter2@127.0.0.1:1\n"),
                ("listen", "hunter3 is no address"),
            ],
        );
        let wrong = wrong.unwrap_err().join("\n");
        assert!(wrong.contains("main.yaml:2:") && !wrong.contains("hunter"), "{wrong}");
    }
}
