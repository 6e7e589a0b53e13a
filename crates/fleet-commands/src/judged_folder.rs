//! A fleet's folder judged as each of its edges would: with the overlays that its labels choose.

use crate::{FleetHost, wrong};
use command_output::CommandFailure;
use config::{ConfigLayers, Plan};
use fleet_bundle::{BundlePath, EdgeState};
use fleet_edge::RevisionLayers;
use fleet_publish::{FLEET_FILE, FleetFolder};
use policy_lists::{NotCompiled, SharedLists};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Combinations of overlays that are judged; each compiles the lists.
const COMBINATIONS_MAX: usize = 64;
/// Different sets of lists that are compiled for edges, each of which fetches all of them.
const LISTS_MAX: usize = 4;

/// Judges every combination of overlays that an edge has, and each overlay alone; the warnings.
pub(crate) fn judge(
    host: &dyn FleetHost,
    folder: &FleetFolder,
) -> Result<Vec<String>, CommandFailure> {
    let combinations = combinations(folder)?;
    if combinations.len() > COMBINATIONS_MAX {
        return Err(wrong(format!("more than {COMBINATIONS_MAX} combinations of overlays")));
    }
    let mut warnings = BTreeSet::new();
    let mut complaints = BTreeSet::new();
    for overlays in combinations {
        let layers = RevisionLayers { folder: folder.path.clone(), overlays };
        match plan_of(&layers) {
            Ok(plan) => match host.judge(&plan) {
                Ok(found) => warnings.extend(found),
                Err(found) => complaints.extend(found),
            },
            Err(failure) => complaints.extend(failure.message.lines().map(str::to_owned)),
        }
    }
    if complaints.is_empty() {
        Ok(warnings.into_iter().collect())
    } else {
        Err(wrong(complaints.into_iter().collect::<Vec<_>>().join("\n")))
    }
}

/// The configuration of an edge whose own file says nothing.
pub(crate) fn plan_of(layers: &RevisionLayers) -> Result<Plan, CommandFailure> {
    let own = layers.folder.join("edge");
    let layers = ConfigLayers { made: None, fleet: Some(layers) };
    config::parse_with("{}", &own, layers).map_err(|found| CommandFailure::complaints(&found))
}

/// Lists of every combination of overlays that an edge has, compiled; and a warning where they
/// cannot be.
pub(crate) fn compiled_lists(folder: &FleetFolder) -> Result<MadeOfLists, CommandFailure> {
    let mut made = MadeOfLists::default();
    for overlays in worn(folder)? {
        let layers = RevisionLayers { folder: folder.path.clone(), overlays };
        let plan = plan_of(&layers)?;
        match SharedLists::read(&plan, &folder.path) {
            Ok(lists) => {
                let path = BundlePath::parse(&lists.path()).map_err(wrong)?;
                let count = made.files.len();
                match made.files.entry(path) {
                    Entry::Vacant(entry) if count < LISTS_MAX => {
                        entry.insert(lists.compile());
                    }
                    Entry::Vacant(_) => {
                        made.warnings.insert(format!(
                            "{FLEET_FILE}: compiled_lists: edges have more than {LISTS_MAX} \
                             different sets of lists; those of the others are compiled there"
                        ));
                    }
                    Entry::Occupied(_) => {}
                }
            }
            Err(NotCompiled::Fetched(name)) => {
                let message = format!(
                    "{FLEET_FILE}: compiled_lists: each edge fetches the list {name:?} by itself, \
                     and compiles; give it a path to publish it"
                );
                made.warnings.insert(message);
            }
            Err(NotCompiled::Unreadable(found)) => return Err(CommandFailure::complaints(&found)),
        }
    }
    Ok(made)
}

/// Files that were made of lists.
#[derive(Default)]
pub(crate) struct MadeOfLists {
    pub(crate) files: BTreeMap<BundlePath, Vec<u8>>,
    pub(crate) warnings: BTreeSet<String>,
}

/// Combinations of overlays that an edge has, and none of them.
fn worn(folder: &FleetFolder) -> Result<BTreeSet<Vec<PathBuf>>, CommandFailure> {
    let edges = folder.entries().map_err(wrong)?;
    let edges = edges.iter().filter(|it| it.state != EdgeState::Revoked);
    let overlays = edges
        .map(|edge| RevisionLayers::of(&folder.path, edge.name.as_str(), &edge.labels).overlays);
    Ok(overlays.chain([Vec::new()]).collect())
}

fn combinations(folder: &FleetFolder) -> Result<BTreeSet<Vec<PathBuf>>, CommandFailure> {
    let mut found = worn(folder)?;
    found.extend(overlays(&folder.path)?.into_iter().map(|path| vec![path]));
    Ok(found)
}

/// Files of the folder of overlays, whose names say whom they are for.
fn overlays(folder: &Path) -> Result<Vec<PathBuf>, CommandFailure> {
    let Ok(entries) = std::fs::read_dir(folder.join(fleet_edge::OVERLAY_FOLDER)) else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(wrong)?.path();
        let stem = path.file_stem().and_then(|it| it.to_str()).unwrap_or_default();
        let is_yaml = path.extension().is_some_and(|it| it == "yaml");
        let is_label = stem.split_once('=').is_some_and(|(key, value)| {
            fleet_bundle::check_label(key).is_ok() && fleet_bundle::check_label(value).is_ok()
        });
        if !is_yaml || !is_label {
            let message = "an overlay is named LABEL=VALUE.yaml, or edge=NAME.yaml";
            return Err(wrong(format!("{}: {message}", path.display())));
        }
        found.push(path);
    }
    Ok(found)
}
