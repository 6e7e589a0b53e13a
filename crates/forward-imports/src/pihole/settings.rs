//! Settings of version 6: `pihole.toml`.

use super::PiholeReader;
use super::toml_lines::TomlLines;
use crate::dnsmasq::{reverse_zones, server};
use crate::draft::ImportDraft;
use crate::hosts::{self, ShortNames};
use crate::words;
use import_report::{ImportFault, NotePlace};
use serde_json::json;
use std::sync::Arc;
use toml::{Table, Value};

/// A network whose names another server knows, and the domain of their names.
pub(super) struct ConditionalWay<'w> {
    pub(super) network: &'w str,
    pub(super) target: &'w str,
    pub(super) domain: &'w str,
}

/// One file.
struct PiholeToml {
    table: Table,
    lines: TomlLines,
}

impl PiholeToml {
    fn at(&self, path: &str) -> Option<&Value> {
        let mut steps = path.split('.');
        let first = self.table.get(steps.next()?)?;
        steps.try_fold(first, |node, key| node.get(key))
    }

    fn text(&self, path: &str) -> Option<(&str, NotePlace)> {
        let text = self.at(path)?.as_str().filter(|it| !it.is_empty())?;
        Some((text, self.lines.place(path)))
    }

    fn number(&self, path: &str) -> Option<(u64, NotePlace)> {
        let number = self.at(path)?.as_integer()?;
        Some((u64::try_from(number).ok()?, self.lines.place(path)))
    }

    fn truth(&self, path: &str) -> Option<(bool, NotePlace)> {
        Some((self.at(path)?.as_bool()?, self.lines.place(path)))
    }

    /// Texts of a list, each with the list's place.
    fn list(&self, path: &str) -> Vec<(&str, NotePlace)> {
        let items = self.at(path).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let texts = items.iter().filter_map(Value::as_str);
        texts.map(|text| (text, self.lines.place(path))).collect()
    }
}

impl PiholeReader {
    pub(super) fn settings(&mut self, file: &Arc<str>, text: &str, draft: &mut ImportDraft<'_>) {
        let table = match text.parse::<Table>() {
            Ok(table) => table,
            Err(why) => {
                let start = why.span().map_or(0, |it| it.start).min(text.len());
                let line = text.get(..start).map_or(1, |it| it.matches('\n').count() + 1);
                let message = format!("this is no TOML: {}", why.message());
                draft.faults.push(ImportFault::new(&NotePlace::new(file, line), message));
                return;
            }
        };
        self.is_new = true;
        let toml = PiholeToml { table, lines: TomlLines::of(file, text) };
        for (upstream, place) in toml.list("dns.upstreams") {
            self.upstream(upstream, &place, draft);
        }
        self.names(&toml, file, draft);
        for (entry, place) in toml.list("dns.revServers") {
            let parts: Vec<&str> = entry.split(',').map(str::trim).collect();
            let on = parts.first() == Some(&"true");
            let at = |index| parts.get(index).copied().unwrap_or_default();
            if on {
                let way = ConditionalWay { network: at(1), target: at(2), domain: at(3) };
                self.conditional(&way, &place, entry, draft);
            } else {
                draft.report.left_out(&place, entry, "it is off");
            }
        }
        if let Some((port, place)) = toml.number("dns.port") {
            self.port = Some(port);
            draft.report.carried(&place, &format!("dns.port = {port}"), "dns.listen");
        }
        if let Some((mode, place)) = toml.text("dns.listeningMode") {
            listening(mode, &place, draft);
        }
        self.blocking(&toml, draft);
        answers(&toml, draft);
        log(&toml, draft);
        for (line, place) in toml.list("misc.dnsmasq_lines") {
            let lines: Arc<str> = place.to_string().into();
            self.dnsmasq.text(&lines, line, 0, draft);
        }
        absent(&toml, draft);
    }

    pub(super) fn upstream(&mut self, said: &str, place: &NotePlace, draft: &mut ImportDraft<'_>) {
        match server(said) {
            Some(found) => {
                draft.upstreams.add_with(&found.word, &[], found.more);
                draft.report.carried(place, said, "dns.upstreams");
            }
            None => {
                draft.report.left_out(place, said, "a plain DNS server is asked by its IP address");
            }
        }
    }

