//! `fleet.yaml`: where bundles lie, who publishes, which edges there are. Changed with its comments
//! kept.

use config::{FileComplaint, SettingChange, SettingPath, WrittenValue, edit_text};
use durable_file::{DraftName, FileAccess, FileReplacement, NameDurability};
use fleet_bundle::{
    EdgeEntry, EdgeName, EdgeSeal, EdgeState, TrustedKeys, VerifyingKey, check_label,
};
use fleet_edge::BundlePlace;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The file in the folder of a fleet.
pub const FLEET_FILE: &str = "fleet.yaml";
/// Bytes of it.
const FILE_BYTES_MAX: u64 = 8 << 20;

/// A fleet as its file says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FleetFile {
    /// Where bundles lie: an absolute folder, an `http://` or `https://` address that takes PUT, or
    /// `s3://BUCKET/PREFIX?region=…`.
    pub bundles: String,
    /// Public keys of those who publish.
    pub keys: Vec<String>,
    /// Signatures by different keys that a revision must have.
    #[serde(default = "one")]
    pub signatures: u8,
    /// `true`: lists are compiled where they are published, and edges need not. `false` by default.
    #[serde(default)]
    pub compiled_lists: bool,
    /// Edges that have joined.
    #[serde(default)]
    pub edges: Vec<EdgeRecord>,
    /// Names that may join, each once.
    #[serde(default)]
    pub invitations: Vec<EdgeInvitation>,
}

/// One edge that has joined.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EdgeRecord {
    /// Name.
    pub name: String,
    /// `active`, `drained` or `revoked`.
    #[serde(default)]
    #[schemars(with = "String")]
    pub state: EdgeState,
    /// Labels.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Key by which it signs.
    pub key: String,
    /// Key to which secrets are sealed for it.
    pub seal: String,
}

/// A name that may join.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EdgeInvitation {
    /// The name.
    pub name: String,
    /// Labels that it will have.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Public half of the token's key.
    pub key: String,
}

/// A folder of a fleet with its file.
#[derive(Clone, Debug)]
pub struct FleetFolder {
    /// The folder, absolute.
    pub path: PathBuf,
    /// The file as it stands there.
    pub file: FleetFile,
    text: String,
}

/// Fault of the file.
#[derive(Debug)]
pub enum FleetFileFault {
    /// Cannot be read or written.
    File(PathBuf, io::Error),
    /// Complaints by place.
    Wrong(Vec<FileComplaint>),
    /// A value that is none, with its path.
    Value(String, String),
    /// There is no edge of this name.
    NoEdge(String),
    /// An edge or an invitation of this name is there.
    Taken(String),
    /// The file cannot be changed by place.
    Edit(String),
}

const fn one() -> u8 {
    1
}

impl FleetFolder {
    /// Reads the file of a folder.
    ///
    /// # Errors
    /// [`FleetFileFault`].
    pub fn open(path: &Path) -> Result<Self, FleetFileFault> {
        let name = path.join(FLEET_FILE);
        let failed = |why: io::Error| FleetFileFault::File(name.clone(), why);
        let path = path.canonicalize().map_err(failed)?;
        let about = std::fs::metadata(&name).map_err(failed)?;
        if about.len() > FILE_BYTES_MAX {
            return Err(failed(io::Error::other("it is larger than 8 MiB")));
        }
        let text = std::fs::read_to_string(&name).map_err(failed)?;
        let file = config::read_data(&text, &name).map_err(FleetFileFault::Wrong)?;
        let read = Self { path, file, text };
        read.place()?;
        read.trusted()?;
        read.entries()?;
        Ok(read)
    }

    /// Writes the first file of a folder, which has none.
    ///
    /// # Errors
    /// [`FleetFileFault`], also where there is one.
    pub fn create(path: &Path, bundles: &str, key: &VerifyingKey) -> Result<(), FleetFileFault> {
        let name = path.join(FLEET_FILE);
        let failed = |why: io::Error| FleetFileFault::File(name.clone(), why);
        BundlePlace::parse(bundles).map_err(|why| value("bundles", &why))?;
        if name.exists() {
            return Err(failed(io::ErrorKind::AlreadyExists.into()));
        }
        std::fs::create_dir_all(path).map_err(failed)?;
        let bundles = serde_json::Value::from(bundles);
        let text = format!(
            "# A fleet: where its bundles lie, who publishes, which machines are part of it.\n\
             bundles: {bundles}\nkeys: [\"{key}\"]\nsignatures: 1\nedges: []\ninvitations: []\n"
        );
        write(&name, &text).map_err(failed)
    }

    /// Where bundles lie.
    ///
    /// # Errors
    /// [`FleetFileFault::Value`].
    pub fn place(&self) -> Result<BundlePlace, FleetFileFault> {
        BundlePlace::parse(&self.file.bundles).map_err(|why| value("bundles", &why))
    }

    /// Keys that edges are to trust.
    ///
    /// # Errors
    /// [`FleetFileFault::Value`].
    pub fn trusted(&self) -> Result<TrustedKeys, FleetFileFault> {
        let keys = self.file.keys.iter().map(|key| parse("keys", key)).collect::<Result<_, _>>()?;
        let signatures = usize::from(self.file.signatures);
        if signatures == 0 || signatures > self.file.keys.len() {
            return Err(value("signatures", &"from 1 to the number of keys"));
        }
        Ok(TrustedKeys { keys, signatures })
    }

