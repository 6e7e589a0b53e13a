//! The files of a revision that make an edge's configuration: the bundle's own, and the overlays
//! whose label the edge has.

use fleet_bundle::EdgeName;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The configuration of a bundle, in its folder.
pub const MAIN_FILE: &str = "tidegate.yaml";
/// The folder of overlays, in it.
pub const OVERLAY_FOLDER: &str = "overlays";
/// The folder of secrets, in it; what is in it is sealed for each edge.
pub const SECRET_FOLDER: &str = "secrets";
/// Labels of this edge when the revision was laid aside.
const LABELS_FILE: &str = ".labels.json";

/// Files of a configuration, the most specific first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RevisionLayers {
    /// Folder of the revision, from which its paths start.
    pub folder: PathBuf,
    /// Overlays: `edge=NAME.yaml` first, then those of labels in the order of their names.
    pub overlays: Vec<PathBuf>,
}

impl RevisionLayers {
    /// Layers of the bundle in a folder, for an edge of this name and labels.
    pub fn of(folder: &Path, name: &str, labels: &BTreeMap<String, String>) -> Self {
        let overlay = |key: &str, value: &str| {
            folder.join(OVERLAY_FOLDER).join(format!("{key}={value}.yaml"))
        };
        let named = std::iter::once(overlay("edge", name));
        let labelled = labels.iter().map(|(key, value)| overlay(key, value));
        let overlays = named.chain(labelled).filter(|path| path.is_file()).collect();
        Self { folder: folder.into(), overlays }
    }

    /// Layers of a revision that was laid aside here.
    ///
    /// # Errors
    /// The folder is not as it was laid aside.
    pub fn read(folder: &Path) -> io::Result<Self> {
        let bytes = fs::read(folder.join(LABELS_FILE))?;
        let (name, labels): (String, BTreeMap<String, String>) =
            serde_json::from_slice(&bytes).map_err(io::Error::other)?;
        Ok(Self::of(folder, &name, &labels))
    }
}

/// Notes the name and labels of the edge beside the files.
pub(crate) fn write_labels(
    folder: &Path,
    name: &EdgeName,
    labels: &BTreeMap<String, String>,
) -> io::Result<()> {
    let bytes = serde_json::to_vec(&(name, labels)).map_err(io::Error::other)?;
    durable_file::FileReplacement::private(&folder.join(LABELS_FILE)).write(&bytes).map(drop)
}
