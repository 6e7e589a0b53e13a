//! Where it listens, whom it asks, names of its own, the cache.

use super::BlockyFile;
use crate::draft::{ImportDraft, socket};
use crate::placed_yaml::PlacedNode;
use crate::upstreams::{self, UpstreamTable, UpstreamWord};
use crate::words;
use import_report::NotePlace;
use serde_json::json;
use std::net::{IpAddr, SocketAddr};

/// Views of our resolver, at most.
const VIEWS_MAX: usize = 32;

/// An upstream as blocky writes it: `tcp-tls:dns.example:853`, `tcp+udp:1.1.1.1`, `1.1.1.1`.
fn upstream(text: &str) -> Result<UpstreamWord, &'static str> {
    let text = text.trim();
    let written = match text.split_once(':') {
        Some(("tcp+udp" | "udp", rest)) => rest.to_owned(),
        Some(("tcp", rest)) => format!("tcp://{rest}"),
        Some(("tcp-tls", rest)) => format!("tls://{rest}"),
        Some(("quic", rest)) if !rest.starts_with("//") => format!("quic://{rest}"),
        _ => text.to_owned(),
    };
    upstreams::read(&written)
}

impl BlockyFile<'_> {
    pub(super) fn ports(&self, draft: &mut ImportDraft<'_>) {
        let kinds: [(&[&str], &str, &str); 3] = [
            (&["ports.dns", "port"], "", ""),
            (&["ports.tls", "tlsPort"], "tls", ""),
            (&["ports.https", "httpsPort"], "https", "/dns-query"),
        ];
        for (paths, scheme, path) in kinds {
            let Some(node) = self.any(paths) else { continue };
            let words: Vec<&str> = node.items().iter().filter_map(PlacedNode::text).collect();
            for word in words.iter().flat_map(|it| it.split(',')).map(str::trim) {
                let place = self.place(node);
                let said = format!("{}: {word}", paths[0]);
                let sockets = sockets(word);
                if sockets.is_empty() {
                    draft.report.left_out(&place, &said, "this is no address with a port");
                    continue;
                }
                for (ip, port) in sockets {
                    if scheme.is_empty() {
                        draft.listen_plain(ip, port);
                    } else {
                        draft.listen(format!("{scheme}://{}{path}", socket(ip, port)));
                    }
                }
                draft.report.carried(&place, &said, "dns.listen");
            }
        }
        if let Some(node) = self.any(&["ports.http", "httpPort"]) {
            let why =
                "the dashboard listens at admin.listen; DNS over HTTP is http://ADDRESS/dns-query";
            draft.report.left_out(&self.place(node), "ports.http", why);
        }
        if let (Some(certificate), Some(key)) = (self.any(&["certFile"]), self.any(&["keyFile"]))
            && let (Some(cert), Some(key_file)) = (certificate.text(), key.text())
        {
            draft.sections.set("dns", "certificate", json!({ "cert": cert, "key": key_file }));
            draft.report.carried(&self.place(certificate), "certFile", "dns.certificate");
        }
    }

    pub(super) fn upstreams(&self, draft: &mut ImportDraft<'_>) {
        let groups = self.any(&["upstreams.groups", "upstream"]);
        for (group, servers) in groups.map(PlacedNode::entries).unwrap_or_default() {
            let mut table = UpstreamTable::default();
            for server in servers.items() {
                let said = server.text().unwrap_or_default();
                let place = self.place(server);
                match upstream(said) {
                    Ok(word) if group == "default" || group == "externalResolvers" => {
                        draft.upstreams.add(&word);
                        draft.report.carried(&place, said, "dns.upstreams");
                    }
                    Ok(word) => table.add(&word),
                    Err(why) => draft.report.left_out(&place, said, why),
                }
            }
            if !table.is_empty() {
                self.view(group, servers, &table, draft);
            }
        }
        if let Some(node) = self.any(&["upstreams.strategy", "upstreamStrategy"]) {
            let said = node.text().unwrap_or_default();
            let strategy = match said {
                "strict" => "ordered",
                "random" => "random",
                _ => "race",
            };
            draft.sections.set("dns", "strategy", strategy);
            let said = format!("strategy: {said}");
            draft.report.carried(&self.place(node), &said, "dns.strategy");
        }
        if let Some(node) = self.any(&["upstreams.timeout", "upstreamTimeout"])
            && let Some(ms) = node.text().and_then(words::go_span_ms)
        {
            draft.sections.set("dns", "timeout", words::bounded(ms, 100, 30_000).0);
            draft.report.carried(&self.place(node), "timeout", "dns.timeout");
        }
        self.any(&["upstreams.init"]).map(PlacedNode::see_all).unwrap_or_default();
        self.bootstrap(draft);
    }

    fn bootstrap(&self, draft: &mut ImportDraft<'_>) {
        let Some(node) = self.any(&["bootstrapDns"]) else { return };
        for item in node.items() {
            let word = item.get("upstream").unwrap_or(item);
            let said = word.text().unwrap_or_default();
            item.see_all();
            let bare = said.rsplit_once("udp:").map_or(said, |(_, rest)| rest);
            match upstreams::plain(bare) {
                Some(server) => {
                    draft.sections.push("dns", "bootstrap", server);
                    draft.report.carried(&self.place(item), said, "dns.bootstrap");
                }
                None => {
                    let why = "names of upstreams are looked up at plain DNS servers";
                    draft.report.left_out(&self.place(item), said, why);
                }
            }
        }
    }

    /// A group of upstreams for some clients.
    fn view(
        &self,
        group: &str,
        node: &PlacedNode,
        table: &UpstreamTable,
        draft: &mut ImportDraft<'_>,
    ) {
        let views = draft.sections.get("dns", "views").and_then(|it| it.as_array().map(Vec::len));
        let place = self.place(node);
        let said = format!("upstreams of {group}");
        match words::network(group) {
            Some(network) if views.unwrap_or(0) < VIEWS_MAX => {
                let view =
                    json!({ "name": group, "clients": [network], "upstreams": table.value() });
                draft.sections.push("dns", "views", view);
                draft.report.carried(&place, &said, "dns.views");
            }
            _ => {
                let why = "upstreams of some clients go by their IP addresses: 32 views at most";
                draft.report.left_out(&place, &said, why);
            }
        }
    }

    pub(super) fn custom(&self, draft: &mut ImportDraft<'_>) {
        let mapping = self.any(&["customDNS.mapping"]);
        for (name, value) in mapping.map(PlacedNode::entries).unwrap_or_default() {
            let words_of: Vec<&str> = value.items().iter().filter_map(PlacedNode::text).collect();
            for word in words_of.iter().flat_map(|it| it.split(',')).map(str::trim) {
                let (place, said) = (self.place(value), format!("{name}: {word}"));
                match (words::name(name), word.parse::<IpAddr>()) {
                    (Some(name), Ok(ip)) => {
                        // blocky answers for the names below, too.
                        let record = words::address_record(&format!("||{name}^"), ip);
                        draft.local(record, &place, &said);
                    }
                    _ => draft.report.left_out(&place, &said, "a name and an address are needed"),
                }
            }
        }
        self.rewrites("customDNS.rewrite", draft);
        if let Some(zone) = self.any(&["customDNS.zone"]) {
            let text = zone.text().unwrap_or_default();
            for line in text.lines().map(str::trim).filter(|it| !it.is_empty()) {
                self.zone_line(line, &self.place(zone), draft);
            }
        }
        for key in ["customDNS.customTTL", "customDNS.filterUnmappedTypes"] {
            self.any(&[key]).map(PlacedNode::see_all).unwrap_or_default();
        }
        let files = self.any(&["hostsFile.sources", "hostsFile.filePath"]);
        for item in files.map(PlacedNode::items).unwrap_or_default() {
            let said = item.text().unwrap_or_default();
            let place = self.place(item);
            if said.contains('\n') || said.contains("://") {
                draft.report.left_out(&place, said, "write the records under dns.local");
            } else if let Some((file, text)) = draft.open_named(said.as_ref(), &place, said) {
                draft.report.carried(&place, said, "dns.local");
                crate::hosts::read(&file, &text, None, draft);
            }
        }
        self.any(&["hostsFile"]).map(PlacedNode::see_all).unwrap_or_default();
    }

    /// A line of a zone file: `www 3600 IN A 192.0.2.1`.
    fn zone_line(&self, line: &str, place: &NotePlace, draft: &mut ImportDraft<'_>) {
        let mut parts: Vec<&str> = line.split_whitespace().collect();
        parts.retain(|part| !part.eq_ignore_ascii_case("IN") && part.parse::<u32>().is_err());
        match parts[..] {
            [name, kind, value] if words::name(name).is_some() => {
                let name = name.trim_end_matches('.');
                if kind.eq_ignore_ascii_case("CNAME") {
                    let other = value.trim_end_matches('.');
                    draft.sections.push("dns", "rewrites", format!("{name} {other}"));
                    draft.report.carried(place, line, "dns.rewrites");
                } else {
                    let record = format!("{name} {} {value}", kind.to_ascii_uppercase());
                    draft.local(record, place, line);
                }
            }
            _ => draft.report.left_out(place, line, "records have a name, a type and a value"),
        }
    }

    fn rewrites(&self, path: &str, draft: &mut ImportDraft<'_>) {
        let node = self.any(&[path]);
        for (from, to) in node.map(PlacedNode::entries).unwrap_or_default() {
            let said = format!("{from}: {}", to.text().unwrap_or_default());
            let why = "it exchanges the end of a name; dns.rewrites exchanges names as a whole";
            draft.report.left_out(&self.place(to), &said, why);
        }
    }

    pub(super) fn conditional(&self, draft: &mut ImportDraft<'_>) {
        let mapping = self.any(&["conditional.mapping"]);
        for (domain, value) in mapping.map(PlacedNode::entries).unwrap_or_default() {
            let words_of: Vec<&str> = value.items().iter().filter_map(PlacedNode::text).collect();
            for word in words_of.iter().flat_map(|it| it.split(',')).map(str::trim) {
                let (place, said) = (self.place(value), format!("{domain}: {word}"));
                match (words::name(domain), upstream(word)) {
                    (Some(domain), Ok(server)) => {
                        draft.upstreams.add_for(&server, &[domain]);
                        draft.report.carried(&place, &said, "dns.upstreams");
                    }
                    (None, Ok(_)) => {
                        draft.report.left_out(&place, &said, "names without a dot stay here");
                    }
                    (_, Err(why)) => draft.report.left_out(&place, &said, why),
                }
            }
        }
        self.rewrites("conditional.rewrite", draft);
        self.any(&["conditional.fallbackUpstream"]).map(PlacedNode::see_all).unwrap_or_default();
    }

    pub(super) fn cache(&self, draft: &mut ImportDraft<'_>) {
        let spans =
            [("caching.minTime", "min_ttl", 3_600_000), ("caching.maxTime", "max_ttl", 86_400_000)];
        for (path, key, most) in spans {
            let Some(node) = self.any(&[path]) else { continue };
            let said = node.text().unwrap_or_default();
            // Minutes where no unit is written.
            let minutes = || said.parse::<u64>().ok().map(|it| it.saturating_mul(60_000));
            if let Some(ms) = words::go_span_ms(said).or_else(minutes)
                && ms > 0
            {
                draft.sections.set_below("dns", "cache", key, words::bounded(ms, 1000, most).0);
                let setting = format!("dns.cache.{key}");
                draft.report.carried(&self.place(node), &format!("{path}: {said}"), &setting);
            }
        }
        if let Some(node) = self.any(&["caching.prefetching"]) {
            let is_on = node.truth() == Some(true);
            draft.sections.set_below("dns", "cache", "prefetch", is_on);
            draft.report.carried(&self.place(node), "caching.prefetching", "dns.cache.prefetch");
        }
        if let Some(node) = self.any(&["filtering.queryTypes"]) {
            for item in node.items() {
                let said = item.text().unwrap_or_default();
                draft.sections.push("dns", "filter_types", said);
                draft.report.carried(&self.place(item), said, "dns.filter_types");
            }
        }
    }

    pub(super) fn log(&self, draft: &mut ImportDraft<'_>) {
        if let Some(node) = self.any(&["queryLog.type"]) {
            let said = format!("queryLog.type: {}", node.text().unwrap_or_default());
            if node.text() == Some("none") {
                draft.sections.set("ledger", "log", "none");
                draft.report.carried(&self.place(node), &said, "ledger.log");
            } else {
                draft.report.changed(&self.place(node), &said, "ledger.log", "the ledger keeps it");
            }
        }
        if let Some(node) = self.any(&["queryLog.logRetentionDays"])
            && let Some(days) = node.number().filter(|days| *days > 0)
        {
            draft.sections.set("ledger", "keep", format!("{}d", days.min(3650)));
            draft.report.carried(&self.place(node), "queryLog.logRetentionDays", "ledger.keep");
        }
    }
}

/// Addresses that a port or an address with a port means.
fn sockets(word: &str) -> Vec<(IpAddr, u64)> {
    let everywhere = [IpAddr::from([0_u8; 4]), IpAddr::from([0_u16; 8])];
    if let Ok(port) = word.trim_start_matches(':').parse::<u16>() {
        return everywhere.map(|ip| (ip, u64::from(port))).to_vec();
    }
    let socket = word.parse::<SocketAddr>();
    socket.map(|it| vec![(it.ip(), u64::from(it.port()))]).unwrap_or_default()
}
