//! The certificate of the encrypted listeners: read from files, or signed by our own authority.
//!
//! It is made anew at the start and on every reload, and what cannot be used is an error that names
//! the file. It listens to nothing and keeps nothing. Called by `door` before anything changes.

use crate::settings::Settings;
use settings::Text;
use signer::MintError;
use signer::Signer;
use std::fmt;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use transport::tls::{FilesError, IdentityFiles, OwnCertificate, OwnName, ServerIdentity};
use vocab::{DomainName, Listen, Scheme};

/// Why there is no certificate to present.
#[derive(Debug)]
pub enum CertificateError {
    /// The files that are given cannot be used.
    Files(FilesError),
    /// No file is given, and there is no authority of ours to sign one.
    NoAuthority,
    /// Our authority could not sign one.
    Sign(MintError),
}

/// Returns what an encrypted listener at `addresses` presents.
pub(crate) fn identity(
    settings: &Settings,
    addresses: &[SocketAddr],
    base: &Path,
    signer: Option<&Arc<Signer>>,
) -> Result<ServerIdentity, CertificateError> {
    if let Some(files) = &settings.certificate {
        // An absolute path stands for itself.
        let files = IdentityFiles { chain: base.join(&files.cert), key: base.join(&files.key) };
        return files.load().map_err(CertificateError::Files);
    }
    let signer = signer.ok_or(CertificateError::NoAuthority)?;
    let own = settings.own_certificate().unwrap_or_default();
    // The addresses that were bound, which may be others than those written.
    let subject = OwnCertificate { listening: addresses.to_vec(), ..own }.subject();
    ServerIdentity::signed(signer, subject, transport::clock::now()).map_err(CertificateError::Sign)
}

impl Settings {
    /// The certificate that our own authority is to sign for the encrypted listeners; none without
    /// such listeners, or where files hold one.
    pub fn own_certificate(&self) -> Option<OwnCertificate> {
        let is_secure =
            |it: &&Text<Listen>| matches!(it.scheme, Scheme::Https | Scheme::Tls | Scheme::Quic);
        let listening: Vec<_> = self.listen.iter().filter(is_secure).map(|it| it.address).collect();
        let name = |(index, name): (usize, &Text<DomainName>)| OwnName {
            path: format!("names.{index}"),
            name: name.as_str().to_owned(),
        };
        let wanted = !listening.is_empty() && self.certificate.is_none();
        wanted.then(|| OwnCertificate {
            names: self.names.iter().enumerate().map(name).collect(),
            listening,
        })
    }
}

impl fmt::Display for CertificateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Files(why) => write!(f, "dns.certificate: {why}"),
            Self::NoAuthority => f.write_str(
                "the encrypted listeners need a certificate: set dns.certificate with cert and key",
            ),
            Self::Sign(why) => write!(
                f,
                "no certificate for the encrypted listeners could be made: {why}; correct \
                 dns.names, or set dns.certificate"
            ),
        }
    }
}

impl std::error::Error for CertificateError {}
