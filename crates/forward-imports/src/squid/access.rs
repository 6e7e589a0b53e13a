//! `http_access`: who may use the proxy, and for what.
//!
//! Squid takes the first line of which all ACLs fit. Here whoever is in `proxy.clients` may use the
//! proxy, and rules say for what, in no order. What cannot be said of a line that denies is left
//! away, so that it denies more; a line that allows and cannot be said whole allows nothing.

use super::acls::AclMeaning;
use super::{SquidLine, SquidReader};
use crate::draft::ImportDraft;
use import_report::NotePlace;
use serde_json::json;

/// One line.
pub(super) struct AccessLine {
    is_allow: bool,
    /// Names of ACLs; with `!` where they must not fit.
    acls: Vec<String>,
    pub(super) said: String,
    pub(super) place: NotePlace,
}

impl AccessLine {
    pub(super) fn of(line: &SquidLine<'_>) -> Self {
        Self {
            is_allow: line.word(0) == "allow",
            acls: line.words.iter().skip(1).cloned().collect(),
            said: line.said.to_owned(),
            place: line.place.clone(),
        }
    }
}

/// The sum of the lines.
#[derive(Default)]
struct AccessSum {
    clients: Vec<String>,
    needs_password: bool,
    /// True if somebody may fetch whatever is not denied.
    is_open: bool,
    /// True if some may fetch what is named only.
    has_named: bool,
}

/// The conditions of a line.
#[derive(Default)]
struct LineParts {
    sources: Option<Vec<String>>,
    /// Names of destination ACLs.
    destinations: Vec<String>,
    /// The same of those that must not fit.
    not_destinations: Vec<String>,
    not_ports: Option<Vec<String>>,
    has_tunnels: bool,
    has_users: bool,
    has_guarded: bool,
    /// ACLs that cannot be said.
    others: Vec<String>,
}

impl SquidReader {
    fn parts(&self, line: &AccessLine) -> LineParts {
        let mut parts = LineParts::default();
        for acl in &line.acls {
            let (is_not, name) = match acl.strip_prefix('!') {
                Some(name) => (true, name),
                None => (false, acl.as_str()),
            };
            match (self.acls.meaning(name), is_not) {
                (AclMeaning::Sources(networks), false) => match &mut parts.sources {
                    None => parts.sources = Some(networks),
                    // All clients narrow nothing.
                    Some(known) if is_everybody(&networks) => {
                        let _ = known;
                    }
                    Some(known) if is_everybody(known) => *known = networks,
                    Some(_) => parts.others.push(acl.clone()),
                },
                (AclMeaning::Destinations(_), false) => parts.destinations.push(name.to_owned()),
                (AclMeaning::Destinations(_), true) if line.is_allow => {
                    parts.not_destinations.push(name.to_owned());
                }
                (AclMeaning::Ports(ports), true) => parts.not_ports = Some(ports),
                (AclMeaning::Tunnels, false) => parts.has_tunnels = true,
                (AclMeaning::Users, false) => parts.has_users = true,
                (AclMeaning::Users, true) if !line.is_allow => parts.has_users = true,
                (AclMeaning::Guarded, false) => parts.has_guarded = true,
                _ => parts.others.push(acl.clone()),
            }
        }
        parts
    }

    pub(super) fn finish_access(&mut self, draft: &mut ImportDraft<'_>) {
        let mut sum = AccessSum::default();
        let lines = std::mem::take(&mut self.access);
        for line in &lines {
            let parts = self.parts(line);
            if line.is_allow {
                self.allow(line, &parts, &mut sum, draft);
            } else {
                self.deny(line, &parts, &mut sum, draft);
            }
        }
        if sum.clients.is_empty() {
            let place = NotePlace::new(&draft.first_source(), 0);
            let why = "nobody was let in: only this machine is";
            draft.report.changed(&place, "http_access", "proxy.clients", why);
            sum.clients = vec!["127.0.0.0/8".into(), "::1/128".into()];
            sum.is_open = true;
        }
        draft.sections.set("proxy", "clients", json!(sum.clients));
        if sum.has_named && !sum.is_open {
            draft.sections.set_below("policy", "default", "otherwise", "block");
        }
        if sum.needs_password {
            self.passwords(draft);
        }
    }

    fn passwords(&self, draft: &mut ImportDraft<'_>) {
        match &self.password_file {
            Some((file, _)) => {
                draft.sections.set_below("proxy", "auth", "file", file.as_str());
                if let Some(realm) = self.realm.as_ref().filter(|it| !it.is_empty()) {
                    draft.sections.set_below("proxy", "auth", "realm", realm.as_str());
                }
            }
            None => {
                // Without passwords nobody but this machine may do what they were asked for.
                let local = json!(["127.0.0.0/8", "::1/128"]);
                draft.sections.set("proxy", "clients", local);
                let place = NotePlace::new(&draft.first_source(), 0);
                let why = "passwords were asked for in a way that is not known: only this machine \
                           may use the proxy until you write proxy.auth";
                draft.report.changed(&place, "proxy_auth", "proxy.clients", why);
            }
        }
    }

