//! Encrypted listeners and their certificate.

use super::AdGuardFile;
use crate::draft::{ImportDraft, socket};
use crate::placed_yaml::PlacedNode;
use serde_json::json;
use std::net::IpAddr;

impl AdGuardFile<'_> {
    /// Listeners of DNS over HTTPS, TLS and QUIC at the same addresses.
    pub(super) fn encrypted(&self, ips: &[IpAddr], draft: &mut ImportDraft<'_>) {
        let Some((true, place)) = self.truth("tls.enabled") else {
            self.at("tls").map(PlacedNode::see_all).unwrap_or_default();
            return;
        };
        draft.report.carried(&place, "tls.enabled: true", "dns.listen");
        let ports = [
            ("port_https", "https", "/dns-query"),
            ("port_dns_over_tls", "tls", ""),
            ("port_dns_over_quic", "quic", ""),
        ];
        for (key, scheme, path) in ports {
            let Some((port, place)) = self.number(&format!("tls.{key}")) else { continue };
            if port == 0 {
                continue;
            }
            for ip in ips {
                draft.listen(format!("{scheme}://{}{path}", socket(*ip, port)));
            }
            draft.report.carried(&place, &format!("{key}: {port}"), "dns.listen");
        }
        if let Some((name, place)) = self.text("tls.server_name") {
            draft.sections.push("dns", "names", name);
            draft.report.carried(&place, &format!("server_name: {name}"), "dns.names");
        }
        let certificate = self.text("tls.certificate_path");
        let key = self.text("tls.private_key_path");
        match (certificate, key) {
            (Some((certificate, place)), Some((key, _))) => {
                let files = json!({ "cert": certificate, "key": key });
                draft.sections.set("dns", "certificate", files);
                let said = format!("certificate_path: {certificate}");
                draft.report.carried(&place, &said, "dns.certificate");
            }
            _ => {
                let inside = self.text("tls.certificate_chain");
                if let Some((_, place)) = inside {
                    let why = "write it and the key to files, and name them in dns.certificate; \
                               until then Tidegate signs one";
                    draft.report.left_out(&place, "certificate_chain", why);
                }
                self.at("tls.private_key").map(PlacedNode::see_all).unwrap_or_default();
            }
        }
        if let Some((true, place)) = self.truth("tls.allow_unencrypted_doh") {
            let why = "write the listener http://ADDRESS/dns-query behind a proxy that ends TLS";
            draft.report.left_out(&place, "allow_unencrypted_doh: true", why);
        }
        if let Some((true, place)) = self.truth("tls.force_https") {
            let why = "the dashboard is at admin.listen, without TLS";
            draft.report.left_out(&place, "force_https: true", why);
        }
    }
}
