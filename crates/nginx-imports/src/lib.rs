//! Configurations of nginx, said in our words: servers and locations as routes of the gateway.
//!
//! Pure: from texts to a configuration of ours, with a report line by line. What cannot be said
//! closes what it guarded. Called by `config-imports`.

#![allow(clippy::similar_names, reason = "a text that is read becomes a test")]

mod conditions;
mod content;
mod files;
mod locations;
mod proxy;
mod redirects;
mod rewrites;
mod scope;
mod scripts;
mod servers;
mod tokens;
mod tree;
mod upstreams;
mod values;
mod variables;
mod words;

use self::scope::NginxScope;
use self::tree::{NginxDirective, TreeReader};
use import_report::{ImportFault, ImportSurroundings, ImportedConfig, NotePlace};
use import_routes::gateway::GatewayDraft;
use import_routes::report::{LineFate, LineFates, RowId};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// nginx's default for `client_max_body_size`.
const BODY_MAX: u64 = 1 << 20;

/// A zone of `limit_req_zone` or `limit_conn_zone`.
struct LimitZone {
    key: String,
    /// `10r/s`, or empty.
    rate: String,
}

/// State of a configuration while it becomes routes.
struct NginxReader<'r> {
    around: &'r dyn ImportSurroundings,
    report: LineFates,
    gateway: GatewayDraft,
    /// Where relative names begin.
    folder: PathBuf,
    upstreams: BTreeMap<String, &'r NginxDirective>,
    /// Tables of `map` and `geo` by their variable.
    tables: BTreeMap<String, &'r NginxDirective>,
    zones: BTreeMap<String, LimitZone>,
    body_max: u64,
    first_row: RowId,
    /// URLs that are refused by patterns so far.
    blocks: usize,
    // Of the server that is read now:
    server_names: Vec<String>,
    server_block: &'r [NginxDirective],
    server_scope: NginxScope<'r>,
    /// True where nobody is let in.
    is_closed: bool,
    steps: usize,
    named_depth: usize,
}

/// nginx's configuration in `paths`, as one of ours.
///
/// # Errors
/// Lines that are no configuration of nginx, and servers that come to more routes than a gateway
/// has.
pub fn from_nginx(
    paths: &[PathBuf],
    around: &dyn ImportSurroundings,
) -> Result<ImportedConfig, Vec<ImportFault>> {
    let mut report = LineFates::default();
    let mut directives = Vec::new();
    let mut folder = PathBuf::new();
    let first_row = report.enter(NotePlace::new(&import_routes::config_files::shown(paths), 0), "");
    for source in import_routes::config_files::sources(paths, around) {
        let import_routes::config_files::ConfigSource { path, name, text } = source?;
        folder = home_of(&path);
        let mut reader = TreeReader {
            around,
            report: &mut report,
            folder: folder.clone(),
            directives: 0,
            files: 0,
        };
        directives.extend(reader.read(&text, name).map_err(|fault| vec![fault])?);
    }
    let http: Vec<NginxDirective> = directives
        .iter()
        .filter(|it| it.name == "http")
        .flat_map(tree::NginxDirective::inside)
        .cloned()
        .collect();
    for block in directives.iter().filter(|it| it.name == "http") {
        report.mark(block.row, LineFate::Carried, "");
    }
    let http = if http.is_empty() { directives } else { http };
    let mut reader = NginxReader {
        around,
        report,
        gateway: GatewayDraft::default(),
        folder,
        upstreams: BTreeMap::new(),
        tables: BTreeMap::new(),
        zones: BTreeMap::new(),
        body_max: BODY_MAX,
        first_row,
        blocks: 0,
        server_names: Vec::new(),
        server_block: &[],
        server_scope: NginxScope::of(vec![&http]),
        is_closed: false,
        steps: 0,
        named_depth: 0,
    };
    reader.read_http(&http);
    if reader.gateway.listen.is_empty() {
        let place = NotePlace::new(&import_routes::config_files::shown(paths), 0);
        let fault = ImportFault::new(&place, "no server in it listens")
            .remedy("name a file with a block server or http");
        return Err(vec![fault]);
    }
    if reader.gateway.routes.len() > import_routes::flow::ROUTES_MAX {
        return Err(import_routes::config_files::too_many_routes(paths, "servers"));
    }
    let report = reader.report.report(words::setting, words::absent);
    let sections = reader.gateway.sections();
    Ok(ImportedConfig::new("nginx", import_routes::config_files::named(paths), &sections, report))
}

/// The folder at which relative names begin: that of `nginx.conf`.
fn home_of(path: &Path) -> PathBuf {
    let folder = path.parent().unwrap_or(Path::new(""));
    let name = folder.file_name().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
    if matches!(name.as_str(), "sites-enabled" | "sites-available" | "conf.d" | "snippets") {
        folder.parent().unwrap_or(folder).to_owned()
    } else {
        folder.to_owned()
    }
}

#[cfg(test)]
mod tests;