    fn allow(
        &self,
        line: &AccessLine,
        parts: &LineParts,
        sum: &mut AccessSum,
        draft: &mut ImportDraft<'_>,
    ) {
        if !parts.others.is_empty() || parts.not_ports.is_some() {
            let why = format!("it allows nothing here: {} cannot be said", parts.others.join(", "));
            draft.report.left_out(&line.place, &line.said, &why);
            return;
        }
        if parts.has_guarded {
            draft.report.carried(&line.place, &line.said, "the dashboard is at admin.listen");
            return;
        }
        let everybody = || vec!["0.0.0.0/0".to_owned(), "::/0".to_owned()];
        let sources = parts.sources.clone().unwrap_or_else(everybody);
        if parts.has_users {
            sum.needs_password = true;
            let why = "every client shows a password";
            draft.report.changed(&line.place, &line.said, "proxy.auth", why);
        } else {
            draft.report.carried(&line.place, &line.said, "proxy.clients");
        }
        for network in &sources {
            if !sum.clients.contains(network) {
                sum.clients.push(network.clone());
            }
        }
        let some = Some(sources.as_slice()).filter(|it| !is_everybody(it));
        for destination in &parts.not_destinations {
            // Whom this line does not let through, no later one is expected to.
            self.blocks(destination, some, draft);
        }
        if parts.destinations.is_empty() {
            sum.is_open = true;
            return;
        }
        sum.has_named = true;
        for destination in &parts.destinations {
            self.exceptions(destination, &sources, draft);
        }
    }

    fn deny(
        &self,
        line: &AccessLine,
        parts: &LineParts,
        sum: &mut AccessSum,
        draft: &mut ImportDraft<'_>,
    ) {
        let (place, said) = (&line.place, line.said.as_str());
        if let Some(ports) = &parts.not_ports {
            let key = if parts.has_tunnels { "connect_ports" } else { "fetch_ports" };
            let ports: Vec<serde_json::Value> = ports
                .iter()
                .map(|it| it.parse::<u16>().map_or_else(|_| json!(it), |port| json!(port)))
                .collect();
            draft.sections.set("proxy", key, ports);
            draft.report.carried(place, said, &format!("proxy.{key}"));
        } else if parts.has_guarded {
            draft.report.carried(place, said, "proxy.destinations");
        } else if !parts.destinations.is_empty() {
            let sources = parts.sources.as_deref().filter(|it| !is_everybody(it));
            for destination in &parts.destinations {
                self.blocks(destination, sources, draft);
            }
            if parts.others.is_empty() && !sum.is_open {
                draft.report.carried(place, said, "policy.lists");
            } else if sum.is_open {
                let why = "a line before let some clients through: here it holds for them too";
                draft.report.changed(place, said, "policy.lists", why);
            } else {
                let why = format!("it denies whatever {} says", parts.others.join(", "));
                draft.report.changed(place, said, "policy.lists", &why);
            }
        } else if parts.has_users && parts.sources.is_none() && parts.others.is_empty() {
            sum.needs_password = true;
            draft.report.carried(place, said, "proxy.auth");
        } else {
            self.deny_sources(line, parts, draft);
        }
    }

    /// A line that keeps clients out, whatever they ask for.
    fn deny_sources(&self, line: &AccessLine, parts: &LineParts, draft: &mut ImportDraft<'_>) {
        let (place, said) = (&line.place, line.said.as_str());
        match &parts.sources {
            Some(sources) if is_everybody(sources) && parts.others.is_empty() => {
                draft.report.carried(place, said, "nobody else may");
            }
            Some(sources) if !is_everybody(sources) && !sources.is_empty() => {
                let name = line.acls.join(" ");
                let taken = draft.clients.iter().any(|it| it["name"] == name);
                if !taken {
                    let kept_out = json!({ "name": name, "match": sources, "lists": [], "otherwise": "block" });
                    draft.clients.push(kept_out);
                }
                if parts.others.is_empty() {
                    draft.report.carried(place, said, "policy.clients");
                } else {
                    let why = format!("it denies whatever {} says", parts.others.join(", "));
                    draft.report.changed(place, said, "policy.clients", &why);
                }
            }
            _ => {
                let why = "it kept somebody out, and cannot be said: look at it";
                draft.report.left_out(place, said, why);
            }
        }
    }
}

/// True for every client.
pub(super) fn is_everybody(networks: &[String]) -> bool {
    networks.iter().any(|it| it.ends_with("/0"))
}
