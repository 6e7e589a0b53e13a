//! The tables of `gravity.db`: lists, domains, groups, clients, and who belongs to whom.

use crate::draft::ImportDraft;
use crate::lists::RuleOrigin;
use crate::words;
use import_report::{ImportFault, NotePlace};
use policy::ListKind;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// The group of everybody.
const EVERYBODY: i64 = 0;

/// Tables by name, with the files that they came from.
const TABLES: [&str; 11] = [
    "adlist",
    "adlist_by_group",
    "domainlist",
    "whitelist.exact",
    "whitelist.regex",
    "blacklist.exact",
    "blacklist.regex",
    "domainlist_by_group",
    "group",
    "client",
    "client_by_group",
];

/// Tables of a database so far.
#[derive(Default)]
pub(super) struct GravityTables {
    rows: BTreeMap<String, (Arc<str>, Vec<Value>)>,
}

/// A domain's kind: exact or an expression, allowed or denied.
#[derive(Clone, Copy)]
struct DomainKind {
    list: ListKind,
    is_regex: bool,
}

impl DomainKind {
    /// By the numbers of the table.
    fn of(number: i64) -> Option<Self> {
        let list = if number % 2 == 0 { ListKind::Allow } else { ListKind::Block };
        (0..4).contains(&number).then_some(Self { list, is_regex: number >= 2 })
    }
}

impl GravityTables {
    /// The tables of a folder, those that are there.
    pub(super) fn folder(&mut self, folder: &Path, draft: &mut ImportDraft<'_>) {
        for table in TABLES {
            let name = format!("{table}.json");
            let path = folder.join(&name);
            if draft.around.read(&path).is_ok()
                && let Some((file, text)) = draft.open(&path)
            {
                self.table(&file, &name, &text, draft);
            }
        }
    }

    /// One table, a list of rows.
    pub(super) fn table(
        &mut self,
        file: &Arc<str>,
        name: &str,
        text: &str,
        draft: &mut ImportDraft<'_>,
    ) {
        let table = name.trim_end_matches(".json");
        let rows = match serde_json::from_str::<Vec<Value>>(text) {
            Ok(rows) => rows,
            Err(why) => {
                let place = NotePlace::new(file, why.line());
                draft.faults.push(ImportFault::new(&place, format!("this is no table: {why}")));
                return;
            }
        };
        if TABLES.contains(&table) {
            self.rows.entry(table.into()).or_insert_with(|| (Arc::clone(file), rows));
        }
    }

    fn of(&self, table: &str) -> &[Value] {
        self.rows.get(table).map(|(_, rows)| rows.as_slice()).unwrap_or_default()
    }

    fn place(&self, table: &str, row: usize) -> NotePlace {
        let file = self.rows.get(table).map_or_else(|| "".into(), |(file, _)| Arc::clone(file));
        // Of a database a row is what a line is of a file.
        NotePlace::new(&file, row + 1)
    }

    /// Groups to which a thing belongs; everybody's where no table says.
    fn groups_of(&self, table: &str, key: &str, id: i64) -> BTreeSet<i64> {
        let rows = self.of(table);
        if rows.is_empty() {
            return BTreeSet::from([EVERYBODY]);
        }
        rows.iter()
            .filter(|row| number(row, key) == Some(id))
            .filter_map(|row| number(row, "group_id"))
            .collect()
    }

    /// Makes lists, groups and clients of the tables.
    pub(super) fn finish(self, draft: &mut ImportDraft<'_>) {
        if self.rows.is_empty() {
            return;
        }
        let mut off = BTreeSet::new();
        let mut names = BTreeMap::from([(EVERYBODY, "Default".to_owned())]);
        for (row, group) in self.of("group").iter().enumerate() {
            let (Some(id), Some(name)) = (number(group, "id"), text(group, "name")) else {
                continue;
            };
            names.insert(id, name.to_owned());
            if !is_on(group) {
                off.insert(id);
                let place = self.place("group", row);
                draft.report.left_out(&place, &format!("group {name}"), "it is off");
            }
        }
        // Lists by the groups that they hold for.
        let mut lists: Vec<(String, BTreeSet<i64>)> = Vec::new();
        self.subscriptions(&mut lists, draft);
        self.domains(&names, &mut lists, draft);
        let of_groups = |groups: &BTreeSet<i64>| -> Vec<String> {
            let groups: BTreeSet<i64> = groups.difference(&off).copied().collect();
            let held = lists.iter().filter(|(_, of)| !of.is_disjoint(&groups));
            held.map(|(name, _)| name.clone()).collect()
        };
        draft.default_lists = Some(of_groups(&BTreeSet::from([EVERYBODY])));
        self.clients(&names, &of_groups, draft);
    }

    fn subscriptions(&self, lists: &mut Vec<(String, BTreeSet<i64>)>, draft: &mut ImportDraft<'_>) {
        for (row, list) in self.of("adlist").iter().enumerate() {
            let (Some(id), Some(url)) = (number(list, "id"), text(list, "address")) else {
                continue;
            };
            let place = self.place("adlist", row);
            if !is_on(list) {
                draft.report.left_out(&place, url, "it is off");
                continue;
            }
            let origin = url.trim().strip_prefix("file://").unwrap_or(url.trim());
            let kind = match number(list, "type") {
                Some(1) => ListKind::Allow,
                _ => ListKind::Block,
            };
            let name = short_name(origin);
            match draft.lists.subscribe(&name, kind, origin, &[]) {
                Some(name) => {
                    draft.report.carried(&place, url, &format!("policy.lists, {name}"));
                    lists.push((name, self.groups_of("adlist_by_group", "adlist_id", id)));
                }
                None => draft.report.left_out(&place, url, "48 lists have room: join some"),
            }
        }
    }

