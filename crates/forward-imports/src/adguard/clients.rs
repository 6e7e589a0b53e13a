//! Clients with tags, upstreams, services and filters of their own.

use super::AdGuardFile;
use super::resolving::{UpstreamLine, upstream_line};
use crate::draft::ImportDraft;
use crate::lists::RuleOrigin;
use crate::placed_yaml::PlacedNode;
use crate::upstreams::UpstreamTable;
use crate::words;
use serde_json::json;

/// Views of our resolver, at most.
const VIEWS_MAX: usize = 32;

impl AdGuardFile<'_> {
    pub(super) fn clients(&self, draft: &mut ImportDraft<'_>) {
        // A list alone in old schemas.
        let Some(node) = self.at("clients") else { return };
        let persistent = if node.is_section() { node.get("persistent") } else { Some(node) };
        for client in persistent.map(PlacedNode::items).unwrap_or_default() {
            self.client(client, draft);
        }
    }

    fn client(&self, client: &PlacedNode, draft: &mut ImportDraft<'_>) {
        let name = client.get("name").and_then(PlacedNode::text).unwrap_or_default();
        let name = self.client_name(name, draft);
        let place = self.place(client);
        let (mut matches, mut networks) = (Vec::new(), Vec::new());
        // Old schemas had an address and a hardware address.
        for key in ["ids", "ip", "mac"] {
            for id in client.get(key).map(PlacedNode::items).unwrap_or_default() {
                let text = id.text().unwrap_or_default();
                networks.extend(words::network(text));
                matches.push(words::device(text).unwrap_or_else(|| format!("id:{text}")));
            }
        }
        if matches.is_empty() {
            draft.report.left_out(&place, &name, "nobody is meant by it");
            client.see_all();
            return;
        }
        let mut made = json!({ "name": name, "match": matches });
        let tags: Vec<&str> = client
            .get("tags")
            .map(PlacedNode::items)
            .unwrap_or_default()
            .iter()
            .filter_map(PlacedNode::text)
            .collect();
        if !tags.is_empty() {
            made["tags"] = json!(tags);
        }
        if let Some(lists) = self.client_lists(client, &name, draft) {
            made["lists"] = json!(lists);
        }
        self.client_upstreams(client, &name, &networks, draft);
        self.client_rest(client, &name, draft);
        draft.clients.push(made);
        draft.report.carried(&place, &format!("client {name}"), "policy.clients");
    }

    /// A name that no other client has.
    fn client_name(&self, wanted: &str, draft: &ImportDraft<'_>) -> String {
        let wanted = if wanted.trim().is_empty() { "client" } else { wanted.trim() };
        let is_taken =
            |name: &str| name == "default" || draft.clients.iter().any(|it| it["name"] == name);
        let mut name = wanted.to_owned();
        let mut number = 2;
        while is_taken(&name) {
            name = format!("{wanted} {number}");
            number += 1;
        }
        name
    }

    /// Lists of a client that has some of its own; none for those of everybody.
    fn client_lists(
        &self,
        client: &PlacedNode,
        name: &str,
        draft: &mut ImportDraft<'_>,
    ) -> Option<Vec<String>> {
        let is = |key| client.get(key).and_then(PlacedNode::truth);
        let own_settings = is("use_global_settings") == Some(false);
        let own_services = is("use_global_blocked_services") == Some(false);
        if !own_settings && !own_services {
            for key in
                ["safe_search", "blocked_services", "filtering_enabled", "safesearch_enabled"]
            {
                client.get(key).map(PlacedNode::see_all).unwrap_or_default();
            }
            return None;
        }
        let everybody = draft.default_lists.clone().unwrap_or_default();
        let is_special = |it: &String| it == "blocked services" || it == "safe search";
        let mut lists: Vec<String> = match is("filtering_enabled") {
            Some(false) if own_settings => Vec::new(),
            _ => everybody.iter().filter(|it| !is_special(it)).cloned().collect(),
        };
        let own = |what: &str| format!("{what}, {name}");
        if own_services {
            let node = client.get("blocked_services");
            self.services_of(node, &own("blocked services"), draft);
        } else {
            lists.extend(everybody.iter().filter(|it| *it == "blocked services").cloned());
        }
        if own_settings {
            let node = client.get("safe_search");
            self.safe_search(node, &own("safe search"), draft);
            if let Some(node) = client.get("safesearch_enabled")
                && node.truth() == Some(true)
            {
                let place = self.place(node);
                let told = RuleOrigin::new(&place, "safesearch_enabled: true");
                super::safe_search::all(&own("safe search"), told, &mut draft.lists);
            }
        } else {
            lists.extend(everybody.iter().filter(|it| *it == "safe search").cloned());
        }
        let special = [own("blocked services"), own("safe search")];
        lists.extend(draft.lists.names().into_iter().filter(|it| special.contains(it)));
        client.get("safe_search").map(PlacedNode::see_all).unwrap_or_default();
        client.get("blocked_services").map(PlacedNode::see_all).unwrap_or_default();
        Some(lists)
    }

    /// Upstreams of a client: a view, which goes by addresses.
    fn client_upstreams(
        &self,
        client: &PlacedNode,
        name: &str,
        networks: &[String],
        draft: &mut ImportDraft<'_>,
    ) {
        let mut table = UpstreamTable::default();
        for item in client.get("upstreams").map(PlacedNode::items).unwrap_or_default() {
            let said = item.text().unwrap_or_default();
            let (place, source) = (self.place(item), format!("client {name}: {said}"));
            let views =
                draft.sections.get("dns", "views").and_then(|it| it.as_array().map(Vec::len));
            if networks.is_empty() || views.is_some_and(|it| it >= VIEWS_MAX) {
                let why = "upstreams of some clients go by their IP addresses: 32 views at most";
                draft.report.left_out(&place, &source, why);
                continue;
            }
            match upstream_line(said) {
                Ok(UpstreamLine::General(word)) => {
                    table.add(&word);
                    draft.report.carried(&place, &source, "dns.views");
                }
                Ok(UpstreamLine::For(names, words)) => {
                    words.iter().for_each(|word| table.add_for(word, &names));
                    draft.report.carried(&place, &source, "dns.views");
                }
                Err(why) => draft.report.left_out(&place, &source, why),
            }
        }
        if table.is_empty() {
            return;
        }
        if !table.has_general() {
            draft.upstreams.general().iter().for_each(|word| table.add(word));
        }
        let view = json!({ "name": name, "clients": networks, "upstreams": table.value() });
        draft.sections.push("dns", "views", view);
    }

    /// Settings of a client that say nothing here, or nothing but what is left out.
    fn client_rest(&self, client: &PlacedNode, name: &str, draft: &mut ImportDraft<'_>) {
        let own_settings =
            client.get("use_global_settings").and_then(PlacedNode::truth) == Some(false);
        let left_out = [
            ("parental_enabled", own_settings, "AdGuard's look-up service is not asked"),
            ("safebrowsing_enabled", own_settings, "AdGuard's look-up service is not asked"),
            ("ignore_querylog", true, "the log is the same for all: ledger.log"),
            ("ignore_statistics", true, "counters are the same for all"),
        ];
        for (key, counts, why) in left_out {
            if let Some(node) = client.get(key)
                && counts
                && node.truth() == Some(true)
            {
                let said = format!("client {name}: {key}: true");
                draft.report.left_out(&self.place(node), &said, why);
            }
        }
        client.see_all();
    }
}