    fn names(&mut self, toml: &PiholeToml, file: &Arc<str>, draft: &mut ImportDraft<'_>) {
        // A section of its own since version 6.3.
        let domain = toml.text("dns.domain").or_else(|| toml.text("dns.domain.name"));
        self.domain = domain.and_then(|(name, _)| words::name(name));
        let expand = toml.truth("dns.expandHosts").is_some_and(|(yes, _)| yes);
        let short = if expand { ShortNames::Expanded } else { ShortNames::Kept };
        for (entry, place) in toml.list("dns.hosts") {
            let domain = self.domain.clone();
            let domain = domain.as_deref().map(|it| (it, short));
            // Each is a line of a hosts file; their places are that of the list.
            let lines = "\n".repeat(place.line.saturating_sub(1));
            hosts::read(file, &format!("{lines}{entry}"), domain, draft);
        }
        for (entry, place) in toml.list("dns.cnameRecords") {
            let file: Arc<str> = place.to_string().into();
            self.dnsmasq.text(&file, &format!("cname={entry}"), 0, draft);
        }
        if let Some((record, place)) = toml.text("dns.hostRecord") {
            let file: Arc<str> = place.to_string().into();
            self.dnsmasq.text(&file, &format!("host-record={record}"), 0, draft);
        }
    }

    /// A network whose names a router knows: the reverse zone, and its domain.
    pub(super) fn conditional(
        &self,
        way: &ConditionalWay<'_>,
        place: &NotePlace,
        said: &str,
        draft: &mut ImportDraft<'_>,
    ) {
        let ConditionalWay { network, target, domain } = *way;
        let Some(target) = server(target) else {
            draft.report.left_out(place, said, "the server is no address");
            return;
        };
        let zone = reverse_zones(network);
        let names: Vec<String> = words::name(domain).into_iter().chain(zone.clone()).collect();
        if names.is_empty() {
            draft.report.left_out(place, said, "neither a domain nor a network that ends at a dot");
            return;
        }
        draft.upstreams.add_with(&target.word, &names, target.more);
        if zone.is_some() {
            draft.report.carried(place, said, "dns.upstreams");
        } else {
            let why = "reverse names of a network that ends at no dot: write private_reverse";
            draft.report.changed(place, said, "dns.upstreams", why);
        }
    }

    fn blocking(&mut self, toml: &PiholeToml, draft: &mut ImportDraft<'_>) {
        if let Some((false, place)) = toml.truth("dns.blocking.active") {
            self.blocks_nothing = Some(place);
        }
        if let Some((mode, place)) = toml.text("dns.blocking.mode") {
            blocking_mode(mode, &place, draft);
        }
        if let Some((seconds, place)) = toml.number("dns.blockTTL") {
            let ttl = words::bounded(seconds.saturating_mul(1000), 0, 86_400_000).0;
            draft.sections.set("dns", "blocked_ttl", ttl);
            draft.report.carried(&place, &format!("dns.blockTTL = {seconds}"), "dns.blocked_ttl");
        }
        let canaries = ["mozillaCanary", "iCloudPrivateRelay", "designatedResolver"];
        for key in canaries {
            if let Some((false, place)) = toml.truth(&format!("dns.specialDomains.{key}")) {
                draft.sections.set("dns", "canaries", "pass");
                let why = "all of these names are answered, or none";
                draft.report.changed(&place, &format!("{key} = false"), "dns.canaries", why);
            }
        }
        if let Some((false, place)) = toml.truth("dns.CNAMEdeepInspect") {
            let why = "names behind an alias are always looked at: write exceptions";
            draft.report.left_out(&place, "dns.CNAMEdeepInspect = false", why);
        }
    }
}

/// The answer for blocked names.
pub(super) fn blocking_mode(mode: &str, place: &NotePlace, draft: &mut ImportDraft<'_>) {
    let said = format!("blocking mode {mode}");
    let (blocked, why) = match mode.to_ascii_uppercase().as_str() {
        "NULL" => ("null", ""),
        "NX" | "NXDOMAIN" => ("nxdomain", ""),
        "NODATA" => ("nodata", ""),
        _ => ("auto", "an address is the pixel door's: write pixel, and dns.blocked: pixel"),
    };
    draft.sections.set("dns", "blocked", blocked);
    if why.is_empty() {
        draft.report.carried(place, &said, "dns.blocked");
    } else {
        draft.report.changed(place, &said, "dns.blocked", why);
    }
}

/// Clients that could ask.
pub(super) fn listening(mode: &str, place: &NotePlace, draft: &mut ImportDraft<'_>) {
    let said = format!("listening mode {mode}");
    match mode.to_ascii_uppercase().as_str() {
        "ALL" => draft.report.carried(place, &said, "dns.listen"),
        "NONE" => draft.report.left_out(place, &said, "dnsmasq's own lines say where it listens"),
        _ => {
            draft.only_private();
            let why = "it listens everywhere and answers private networks";
            draft.report.changed(place, &said, "dns.access.allow", why);
        }
    }
}

