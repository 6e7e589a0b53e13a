//! Zones: forwarded ones, those that are answered from here, response policy zones.

use super::{UnboundOption, UnboundReader, absent};
use crate::draft::{ImportDraft, socket};
use crate::upstreams::UpstreamWord;
use crate::words;
use import_report::NotePlace;
use policy::ListKind;
use serde_json::Map;
use std::net::IpAddr;

/// A clause of a zone that is forwarded, or of a response policy zone.
#[derive(Default)]
pub(super) struct ForwardZone {
    name: Option<String>,
    is_tls: bool,
    servers: Vec<(String, NotePlace)>,
    /// The file or URL of a response policy zone.
    origin: Option<(String, NotePlace)>,
}

/// A zone that is answered from here, with what is done with names of no data.
pub(super) struct LocalZone {
    name: String,
    kind: String,
    place: NotePlace,
    said: String,
}

/// A record.
pub(super) struct LocalData {
    name: String,
    /// Type and value as in a zone file.
    record: String,
    place: NotePlace,
    said: String,
}

/// Kinds of local zones whose names do not exist, or are refused, whatever they are.
const BLOCKS: [&str; 8] = [
    "always_nxdomain",
    "always_refuse",
    "always_nodata",
    "always_null",
    "always_deny",
    "inform_deny",
    "refuse",
    "deny",
];

/// True for a line that does nothing but block a name.
pub(super) fn is_block(line: &str) -> bool {
    let Some(rest) = line.trim().strip_prefix("local-zone:") else { return false };
    let kind = rest.split('#').next().unwrap_or(rest).split_whitespace().last().unwrap_or("");
    BLOCKS.contains(&kind.trim_matches('"'))
}

impl ForwardZone {
    pub(super) fn option(&mut self, option: &UnboundOption<'_>, draft: &mut ImportDraft<'_>) {
        match option.key {
            "name" => self.name = Some(option.value.to_owned()),
            "forward-addr" | "stub-addr" => {
                self.servers.push((option.value.to_owned(), option.place.clone()));
            }
            "forward-tls-upstream" | "forward-ssl-upstream" | "stub-tls-upstream" => {
                self.is_tls = option.value == "yes";
                draft.report.carried(&option.place, option.said, "dns.upstreams");
            }
            "zonefile" | "url" => {
                // The URL outranks the file, which is its copy.
                if self.origin.is_none() || option.key == "url" {
                    self.origin = Some((option.value.to_owned(), option.place.clone()));
                }
            }
            "forward-host" | "stub-host" => {
                let why = "a plain DNS server is asked by its IP address";
                draft.report.left_out(&option.place, option.said, why);
            }
            _ if option.value == "no" => {}
            _ => draft.report.left_out(&option.place, option.said, "there is no such setting"),
        }
    }

    pub(super) fn finish(self, clause: &str, draft: &mut ImportDraft<'_>) {
        let name = self.name.unwrap_or_default();
        if clause == "rpz" {
            let Some((origin, place)) = self.origin else { return };
            match draft.lists.subscribe(&name, ListKind::Block, &origin, &[]) {
                Some(list) => {
                    draft.report.carried(&place, &origin, &format!("policy.lists, {list}"));
                }
                None => draft.report.left_out(&place, &origin, "48 lists have room"),
            }
            return;
        }
        for (server, place) in self.servers {
            let said = format!("{clause} {name}: {server}");
            let Some(word) = upstream(&server, self.is_tls) else {
                draft.report.left_out(&place, &said, "this is no address");
                continue;
            };
            if matches!(name.as_str(), "." | "") {
                draft.upstreams.add(&word);
            } else if let Some(zone) = words::name(&name) {
                draft.upstreams.add_with(&word, &[zone], Map::new());
            } else {
                draft.report.left_out(&place, &said, "this is no name");
                continue;
            }
            if clause == "stub-zone" {
                let why = "the server is asked as a resolver is: it has to answer for its zone";
                draft.report.changed(&place, &said, "dns.upstreams", why);
            } else {
                draft.report.carried(&place, &said, "dns.upstreams");
            }
        }
    }
}

