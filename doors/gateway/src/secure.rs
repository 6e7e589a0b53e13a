//! HTTPS: the gateway's certificates, and whom it lets in.
//!
//! Certificates are read from files, which are watched, or signed by our own authority. It reads no
//! request, but says for which hosts a connection may be used. Called by `door` and `request`; used
//! by `serve`.

use crate::caller::HandshakeInfo;
use crate::settings::Settings;
use crate::setup::GatewayParts;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use http::HeaderValue;
use http_front::{
    CertificateOpener, check_certificate, client_certificates, https_addresses, own_names,
};
use std::path::Path;
use transport::ServerTls;
use transport::tls::{
    Alpn, ClientCertificates, FilesWatch, OwnCertificate, ServerIdentity, SiteIdentity,
};
use vocab::{Complaint, Door, Name};

/// Holds how `https` listeners speak TLS.
pub(crate) struct GatewayTls {
    tls: ServerTls,
    /// Follows the files while this is in use.
    _watch: Option<FilesWatch>,
}

impl GatewayTls {
    /// Reads the certificates or has one signed; nothing where no listener needs any. Complaints
    /// have paths relative to the section.
    pub(crate) fn open(
        settings: &Settings,
        parts: &GatewayParts,
    ) -> Result<Option<Self>, Vec<Complaint>> {
        if https_addresses(&settings.listen).is_empty() {
            return Ok(None);
        }
        let clients = clients(settings, &parts.base).map_err(|why| vec![why])?;
        let mut opener = CertificateOpener::new(&parts.base, parts.signer.as_ref());
        let (mut sites, mut complaints) = (Vec::new(), Vec::new());
        let site = |names: Vec<String>, identity: ServerIdentity| SiteIdentity {
            names,
            identity,
            clients: clients.clone(),
        };
        for (index, files) in settings.tls.certificates.iter().enumerate() {
            match opener.read(&files.certificate, &files.key, &path_of(index)) {
                Ok(identity) => sites.push(site(Vec::new(), identity)),
                Err(why) => complaints.push(why),
            }
        }
        if !complaints.is_empty() {
            return Err(complaints);
        }
        if let Some(own) = settings.own_certificate() {
            let identity = opener.sign(&own, "tls.certificates").map_err(|why| vec![why])?;
            sites.push(site(own.subject_names(), identity));
        }
        let tls = ServerTls::with_sites(&sites, &[Alpn::Http2, Alpn::Http1])
            .map_err(|why| vec![Complaint::new("tls", why.to_string())])?;
        Ok(Some(Self { tls, _watch: opener.watch(Door::Gateway.as_str(), &parts.log) }))
    }

    /// TLS as `https` listeners speak it.
    pub(crate) const fn server(&self) -> &ServerTls {
        &self.tls
    }

    /// True if a connection that began with this handshake may ask for `host` (RFC 9110 §15.5.20):
    /// for the name of the handshake itself, or one that has the same certificate, as browsers that
    /// share a connection do (RFC 9113 §9.1.1). A client that named none was taken for the first.
    pub(crate) fn serves(&self, secured: &HandshakeInfo, host: Name<'_>) -> bool {
        if secured.name.as_deref() == Some(host.as_str()) {
            return true;
        }
        match self.tls.site_of(host.as_str()) {
            Some(site) => site == secured.certificate,
            None => secured.name.is_none(),
        }
    }
}

impl Settings {
    /// The certificate that our own authority is to sign, for the names that are set and the
    /// listeners' addresses; none without HTTPS, or where files hold all certificates.
    pub fn own_certificate(&self) -> Option<OwnCertificate> {
        let (listening, names) = (https_addresses(&self.listen), own_names(&self.tls.names));
        let wanted = self.tls.certificates.is_empty() || !names.is_empty();
        (wanted && !listening.is_empty()).then_some(OwnCertificate { names, listening })
    }
}

fn clients(settings: &Settings, base: &Path) -> Result<ClientCertificates, Complaint> {
    client_certificates(settings.tls.client_certificate, settings.tls.client_ca.as_deref(), base)
}

fn path_of(index: usize) -> String {
    format!("tls.certificates.{index}")
}

/// Reads the certificates that the settings name, without signing any, and says what is wrong with
/// them.
pub(crate) fn check_files(settings: &Settings, base: &Path) -> Vec<Complaint> {
    let files = settings.tls.certificates.iter().enumerate();
    let wrong = files.filter_map(|(index, files)| {
        check_certificate(&files.certificate, &files.key, base, &path_of(index))
    });
    wrong.chain(clients(settings, base).err()).collect()
}

/// A certificate as an item of a structured field (RFC 9440 §2.2): bytes between colons.
pub(crate) fn client_cert(der: &[u8]) -> Option<HeaderValue> {
    HeaderValue::try_from(format!(":{}:", BASE64.encode(der))).ok()
}