    fn domains(
        &self,
        names: &BTreeMap<i64, String>,
        lists: &mut Vec<(String, BTreeSet<i64>)>,
        draft: &mut ImportDraft<'_>,
    ) {
        let tables = [
            ("domainlist", None),
            ("whitelist.exact", Some(0)),
            ("blacklist.exact", Some(1)),
            ("whitelist.regex", Some(2)),
            ("blacklist.regex", Some(3)),
        ];
        for (table, usual) in tables {
            for (row, entry) in self.of(table).iter().enumerate() {
                let kind = number(entry, "type").or(usual).and_then(DomainKind::of);
                let (Some(domain), Some(kind)) = (text(entry, "domain"), kind) else { continue };
                let place = self.place(table, row);
                if !is_on(entry) {
                    draft.report.left_out(&place, domain, "it is off");
                    continue;
                }
                let id = number(entry, "id").unwrap_or(-1);
                let groups = self.groups_of("domainlist_by_group", "domainlist_id", id);
                if groups.is_empty() {
                    draft.report.left_out(&place, domain, "it belongs to no group");
                    continue;
                }
                let list = list_name(kind, &groups, names);
                if !lists.iter().any(|(name, _)| *name == list) {
                    lists.push((list.clone(), groups));
                    if kind.is_regex {
                        // Lines are expressions, whatever they look like.
                        let told = RuleOrigin::new(&place, "regular expressions");
                        draft.lists.rule(&list, kind.list, "# syntax: domain_regex", told);
                    }
                }
                let told = RuleOrigin::new(&place, domain);
                draft.lists.rule(&list, kind.list, domain.trim(), told);
            }
        }
    }

    fn clients(
        &self,
        names: &BTreeMap<i64, String>,
        of_groups: &dyn Fn(&BTreeSet<i64>) -> Vec<String>,
        draft: &mut ImportDraft<'_>,
    ) {
        let mut taken = BTreeSet::from(["default".to_owned()]);
        for (row, client) in self.of("client").iter().enumerate() {
            let (Some(id), Some(said)) = (number(client, "id"), text(client, "ip")) else {
                continue;
            };
            let place = self.place("client", row);
            let matches = match said.strip_prefix(':') {
                Some(interface) => format!("interface:{interface}"),
                None => match words::device(said) {
                    Some(device) => device,
                    None => {
                        let why = "clients are known by addresses: write its own in match";
                        draft.report.left_out(&place, said, why);
                        continue;
                    }
                },
            };
            let groups = self.groups_of("client_by_group", "client_id", id);
            let comment = text(client, "comment").map(str::trim).filter(|it| !it.is_empty());
            let wanted: String = comment.unwrap_or(said).chars().take(60).collect();
            let mut name = wanted.clone();
            let mut count = 2;
            while !taken.insert(name.clone()) {
                name = format!("{wanted} {count}");
                count += 1;
            }
            let lists = of_groups(&groups);
            draft.clients.push(json!({ "name": name, "match": [matches], "lists": lists }));
            let of = groups.iter().filter_map(|id| names.get(id).cloned()).collect::<Vec<_>>();
            let said = format!("client {said} in {}", of.join(", "));
            draft.report.carried(&place, &said, "policy.clients");
        }
    }
}

/// A name for rules of one kind that hold for the same groups.
fn list_name(kind: DomainKind, groups: &BTreeSet<i64>, names: &BTreeMap<i64, String>) -> String {
    let what = match (kind.list, kind.is_regex) {
        (ListKind::Allow, false) => "allowed domains",
        (ListKind::Allow, true) => "allowed expressions",
        (ListKind::Block, false) => "denied domains",
        (ListKind::Block, true) => "denied expressions",
    };
    if groups.iter().eq([EVERYBODY].iter()) {
        return what.to_owned();
    }
    let of: Vec<&str> = groups.iter().filter_map(|id| names.get(id)).map(String::as_str).collect();
    format!("{what} of {}", of.join(", "))
}

/// The host of a list and the end of its path.
fn short_name(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = rest.split('/').next().unwrap_or(rest);
    match rest.trim_end_matches('/').rsplit('/').next() {
        Some(end) if end != host => format!("{host} {}", end.split('?').next().unwrap_or(end)),
        _ => host.to_owned(),
    }
}

fn is_on(row: &Value) -> bool {
    !matches!(row.get("enabled"), Some(Value::Bool(false))) && number(row, "enabled") != Some(0)
}

fn number(row: &Value, key: &str) -> Option<i64> {
    match row.get(key)? {
        Value::Number(number) => number.as_i64(),
        Value::String(text) => text.parse().ok(),
        Value::Bool(yes) => Some(i64::from(*yes)),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn text<'r>(row: &'r Value, key: &str) -> Option<&'r str> {
    row.get(key)?.as_str().filter(|it| !it.is_empty())
}
