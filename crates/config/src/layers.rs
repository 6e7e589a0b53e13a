//! Layers joined to the configuration's own file: the bundle of a fleet, and settings made in the
//! dashboard.

use crate::draft::DraftTexts;
use crate::include::{self, JoinRule};
use crate::sources::SourceFiles;
use crate::yaml::{YamlNode, YamlValue};
use crate::{FileComplaint, MadeSettings, Plan};
use fleet_edge::{MAIN_FILE, RevisionLayers};
use std::path::PathBuf;
use vocab::Complaint;

/// Keys of the section `fleet` that are each machine's own.
const OWN_KEYS: [&str; 6] = ["name", "labels", "bundles", "keys", "signatures", "poll"];

/// Layers of a configuration beside its own file.
#[derive(Clone, Copy, Debug, Default)]
pub struct ConfigLayers<'l> {
    /// Settings made in the dashboard.
    pub made: Option<&'l MadeSettings>,
    /// Files of the fleet's revision in force.
    pub fleet: Option<&'l RevisionLayers>,
}

impl<'l> ConfigLayers<'l> {
    /// Layers of a plan that runs, with other settings of the dashboard.
    pub fn of(plan: &'l Plan, made: Option<&'l MadeSettings>) -> Self {
        Self { made, fleet: plan.fleet_layers() }
    }
}

impl<'l> From<Option<&'l MadeSettings>> for ConfigLayers<'l> {
    fn from(made: Option<&'l MadeSettings>) -> Self {
        Self { made, fleet: None }
    }
}

/// Joins the files of a bundle to the tree of the own file, which outranks them, and so does each
/// overlay those after it.
pub(crate) fn take_fleet(
    tree: &mut YamlNode,
    fleet: &RevisionLayers,
    sources: &mut SourceFiles,
) -> Result<(), Vec<FileComplaint>> {
    let first = sources.included().len();
    let main = fleet.folder.join(MAIN_FILE);
    let mut complaints = Vec::new();
    for file in fleet.overlays.iter().chain(std::iter::once(&main)) {
        match bundle_tree(file.clone(), fleet, sources) {
            Ok(layer) => {
                include::join(tree, layer, JoinRule::KeepFirst, sources, &mut complaints);
            }
            Err(found) => complaints.extend(found),
        }
    }
    sources.mark_fleet(first, &fleet.folder);
    if complaints.is_empty() { Ok(()) } else { Err(complaints) }
}

/// The tree of one file of a bundle, with what it includes.
fn bundle_tree(
    file: PathBuf,
    fleet: &RevisionLayers,
    sources: &mut SourceFiles,
) -> Result<YamlNode, Vec<FileComplaint>> {
    let anchor = fleet.folder.join(MAIN_FILE);
    let mut layer = include::read_file(file, &DraftTexts::default(), sources)?;
    include::take_in(&mut layer, &anchor, &DraftTexts::default(), sources)?;
    let mut complaints = Vec::new();
    if let Some(fleet) = layer.entry("fleet")
        && let YamlValue::Section(entries) = &fleet.node.value
    {
        for entry in entries.iter().filter(|it| OWN_KEYS.contains(&it.key.as_str())) {
            let complaint = Complaint::new(format!("fleet.{}", entry.key), "is each machine's own");
            let remedy = "write it in the file of the machine, or see tidegate fleet";
            complaints.push(sources.place(entry.position, complaint.remedy(remedy)));
        }
    }
    if let YamlValue::Section(entries) = &mut layer.value {
        entries.retain(|entry| entry.key != "include");
    }
    if complaints.is_empty() { Ok(layer) } else { Err(complaints) }
}