/// The cache, and how much one client may ask.
fn answers(toml: &PiholeToml, draft: &mut ImportDraft<'_>) {
    if let Some((entries, place)) = toml.number("dns.cache.size") {
        cache_size(entries, &place, draft);
    }
    if let Some((age, place)) = toml.number("dns.cache.optimizer") {
        let stale = words::bounded(age.saturating_mul(1000), 0, 7 * 86_400_000).0;
        draft.sections.set_below("dns", "cache", "stale", stale);
        draft.sections.set_below("dns", "cache", "stale_mode", "at-once");
        draft.report.carried(&place, &format!("dns.cache.optimizer = {age}"), "dns.cache.stale");
    }
    let count = toml.number("dns.rateLimit.count");
    if let (Some((count, place)), Some((seconds, _))) =
        (count, toml.number("dns.rateLimit.interval"))
    {
        rate_limit(count, seconds, &place, draft);
    }
    if let Some((true, place)) = toml.truth("dns.dnssec") {
        let why = "signatures are not checked here: the AD flag is passed on as trust_ad says";
        draft.report.left_out(&place, "dns.dnssec = true", why);
    }
    for key in ["domainNeeded", "bogusPriv"] {
        if let Some((true, place)) = toml.truth(&format!("dns.{key}")) {
            draft.report.carried(&place, &format!("dns.{key} = true"), "always so");
        }
    }
}

/// Size of the cache, which Pi-hole counts in answers.
pub(super) fn cache_size(entries: u64, place: &NotePlace, draft: &mut ImportDraft<'_>) {
    let said = format!("cache size {entries}");
    if entries == 0 {
        draft.sections.set_below("dns", "cache", "size", json!(0));
        draft.report.carried(place, &said, "dns.cache.size");
    } else {
        let why = "the cache is counted in bytes: 64MiB hold some 200,000 answers";
        draft.report.changed(place, &said, "dns.cache.size", why);
    }
}

/// Questions of one client in some seconds.
pub(super) fn rate_limit(count: u64, seconds: u64, place: &NotePlace, draft: &mut ImportDraft<'_>) {
    let said = format!("rate limit {count}/{seconds}");
    let rate = if count == 0 || seconds == 0 { 0 } else { count.div_ceil(seconds).max(1) };
    draft.sections.set_below("dns", "rate_limit", "queries_per_second", rate);
    if rate > 0 {
        draft.sections.set_below("dns", "rate_limit", "burst", count.max(rate));
    }
    draft.report.carried(place, &said, "dns.rate_limit");
}

/// The memory of requests.
fn log(toml: &PiholeToml, draft: &mut ImportDraft<'_>) {
    if let Some((false, place)) = toml.truth("dns.queryLogging") {
        let why = "it wrote no text log: the ledger is what the dashboard shows";
        draft.report.changed(&place, "dns.queryLogging = false", "ledger.log", why);
    }
    if let Some((days, place)) = toml.number("database.maxDBdays") {
        draft.sections.set("ledger", "keep", format!("{}d", days.min(3650)));
        draft.report.carried(&place, &format!("database.maxDBdays = {days}"), "ledger.keep");
    }
    if let Some((level, place)) = toml.number("misc.privacylevel") {
        privacy(level, &place, draft);
    }
}

/// Pi-hole's levels of privacy.
pub(super) fn privacy(level: u64, place: &NotePlace, draft: &mut ImportDraft<'_>) {
    let said = format!("privacy level {level}");
    match level {
        0 => draft.report.carried(place, &said, "ledger"),
        1 | 2 => {
            draft.sections.set("ledger", "anonymise", "network");
            let why = "networks are kept instead of addresses; names of requests are kept";
            draft.report.changed(place, &said, "ledger.anonymise", why);
        }
        _ => {
            draft.sections.set("ledger", "log", "none");
            draft.report.carried(place, &said, "ledger.log");
        }
    }
}

/// Sections that say something and have no counterpart.
fn absent(toml: &PiholeToml, draft: &mut ImportDraft<'_>) {
    if let Some((true, place)) = toml.truth("dhcp.active") {
        let why = "there is no DHCP server: leave it to the router, or to dnsmasq with port=0";
        draft.report.left_out(&place, "dhcp.active = true", why);
    }
    let switches = [
        ("ntp.ipv4.active", "there is no time server: chrony is one"),
        ("ntp.ipv6.active", "there is no time server: chrony is one"),
    ];
    for (path, why) in switches {
        if let Some((true, place)) = toml.truth(path) {
            draft.report.left_out(&place, &format!("{path} = true"), why);
        }
    }
    let texts = [
        ("dns.interface", "listeners have addresses: write those of the interface"),
        ("webserver.port", "the dashboard listens at admin.listen, only on this machine"),
        ("webserver.acl", "the dashboard listens only on this machine"),
        ("webserver.api.pwhash", "the dashboard asks for the token in the state folder"),
    ];
    for (path, why) in texts {
        if let Some((_, place)) = toml.text(path) {
            draft.report.left_out(&place, path, why);
        }
    }
}
