//! ACLs: names for sources, destinations, ports and the like, with their values and files.

use super::{SquidLine, sources};
use crate::draft::ImportDraft;
use crate::words;
use import_report::NotePlace;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Values of all ACLs together, at most.
const VALUES_MAX: usize = 200_000;

/// One value with its place.
#[derive(Clone, Debug)]
pub(super) struct AclValue {
    pub(super) text: String,
    pub(super) place: NotePlace,
}

/// An ACL.
#[derive(Clone, Debug)]
pub(super) struct SquidAcl {
    pub(super) kind: String,
    pub(super) values: Vec<AclValue>,
}

/// Meaning of an ACL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AclMeaning {
    /// Clients: networks.
    Sources(Vec<String>),
    /// Destinations: names, or expressions of names, URLs or paths.
    Destinations(DestinationKind),
    /// Ports: `443`, `1025-65535`.
    Ports(Vec<String>),
    /// The method `CONNECT`.
    Tunnels,
    /// Users that showed a password; all, or some.
    Users,
    /// Things that are always guarded against here: loopback, link-local, the cache's own pages.
    Guarded,
    /// Something that cannot be said here.
    Other,
}

/// Form of destinations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DestinationKind {
    Domains,
    DomainExpressions,
    UrlExpressions,
    PathExpressions,
}

/// All ACLs by name.
#[derive(Default)]
pub(super) struct AclTable {
    acls: BTreeMap<String, SquidAcl>,
    count: usize,
}

impl AclTable {
    pub(super) fn add(&mut self, line: &SquidLine<'_>, draft: &mut ImportDraft<'_>) {
        let (name, kind) = (line.word(0), line.word(1));
        if name.is_empty() || kind.is_empty() {
            draft.report.left_out(&line.place, line.said, "an ACL has a name and a type");
            return;
        }
        let mut values = Vec::new();
        for word in line.words.iter().skip(2) {
            let file = word.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
            match file.map(|it| it.trim_start_matches("parameters(").trim_end_matches(')')) {
                Some(path) => self.values_of(path, line, &mut values, draft),
                None if word.starts_with('-') => {}
                None => values.push(AclValue { text: word.clone(), place: line.place.clone() }),
            }
        }
        self.count += values.len();
        if self.count > VALUES_MAX {
            draft.report.left_out(&line.place, line.said, "ACLs have too many values");
            values.clear();
        }
        let acl = self
            .acls
            .entry(name.to_owned())
            .or_insert_with(|| SquidAcl { kind: kind.to_owned(), values: Vec::new() });
        acl.values.extend(values);
        if matches!(self.meaning(name), AclMeaning::Other) {
            draft.report.left_out(&line.place, line.said, absent(kind));
        } else {
            draft.report.carried(&line.place, line.said, "where it is used");
        }
    }

    /// Lines of a file.
    fn values_of(
        &self,
        path: &str,
        line: &SquidLine<'_>,
        values: &mut Vec<AclValue>,
        draft: &mut ImportDraft<'_>,
    ) {
        let opened = draft.open_named(Path::new(path), &line.place, line.said);
        let Some((file, text)) = opened else { return };
        let file: Arc<str> = file;
        for (index, line) in text.lines().enumerate() {
            let text = line.trim();
            if !text.is_empty() && !text.starts_with('#') {
                let place = NotePlace::new(&file, index + 1);
                values.push(AclValue { text: text.to_owned(), place });
            }
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&SquidAcl> {
        self.acls.get(name)
    }

    /// Meaning of an ACL; those that Squid knows by itself, too.
    pub(super) fn meaning(&self, name: &str) -> AclMeaning {
        let Some(acl) = self.acls.get(name) else {
            return match name {
                "all" => AclMeaning::Sources(vec!["0.0.0.0/0".into(), "::/0".into()]),
                "localhost" => AclMeaning::Sources(vec!["127.0.0.1".into(), "::1".into()]),
                "manager" | "to_localhost" | "to_linklocal" => AclMeaning::Guarded,
                "CONNECT" => AclMeaning::Tunnels,
                _ => AclMeaning::Other,
            };
        };
        let texts = || acl.values.iter().map(|it| it.text.as_str());
        match acl.kind.as_str() {
            "src" => AclMeaning::Sources(texts().filter_map(sources::networks).flatten().collect()),
            "dstdomain" | "ssl::server_name" => AclMeaning::Destinations(DestinationKind::Domains),
            "dstdom_regex" | "ssl::server_name_regex" => {
                AclMeaning::Destinations(DestinationKind::DomainExpressions)
            }
            "url_regex" => AclMeaning::Destinations(DestinationKind::UrlExpressions),
            "urlpath_regex" => AclMeaning::Destinations(DestinationKind::PathExpressions),
            "port" => AclMeaning::Ports(texts().map(str::to_owned).collect()),
            "method" if texts().all(|it| it.eq_ignore_ascii_case("CONNECT")) => AclMeaning::Tunnels,
            "proxy_auth" => AclMeaning::Users,
            "proto" if texts().all(|it| it == "cache_object") => AclMeaning::Guarded,
            "dst" if texts().all(is_guarded) => AclMeaning::Guarded,
            _ => AclMeaning::Other,
        }
    }

    /// Rules of a destination ACL, with their places; `block` or exception is the caller's.
    pub(super) fn domains(&self, name: &str) -> Vec<(String, AclValue)> {
        let Some(acl) = self.acls.get(name) else { return Vec::new() };
        let mut found = Vec::new();
        for value in &acl.values {
            let bare = value.text.trim_start_matches('.');
            if let Some(domain) = words::name(bare) {
                let rule = match value.text.strip_prefix('.') {
                    Some(_) => format!("||{domain}^"),
                    None => domain,
                };
                found.push((rule, value.clone()));
            }
        }
        found
    }
}

/// True for addresses that no client is taken to, or none from outside.
fn is_guarded(text: &str) -> bool {
    ["127.", "0.0.0.0", "::1", "169.254", "fe80"].iter().any(|it| text.starts_with(it))
}

/// The reason for which an ACL of a type says nothing here.
fn absent(kind: &str) -> &'static str {
    match kind {
        "time" => "hours are schedules of a client: policy.clients",
        "arp" => "hardware addresses are in match of policy.clients",
        "src" => "no address is in it",
        "dst" => "destinations are names here: write rules",
        "external" | "ext_user" => "no program is asked; proxy.script may decide",
        "browser" | "referer_regex" | "req_header" | "req_mime_type" | "rep_mime_type"
        | "rep_header" => "fields are not compared: proxy.script may",
        "maxconn" | "max_user_ip" => "proxy.connections_per_client bounds each client",
        _ => "there is no such condition",
    }
}
