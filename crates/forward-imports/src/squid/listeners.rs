//! Where Squid listens.

use super::SquidLine;
use crate::draft::{ImportDraft, socket};
use serde_json::json;
use std::net::IpAddr;

/// Listeners, and the certificate of those with TLS.
#[derive(Default)]
pub(super) struct SquidListeners {
    listen: Vec<String>,
    certificate: Option<(String, String)>,
}

impl SquidListeners {
    pub(super) fn add(&mut self, line: &SquidLine<'_>, draft: &mut ImportDraft<'_>) {
        let address = line.word(0);
        let (host, port) = address.rsplit_once(':').unwrap_or(("", address));
        let ip = match host.trim_start_matches('[').trim_end_matches(']') {
            "" => Some(IpAddr::from([0, 0, 0, 0])),
            host => host.parse::<IpAddr>().ok(),
        };
        let (Some(ip), Ok(port)) = (ip, port.parse::<u16>()) else {
            draft.report.left_out(&line.place, line.said, "listeners have an address and a port");
            return;
        };
        let options: Vec<&str> = line.words.iter().skip(1).map(String::as_str).collect();
        let has = |word: &str| options.contains(&word);
        if has("accel") || options.iter().any(|it| it.starts_with("defaultsite=")) {
            let why = "in front of servers of your own stands the gateway: see gateway.md";
            draft.report.left_out(&line.place, line.said, why);
            return;
        }
        let scheme = if has("intercept") || has("transparent") {
            "redirect"
        } else if has("tproxy") {
            "tproxy"
        } else if line.key == "https_port" {
            "https"
        } else {
            "http"
        };
        let listener = format!("{scheme}://{}", socket(ip, port.into()));
        if !self.listen.contains(&listener) {
            self.listen.push(listener);
        }
        let of = |prefixes: [&str; 2]| {
            let found =
                prefixes.iter().find_map(|it| options.iter().find_map(|o| o.strip_prefix(it)));
            found.map(str::to_owned)
        };
        let certificate = of(["tls-cert=", "cert="]);
        let bumps = has("ssl-bump") || has("ssl_bump");
        if scheme == "https"
            && let Some(certificate) = certificate
        {
            let key = of(["tls-key=", "key="]).unwrap_or_else(|| certificate.clone());
            self.certificate = Some((certificate, key));
        }
        if bumps {
            let why = "TLS is not opened: names are looked at in the first bytes (connect_sni)";
            draft.report.changed(&line.place, line.said, "proxy.listen", why);
        } else {
            draft.report.carried(&line.place, line.said, "proxy.listen");
        }
    }

    pub(super) fn finish(self, draft: &mut ImportDraft<'_>) {
        let usual = || vec!["http://0.0.0.0:3128".to_owned()];
        let listen = if self.listen.is_empty() { usual() } else { self.listen };
        draft.sections.set("proxy", "listen", json!(listen));
        if let Some((certificate, key)) = self.certificate {
            let files = json!({ "certificate": certificate, "key": key });
            draft.sections.set("proxy", "tls", files);
        }
    }
}
