//! Configurations of HAProxy, said in our words: frontends as listeners with routes, backends as
//! pools.
//!
//! Pure: from texts to a configuration of ours, with a report line by line. What cannot be said
//! closes what it guarded. Called by `config-imports`.

#![allow(clippy::similar_names, reason = "a text that is read becomes a test")]

mod actions;
mod backends;
mod conditions;
mod frontends;
mod lines;
mod redirects;
mod rules;
mod words;

use self::lines::{HaproxyLine, HaproxySection};
use import_report::{ImportFault, ImportSurroundings, ImportedConfig, NotePlace};
use import_routes::gateway::GatewayDraft;
use import_routes::report::{LineFate, LineFates, RowId};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// State of a configuration while it becomes routes.
struct HaproxyReader<'r> {
    around: &'r dyn ImportSurroundings,
    report: LineFates,
    gateway: GatewayDraft,
    folder: PathBuf,
    backends: BTreeMap<String, HaproxyProxy>,
    /// Users and their hashes, and groups, by list.
    users: BTreeMap<String, UserList>,
    first_row: RowId,
}

/// A frontend, backend or both, with what its defaults say before its own lines.
#[derive(Clone, Debug)]
struct HaproxyProxy {
    kind: String,
    name: String,
    row: RowId,
    lines: Vec<HaproxyLine>,
}

/// A section `userlist`.
#[derive(Clone, Debug, Default)]
struct UserList {
    /// Hashes that are taken here.
    users: BTreeMap<String, String>,
    groups: BTreeMap<String, Vec<String>>,
    /// True if a user's hash is not taken.
    has_lost: bool,
}

/// HAProxy's configuration in `paths`, as one of ours.
///
/// # Errors
/// Lines that are no configuration of HAProxy, and frontends that come to more routes than a
/// gateway has.
pub fn from_haproxy(
    paths: &[PathBuf],
    around: &dyn ImportSurroundings,
) -> Result<ImportedConfig, Vec<ImportFault>> {
    let mut report = LineFates::default();
    let first_row = report.enter(NotePlace::new(&import_routes::config_files::shown(paths), 0), "");
    let (mut sections, mut folder) = (Vec::new(), PathBuf::new());
    for source in import_routes::config_files::sources(paths, around) {
        let import_routes::config_files::ConfigSource { path, name, text } = source?;
        folder = path.parent().map(PathBuf::from).unwrap_or_default();
        let found = lines::sections(&text, &name, around, &mut report);
        sections.extend(found.map_err(|fault| vec![fault])?);
    }
    let mut reader = HaproxyReader {
        around,
        report,
        gateway: GatewayDraft::default(),
        folder,
        backends: BTreeMap::new(),
        users: BTreeMap::new(),
        first_row,
    };
    let frontends = reader.read_sections(&sections);
    // HAProxy bounds no body.
    reader.gateway.settings.insert("body_max".into(), json!("1TiB"));
    let routes = reader.frontends(&frontends);
    let place = NotePlace::new(&import_routes::config_files::shown(paths), 0);
    if reader.gateway.listen.is_empty() {
        let fault = ImportFault::new(&place, "no frontend in it speaks HTTP");
        return Err(vec![fault.remedy("only mode http becomes a gateway")]);
    }
    reader.gateway.routes =
        routes.ok_or_else(|| import_routes::config_files::too_many_routes(paths, "frontends"))?;
    let report = reader.report.report(words::setting, words::absent);
    let sections = reader.gateway.sections();
    Ok(ImportedConfig::new("HAProxy", import_routes::config_files::named(paths), &sections, report))
}

impl HaproxyReader<'_> {
    /// Sorts sections; those that listen come back.
    fn read_sections(&mut self, sections: &[HaproxySection]) -> Vec<HaproxyProxy> {
        let mut defaults: BTreeMap<String, Vec<HaproxyLine>> = BTreeMap::new();
        let mut last: Vec<HaproxyLine> = Vec::new();
        let mut frontends = Vec::new();
        for section in sections {
            let row = section.head.row;
            match section.kind.as_str() {
                "defaults" => {
                    last.clone_from(&section.lines);
                    defaults.insert(section.name.clone(), section.lines.clone());
                    self.report.mark(row, LineFate::Carried, "");
                }
                "userlist" => self.user_list(section),
                "frontend" | "backend" | "listen" => {
                    let from = section.head.words.iter().position(|it| it == "from");
                    let named = from.and_then(|at| defaults.get(section.head.word(at + 1)));
                    let mut lines = named.unwrap_or(&last).clone();
                    lines.extend(section.lines.iter().cloned());
                    let proxy = HaproxyProxy {
                        kind: section.kind.clone(),
                        name: section.name.clone(),
                        row,
                        lines,
                    };
                    self.report.mark(row, LineFate::Carried, "");
                    if section.kind != "frontend" {
                        self.backends.insert(section.name.clone(), proxy.clone());
                    }
                    if section.kind != "backend" {
                        frontends.push(proxy);
                    }
                }
                _ => {}
            }
        }
        frontends
    }

    fn user_list(&mut self, section: &HaproxySection) {
        let mut list = UserList::default();
        self.report.mark(section.head.row, LineFate::Carried, "");
        for line in &section.lines {
            let after = |word: &str| {
                line.words.iter().position(|it| it == word).map(|at| line.word(at + 1).to_owned())
            };
            match line.word(0) {
                "group" => {
                    let users = after("users").unwrap_or_default();
                    let users = users.split(',').map(str::to_owned).collect();
                    list.groups.insert(line.word(1).into(), users);
                    self.report.mark(line.row, LineFate::Carried, "");
                }
                "user" => {
                    let hash =
                        after("password").filter(|it| import_routes::passwords::is_taken(it));
                    for group in after("groups").unwrap_or_default().split(',') {
                        let users = list.groups.entry(group.to_owned()).or_default();
                        users.push(line.word(1).to_owned());
                    }
                    if let Some(hash) = hash {
                        list.users.insert(line.word(1).into(), hash);
                        self.report.mark(line.row, LineFate::Carried, "");
                    } else {
                        list.has_lost = true;
                        let why = "plain text, MD5 and DES are refused: this user has no access \
                                   until you write a hash of bcrypt, Argon2 or SHA-crypt";
                        self.report.mark(line.row, LineFate::Refused, why);
                    }
                }
                _ => {}
            }
        }
        self.users.insert(section.name.clone(), list);
    }
}

impl HaproxyProxy {
    /// The last line that begins so.
    fn last(&self, words: &[&str]) -> Option<&HaproxyLine> {
        self.lines.iter().rfind(|it| it.begins(words))
    }

    /// True unless a later `no option` takes it back.
    fn has_option(&self, name: &str) -> bool {
        let on = self.lines.iter().rposition(|it| it.begins(&["option", name]));
        let off = self.lines.iter().rposition(|it| it.begins(&["no", "option", name]));
        match (on, off) {
            (Some(on), Some(off)) => on > off,
            (Some(_), None) => true,
            (None, _) => false,
        }
    }

    fn is_http(&self) -> bool {
        self.last(&["mode"]).is_some_and(|it| it.word(1) == "http")
    }
}

#[cfg(test)]
mod tests;
