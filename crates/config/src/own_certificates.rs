//! Certificates that our own authority is to sign for the listeners of all sections.
//!
//! The signer's process signs for these names and no others, so it must know of every one. Read
//! when the configuration is checked, and by the signer.

use crate::door_sections::{DOOR_SECTIONS, PlacedCertificate};
use crate::file::ConfigFile;
use vocab::Complaint;

impl ConfigFile {
    /// The certificates that our own authority is to sign, of every section.
    pub fn own_certificates(&self) -> Vec<PlacedCertificate> {
        let admin = self.admin.https.as_ref().and_then(admin::HttpsSettings::own_certificate);
        let admin = admin
            .map(|certificate| PlacedCertificate { section: "admin.https".into(), certificate });
        let doors = DOOR_SECTIONS.iter().flat_map(|door| (door.own_certificates)(self));
        doors.chain(admin).collect()
    }
}

/// Names that the signer would refuse: no host names, public suffixes, and what is excluded.
pub(crate) fn check(file: &ConfigFile) -> Vec<Complaint> {
    let exclusions = file.signer.exclusions(Vec::new());
    let mut complaints = Vec::new();
    for PlacedCertificate { section, certificate } in file.own_certificates() {
        complaints.extend(certificate.check().into_iter().map(|it| it.under(&section)));
        for own in certificate.names.iter().filter(|own| exclusions.covers(&own.name)) {
            let message = format!("{} is excluded from certificates", own.name);
            complaints.push(
                Complaint::new(format!("{section}.{}", own.path), message)
                    .remedy("change signer.excluded or signer.own_domains, or give a certificate"),
            );
        }
    }
    complaints
}
