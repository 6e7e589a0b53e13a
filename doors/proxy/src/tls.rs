//! TLS to the proxy itself: its certificate.
//!
//! The certificate is read from files, which are watched, or signed by our own authority for the
//! listener's addresses and names. It reads no request. Called by `setup`; used by `serve`.

use crate::parts::ProxyParts;
use crate::settings::{Settings, TlsSettings};
use http_front::{CertificateOpener, check_certificate, https_addresses, own_names};
use std::path::Path;
use transport::ServerTls;
use transport::tls::{Alpn, FilesWatch, OwnCertificate};
use vocab::{Complaint, Door};

/// The setting that a certificate is complained about at.
const PATH: &str = "tls.certificate";

/// Holds how `https` listeners speak TLS.
pub(crate) struct ProxyTls {
    tls: ServerTls,
    /// Follows the files while this is in use.
    _watch: Option<FilesWatch>,
}

impl ProxyTls {
    /// Reads the certificate or has it signed; nothing where no listener needs one. Complaints have
    /// paths relative to the section.
    pub(crate) fn open(
        settings: &Settings,
        parts: &ProxyParts,
    ) -> Result<Option<Self>, Vec<Complaint>> {
        if https_addresses(&settings.listen).is_empty() {
            return Ok(None);
        }
        let mut opener = CertificateOpener::new(&parts.base, parts.signer.as_ref());
        let identity = match files_of(&settings.tls) {
            Some((chain, key)) => opener.read(chain, key, PATH),
            None => opener.sign(&settings.own_certificate().unwrap_or_default(), PATH),
        };
        let identity = identity.map_err(|why| vec![why])?;
        let tls = ServerTls::with_identity(&identity, &[Alpn::Http2, Alpn::Http1]);
        Ok(Some(Self { tls, _watch: opener.watch(Door::Proxy.as_str(), &parts.log) }))
    }

    /// TLS as `https` listeners speak it.
    pub(crate) const fn server(&self) -> &ServerTls {
        &self.tls
    }
}

impl Settings {
    /// The certificate that our own authority is to sign for the `https` listeners; none without
    /// such listeners, or where files hold one.
    pub fn own_certificate(&self) -> Option<OwnCertificate> {
        let listening = https_addresses(&self.listen);
        let wanted = !listening.is_empty() && self.tls.certificate.is_none();
        wanted.then(|| OwnCertificate { names: own_names(&self.tls.names), listening })
    }
}

fn files_of(tls: &TlsSettings) -> Option<(&Path, &Path)> {
    Some((tls.certificate.as_deref()?, tls.key.as_deref()?))
}

/// Reads the certificate that the settings name, without signing any, and says what is wrong with
/// it.
pub(crate) fn check_files(settings: &Settings, base: &Path) -> Option<Complaint> {
    let (chain, key) = files_of(&settings.tls)?;
    check_certificate(chain, key, base, PATH)
}
