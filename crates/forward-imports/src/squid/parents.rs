//! Parents: other proxies that requests are sent through.

use super::acls::{AclMeaning, DestinationKind};
use super::{LaterLine, SquidLine, SquidReader, sources};
use crate::draft::ImportDraft;
use crate::words;
use serde_json::{Value, json};
use std::fmt::Write;

/// Parents in their order, by the names that other lines call them.
#[derive(Default)]
pub(super) struct SquidParents {
    parents: Vec<SquidParent>,
}

struct SquidParent {
    name: String,
    url: String,
    /// Hosts that it is for; all without any.
    hosts: Vec<String>,
    is_bounded: bool,
}

impl SquidParents {
    pub(super) fn add(&mut self, line: &SquidLine<'_>, draft: &mut ImportDraft<'_>) {
        let (host, kind, port) = (line.word(0), line.word(1), line.number(2));
        let options: Vec<&str> = line.words.iter().skip(4).map(String::as_str).collect();
        if kind != "parent" {
            draft.report.left_out(&line.place, line.said, "caches do not ask one another");
            return;
        }
        if options.contains(&"originserver") {
            let why = "in front of servers of your own stands the gateway: see gateway.md";
            draft.report.left_out(&line.place, line.said, why);
            return;
        }
        let Some(port) = port.filter(|it| (1..=65_535).contains(it)) else {
            draft.report.left_out(&line.place, line.said, "a parent has a host and a port");
            return;
        };
        let of = |prefix: &str| options.iter().find_map(|it| it.strip_prefix(prefix));
        let scheme =
            if options.iter().any(|it| matches!(*it, "tls" | "ssl")) { "https" } else { "http" };
        let login = match of("login=") {
            Some(login) if login.contains(':') => {
                let parts: Vec<String> = login.splitn(2, ':').map(escaped).collect();
                format!("{}@", parts.join(":"))
            }
            _ => String::new(),
        };
        let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
        self.parents.push(SquidParent {
            name: of("name=").unwrap_or(line.word(0)).to_owned(),
            url: format!("{scheme}://{login}{host}:{port}"),
            hosts: Vec::new(),
            is_bounded: false,
        });
        let balanced = ["round-robin", "weighted-round-robin", "carp", "sourcehash", "userhash"];
        if options.iter().any(|it| balanced.contains(it) || it.starts_with("weight=")) {
            let why = "parents are tried in their order";
            draft.report.changed(&line.place, line.said, "proxy.parent", why);
        } else {
            draft.report.carried(&line.place, line.said, "proxy.parent");
        }
    }
}

/// A part of a login as a URL has it.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

impl SquidReader {
    /// Hosts that ACLs name; none where one is about something else.
    fn hosts(&self, acls: &[String]) -> Option<Vec<String>> {
        let mut hosts = Vec::new();
        for name in acls {
            match self.acls.meaning(name) {
                AclMeaning::Destinations(DestinationKind::Domains) => {
                    let values = &self.acls.get(name)?.values;
                    hosts.extend(
                        values.iter().filter_map(|it| words::name(it.text.trim_start_matches('.'))),
                    );
                }
                AclMeaning::Other if self.acls.get(name).is_some_and(|it| it.kind == "dst") => {
                    let values = &self.acls.get(name)?.values;
                    hosts.extend(
                        values.iter().filter_map(|it| sources::networks(&it.text)).flatten(),
                    );
                }
                _ => return None,
            }
        }
        (!hosts.is_empty()).then_some(hosts)
    }

    pub(super) fn finish_parents(&mut self, draft: &mut ImportDraft<'_>) {
        let (mut direct, mut never_direct) = (Vec::new(), false);
        let mut parents = std::mem::take(&mut self.parents.parents);
        for line in &self.later {
            match line.key.as_str() {
                "always_direct" => self.always_direct(line, &mut direct, draft),
                "never_direct" => {
                    if line.words == ["allow", "all"] {
                        never_direct = true;
                        draft.report.carried(&line.place, &line.said, "proxy.parent");
                    } else {
                        let why =
                            "a parent is asked first, and a server where it cannot be reached";
                        draft.report.left_out(&line.place, &line.said, why);
                    }
                }
                "cache_peer_access" => self.peer_access(line, &mut parents, draft),
                "cache_peer_domain" => peer_domains(line, &mut parents, draft),
                _ => {}
            }
        }
        let mut entries: Vec<Value> = Vec::new();
        if !direct.is_empty() {
            entries.push(json!({ "domains": direct, "parent": "direct" }));
        }
        for parent in parents.iter().filter(|it| !it.hosts.is_empty()) {
            entries.push(json!({ "domains": parent.hosts, "parent": parent.url }));
        }
        let general = parents.iter().filter(|it| it.hosts.is_empty() && !it.is_bounded);
        let mut all: Vec<&str> = general.map(|it| it.url.as_str()).collect();
        if !all.is_empty() && !never_direct {
            all.push("direct");
        }
        if !all.is_empty() {
            draft.sections.set("proxy", "parent", json!(all));
        }
        if !entries.is_empty() {
            draft.sections.set("proxy", "parents", entries);
        }
    }

    fn always_direct(
        &self,
        line: &LaterLine,
        direct: &mut Vec<String>,
        draft: &mut ImportDraft<'_>,
    ) {
        let is_allow = line.words.first().is_some_and(|it| it == "allow");
        match self.hosts(line.words.get(1..).unwrap_or_default()) {
            Some(hosts) if is_allow => {
                direct.extend(hosts);
                draft.report.carried(&line.place, &line.said, "proxy.parents");
            }
            _ => {
                let why = "what goes directly is named by hosts";
                draft.report.left_out(&line.place, &line.said, why);
            }
        }
    }

    fn peer_access(
        &self,
        line: &LaterLine,
        parents: &mut [SquidParent],
        draft: &mut ImportDraft<'_>,
    ) {
        let name = line.words.first().map_or("", String::as_str);
        let is_allow = line.words.get(1).is_some_and(|it| it == "allow");
        let acls = line.words.get(2..).unwrap_or_default();
        let Some(parent) = parents.iter_mut().find(|it| it.name == name) else {
            draft.report.left_out(&line.place, &line.said, "there is no such parent here");
            return;
        };
        if acls == ["all"] {
            parent.is_bounded |= !is_allow;
            draft.report.carried(&line.place, &line.said, "proxy.parents");
            return;
        }
        match self.hosts(acls) {
            Some(hosts) if is_allow => {
                parent.hosts.extend(hosts);
                draft.report.carried(&line.place, &line.said, "proxy.parents");
            }
            _ => {
                let why = "what a parent is for is named by hosts that go there";
                draft.report.left_out(&line.place, &line.said, why);
            }
        }
    }
}

/// Hosts of a parent, in the words of old versions.
fn peer_domains(line: &LaterLine, parents: &mut [SquidParent], draft: &mut ImportDraft<'_>) {
    let name = line.words.first().map_or("", String::as_str);
    let domains =
        line.words.iter().skip(1).filter_map(|it| words::name(it.trim_start_matches('.')));
    let domains: Vec<String> = domains.collect();
    match parents.iter_mut().find(|it| it.name == name) {
        Some(parent) if !domains.is_empty() => {
            parent.hosts.extend(domains);
            draft.report.carried(&line.place, &line.said, "proxy.parents");
        }
        _ => draft.report.left_out(&line.place, &line.said, "there is no such parent here"),
    }
}
