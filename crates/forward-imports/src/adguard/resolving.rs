//! Where it listens, whom it asks, the cache, who may ask.

use super::AdGuardFile;
use crate::draft::ImportDraft;
use crate::placed_yaml::PlacedNode;
use crate::upstreams::{self, UpstreamTable, UpstreamWord};
use crate::words;
use import_report::NotePlace;
use serde_json::{Value, json};
use std::net::IpAddr;

/// One line of AdGuard Home's upstreams.
pub(super) enum UpstreamLine {
    /// An upstream for everything.
    General(UpstreamWord),
    /// Upstreams for names and those below; none where the general ones are meant.
    For(Vec<String>, Vec<UpstreamWord>),
}

impl AdGuardFile<'_> {
    pub(super) fn listeners(&self, draft: &mut ImportDraft<'_>) {
        let port = self.number("dns.port").map_or(53, |(port, _)| port);
        let hosts = self.at("dns.bind_hosts").or_else(|| self.at("dns.bind_host"));
        let mut ips = Vec::new();
        for host in hosts.map(PlacedNode::items).unwrap_or_default() {
            let said = host.text().unwrap_or_default();
            let place = self.place(host);
            match said.parse::<IpAddr>() {
                Ok(ip) => {
                    draft.report.carried(&place, &format!("bind_hosts: {said}"), "dns.listen");
                    ips.push(ip);
                }
                Err(_) => draft.report.left_out(&place, said, "this is no address"),
            }
        }
        if ips.is_empty() {
            ips.push(IpAddr::from([0, 0, 0, 0]));
        }
        if self.truth("dns.serve_plain_dns").is_none_or(|(yes, _)| yes) {
            ips.iter().for_each(|ip| draft.listen_plain(*ip, port));
        }
        self.encrypted(&ips, draft);
    }

    pub(super) fn upstreams(&self, draft: &mut ImportDraft<'_>) {
        let mut table = UpstreamTable::default();
        let node = self.at("dns.upstream_dns");
        for (said, place) in self.lines_of(node, draft) {
            self.upstream(&said, &place, "dns.upstreams", &mut table, draft);
        }
        draft.upstreams = table;
        if !draft.upstreams.is_empty() {
            draft.ask_somebody("of nobody");
        }
        self.second_resorts(draft);
        if let Some((mode, place)) = self.text("dns.upstream_mode") {
            let said = format!("upstream_mode: {mode}");
            let (strategy, why) = match mode {
                "parallel" => ("race", "three are asked at once, as dns.concurrent says"),
                "fastest_addr" => ("fastest_address", ""),
                "load_balance" => ("fastest", "the one that answered soonest of late is asked"),
                _ => ("race", "this mode is not known"),
            };
            draft.sections.set("dns", "strategy", strategy);
            draft.report.changed(&place, &said, "dns.strategy", why);
        } else if self.truth("dns.all_servers").is_some_and(|(yes, _)| yes) {
            draft.sections.set("dns", "strategy", "race");
        } else if self.truth("dns.fastest_addr").is_some_and(|(yes, _)| yes) {
            draft.sections.set("dns", "strategy", "fastest_address");
        }
        if let Some((span, place)) = self.text("dns.upstream_timeout")
            && let Some(ms) = words::go_span_ms(span)
        {
            let (held, _) = words::bounded(ms, 100, 30_000);
            draft.sections.set("dns", "timeout", held);
            draft.report.carried(&place, &format!("upstream_timeout: {span}"), "dns.timeout");
        }
        self.at("dns.fastest_timeout").map(PlacedNode::see_all).unwrap_or_default();
    }

    /// Bootstrap, fallback, and those that know the names of private addresses.
    fn second_resorts(&self, draft: &mut ImportDraft<'_>) {
        for (said, place) in self.lines_of(self.at("dns.bootstrap_dns"), draft) {
            let server = upstreams::plain(said.trim_start_matches("udp://"));
            let source = format!("bootstrap_dns: {said}");
            match server {
                Some(server) => {
                    draft.sections.push("dns", "bootstrap", server);
                    draft.report.carried(&place, &source, "dns.bootstrap");
                }
                None => {
                    let why = "names of upstreams are looked up at plain DNS servers";
                    draft.report.left_out(&place, &source, why);
                }
            }
        }
        let mut fallback = UpstreamTable::default();
        for (said, place) in self.lines_of(self.at("dns.fallback_dns"), draft) {
            self.upstream(&said, &place, "dns.fallback", &mut fallback, draft);
        }
        if !fallback.is_empty() {
            draft.sections.set_below("dns", "fallback", "upstreams", fallback.value());
        }
        let mut reverse = UpstreamTable::default();
        for (said, place) in self.lines_of(self.at("dns.local_ptr_upstreams"), draft) {
            self.upstream(&said, &place, "dns.private_reverse", &mut reverse, draft);
        }
        if !reverse.is_empty() {
            draft.sections.set("dns", "private_reverse", reverse.value());
            // They are said, so that the switch says nothing more.
            self.at("dns.use_private_ptr_resolvers").map(PlacedNode::see_all).unwrap_or_default();
        }
    }

    /// Lines of a list of upstreams, and of the file that stands in for it.
    fn lines_of(
        &self,
        node: Option<&PlacedNode>,
        draft: &mut ImportDraft<'_>,
    ) -> Vec<(String, NotePlace)> {
        let items = node.map(PlacedNode::items).unwrap_or_default();
        let mut lines: Vec<(String, NotePlace)> = items
            .iter()
            .filter_map(|it| Some((it.text()?.trim().to_owned(), self.place(it))))
            .collect();
        if node.is_some_and(|node| std::ptr::eq(node, self.at("dns.upstream_dns").unwrap_or(node)))
            && let Some((path, place)) = self.text("dns.upstream_dns_file")
        {
            let base = self.folder.clone().unwrap_or_default();
            let said = format!("upstream_dns_file: {path}");
            if let Some((file, text)) = draft.open_named(&base.join(path), &place, &said) {
                draft.report.carried(&place, &said, "dns.upstreams");
                // The file stands in for the list.
                lines = text
                    .lines()
                    .enumerate()
                    .map(|(at, line)| (line.trim().to_owned(), NotePlace::new(&file, at + 1)))
                    .collect();
            }
        }
        lines.retain(|(line, _)| !line.is_empty() && !line.starts_with('#'));
        lines
    }

    /// One line of upstreams.
    fn upstream(
        &self,
        said: &str,
        place: &NotePlace,
        setting: &str,
        table: &mut UpstreamTable,
        draft: &mut ImportDraft<'_>,
    ) {
        match upstream_line(said) {
            Ok(UpstreamLine::General(word)) => {
                table.add(&word);
                match word.difference {
                    Some(why) => draft.report.changed(place, said, setting, why),
                    None => draft.report.carried(place, said, setting),
                }
            }
            Ok(UpstreamLine::For(domains, words)) => {
                let words = if words.is_empty() { table.general() } else { words };
                if domains.is_empty() || words.is_empty() {
                    draft.report.left_out(place, said, "it is about names without a dot, or none");
                    return;
                }
                words.iter().for_each(|word| table.add_for(word, &domains));
                draft.report.carried(place, said, setting);
            }
            Err(why) => draft.report.left_out(place, said, why),
        }
    }

    pub(super) fn cache(&self, draft: &mut ImportDraft<'_>) {
        let is_on = self.truth("dns.cache_enabled").is_none_or(|(yes, _)| yes);
        if let Some((bytes, place)) = self.number("dns.cache_size") {
            let size = if is_on && bytes > 0 { bytes.max(1 << 20) } else { 0 };
            draft.sections.set_below("dns", "cache", "size", written_size(size));
            let said = format!("cache_size: {bytes}");
            draft.report.carried(&place, &said, "dns.cache.size");
        }
        for (key, ours, most) in
            [("cache_ttl_min", "min_ttl", 3_600), ("cache_ttl_max", "max_ttl", 86_400)]
        {
            let Some((seconds, place)) = self.number(&format!("dns.{key}")) else { continue };
            if seconds > 0 {
                let (held, is_moved) =
                    words::bounded(seconds.saturating_mul(1000), 1000, most * 1000);
                draft.sections.set_below("dns", "cache", ours, held);
                let (said, setting) = (format!("{key}: {seconds}"), format!("dns.cache.{ours}"));
                if is_moved {
                    draft.report.changed(&place, &said, &setting, "this is the most");
                } else {
                    draft.report.carried(&place, &said, &setting);
                }
            }
        }
        if let Some((true, place)) = self.truth("dns.cache_optimistic") {
            draft.sections.set_below("dns", "cache", "stale_mode", "at-once");
            draft.report.carried(&place, "cache_optimistic: true", "dns.cache.stale_mode");
            if let Some((age, place)) = self.text("dns.cache_optimistic_max_age")
                && let Some(ms) = words::go_span_ms(age)
            {
                let (held, _) = words::bounded(ms, 0, 7 * 86_400_000);
                draft.sections.set_below("dns", "cache", "stale", held);
                let said = format!("cache_optimistic_max_age: {age}");
                draft.report.carried(&place, &said, "dns.cache.stale");
            }
        }
        for key in ["cache_optimistic_max_age", "cache_optimistic_answer_ttl"] {
            self.at(&format!("dns.{key}")).map(PlacedNode::see_all).unwrap_or_default();
        }
        if let Some((true, place)) = self.truth("dns.aaaa_disabled") {
            draft.sections.push("dns", "filter_types", "AAAA");
            draft.report.carried(&place, "aaaa_disabled: true", "dns.filter_types");
        }
        self.client_subnet(draft);
    }

    fn client_subnet(&self, draft: &mut ImportDraft<'_>) {
        let new = self.truth("dns.edns_client_subnet.enabled");
        let Some((true, place)) = new.or_else(|| self.truth("dns.edns_client_subnet")) else {
            self.at("dns.edns_client_subnet").map(PlacedNode::see_all).unwrap_or_default();
            return;
        };
        let custom = self.text("dns.edns_client_subnet.custom_ip");
        let is_custom = self.truth("dns.edns_client_subnet.use_custom");
        let mode = match (custom, is_custom) {
            (Some((ip, _)), Some((true, _))) if ip.parse::<IpAddr>().is_ok() => {
                draft.sections.set_below("dns", "client_subnet", "address", ip);
                "fixed"
            }
            _ => "client",
        };
        draft.sections.set_below("dns", "client_subnet", "mode", mode);
        draft.report.carried(&place, "edns_client_subnet.enabled: true", "dns.client_subnet");
    }

    pub(super) fn access(&self, draft: &mut ImportDraft<'_>) {
        if let Some((rate, place)) = self.number("dns.ratelimit") {
            draft.sections.set_below("dns", "rate_limit", "queries_per_second", rate);
            let said = format!("ratelimit: {rate}");
            draft.report.carried(&place, &said, "dns.rate_limit.queries_per_second");
        }
        for (key, ours) in [
            ("ratelimit_subnet_len_ipv4", "ipv4_prefix"),
            ("ratelimit_subnet_len_ipv6", "ipv6_prefix"),
        ] {
            if let Some((bits, place)) = self.number(&format!("dns.{key}")) {
                draft.sections.set_below("dns", "rate_limit", ours, bits);
                let setting = format!("dns.rate_limit.{ours}");
                draft.report.carried(&place, &format!("{key}: {bits}"), &setting);
            }
        }
        let exempt = self.networks("ratelimit_whitelist", "dns.rate_limit.exempt", draft);
        if !exempt.is_empty() {
            let ours = ["127.0.0.0/8".to_owned(), "::1/128".to_owned()];
            let all: Vec<String> = ours.into_iter().chain(exempt).collect();
            draft.sections.set_below("dns", "rate_limit", "exempt", json!(all));
        }
        let allowed = self.at("dns.allowed_clients").is_some_and(|it| !it.items().is_empty());
        let mut allow = self.networks("allowed_clients", "dns.access.allow", draft);
        if allowed {
            if allow.is_empty() {
                // Nobody is let in who was not: only this machine is left.
                allow.push("127.0.0.0/8".into());
            }
            draft.sections.set_below("dns", "access", "allow", json!(allow));
        }
        let deny = self.networks("disallowed_clients", "dns.access.deny", draft);
        if !deny.is_empty() {
            draft.sections.set_below("dns", "access", "deny", json!(deny));
        }
        let trusted = self.networks("trusted_proxies", "dns.doh.trusted_proxies", draft);
        let is_encrypted = self.truth("tls.enabled").is_some_and(|(yes, _)| yes);
        if !trusted.is_empty() && is_encrypted {
            draft.sections.set_below("dns", "doh", "trusted_proxies", json!(trusted));
        }
        if let Some((true, place)) = self.truth("dns.refuse_any") {
            draft.report.carried(&place, "refuse_any: true", "ANY gets a short answer, always");
        }
        if let Some((false, place)) = self.truth("dns.handle_ddr") {
            draft.sections.set("dns", "ddr", "off");
            draft.report.carried(&place, "handle_ddr: false", "dns.ddr");
        }
    }

    /// Addresses and networks of a list; what is neither is told of.
    fn networks(&self, key: &str, setting: &str, draft: &mut ImportDraft<'_>) -> Vec<String> {
        let mut found = Vec::new();
        let node = self.at(&format!("dns.{key}"));
        for item in node.map(PlacedNode::items).unwrap_or_default() {
            let said = item.text().unwrap_or_default();
            let source = format!("{key}: {said}");
            match words::network(said) {
                Some(network) => {
                    draft.report.carried(&self.place(item), &source, setting);
                    found.push(network);
                }
                None => {
                    let why = "a device may claim any ClientID: access goes by addresses";
                    draft.report.left_out(&self.place(item), &source, why);
                }
            }
        }
        found
    }

    pub(super) fn log(&self, draft: &mut ImportDraft<'_>) {
        let paths = [
            ("querylog.enabled", "querylog.interval"),
            ("dns.querylog_enabled", "dns.querylog_interval"),
        ];
        for (switch, interval) in paths {
            if let Some((is_on, place)) = self.truth(switch) {
                if !is_on {
                    draft.sections.set("ledger", "log", "none");
                }
                draft.report.carried(&place, &format!("{switch}: {is_on}"), "ledger.log");
            }
            let Some((said, place)) = self.text(interval) else { continue };
            // Days in old schemas.
            let days = said.parse::<u64>().ok().map(|days| days.saturating_mul(86_400_000));
            if let Some(ms) = words::go_span_ms(said).or(days) {
                let (keep, _) = words::bounded(ms, 3_600_000, 3650 * 86_400_000);
                draft.sections.set("ledger", "keep", keep);
                draft.report.carried(&place, &format!("{interval}: {said}"), "ledger.keep");
            }
        }
        if let Some((true, place)) = self.truth("dns.anonymize_client_ip") {
            draft.sections.set("ledger", "anonymise", "network");
            let why = "the network is kept: IPv4 /24, IPv6 /48";
            draft.report.changed(&place, "anonymize_client_ip: true", "ledger.anonymise", why);
        }
        // Idle values of what is left out anyway.
        for path in ["schema_version", "querylog.size_memory", "querylog.file_enabled"] {
            self.at(path).map(PlacedNode::see_all).unwrap_or_default();
        }
    }
}

/// One line of AdGuard Home's upstreams: `[/example.org/]1.1.1.1 8.8.8.8`, or an address.
pub(super) fn upstream_line(said: &str) -> Result<UpstreamLine, &'static str> {
    let Some(rest) = said.strip_prefix("[/") else {
        return upstreams::read(said).map(UpstreamLine::General);
    };
    let (names, servers) = rest.split_once("/]").ok_or("the names are not closed by /]")?;
    let (names, _) = upstreams::slashed_names(names);
    if servers.trim() == "#" {
        return Ok(UpstreamLine::For(names, Vec::new()));
    }
    let words: Result<Vec<UpstreamWord>, _> =
        servers.split_whitespace().map(upstreams::read).collect();
    Ok(UpstreamLine::For(names, words?))
}

/// A size in our words.
pub(super) fn written_size(bytes: u64) -> Value {
    let units = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let unit = units.iter().find(|(unit, _)| bytes > 0 && bytes.is_multiple_of(*unit));
    unit.map_or_else(|| json!(bytes), |(unit, word)| json!(format!("{}{word}", bytes / unit)))
}
