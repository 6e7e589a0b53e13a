//! Caddyfiles, said in our words: sites as routes of the gateway.
//!
//! Pure: from texts to a configuration of ours, with a report line by line. What cannot be said
//! closes what it guarded. Called by `config-imports`.

#![allow(clippy::similar_names, reason = "a text that is read becomes a test")]

mod answers;
mod handlers;
mod matchers;
mod proxies;
mod redirects;
mod sites;
mod tokens;
mod tree;
mod words;

use self::matchers::SiteMatchers;
use self::tree::{CaddyFile, TreeReader};
use import_report::{ImportFault, ImportSurroundings, ImportedConfig, NotePlace};
use import_routes::gateway::GatewayDraft;
use import_routes::report::{LineFates, RowId};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// State of a Caddyfile while it becomes routes.
struct CaddyReader<'r> {
    around: &'r dyn ImportSurroundings,
    report: LineFates,
    gateway: GatewayDraft,
    folder: PathBuf,
    first_row: RowId,
    /// Of the site that is read now.
    matchers: SiteMatchers,
    /// Steps that may still be made.
    budget: usize,
}

/// A Caddyfile in `paths`, as one of ours.
///
/// # Errors
/// Lines that are no Caddyfile, and sites that come to more routes than a gateway has.
pub fn from_caddy(
    paths: &[PathBuf],
    around: &dyn ImportSurroundings,
) -> Result<ImportedConfig, Vec<ImportFault>> {
    let mut report = LineFates::default();
    let first_row = report.enter(NotePlace::new(&import_routes::config_files::shown(paths), 0), "");
    let (mut file, mut folder) = (CaddyFile::default(), PathBuf::new());
    for source in import_routes::config_files::sources(paths, around) {
        let import_routes::config_files::ConfigSource { path, name, text } = source?;
        folder = path.parent().map(PathBuf::from).unwrap_or_default();
        let mut reader = TreeReader {
            around,
            report: &mut report,
            folder: folder.clone(),
            snippets: BTreeMap::new(),
            directives: 0,
        };
        reader.read(&text, &name, &mut file, 0).map_err(|fault| vec![fault])?;
    }
    let mut reader = CaddyReader {
        around,
        report,
        gateway: GatewayDraft::default(),
        folder,
        first_row,
        matchers: SiteMatchers::default(),
        budget: 0,
    };
    let routes = reader.sites(&file);
    let place = NotePlace::new(&import_routes::config_files::shown(paths), 0);
    if reader.gateway.listen.is_empty() {
        let fault = ImportFault::new(&place, "no site in it has an address");
        return Err(vec![fault.remedy("name a Caddyfile with a site")]);
    }
    reader.gateway.routes =
        routes.ok_or_else(|| import_routes::config_files::too_many_routes(paths, "sites"))?;
    let report = reader.report.report(words::setting, words::absent);
    let sections = reader.gateway.sections();
    Ok(ImportedConfig::new("Caddy", import_routes::config_files::named(paths), &sections, report))
}

#[cfg(test)]
mod tests;
