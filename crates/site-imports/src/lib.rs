//! Configurations of nginx, HAProxy and Caddy, and of mosdns and OxiDNS, said in our words.
//!
//! Pure: from texts to a configuration of ours, with a report line by line. What a program decides
//! step by step becomes routes in the order in which they are tried. A rule of access that cannot
//! be carried over closes what it guarded: a route answers 403, and the report says so. Called by
//! `config-imports`.

#![allow(
    clippy::match_bool,
    clippy::single_match_else,
    clippy::match_same_arms,
    clippy::similar_names,
    clippy::unused_self,
    clippy::unnecessary_wraps,
    clippy::collapsible_if,
    clippy::manual_let_else,
    clippy::redundant_closure,
    clippy::redundant_closure_for_method_calls,
    clippy::case_sensitive_file_extension_comparisons,
    clippy::single_match,
    clippy::format_push_string,
    reason = "tables of another program's words read best as one match, a row for each"
)]

mod caddy;
mod expression_rest;
mod flow;
mod gateway;
mod haproxy;
mod nginx;
mod passwords;
mod path_test;
mod place;
mod regex_words;
mod report;
mod unknown_word;

pub use caddy::from_caddy;
pub use haproxy::from_haproxy;
pub use nginx::from_nginx;

use import_report::{ImportFault, ImportSurroundings, NotePlace};
use std::path::PathBuf;
use std::sync::Arc;

/// The files of paths, of which some may be folders.
fn files_in(paths: &[PathBuf], around: &dyn ImportSurroundings) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for path in paths {
        match around.list(path) {
            Ok(names) => {
                let plain = names.iter().filter(|it| !it.starts_with('.') && !it.ends_with('~'));
                let found = plain.map(|name| path.join(name));
                files.extend(found.filter(|it| around.list(it).is_err()));
            }
            Err(_) => files.push(path.clone()),
        }
    }
    files
}

/// A file of the configuration.
struct ConfigSource {
    path: PathBuf,
    name: Arc<str>,
    text: String,
}

/// The files in `paths`, read one after the other.
fn sources<'a>(
    paths: &[PathBuf],
    around: &'a dyn ImportSurroundings,
) -> impl Iterator<Item = Result<ConfigSource, Vec<ImportFault>>> + use<'a> {
    files_in(paths, around).into_iter().map(|path| {
        let name: Arc<str> = path.to_string_lossy().as_ref().into();
        match around.read(&path) {
            Ok(text) => Ok(ConfigSource { path, name, text }),
            Err(why) => Err(vec![ImportFault::new(&NotePlace::new(&name, 0), why.to_string())]),
        }
    })
}

/// The fault of configurations that come to more routes than a gateway has; `parts` says of what
/// fewer are to be imported.
fn too_many_routes(paths: &[PathBuf], parts: &str) -> Vec<ImportFault> {
    let most = flow::ROUTES_MAX;
    let place = NotePlace::new(&shown(paths), 0);
    let fault = ImportFault::new(&place, format!("it comes to more than {most} routes"));
    vec![fault.remedy(format!("import fewer {parts} at once"))]
}

/// The paths as they were named.
fn named(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|it| it.to_string_lossy().into_owned()).collect()
}

/// The first path, for what is said of all of it.
fn shown(paths: &[PathBuf]) -> Arc<str> {
    paths.first().map_or_else(|| "".into(), |it| it.to_string_lossy().as_ref().into())
}

#[cfg(test)]
mod tests;
