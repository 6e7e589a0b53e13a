//! Upstreams: servers, servers for names, names that are known here alone.

use super::{DnsmasqLine, DnsmasqReader};
use crate::draft::ImportDraft;
use crate::upstreams::{self, UpstreamWord};
use import_report::NotePlace;
use serde_json::{Map, json};
use std::net::IpAddr;

/// A server of dnsmasq's: `1.1.1.1#5353@eth0`.
pub(crate) struct DnsmasqServer {
    pub(crate) word: UpstreamWord,
    pub(crate) more: Map<String, serde_json::Value>,
}

/// Reads a server; none for what names no address.
pub(crate) fn server(text: &str) -> Option<DnsmasqServer> {
    let mut more = Map::new();
    let mut parts = text.trim().split('@');
    let (address, port) = match parts.next()?.split_once('#') {
        Some((address, port)) => (address, Some(port.parse::<u16>().ok()?)),
        None => (text.trim().split('@').next()?, None),
    };
    // A link-local address names its interface.
    let (address, zone) = address.split_once('%').unwrap_or((address, ""));
    let ip: IpAddr = address.parse().ok()?;
    let source = parts.next().map(|it| it.split('#').next().unwrap_or(it));
    match source.or((!zone.is_empty()).then_some(zone)) {
        Some(source) if source.parse::<IpAddr>().is_ok() => {
            more.insert("source".into(), json!(source));
        }
        Some(interface) if !interface.is_empty() => {
            more.insert("interface".into(), json!(interface));
        }
        _ => {}
    }
    let host = match (ip, port.filter(|it| *it != 53)) {
        (_, Some(port)) => crate::draft::socket(ip, port.into()),
        (IpAddr::V4(ip), None) => ip.to_string(),
        (IpAddr::V6(ip), None) => format!("[{ip}]"),
    };
    let word = UpstreamWord { address: format!("udp://{host}"), dial: None, difference: None };
    Some(DnsmasqServer { word, more })
}

/// Reverse zones of a network whose bits end at a dot: `168.192.in-addr.arpa`.
pub(crate) fn reverse_zones(network: &str) -> Option<String> {
    let (address, bits) = network.split_once('/')?;
    let bits: u32 = bits.parse().ok()?;
    match address.parse().ok()? {
        IpAddr::V4(ip) if bits.is_multiple_of(8) && (8..=32).contains(&bits) => {
            let octets = ip.octets();
            let parts = octets[..bits as usize / 8].iter().rev().map(ToString::to_string);
            Some(format!("{}.in-addr.arpa", parts.collect::<Vec<_>>().join(".")))
        }
        IpAddr::V6(ip) if bits.is_multiple_of(4) && (4..=128).contains(&bits) => {
            let digits: Vec<String> = ip
                .octets()
                .iter()
                .flat_map(|byte| [byte >> 4, byte & 15])
                .take(bits as usize / 4)
                .map(|it| format!("{it:x}"))
                .collect();
            let parts: Vec<&str> = digits.iter().rev().map(String::as_str).collect();
            Some(format!("{}.ip6.arpa", parts.join(".")))
        }
        _ => None,
    }
}

impl DnsmasqReader {
    pub(super) fn server(&self, line: &DnsmasqLine<'_>, draft: &mut ImportDraft<'_>) {
        if line.key == "rev-server" {
            self.rev_server(line, draft);
            return;
        }
        let Some((names, target)) =
            line.value.strip_prefix('/').and_then(|rest| rest.rsplit_once('/'))
        else {
            match server(line.value) {
                Some(server) => {
                    draft.upstreams.add_with(&server.word, &[], server.more);
                    draft.report.carried(&line.place, line.said, "dns.upstreams");
                }
                None => {
                    let why = "a plain DNS server is asked by its IP address";
                    draft.report.left_out(&line.place, line.said, why);
                }
            }
            return;
        };
        let (names, others) = upstreams::slashed_names(names);
        if names.is_empty() || !others.is_empty() {
            let why = "names without a dot, and patterns, have no server of their own";
            draft.report.left_out(&line.place, line.said, why);
        }
        if names.is_empty() {
            return;
        }
        match target.trim() {
            "" => {
                // Known here alone: what no record names is no name.
                for name in names {
                    let rule = format!("||{name}^$dnsrewrite=NXDOMAIN");
                    draft.own_rule(rule, &line.place, line.said);
                }
            }
            "#" => {
                for word in draft.upstreams.general() {
                    draft.upstreams.add_for(&word, &names);
                }
                draft.report.carried(&line.place, line.said, "dns.upstreams");
            }
            target => match server(target) {
                Some(server) => {
                    draft.upstreams.add_with(&server.word, &names, server.more);
                    draft.report.carried(&line.place, line.said, "dns.upstreams");
                }
                None => {
                    let why = "a plain DNS server is asked by its IP address";
                    draft.report.left_out(&line.place, line.said, why);
                }
            },
        }
    }

    fn rev_server(&self, line: &DnsmasqLine<'_>, draft: &mut ImportDraft<'_>) {
        let mut parts = line.value.split(',');
        let network = parts.next().unwrap_or_default().trim();
        let server = parts.next().and_then(server);
        match (reverse_zones(network), server) {
            (Some(zone), Some(server)) => {
                draft.upstreams.add_with(&server.word, &[zone], server.more);
                draft.report.carried(&line.place, line.said, "dns.upstreams");
            }
            _ => {
                let why = "a network that ends at a dot, and an address, are needed";
                draft.report.left_out(&line.place, line.said, why);
            }
        }
    }

    /// Servers of the files that `resolv-file` names.
    pub(super) fn resolv(&mut self, draft: &mut ImportDraft<'_>) {
        if self.no_resolv {
            return;
        }
        for (path, place) in std::mem::take(&mut self.resolv_files) {
            let said = format!("resolv-file={}", path.display());
            let Some((file, text)) = draft.open_named(&path, &place, &said) else { continue };
            draft.report.carried(&place, &said, "dns.upstreams");
            for (index, line) in text.lines().enumerate() {
                let Some(address) = line.trim().strip_prefix("nameserver") else { continue };
                let place = NotePlace::new(&file, index + 1);
                match server(address) {
                    Some(server) => {
                        draft.upstreams.add_with(&server.word, &[], server.more);
                        draft.report.carried(&place, line.trim(), "dns.upstreams");
                    }
                    None => draft.report.left_out(&place, line.trim(), "this is no address"),
                }
            }
        }
    }
}
