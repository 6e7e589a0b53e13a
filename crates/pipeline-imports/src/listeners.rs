//! Servers, as listeners of the DNS door.

use crate::PipelineDraft;
use crate::book::PluginBook;
use mosdns_compat::language::{ServerKind, ServerPlugin};
use std::collections::BTreeSet;

/// Listeners, their certificate, and what was said of their clients.
pub(crate) fn listeners(book: &PluginBook<'_>, draft: &mut PipelineDraft) {
    let entry = book.entry().unwrap_or_default();
    let mut known = BTreeSet::new();
    let mut certificate = None;
    for (plugin, server) in book.servers() {
        let (place, said) = (book.files.place(&plugin.position), book.files.said(&plugin.position));
        let report = &mut draft.report;
        let scheme = scheme(server);
        for there in &server.entries {
            if there.exec.text != entry {
                let why = format!(
                    "its questions go to {:?}, and those of the first server to {entry:?}: run the \
                     file as it is, or give all servers one entry",
                    there.exec.text
                );
                report.left_out(&place, &said, &why);
                continue;
            }
            for address in &server.listen {
                let listen = format!("{scheme}://{address}{}", there.path);
                if known.insert(listen.clone()) {
                    draft.sections.push("dns", "listen", listen);
                }
            }
            report.carried(&place, &said, "dns.listen");
        }
        if let Some(files) = &server.certificate {
            let this = (files.cert.text.clone(), files.key.text.clone());
            match &certificate {
                Some(other) if *other != this => {
                    let why = "one certificate serves all listeners: the first is taken";
                    report.changed(&place, &this.0, "dns.certificate", why);
                }
                Some(_) => {}
                None => {
                    draft.sections.set_below("dns", "certificate", "cert", this.0.as_str());
                    draft.sections.set_below("dns", "certificate", "key", this.1.as_str());
                    report.carried(&place, &this.0, "dns.certificate");
                    certificate = Some(this);
                }
            }
        }
        if let Some(header) = &server.source_header {
            draft.sections.set_below("dns", "doh", "client_header", header.text.as_str());
            let place = book.files.place(&header.position);
            let why = "write under dns.doh.trusted_proxies whose word is taken: nobody's is now";
            report.changed(&place, &header.text, "dns.doh.client_header", why);
        }
    }
}

fn scheme(server: &ServerPlugin) -> &'static str {
    match (server.kind, server.certificate.is_some()) {
        (ServerKind::Udp, _) => "udp",
        (ServerKind::Tcp, false) => "tcp",
        (ServerKind::Tcp, true) => "tls",
        (ServerKind::Http, false) => "http",
        (ServerKind::Http, true) => "https",
        (ServerKind::Quic, _) => "quic",
    }
}