/// A server as Unbound writes it: `1.1.1.1@853#cloudflare-dns.com`.
fn upstream(text: &str, is_tls: bool) -> Option<UpstreamWord> {
    let (rest, name) = match text.split_once('#') {
        Some((rest, name)) => (rest.trim(), Some(name.trim())),
        None => (text.trim(), None),
    };
    let (address, port) = match rest.split_once('@') {
        Some((address, port)) => (address, Some(port.parse::<u16>().ok()?)),
        None => (rest, None),
    };
    let ip: IpAddr = address.parse().ok()?;
    let usual = if is_tls { 853 } else { 53 };
    let port = port.filter(|it| *it != usual);
    let host = match (ip, port) {
        (ip, Some(port)) => socket(ip, port.into()),
        (IpAddr::V4(ip), None) => ip.to_string(),
        (IpAddr::V6(ip), None) => format!("[{ip}]"),
    };
    if !is_tls {
        return Some(UpstreamWord {
            address: format!("udp://{host}"),
            dial: None,
            difference: None,
        });
    }
    let (address, dial) = match name.and_then(words::name) {
        Some(name) => {
            let port = port.map_or_else(String::new, |port| format!(":{port}"));
            (format!("tls://{name}{port}"), Some(ip.to_string()))
        }
        None => (format!("tls://{host}"), None),
    };
    Some(UpstreamWord { address, dial, difference: None })
}

impl UnboundReader {
    pub(super) fn local_zone(&mut self, option: &UnboundOption<'_>, draft: &mut ImportDraft<'_>) {
        let mut words_of = option.value.split_whitespace();
        let name = words_of.next().map(|it| it.trim_matches(['"', '\''])).and_then(words::name);
        match (name, words_of.next()) {
            (Some(name), Some(kind)) => self.local_zones.push(LocalZone {
                name,
                kind: kind.trim_matches('"').to_owned(),
                place: option.place.clone(),
                said: option.said.to_owned(),
            }),
            _ => draft.report.left_out(&option.place, option.said, "a name and a kind are needed"),
        }
    }

    pub(super) fn local_data(&mut self, option: &UnboundOption<'_>, draft: &mut ImportDraft<'_>) {
        let mut parts: Vec<&str> = option.value.split_whitespace().collect();
        let bad = |draft: &mut ImportDraft<'_>| {
            draft.report.left_out(&option.place, option.said, "this is no record");
        };
        if parts.len() < 2 {
            return bad(draft);
        }
        let first = parts.remove(0);
        // What may stand between: a time to live, the class.
        while parts.len() > 1
            && (parts[0].eq_ignore_ascii_case("IN") || parts[0].parse::<u32>().is_ok())
        {
            parts.remove(0);
        }
        if option.key == "local-data-ptr" {
            // The reverse of an address record is answered by itself.
            match (first.parse::<IpAddr>(), parts.last().copied().and_then(words::name)) {
                (Ok(ip), Some(name)) => {
                    draft.local(words::address_record(&name, ip), &option.place, option.said);
                }
                _ => bad(draft),
            }
            return;
        }
        let Some(name) = words::name(first) else { return bad(draft) };
        self.local_data.push(LocalData {
            name,
            record: parts.join(" "),
            place: option.place.clone(),
            said: option.said.to_owned(),
        });
    }

    /// Writes zones and records, which only together say what is answered.
    pub(super) fn finish_local(&mut self, draft: &mut ImportDraft<'_>) {
        let redirects: Vec<String> = self
            .local_zones
            .iter()
            .filter(|zone| zone.kind == "redirect")
            .map(|zone| zone.name.clone())
            .collect();
        for zone in std::mem::take(&mut self.local_zones) {
            let LocalZone { name, kind, place, said } = &zone;
            match kind.as_str() {
                "redirect" => draft.report.carried(place, said, "dns.local"),
                "transparent" | "typetransparent" | "nodefault" | "inform" => {
                    draft.report.carried(place, said, "dns.local");
                }
                "static" | "inform_redirect" => {
                    draft.own_rule(format!("||{name}^$dnsrewrite=NXDOMAIN"), place, said);
                }
                kind if BLOCKS.contains(&kind) => draft.own_rule(format!("||{name}^"), place, said),
                _ => draft.report.left_out(place, said, absent::clause("")),
            }
        }
        for data in std::mem::take(&mut self.local_data) {
            let is_wide = redirects.contains(&data.name);
            let nowhere = ["A 0.0.0.0", "A 127.0.0.1", "AAAA ::", "AAAA ::1"];
            if is_wide && nowhere.iter().any(|it| data.record.eq_ignore_ascii_case(it)) {
                draft.own_rule(format!("||{}^", data.name), &data.place, &data.said);
                continue;
            }
            let name = if is_wide { format!("||{}^", data.name) } else { data.name };
            draft.local(format!("{name} {}", data.record), &data.place, &data.said);
        }
    }
}
