//! Certificates of a door: read from files, which are watched, or signed by our own authority.
//!
//! It speaks no TLS and chooses no certificate for a name. Called by the doors' `tls` when settings
//! are taken or checked. Complaints have the paths that the caller gives.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use signer::Signer;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use transport::tls::{
    ClientAuthorities, ClientCertificates, FilesWatch, IdentityFiles, OwnCertificate, OwnName,
    ServerIdentity, WatchedIdentity, read_pem,
};
use vocab::{Complaint, DomainName, Listen, Scheme};

const REMEDY: &str = "give a chain, leaf first, and its key, both in PEM";

/// A certificate from files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CertificateSettings {
    /// The chain, leaf first, in PEM; a relative path starts from the configuration's folder. The
    /// file is watched: a new one is served within some seconds, and one that cannot be used
    /// changes nothing but is complained about.
    pub certificate: PathBuf,
    /// The private key of the certificate, in PEM.
    pub key: PathBuf,
}

/// Tells whether clients show a certificate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ClientCertificate {
    /// They are not asked.
    #[default]
    None,
    /// They are asked: one that shows none is let in, one that shows a wrong one is not.
    Request,
    /// Only clients with a certificate of `client_ca` are let in.
    Require,
}

/// Opens the certificates of one door, and follows those that are files.
pub struct CertificateOpener<'p> {
    base: &'p Path,
    signer: Option<&'p Arc<Signer>>,
    watched: Vec<WatchedIdentity>,
}

impl<'p> CertificateOpener<'p> {
    /// An opener whose relative paths start from `base`.
    pub const fn new(base: &'p Path, signer: Option<&'p Arc<Signer>>) -> Self {
        Self { base, signer, watched: Vec::new() }
    }

    /// Reads a certificate and its key, or complains about the setting at `path`.
    pub fn read(
        &mut self,
        certificate: &Path,
        key: &Path,
        path: &str,
    ) -> Result<ServerIdentity, Complaint> {
        let opened = WatchedIdentity::open(identity_files(certificate, key, self.base));
        let opened = opened.map_err(|why| wrong_certificate(path, &why.to_string()))?;
        let identity = opened.identity().clone();
        self.watched.push(opened);
        Ok(identity)
    }

    /// Has our own authority sign a certificate, or complains about the setting at `path`.
    pub fn sign(&self, own: &OwnCertificate, path: &str) -> Result<ServerIdentity, Complaint> {
        let wrong = |why: String| {
            Complaint::new(path, why).remedy("give a certificate and its key as files")
        };
        let signer = self.signer.ok_or_else(|| wrong("there is no certificate".into()))?;
        let made = ServerIdentity::signed(signer, own.subject(), transport::clock::now());
        made.map_err(|why| wrong(why.to_string()))
    }

    /// Follows the files that were read until the watch is dropped; `tell` takes a line, which
    /// begins with `owner`, when one has changed. None where there are no files, or no thread can
    /// be had: files are then read on every reload still.
    pub fn watch(
        self,
        owner: &'static str,
        tell: &Arc<dyn Fn(&str) + Send + Sync>,
    ) -> Option<FilesWatch> {
        if self.watched.is_empty() {
            return None;
        }
        let tell = Arc::clone(tell);
        FilesWatch::start(self.watched, move |news| tell(&format!("{owner}: {news}"))).ok()
    }
}

impl ClientCertificate {
    fn of(self, authorities: ClientAuthorities) -> ClientCertificates {
        match self {
            Self::None => ClientCertificates::NotRequested,
            Self::Request => ClientCertificates::Requested(authorities),
            Self::Require => ClientCertificates::Required(authorities),
        }
    }
}

/// Reads a certificate and its key without keeping them, and says what is wrong with the setting at
/// `path`.
pub fn check_certificate(
    certificate: &Path,
    key: &Path,
    base: &Path,
    path: &str,
) -> Option<Complaint> {
    let why = identity_files(certificate, key, base).load().err()?;
    Some(wrong_certificate(path, &why.to_string()))
}

/// Reads the authorities whose clients are let in, if any are set.
pub fn client_certificates(
    wanted: ClientCertificate,
    client_ca: Option<&Path>,
    base: &Path,
) -> Result<ClientCertificates, Complaint> {
    let Some(path) = client_ca else { return Ok(ClientCertificates::NotRequested) };
    let path = base.join(path);
    let wrong = |why: String| {
        Complaint::new("tls.client_ca", why).remedy("give certificates of authorities in PEM")
    };
    let pem = read_pem(&path).map_err(|why| wrong(why.to_string()))?;
    let authorities = ClientAuthorities::from_pem(&pem)
        .map_err(|why| wrong(format!("{}: {why}", path.display())))?;
    Ok(wanted.of(authorities))
}

/// The addresses of `https` listeners.
pub fn https_addresses(listen: &[Text<Listen>]) -> Vec<SocketAddr> {
    let https = listen.iter().filter(|listen| listen.scheme == Scheme::Https);
    https.map(|listen| listen.address).collect()
}

/// The names of `tls.names`, with their places in the settings.
pub fn own_names(names: &[Text<DomainName>]) -> Vec<OwnName> {
    let numbered = names.iter().enumerate();
    numbered
        .map(|(index, name)| OwnName {
            path: format!("tls.names.{index}"),
            name: name.as_str().to_owned(),
        })
        .collect()
}

fn identity_files(certificate: &Path, key: &Path, base: &Path) -> IdentityFiles {
    // An absolute path stands for itself.
    IdentityFiles { chain: base.join(certificate), key: base.join(key) }
}

fn wrong_certificate(path: &str, why: &str) -> Complaint {
    Complaint::new(path, why).remedy(REMEDY)
}