    /// Edges as a manifest has them, without secrets.
    ///
    /// # Errors
    /// [`FleetFileFault::Value`].
    pub fn entries(&self) -> Result<Vec<EdgeEntry>, FleetFileFault> {
        let entry = |record: &EdgeRecord| {
            let words = record.labels.iter().flat_map(|(key, value)| [key, value]);
            for word in words {
                check_label(word).map_err(|why| value("edges", &why))?;
            }
            Ok(EdgeEntry {
                name: EdgeName::parse(&record.name).map_err(|why| value("edges", &why))?,
                state: record.state,
                labels: record.labels.clone(),
                key: parse("edges", &record.key)?,
                seal: parse::<EdgeSeal>("edges", &record.seal)?,
                sealed: None,
            })
        };
        self.file.edges.iter().map(entry).collect()
    }

    /// Invites a name.
    ///
    /// # Errors
    /// [`FleetFileFault`], also where the name is taken.
    pub fn invite(&mut self, invitation: &EdgeInvitation) -> Result<(), FleetFileFault> {
        let name = &invitation.name;
        let is_known = self.file.edges.iter().any(|it| it.name == *name);
        if is_known || self.file.invitations.iter().any(|it| it.name == *name) {
            return Err(FleetFileFault::Taken(name.clone()));
        }
        let place = self.file.invitations.len();
        self.change(&[(format!("invitations[{place}]"), Some(json(invitation)?))])
    }

    /// Takes an edge in whose invitation is used up by it.
    ///
    /// # Errors
    /// [`FleetFileFault`].
    pub fn admit(&mut self, record: &EdgeRecord) -> Result<(), FleetFileFault> {
        let invited = self.file.invitations.iter().position(|it| it.name == record.name);
        let invited = invited.ok_or_else(|| FleetFileFault::NoEdge(record.name.clone()))?;
        let place = self.file.edges.len();
        self.change(&[
            (format!("edges[{place}]"), Some(json(record)?)),
            (format!("invitations[{invited}]"), None),
        ])
    }

    /// Gives an edge another state.
    ///
    /// # Errors
    /// [`FleetFileFault`].
    pub fn set_state(&mut self, name: &str, state: EdgeState) -> Result<(), FleetFileFault> {
        let place = self.file.edges.iter().position(|it| it.name == name);
        let place = place.ok_or_else(|| FleetFileFault::NoEdge(name.to_owned()))?;
        let record = EdgeRecord { state, ..self.file.edges[place].clone() };
        self.change(&[(format!("edges[{place}]"), Some(json(&record)?))])
    }

    fn change(&mut self, changes: &[(String, Option<String>)]) -> Result<(), FleetFileFault> {
        let edit = |why: &dyn fmt::Display| FleetFileFault::Edit(why.to_string());
        let mut text = self.text.clone();
        for (path, to) in changes {
            let path = SettingPath::parse(path).map_err(|why| edit(&why))?;
            let change = match to {
                Some(value) => {
                    SettingChange::Set(WrittenValue::parse(value).map_err(|why| edit(&why))?)
                }
                None => SettingChange::Unset,
            };
            text = edit_text(&text, &path, &change).map_err(|why| edit(&why))?;
        }
        let name = self.path.join(FLEET_FILE);
        self.file = config::read_data(&text, &name).map_err(FleetFileFault::Wrong)?;
        write(&name, &text).map_err(|why| FleetFileFault::File(name, why))?;
        self.text = text;
        Ok(())
    }
}

fn json(value: &impl Serialize) -> Result<String, FleetFileFault> {
    serde_json::to_string(value).map_err(|why| FleetFileFault::Edit(why.to_string()))
}

fn value(path: &str, why: &dyn fmt::Display) -> FleetFileFault {
    FleetFileFault::Value(path.to_owned(), why.to_string())
}

fn parse<T: FromStr<Err: fmt::Display>>(path: &str, text: &str) -> Result<T, FleetFileFault> {
    text.parse().map_err(|why| value(path, &why))
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    let file = FileReplacement {
        path,
        access: FileAccess::Umask,
        draft: DraftName::Hidden,
        durability: NameDurability::Synced,
    };
    file.write(text.as_bytes()).map(drop)
}

impl fmt::Display for FleetFileFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path, why) => write!(f, "{}: {why}", path.display()),
            Self::Wrong(complaints) => {
                let lines: Vec<String> = complaints.iter().map(ToString::to_string).collect();
                f.write_str(&lines.join("\n"))
            }
            Self::Value(path, why) => write!(f, "{FLEET_FILE}: {path}: {why}"),
            Self::NoEdge(name) => write!(f, "{FLEET_FILE} knows no {name:?}"),
            Self::Taken(name) => write!(f, "{FLEET_FILE} has a {name:?} already"),
            Self::Edit(why) => write!(f, "{FLEET_FILE} cannot be changed: {why}"),
        }
    }
}

impl std::error::Error for FleetFileFault {}
