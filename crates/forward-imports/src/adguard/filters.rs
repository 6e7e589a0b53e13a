//! Filters by URL, rules of one's own, rewrites, and the answer for what is blocked.

use super::AdGuardFile;
use super::services;
use crate::draft::ImportDraft;
use crate::lists::RuleOrigin;
use crate::placed_yaml::PlacedNode;
use crate::words;
use policy::ListKind;
use serde_json::{Value, json};
use std::net::IpAddr;

/// Name of the list of services that are blocked for everybody.
const SERVICES: &str = "blocked services";
/// Name of the list that leads search engines to their safe mode.
const SAFE_SEARCH: &str = "safe search";

impl AdGuardFile<'_> {
    pub(super) fn blocking(&self, draft: &mut ImportDraft<'_>) {
        if let Some((node, _)) = self.filtering("blocking_mode") {
            let mode = node.text().unwrap_or_default().to_owned();
            let said = format!("blocking_mode: {mode}");
            let (blocked, why) = match mode.as_str() {
                "nxdomain" => ("nxdomain", ""),
                "refused" => ("refused", ""),
                "null_ip" | "default" => ("null", ""),
                "custom_ip" => (
                    "null",
                    "an address of your own is the pixel door's: write it in pixel.addresses, and \
                     dns.blocked: pixel",
                ),
                _ => ("auto", "this mode is not known"),
            };
            draft.sections.set("dns", "blocked", blocked);
            let place = self.place(node);
            if why.is_empty() {
                draft.report.carried(&place, &said, "dns.blocked");
            } else {
                draft.report.changed(&place, &said, "dns.blocked", why);
            }
        }
        for key in
            ["blocking_ipv4", "blocking_ipv6", "parental_block_host", "safebrowsing_block_host"]
        {
            self.filtering(key).map(|(node, _)| node.see_all()).unwrap_or_default();
        }
        for key in [
            "safebrowsing_cache_size",
            "safesearch_cache_size",
            "parental_cache_size",
            "cache_time",
        ] {
            self.filtering(key).map(|(node, _)| node.see_all()).unwrap_or_default();
        }
        if let Some((node, _)) = self.filtering("blocked_response_ttl")
            && let Some(seconds) = node.number()
        {
            let (ttl, _) = words::bounded(seconds.saturating_mul(1000), 0, 86_400_000);
            draft.sections.set("dns", "blocked_ttl", ttl);
            let said = format!("blocked_response_ttl: {seconds}");
            draft.report.carried(&self.place(node), &said, "dns.blocked_ttl");
        }
        let hosts = self.at("dns.blocked_hosts");
        for host in hosts.map(PlacedNode::items).unwrap_or_default() {
            let said = host.text().unwrap_or_default();
            let place = self.place(host);
            let source = format!("blocked_hosts: {said}");
            if matches!(said, "version.bind" | "id.server" | "hostname.bind") {
                draft.report.carried(&place, &source, "nobody is told of this server, always");
            } else {
                draft.own_rule(said, &place, &source);
            }
        }
    }

    pub(super) fn filters(&self, draft: &mut ImportDraft<'_>) {
        let refresh = self.filtering("filters_update_interval").and_then(|(node, _)| node.number());
        let more: Vec<(&str, Value)> = match refresh {
            None | Some(24) => Vec::new(),
            // Never, with AdGuard Home.
            Some(0) => vec![("refresh", json!("30d"))],
            Some(hours) => vec![("refresh", json!(words::span(hours.min(720) * 3_600_000)))],
        };
        for (key, kind) in [("filters", ListKind::Block), ("whitelist_filters", ListKind::Allow)] {
            for filter in self.at(key).map(PlacedNode::items).unwrap_or_default() {
                self.filter(filter, kind, &more, draft);
            }
        }
        for rule in self.at("user_rules").map(PlacedNode::items).unwrap_or_default() {
            let said = rule.text().unwrap_or_default().trim();
            if !said.is_empty() && !said.starts_with(['#', '!']) {
                self.user_rule(said, rule, draft);
            }
        }
        let everybody = draft.lists.names();
        let services = self.filtering("blocked_services").map(|(node, _)| node);
        self.services_of(services, SERVICES, draft);
        let safe = self.filtering("safe_search").filter(|(node, _)| node.is_section());
        self.safe_search(safe.map(|(node, _)| node), SAFE_SEARCH, draft);
        if let Some((node, _)) = self.filtering("safesearch_enabled")
            && node.truth() == Some(true)
        {
            let place = self.place(node);
            let told = RuleOrigin::new(&place, "safesearch_enabled: true");
            super::safe_search::all(SAFE_SEARCH, told, &mut draft.lists);
        }
        let mut default = everybody;
        default.extend(
            draft.lists.names().into_iter().filter(|it| it == SERVICES || it == SAFE_SEARCH),
        );
        let is_off = |key| {
            self.filtering(key).and_then(|(node, _)| Some((node, node.truth()?))).filter(|it| !it.1)
        };
        if let Some((node, _)) =
            is_off("protection_enabled").or_else(|| is_off("filtering_enabled"))
        {
            let why = "nothing was blocked, so no list holds: take policy.default.lists out";
            let place = self.place(node);
            draft.report.changed(&place, "filtering is off", "policy.default.lists", why);
            default.clear();
        }
        draft.default_lists = Some(default);
    }

    fn filter(
        &self,
        filter: &PlacedNode,
        kind: ListKind,
        more: &[(&str, Value)],
        draft: &mut ImportDraft<'_>,
    ) {
        let of = |key| filter.get(key).and_then(PlacedNode::text).unwrap_or_default();
        let (url, name) = (of("url").trim(), of("name"));
        filter.see_all();
        let place = self.place(filter);
        let said = format!("{name}: {url}");
        if filter.get("enabled").and_then(PlacedNode::truth) == Some(false) {
            draft.report.left_out(&place, &said, "it is off");
            return;
        }
        if url.is_empty() {
            draft.report.left_out(&place, &said, "it has no URL");
            return;
        }
        match draft.lists.subscribe(if name.is_empty() { url } else { name }, kind, url, more) {
            Some(list) => draft.report.carried(&place, &said, &format!("policy.lists, {list}")),
            None => draft.report.left_out(&place, &said, "48 lists have room: join some"),
        }
    }

    /// A rule of one's own; a line of a hosts file that leads somewhere is a record.
    fn user_rule(&self, said: &str, node: &PlacedNode, draft: &mut ImportDraft<'_>) {
        let place = self.place(node);
        let mut parts = said.split_whitespace();
        let ip = parts.next().and_then(|it| it.parse::<IpAddr>().ok());
        let leads = ip.filter(|ip| !ip.is_unspecified() && !ip.is_loopback());
        let Some(ip) = leads else {
            draft.own_rule(said, &place, said);
            return;
        };
        for name in parts.take_while(|it| !it.starts_with('#')) {
            match words::name(name) {
                Some(name) => draft.local(words::address_record(&name, ip), &place, said),
                None => draft.report.left_out(&place, said, "this is no name"),
            }
        }
    }

    /// Services of a list by AdGuard Home's names.
    pub(super) fn services_of(
        &self,
        node: Option<&PlacedNode>,
        list: &str,
        draft: &mut ImportDraft<'_>,
    ) {
        let Some(node) = node else { return };
        let ids = if node.is_section() { node.get("ids") } else { Some(node) };
        for id in ids.map(PlacedNode::items).unwrap_or_default() {
            let id_text = id.text().unwrap_or_default();
            let (place, said) = (self.place(id), format!("blocked_services: {id_text}"));
            match services::domains(id_text) {
                Some(domains) => {
                    for domain in domains {
                        let why = "its best known names: add what you miss".to_owned();
                        let rule = format!("||{domain}^");
                        let told = RuleOrigin::new(&place, &said);
                        draft.lists.rule_with(list, ListKind::Block, rule, told, Some(why));
                    }
                }
                None => {
                    let why = "its names are not known here: write rules, or subscribe to a list";
                    draft.report.left_out(&place, &said, why);
                }
            }
        }
        if let Some(schedule) = node.get("schedule") {
            let days = schedule.entries().iter().filter(|(key, _)| key != "time_zone");
            for (day, span) in days {
                let why = "hours at which a service is free: write them as schedule of a client";
                draft.report.left_out(&self.place(span), &format!("schedule: {day}"), why);
            }
            schedule.see_all();
        }
    }

    pub(super) fn rewrites(&self, draft: &mut ImportDraft<'_>) {
        let Some((node, _)) = self.filtering("rewrites") else { return };
        if let Some((false, _)) = self.truth("filtering.rewrites_enabled") {
            draft.report.left_out(&self.place(node), "rewrites", "they are off");
            node.see_all();
            return;
        }
        for rewrite in node.items() {
            let of = |key| rewrite.get(key).and_then(PlacedNode::text).unwrap_or_default().trim();
            let (domain, answer) = (of("domain"), of("answer"));
            rewrite.see_all();
            let (place, said) = (self.place(rewrite), format!("{domain} → {answer}"));
            if rewrite.get("enabled").and_then(PlacedNode::truth) == Some(false) {
                draft.report.left_out(&place, &said, "it is off");
                continue;
            }
            let (is_wild, bare) = match domain.strip_prefix("*.") {
                Some(bare) => (true, bare),
                None => (false, domain),
            };
            let Some(name) = words::name(bare) else {
                draft.report.left_out(&place, &said, "this is no name");
                continue;
            };
            let name = if is_wild { format!("||{name}^") } else { name };
            match answer.parse::<IpAddr>() {
                Ok(ip) => {
                    let why = is_wild.then_some("the name itself leads there too");
                    draft.local_with(words::address_record(&name, ip), &place, &said, why);
                }
                Err(_) => match words::name(answer) {
                    Some(other) if answer.contains('.') && answer != domain => {
                        draft.sections.push("dns", "rewrites", format!("{name} {other}"));
                        draft.report.carried(&place, &said, "dns.rewrites");
                    }
                    _ => {
                        let why = "an exception of another rewrite: write that one more narrowly";
                        draft.report.left_out(&place, &said, why);
                    }
                },
            }
        }
    }
}
