//! Certificates that our own authority is to sign for the doors' listeners, of all sections.
//!
//! The signer's process signs for these names and no others, so it must know of every one: a
//! section added to [`ConfigFile`] does not compile before it is looked through here. Read when the
//! configuration is checked, and by the signer.

use crate::file::ConfigFile;
use transport::tls::OwnCertificate;
use vocab::Complaint;

/// A certificate with the path of the section that asks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedCertificate {
    /// The path of the section, such as `gateway` or `web.1`.
    pub section: String,
    /// What is to be signed.
    pub certificate: OwnCertificate,
}

impl ConfigFile {
    /// The certificates that our own authority is to sign, of every section.
    pub fn own_certificates(&self) -> Vec<PlacedCertificate> {
        // Without `..`, so that a new section has to be thought of here.
        let Self {
            dns,
            // Its certificates are made in the handshake, for blocked names.
            pixel: _,
            proxy,
            web,
            gateway,
            state_dir: _,
            user: _,
            group: _,
            landlock: _,
            policy: _,
            signer: _,
            admin: _,
            ledger: _,
        } = self;
        let mut all = Vec::new();
        let mut add = |section: String, certificate: Option<OwnCertificate>| {
            all.extend(certificate.map(|certificate| PlacedCertificate { section, certificate }));
        };
        add("dns".into(), dns.as_ref().and_then(door_dns::Settings::own_certificate));
        add("proxy".into(), proxy.as_ref().and_then(door_proxy::Settings::own_certificate));
        for (index, site) in web.iter().enumerate() {
            add(format!("web.{index}"), site.own_certificate());
        }
        add("gateway".into(), gateway.as_ref().and_then(door_gateway::Settings::own_certificate));
        all
    }
}

/// Names that the signer would refuse: no host names, public suffixes, and what is excluded.
pub(crate) fn check(file: &ConfigFile) -> Vec<Complaint> {
    let exclusions = file.signer.exclusions(Vec::new());
    let mut complaints = Vec::new();
    for PlacedCertificate { section, certificate } in file.own_certificates() {
        complaints.extend(certificate.check().into_iter().map(|it| it.under(&section)));
        for own in certificate.names.iter().filter(|own| exclusions.cover(&own.name)) {
            let message = format!("{} is excluded from certificates", own.name);
            complaints.push(
                Complaint::new(format!("{section}.{}", own.path), message)
                    .remedy("change signer.excluded or signer.own_domains, or give a certificate"),
            );
        }
    }
    complaints
}
