//! Views of a fleet: differences of its folder, and how its edges do.

use crate::{FleetHost, FolderArgs, StatusArgs, judged_folder, publisher, wrong};
use command_output::CommandFailure;
use fleet_bundle::{BundleManifest, ContentDigest, EdgeEntry, EdgeState, EdgeStatus};
use fleet_edge::RevisionStore;
use fleet_publish::SourceFiles;
use fleet_view::EdgeTrouble;
use serde_json::json;
use std::collections::BTreeMap;
use vocab::TimeSpan;

/// Prints which files differ from the newest revision.
pub(crate) fn diff(args: &FolderArgs) -> Result<(), CommandFailure> {
    let publisher = publisher(args)?;
    let source = SourceFiles::gather(&publisher.folder.path).map_err(wrong)?;
    let newest = publisher.latest().map_err(wrong)?;
    let before: BTreeMap<&str, ContentDigest> = newest
        .iter()
        .flat_map(|(manifest, _)| &manifest.files)
        .filter(|file| !file.path.as_path().starts_with(policy_lists::COMPILED_FOLDER))
        .map(|file| (file.path.as_str(), file.digest))
        .collect();
    let mut differs = 0;
    for path in &source.open {
        let digest = ContentDigest::of(&source.read(path).map_err(wrong)?);
        let sign = match before.get(path.as_str()) {
            None => "+",
            Some(known) if *known != digest => "~",
            Some(_) => continue,
        };
        differs += 1;
        println!("{sign} {path}");
    }
    for path in before.keys().filter(|path| !source.open.iter().any(|it| it.as_str() == **path)) {
        differs += 1;
        println!("- {path}");
    }
    // Faults show now, not when it is published.
    let layers =
        fleet_edge::RevisionLayers { folder: publisher.folder.path.clone(), overlays: Vec::new() };
    judged_folder::plan_of(&layers)?;
    match (&newest, differs) {
        (None, _) => println!("nothing is published yet"),
        (Some((latest, _)), 0) => println!("the folder is revision {}", latest.revision),
        (Some((latest, _)), 1) => println!("1 file differs from revision {}", latest.revision),
        (Some((latest, _)), n) => println!("{n} files differ from revision {}", latest.revision),
    }
    Ok(())
}

/// Prints how the edges do, or this one.
pub(crate) fn status(host: &dyn FleetHost, args: &StatusArgs) -> Result<(), CommandFailure> {
    let Some(folder) = &args.folder else { return own_status(host, args) };
    let publisher = publisher(&FolderArgs { folder: folder.clone(), ca: args.ca.clone() })?;
    let edges = publisher.folder.entries().map_err(wrong)?;
    let statuses = publisher.statuses(&edges).map_err(wrong)?;
    let latest = publisher.latest().map_err(wrong)?.map(|(manifest, _)| manifest);
    let now = transport::clock::now().unix_secs();
    if args.json {
        let told: Vec<_> = edges
            .iter()
            .zip(&statuses)
            .map(|(edge, status)| {
                json!({ "edge": edge.name, "wanted": edge.state, "labels": edge.labels,
                        "status": status, "trouble": trouble(edge, status.as_ref(), now) })
            })
            .collect();
        let latest = latest.map(|it| it.revision);
        println!("{:#}", json!({ "latest": latest, "edges": told }));
        return Ok(());
    }
    if let Some(latest) = &latest {
        println!("{}", newest(latest, now));
    }
    for (edge, status) in edges.iter().zip(&statuses) {
        println!("{}", line(edge, status.as_ref(), latest.as_ref(), now));
    }
    if edges.is_empty() {
        println!(
            "no machine has joined by a token; those that only know the key tell nothing that is believed"
        );
    }
    Ok(())
}

fn newest(latest: &BundleManifest, now: u64) -> String {
    let age = match now.saturating_sub(latest.made) {
        0 => "now".into(),
        seconds => format!("{} ago", TimeSpan(std::time::Duration::from_secs(seconds))),
    };
    let (revision, by) = (latest.revision, &latest.by);
    let why = if latest.why.is_empty() { String::new() } else { format!(": {}", latest.why) };
    let first = if latest.canary.is_some() { ", for its canaries first" } else { "" };
    format!("revision {revision} by {by}, {age}{first}{why}")
}

fn line(
    edge: &EdgeEntry,
    status: Option<&EdgeStatus>,
    latest: Option<&BundleManifest>,
    now: u64,
) -> String {
    let runs = match status.and_then(|it| it.applied) {
        Some(applied) if latest.is_some_and(|it| it.revision == applied) => {
            format!("revision {applied}")
        }
        Some(applied) => format!("revision {applied}, behind"),
        None => "no revision".into(),
    };
    let wanted = match edge.state {
        EdgeState::Active => "",
        EdgeState::Drained => "  drained",
        EdgeState::Revoked => "  revoked",
    };
    let version = status.map_or("", |it| it.version.as_str());
    let first = format!("{:<20} {runs:<22} {version}{wanted}", edge.name.as_str());
    let lines = std::iter::once(first).chain(trouble(edge, status, now));
    lines.collect::<Vec<_>>().join(
        "
    ",
    )
}

/// Troubles of an edge, in sentences.
fn trouble(edge: &EdgeEntry, status: Option<&EdgeStatus>, now: u64) -> Vec<String> {
    EdgeTrouble::told(edge, status, now, env!("CARGO_PKG_VERSION"))
}

fn own_status(host: &dyn FleetHost, args: &StatusArgs) -> Result<(), CommandFailure> {
    let record = RevisionStore::of(&host.state_dir()?).record().map_err(wrong)?;
    if args.json {
        println!("{:#}", serde_json::to_value(&record).map_err(wrong)?);
        return Ok(());
    }
    match record.in_force {
        Some(revision) => println!("revision {} is in force", revision.number),
        None => println!("this machine has no revision of a fleet"),
    }
    if let Some(tried) = record.tried {
        println!("revision {} is being tried", tried.revision.number);
    }
    if let Some(refused) = record.refused {
        println!("revision {} was refused:", refused.revision.number);
        for complaint in &refused.complaints {
            println!("  {complaint}");
        }
    }
    Ok(())
}
