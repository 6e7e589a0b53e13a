//! Names that are answered from here: addresses, aliases, records of other types.

use super::{DnsmasqLine, DnsmasqReader};
use crate::draft::ImportDraft;
use crate::upstreams;
use crate::words;
use std::net::IpAddr;

/// True for a line that does nothing but block a name: `address=/ads.example/0.0.0.0`.
pub(super) fn is_block(line: &str) -> bool {
    let Some(rest) = line.trim().strip_prefix("address=/") else { return false };
    let Some((_, target)) = rest.rsplit_once('/') else { return false };
    is_nowhere(target.trim())
}

/// True for an address that leads nowhere.
fn is_nowhere(target: &str) -> bool {
    matches!(target, "" | "#" | "0.0.0.0" | "::" | "127.0.0.1" | "::1")
}

impl DnsmasqReader {
    /// `address=/NAME/NAME/IP`: names with all below them.
    pub(super) fn address(&self, line: &DnsmasqLine<'_>, draft: &mut ImportDraft<'_>) {
        let Some((names, target)) =
            line.value.strip_prefix('/').and_then(|rest| rest.rsplit_once('/'))
        else {
            draft.report.left_out(&line.place, line.said, "no name stands between slashes");
            return;
        };
        let target = target.trim();
        let (names, others) = upstreams::slashed_names(names);
        for other in &others {
            let why = if *other == "#" {
                "every name: write otherwise: block, or a rule"
            } else {
                "this is no name"
            };
            draft.report.left_out(&line.place, line.said, why);
        }
        if names.is_empty() && others.is_empty() {
            draft.report.left_out(
                &line.place,
                line.said,
                "names without a dot are asked as others",
            );
        }
        for name in names {
            if is_nowhere(target) {
                draft.own_rule(format!("||{name}^"), &line.place, line.said);
            } else if let Ok(ip) = target.parse::<IpAddr>() {
                let record = words::address_record(&format!("||{name}^"), ip);
                draft.local(record, &line.place, line.said);
            } else {
                draft.report.left_out(&line.place, line.said, "this is no address");
            }
        }
    }

    /// `host-record=NAME,NAME,IP,IP,TTL`.
    pub(super) fn host_record(&self, line: &DnsmasqLine<'_>, draft: &mut ImportDraft<'_>) {
        let (mut names, mut ips) = (Vec::new(), Vec::new());
        for part in line.value.split(',').map(str::trim) {
            if let Ok(ip) = part.parse::<IpAddr>() {
                ips.push(ip);
            } else if let (Some(name), false) = (words::name(part), part.parse::<u32>().is_ok()) {
                names.push(name);
            }
        }
        if names.is_empty() || ips.is_empty() {
            draft.report.left_out(&line.place, line.said, "a record has a name and an address");
        }
        for name in &names {
            for ip in &ips {
                draft.local(words::address_record(name, *ip), &line.place, line.said);
            }
        }
    }

    /// `cname=ALIAS,ALIAS,NAME,TTL`.
    pub(super) fn cname(&self, line: &DnsmasqLine<'_>, draft: &mut ImportDraft<'_>) {
        let mut parts: Vec<&str> = line.value.split(',').map(str::trim).collect();
        parts.retain(|part| !part.is_empty() && part.parse::<u32>().is_err());
        let target = parts.pop().and_then(words::name);
        let (Some(target), false) = (target, parts.is_empty()) else {
            draft.report.left_out(&line.place, line.said, "an alias and a name are needed");
            return;
        };
        for alias in parts {
            let (wild, bare) = match alias.strip_prefix("*.") {
                Some(bare) => (true, bare),
                None => (false, alias),
            };
            match words::name(bare) {
                Some(name) => {
                    let name = if wild { format!("||{name}^") } else { name };
                    draft.sections.push("dns", "rewrites", format!("{name} {target}"));
                    draft.report.carried(&line.place, line.said, "dns.rewrites");
                }
                None => draft.report.left_out(&line.place, line.said, "this is no name"),
            }
        }
    }

    /// Records that are written as in a zone file.
    pub(super) fn other_record(&self, line: &DnsmasqLine<'_>, draft: &mut ImportDraft<'_>) {
        let parts: Vec<&str> = line.value.split(',').map(str::trim).collect();
        let part = |at: usize| parts.get(at).copied().filter(|it| !it.is_empty());
        let Some(name) = part(0).map(|it| it.trim_end_matches('.').to_ascii_lowercase()) else {
            draft.report.left_out(&line.place, line.said, "a record has a name");
            return;
        };
        let record = match line.key {
            "txt-record" => {
                let quoted =
                    |it: &&str| format!("\"{}\"", it.trim_matches('"').replace('"', "\\\""));
                let texts: Vec<String> = parts.iter().skip(1).map(quoted).collect();
                (!texts.is_empty()).then(|| format!("{name} TXT {}", texts.join(" ")))
            }
            "mx-host" => part(1)
                .map(|host| format!("{name} MX {} {}.", part(2).unwrap_or("1"), dotless(host))),
            "srv-host" => part(1).map(|host| {
                let of = |at, usual| part(at).unwrap_or(usual);
                let (port, priority, weight) = (of(2, "1"), of(3, "0"), of(4, "0"));
                format!("{name} SRV {priority} {weight} {port} {}.", dotless(host))
            }),
            "ptr-record" => part(1).map(|host| format!("{name} PTR {}.", dotless(host))),
            _ => part(3).map(|value| {
                let (flags, tag) = (part(1).unwrap_or("0"), part(2).unwrap_or("issue"));
                format!("{name} CAA {flags} {tag} \"{}\"", value.trim_matches('"'))
            }),
        };
        match record {
            Some(record) => draft.local(record, &line.place, line.said),
            None => draft.report.left_out(&line.place, line.said, "it names no value"),
        }
    }
}

fn dotless(host: &str) -> &str {
    host.trim_end_matches('.')
}
