//! Options of the server: where it listens, the cache, what is guarded.

use super::{UnboundOption, UnboundReader, absent};
use crate::draft::{ImportDraft, socket};
use crate::words;
use serde_json::json;
use std::net::IpAddr;

/// Options that belong together.
#[derive(Default)]
pub(super) struct ServerOptions {
    /// Addresses with their ports, if they say one.
    interfaces: Vec<(IpAddr, Option<u64>)>,
    port: Option<u64>,
    tls_port: Option<u64>,
    https_port: Option<u64>,
    key: Option<String>,
    certificate: Option<String>,
    private_domains: Vec<String>,
    has_private: bool,
}

impl UnboundReader {
    pub(super) fn server_option(
        &mut self,
        option: &UnboundOption<'_>,
        draft: &mut ImportDraft<'_>,
    ) {
        let said = option.said;
        let number = option.value.parse::<u64>().ok();
        let is_yes = option.value == "yes";
        match option.key {
            "interface" | "ip-address" => self.options.interface(option, draft),
            "port" | "tls-port" | "https-port" => {
                let slot = match option.key {
                    "port" => &mut self.options.port,
                    "tls-port" => &mut self.options.tls_port,
                    _ => &mut self.options.https_port,
                };
                *slot = number;
                draft.report.carried(&option.place, said, "dns.listen");
            }
            "tls-service-key" | "tls-service-pem" => {
                let slot = if option.key == "tls-service-key" {
                    &mut self.options.key
                } else {
                    &mut self.options.certificate
                };
                *slot = Some(option.value.to_owned());
                draft.report.carried(&option.place, said, "dns.certificate");
            }
            "access-control" => self.access.option(option, draft),
            "local-zone" => self.local_zone(option, draft),
            "local-data" | "local-data-ptr" => self.local_data(option, draft),
            "private-address" => {
                self.options.has_private = true;
                draft.report.carried(&option.place, said, "dns.rebinding.protect");
            }
            "private-domain" => match words::name(option.value) {
                Some(name) => {
                    self.options.private_domains.push(name);
                    draft.report.carried(&option.place, said, "dns.rebinding.allow");
                }
                None => draft.report.left_out(&option.place, said, "this is no name"),
            },
            "ip-ratelimit" => {
                let rate = number.unwrap_or(0);
                draft.sections.set_below("dns", "rate_limit", "queries_per_second", rate);
                draft.report.carried(&option.place, said, "dns.rate_limit.queries_per_second");
            }
            "log-queries" if is_yes => draft.report.carried(&option.place, said, "ledger.log"),
            "cache-min-ttl"
            | "cache-max-ttl"
            | "cache-max-negative-ttl"
            | "rrset-cache-size"
            | "msg-cache-size"
            | "prefetch"
            | "serve-expired"
            | "serve-expired-ttl"
            | "serve-expired-client-timeout"
            | "serve-expired-reply-ttl"
            | "prefetch-key" => {
                cache(option, draft);
            }
            key => match absent::option(key) {
                Some(why) => draft.report.left_out(&option.place, said, why),
                None => draft.report.carried(&option.place, said, "always so, or needless"),
            },
        }
    }
}

/// Settings of the cache.
fn cache(option: &UnboundOption<'_>, draft: &mut ImportDraft<'_>) {
    let number = option.value.parse::<u64>().ok();
    let ms = number.unwrap_or(0).saturating_mul(1000);
    let is_yes = option.value == "yes";
    let (key, value) = match option.key {
        "cache-min-ttl" => ("min_ttl", json!(words::bounded(ms, 0, 3_600_000).0)),
        "cache-max-ttl" => ("max_ttl", json!(words::bounded(ms, 1000, 86_400_000).0)),
        "cache-max-negative-ttl" => {
            ("max_negative_ttl", json!(words::bounded(ms, 1000, 10_800_000).0))
        }
        "rrset-cache-size" => match size(option.value) {
            Some(bytes) => ("size", json!(format!("{}KiB", (bytes >> 10).max(1)))),
            None => {
                draft.report.left_out(&option.place, option.said, "this is no size");
                return;
            }
        },
        "prefetch" => ("prefetch", json!(is_yes)),
        "serve-expired" if !is_yes => ("stale", json!("0s")),
        "serve-expired-ttl" if ms > 0 => ("stale", json!(words::bounded(ms, 0, 604_800_000).0)),
        "serve-expired-client-timeout" => {
            // Milliseconds here; none is at once.
            let wait = number.unwrap_or(0).min(30_000);
            if wait > 0 {
                ("stale_after", json!(words::span(wait.min(5_000))))
            } else {
                ("stale_mode", json!("at-once"))
            }
        }
        _ => {
            draft.report.carried(&option.place, option.said, "always so, or needless");
            return;
        }
    };
    draft.sections.set_below("dns", "cache", key, value);
    draft.report.carried(&option.place, option.said, &format!("dns.cache.{key}"));
}

/// A size as Unbound writes it: `64m`.
fn size(text: &str) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..digits].parse().ok()?;
    let shift = match text[digits..].trim_end_matches('b') {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        _ => return None,
    };
    number.checked_mul(1 << shift).map(|it| it.min(64 << 30))
}

impl ServerOptions {
    fn interface(&mut self, option: &UnboundOption<'_>, draft: &mut ImportDraft<'_>) {
        let (address, port) = match option.value.split_once('@') {
            Some((address, port)) => (address, port.parse().ok()),
            None => (option.value, None),
        };
        match address.parse::<IpAddr>() {
            Ok(ip) => {
                self.interfaces.push((ip, port));
                draft.report.carried(&option.place, option.said, "dns.listen");
            }
            Err(_) => {
                let why = "listeners have addresses: write those of the interface";
                draft.report.left_out(&option.place, option.said, why);
            }
        }
    }

    /// Writes listeners, their certificate, and what may lead inside.
    pub(super) fn finish(&mut self, draft: &mut ImportDraft<'_>) {
        let port = self.port.unwrap_or(53);
        if self.interfaces.is_empty() {
            let home = [IpAddr::from([127, 0, 0, 1]), IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1_u16])];
            self.interfaces.extend(home.map(|ip| (ip, None)));
        }
        let is_encrypted = self.key.is_some();
        for (ip, own) in &self.interfaces {
            let own = own.unwrap_or(port);
            if is_encrypted && own == self.tls_port.unwrap_or(853) {
                draft.listen(format!("tls://{}", socket(*ip, own)));
            } else if is_encrypted && own == self.https_port.unwrap_or(443) {
                draft.listen(format!("https://{}/dns-query", socket(*ip, own)));
            } else {
                draft.listen_plain(*ip, own);
            }
        }
        if let (Some(key), Some(certificate)) = (&self.key, &self.certificate) {
            draft.sections.set("dns", "certificate", json!({ "cert": certificate, "key": key }));
        }
        if !self.has_private {
            let place = import_report::NotePlace::new(&draft.first_source(), 0);
            let why = "names of upstreams that lead inside are not answered unless \
                       dns.rebinding.allow has them: it was not asked for, and is the default";
            draft.report.changed(&place, "no private-address", "dns.rebinding", why);
        }
        if !self.private_domains.is_empty() {
            let names = json!(self.private_domains);
            draft.sections.set_below("dns", "rebinding", "allow", names);
        }
    }
}
