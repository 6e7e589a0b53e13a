//! Settings of HTTPS and of proxies in front of a site.
//!
//! Plain data: it reads no file and touches no socket. Called by `check`.

use super::SiteSettings;
use http_front::ClientCertificate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::PathBuf;
use vocab::{Complaint, Scheme};

/// Networks of proxies of one listener: more are better written as wider ones.
const PROXY_NETWORKS_MAX: usize = 64;

/// HTTPS of one site.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TlsSettings {
    /// The chain, leaf first, in PEM; a relative path starts from the configuration's folder. The
    /// file is watched: a new one is served within some seconds, and one that cannot be used
    /// changes nothing but is complained about. Default: a certificate for `hosts` and the
    /// listener's addresses, signed by Tidegate's own authority.
    pub certificate: Option<PathBuf>,
    /// The private key of the certificate, in PEM.
    pub key: Option<PathBuf>,
    /// Certificates of the authorities whose clients are let in, in PEM; at most 1 MiB, read on
    /// every reload.
    pub client_ca: Option<PathBuf>,
    /// Client certificates: asked for, required or neither. Default `none`.
    pub client_certificate: ClientCertificate,
}

/// Every complaint about HTTPS and proxies of one site, with paths relative to it.
pub(crate) fn check(site: &SiteSettings) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    let mut say = |path: &str, message: &str, remedy: &str| {
        complaints.push(Complaint::new(path, message).remedy(remedy.to_owned()));
    };
    let tls = &site.tls;
    let is_https = |scheme| scheme == Scheme::Https;
    if *tls != TlsSettings::default() && !site.listen.iter().any(|it| is_https(it.scheme)) {
        let message = "the site has no https:// listener, so nothing of this is used";
        say("tls", message, "write listen: [\"https://0.0.0.0:443\"], or leave tls out");
    }
    if tls.certificate.is_some() && tls.key.is_none() {
        say("tls.certificate", "a certificate needs its key", "set tls.key");
    }
    if tls.key.is_some() && tls.certificate.is_none() {
        say("tls.key", "a key needs its certificate", "set tls.certificate");
    }
    let asks = tls.client_certificate != ClientCertificate::None;
    if asks && tls.client_ca.is_none() {
        let message = "no setting says which authorities of clients count";
        say("tls.client_certificate", message, "set tls.client_ca");
    }
    if !asks && tls.client_ca.is_some() {
        let message = "clients are not asked for a certificate, so this is not used";
        say("tls.client_ca", message, "write client_certificate: require, or request");
    }
    if asks && !site.listen.iter().all(|it| is_https(it.scheme)) {
        let message = "without TLS no client can show a certificate";
        say("tls.client_certificate", message, "give this site https:// listeners only");
    }
    let is_pattern = |host: &String| host.starts_with('~');
    if asks && let Some(at) = site.hosts.iter().position(is_pattern) {
        // A handshake asks by name, before there is a request: no expression is held against it.
        let message =
            "no handshake can ask for a regular expression, and this site wants one of its own";
        say(
            &format!("hosts.{at}"),
            message,
            "write names or *.example, or leave client_certificate out",
        );
    }
    if site.proxy_protocol.len() > PROXY_NETWORKS_MAX {
        let message = format!("at most {PROXY_NETWORKS_MAX} networks");
        say("proxy_protocol", &message, "write wider networks");
    }
    complaints
}

/// Every complaint about what sites of one listener do not agree on, with paths relative to the
/// `web` list.
pub(crate) fn check_together(sites: &[SiteSettings]) -> Vec<Complaint> {
    let mut seen = HashMap::new();
    let mut complaints = Vec::new();
    for (number, site) in sites.iter().enumerate() {
        for (position, listen) in site.listen.iter().enumerate() {
            // Ports that the system picks are never the same one.
            if listen.address.port() == 0 {
                continue;
            }
            let (scheme, proxies) =
                *seen.entry(listen.address).or_insert((listen.scheme, &site.proxy_protocol));
            if scheme != listen.scheme {
                let message = format!("another site speaks {} there", scheme.as_str());
                complaints.push(
                    Complaint::new(format!("{number}.listen.{position}"), message)
                        .remedy("one address speaks one protocol: choose another port"),
                );
            }
            if *proxies != site.proxy_protocol {
                let message = format!("another site of {} says otherwise", listen.address);
                complaints.push(
                    Complaint::new(format!("{number}.proxy_protocol"), message)
                        .remedy("a proxy speaks before any site is known: write the same for all"),
                );
            }
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;
    use settings::Text;

    fn site(listen: &[&str], tls: TlsSettings) -> SiteSettings {
        let listen = listen.iter().map(|it| Text(it.parse().unwrap())).collect();
        SiteSettings { listen, root: "/srv".into(), tls, ..SiteSettings::default() }
    }

    fn paths(complaints: &[Complaint]) -> Vec<&str> {
        complaints.iter().map(|complaint| complaint.path.as_str()).collect()
    }

    const HTTPS: &[&str] = &["https://127.0.0.1:443"];

    #[test]
    fn halves_are_complained_about() {
        let path = |text: &str| Some(PathBuf::from(text));
        let none = TlsSettings::default;
        let require = ClientCertificate::Require;
        for (listen, tls, expected) in [
            (HTTPS, none(), &[][..]),
            (HTTPS, TlsSettings { certificate: path("a"), key: path("b"), ..none() }, &[]),
            (HTTPS, TlsSettings { certificate: path("a"), ..none() }, &["tls.certificate"]),
            (HTTPS, TlsSettings { key: path("a"), ..none() }, &["tls.key"]),
            (HTTPS, TlsSettings { client_ca: path("a"), ..none() }, &["tls.client_ca"]),
            (
                HTTPS,
                TlsSettings { client_certificate: require, ..none() },
                &["tls.client_certificate"],
            ),
            (
                &["https://127.0.0.1:443", "http://127.0.0.1:80"],
                TlsSettings { client_certificate: require, client_ca: path("a"), ..none() },
                &["tls.client_certificate"],
            ),
            (
                &["http://127.0.0.1:80"],
                TlsSettings { certificate: path("a"), key: path("b"), ..none() },
                &["tls"],
            ),
        ] {
            assert_eq!(paths(&check(&site(listen, tls.clone()))), expected, "{tls:?}");
        }
    }

    #[test]
    fn a_site_for_certain_clients_is_asked_for_by_name() {
        let tls = TlsSettings {
            client_certificate: ClientCertificate::Require,
            client_ca: Some(PathBuf::from("a")),
            ..TlsSettings::default()
        };
        let hosts = vec!["*.staff.example".into(), "~^staff[0-9]+$".into()];
        let guarded = SiteSettings { hosts, ..site(HTTPS, tls) };
        assert_eq!(paths(&check(&guarded)), ["hosts.1"]);
    }

    #[test]
    fn sites_of_a_listener_agree() {
        let plain = site(&["http://127.0.0.1:443"], TlsSettings::default());
        let secure = site(HTTPS, TlsSettings::default());
        let behind = SiteSettings {
            proxy_protocol: vec![Text("10.0.0.0/8".parse().unwrap())],
            ..secure.clone()
        };
        assert_eq!(check_together(&[secure.clone(), secure.clone()]), []);
        assert_eq!(paths(&check_together(&[secure.clone(), plain])), ["1.listen.0"]);
        assert_eq!(paths(&check_together(&[secure, behind])), ["1.proxy_protocol"]);
    }
}
