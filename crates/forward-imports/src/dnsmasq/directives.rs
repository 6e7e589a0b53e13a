//! Directives, and the settings that each becomes.

use super::{DnsmasqLine, DnsmasqReader, absent};
use crate::draft::ImportDraft;
use crate::hosts::ShortNames;
use crate::words;
use serde_json::json;
use std::net::IpAddr;
use std::path::PathBuf;

impl DnsmasqReader {
    pub(super) fn directive(
        &mut self,
        line: &DnsmasqLine<'_>,
        depth: usize,
        draft: &mut ImportDraft<'_>,
    ) {
        match line.key {
            "conf-file" | "conf-dir" | "servers-file" => self.include(line, depth, draft),
            "server" | "local" | "rev-server" => self.server(line, draft),
            "resolv-file" => {
                self.resolv_files.push((PathBuf::from(line.value), line.place.clone()));
            }
            "no-resolv" => {
                self.no_resolv = true;
                draft.report.carried(&line.place, line.said, "dns.upstreams");
            }
            "strict-order" => self.strategy(line, "ordered", draft),
            "all-servers" => self.strategy(line, "race", draft),
            "address" => self.address(line, draft),
            "host-record" => self.host_record(line, draft),
            "cname" => self.cname(line, draft),
            "txt-record" | "mx-host" | "srv-host" | "ptr-record" | "caa-record" => {
                self.other_record(line, draft);
            }
            "addn-hosts" | "hostsdir" => {
                let named = (line.place.clone(), line.said.to_owned());
                self.hosts_files.push((PathBuf::from(line.value), Some(named)));
            }
            "domain" => self.domain(line, draft),
            "expand-hosts" => {
                self.short_names = ShortNames::Expanded;
                draft.report.carried(&line.place, line.said, "dns.local");
            }
            "port" | "listen-address" | "interface" => self.listen(line, draft),
            "cache-size" | "min-cache-ttl" | "max-cache-ttl" | "max-ttl" | "neg-ttl"
            | "no-negcache" | "use-stale-cache" => self.cache(line, draft),
            "filter-AAAA" | "filter-A" | "filter-rr" => self.filter(line, draft),
            "stop-dns-rebind" => {
                self.stops_rebinding = true;
                draft.report.carried(&line.place, line.said, "dns.rebinding.protect");
            }
            "rebind-domain-ok" => {
                let (names, _) = crate::upstreams::slashed_names(line.value);
                self.rebind_allowed.extend(names);
                draft.report.carried(&line.place, line.said, "dns.rebinding.allow");
            }
            "log-queries" => draft.report.carried(&line.place, line.said, "ledger.log"),
            "add-subnet" => {
                draft.sections.set_below("dns", "client_subnet", "mode", "client");
                draft.report.carried(&line.place, line.said, "dns.client_subnet");
            }
            key if absent::is_idle(key) => {
                draft.report.carried(&line.place, line.said, "always so, or needless");
            }
            key => draft.report.left_out(&line.place, line.said, absent::reason(key)),
        }
    }

    fn strategy(&self, line: &DnsmasqLine<'_>, word: &str, draft: &mut ImportDraft<'_>) {
        draft.sections.set("dns", "strategy", word);
        draft.report.carried(&line.place, line.said, "dns.strategy");
    }

    fn domain(&mut self, line: &DnsmasqLine<'_>, draft: &mut ImportDraft<'_>) {
        let mut parts = line.value.split(',');
        let name = words::name(parts.next().unwrap_or_default());
        match (name, parts.next()) {
            (Some(name), None) => {
                draft.report.carried(&line.place, line.said, "dns.local");
                self.domain = Some(name);
            }
            _ => {
                draft.report.left_out(&line.place, line.said, "one domain is added to short names");
            }
        }
    }

    fn listen(&mut self, line: &DnsmasqLine<'_>, draft: &mut ImportDraft<'_>) {
        match line.key {
            "port" => match line.value.parse::<u64>() {
                Ok(port) if (1..=65_535).contains(&port) => {
                    self.port = Some(port);
                    draft.report.carried(&line.place, line.said, "dns.listen");
                }
                _ => {
                    let why = "it answered no DNS: Tidegate does, at port 53";
                    draft.report.changed(&line.place, line.said, "dns.listen", why);
                }
            },
            "listen-address" => {
                let (mut found, mut other) = (false, false);
                for word in line.value.split(',') {
                    match word.trim().parse::<IpAddr>() {
                        Ok(ip) => {
                            self.listen.push(ip);
                            found = true;
                        }
                        Err(_) => other = true,
                    }
                }
                if found {
                    draft.report.carried(&line.place, line.said, "dns.listen");
                }
                if other {
                    draft.report.left_out(&line.place, line.said, "this is no address");
                }
            }
            _ => {
                self.has_interfaces = true;
                let why = "listeners have addresses: until you write those of the interface, it \
                           listens everywhere and answers private networks";
                draft.report.changed(&line.place, line.said, "dns.listen", why);
            }
        }
    }

    fn cache(&self, line: &DnsmasqLine<'_>, draft: &mut ImportDraft<'_>) {
        let number = line.value.parse::<u64>().ok();
        let ms = number.unwrap_or(0).saturating_mul(1000);
        let (key, value, why) = match (line.key, number) {
            ("cache-size", Some(0)) => ("size", json!(0), ""),
            ("cache-size", Some(_)) => {
                let why = "the cache is counted in bytes: 64MiB hold some 200,000 answers";
                draft.report.changed(&line.place, line.said, "dns.cache.size", why);
                return;
            }
            ("min-cache-ttl", Some(_)) => {
                ("min_ttl", json!(words::bounded(ms, 0, 3_600_000).0), "")
            }
            ("max-cache-ttl" | "max-ttl", Some(_)) => {
                ("max_ttl", json!(words::bounded(ms, 1000, 86_400_000).0), "")
            }
            ("neg-ttl", Some(_)) => {
                let why = "it is a bound here: answers say themselves how long they hold";
                ("max_negative_ttl", json!(words::bounded(ms, 1000, 10_800_000).0), why)
            }
            ("no-negcache", _) => ("max_negative_ttl", json!("1s"), "kept for a second"),
            ("use-stale-cache", _) => ("stale_mode", json!("at-once"), ""),
            _ => {
                draft.report.left_out(&line.place, line.said, "this is no number");
                return;
            }
        };
        draft.sections.set_below("dns", "cache", key, value);
        let setting = format!("dns.cache.{key}");
        if why.is_empty() {
            draft.report.carried(&line.place, line.said, &setting);
        } else {
            draft.report.changed(&line.place, line.said, &setting, why);
        }
    }

    fn filter(&self, line: &DnsmasqLine<'_>, draft: &mut ImportDraft<'_>) {
        let types = line.key.strip_prefix("filter-").filter(|it| *it != "rr");
        for word in types.unwrap_or(line.value).split(',') {
            draft.sections.push("dns", "filter_types", word.trim());
        }
        draft.report.carried(&line.place, line.said, "dns.filter_types");
    }
}
