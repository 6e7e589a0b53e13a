//! Pinned keys: checks of a server's certificate besides, or instead of, the usual ones.
//!
//! A pin is the SHA-256 of a public key (`SubjectPublicKeyInfo`, RFC 7469 §2.4). It is met by the
//! leaf's key, or by the key of an authority that has signed the chain: one that was merely sent
//! along counts for nothing, since anybody can send anything along. Called by the handshakes of a
//! [`super::ClientTls`] made by [`super::ClientTls::checking`].

use super::PROVIDER;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, TrustAnchor, UnixTime};
use rustls::{
    CertificateError, DigitallySignedStruct, Error, OtherError, RootCertStore, SignatureScheme,
};
use sha2::{Digest, Sha256};
use std::fmt;
use std::sync::Arc;
use x509_parser::prelude::{FromDer, X509Certificate};

/// Pins that one server may have, at most.
pub const PINS_MAX: usize = 16;

/// Tells whether a server's certificate must be valid and for its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum VerifyMode {
    /// Yes: signed by a trusted authority, in its time, for the name.
    #[default]
    Full,
    /// No: anybody on the way can be the server, unless a key is pinned.
    Nothing,
}

/// Checks a certificate as it was told to.
#[derive(Debug)]
pub(super) struct CertificateChecks {
    /// The usual way; none with [`VerifyMode::Nothing`].
    usual: Option<Arc<WebPkiServerVerifier>>,
    pins: Box<[[u8; 32]]>,
    /// Trusted authorities with a pinned key.
    pinned_roots: Vec<TrustAnchor<'static>>,
}

/// No key of the chain is a pinned one.
#[derive(Debug)]
struct NotPinned;

impl fmt::Display for NotPinned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no key of the certificate's chain is pinned")
    }
}

impl std::error::Error for NotPinned {}

impl CertificateChecks {
    /// `usual` is asked first; then one of `pins` must be met, if there are any.
    pub(super) fn new(
        usual: Option<Arc<WebPkiServerVerifier>>,
        pins: &[[u8; 32]],
        roots: &RootCertStore,
    ) -> Self {
        let is_pinned = |root: &&TrustAnchor<'_>| {
            pins.contains(&sha256(&wrap_der(&root.subject_public_key_info)))
        };
        let pinned_roots = roots.roots.iter().filter(is_pinned).cloned().collect();
        Self { usual, pins: pins.into(), pinned_roots }
    }

    /// True if one of the pins is met.
    fn pinned(
        &self,
        leaf: &CertificateDer<'_>,
        sent: &[CertificateDer<'_>],
        server: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> bool {
        if self.is_pinned(leaf) {
            return true;
        }
        let mut roots = RootCertStore { roots: self.pinned_roots.clone() };
        for certificate in sent.iter().filter(|it| self.is_pinned(it)) {
            // What cannot be an authority is none.
            let _ = roots.add(certificate.clone().into_owned());
        }
        if roots.is_empty() {
            return false;
        }
        // The chain must really lead to a pinned one.
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&PROVIDER))
            .build()
            .is_ok_and(|it| it.verify_server_cert(leaf, sent, server, ocsp, now).is_ok())
    }

    fn is_pinned(&self, certificate: &CertificateDer<'_>) -> bool {
        key_pin(certificate).is_some_and(|pin| self.pins.contains(&pin))
    }
}

impl ServerCertVerifier for CertificateChecks {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        sent: &[CertificateDer<'_>],
        server: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if let Some(usual) = &self.usual {
            usual.verify_server_cert(leaf, sent, server, ocsp, now)?;
        }
        if self.pins.is_empty() || self.pinned(leaf, sent, server, ocsp, now) {
            return Ok(ServerCertVerified::assertion());
        }
        let why = OtherError(Arc::new(NotPinned));
        Err(Error::InvalidCertificate(CertificateError::Other(why)))
    }

    // The server must hold the key of its certificate in any case: a pin would mean nothing else.
    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &PROVIDER.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &PROVIDER.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        PROVIDER.signature_verification_algorithms.supported_schemes()
    }
}

/// The pin of a certificate given as DER: the SHA-256 of its public key with its algorithm. None if
/// it cannot be read.
pub fn key_pin(certificate: &[u8]) -> Option<[u8; 32]> {
    let (_, parsed) = X509Certificate::from_der(certificate).ok()?;
    Some(sha256(parsed.tbs_certificate.subject_pki.raw))
}

/// A trust anchor's key without its outermost tag, with it again (X.690 §8.1.3).
fn wrap_der(inner: &[u8]) -> Vec<u8> {
    let mut whole = vec![0x30];
    match inner.len() {
        short @ ..128 => whole.push(short as u8),
        byte @ 128..256 => whole.extend([0x81, byte as u8]),
        long => {
            whole.push(0x82);
            whole.extend((long as u16).to_be_bytes());
        }
    }
    whole.extend_from_slice(inner);
    whole
}

fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A test fails by panicking.
    use super::*;
    use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

    /// An authority, and a leaf for `dns.test` that it signed.
    fn chain() -> (CertificateDer<'static>, CertificateDer<'static>) {
        let (authority_key, key) = (KeyPair::generate().unwrap(), KeyPair::generate().unwrap());
        let mut authority = CertificateParams::new(Vec::new()).unwrap();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let root = authority.self_signed(&authority_key).unwrap().der().clone();
        let issuer = Issuer::new(authority, authority_key);
        let params = CertificateParams::new(vec!["dns.test".to_owned()]).unwrap();
        (root, params.signed_by(&key, &issuer).unwrap().der().clone())
    }

    fn met(
        pins: &[[u8; 32]],
        trusted: &CertificateDer<'static>,
        leaf: &CertificateDer<'_>,
        sent: &[CertificateDer<'_>],
    ) -> bool {
        let mut roots = RootCertStore::empty();
        roots.add(trusted.clone()).unwrap();
        let roots = Arc::new(roots);
        let usual =
            WebPkiServerVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(&PROVIDER));
        let checks = CertificateChecks::new(Some(usual.build().unwrap()), pins, &roots);
        let server = ServerName::try_from("dns.test").unwrap();
        checks.verify_server_cert(leaf, sent, &server, &[], UnixTime::now()).is_ok()
    }

    #[test]
    fn a_pin_is_met_by_the_leaf_or_by_who_signed_it() {
        let (root, leaf) = chain();
        let pin = |it: &CertificateDer<'_>| key_pin(it).unwrap();
        assert!(met(&[[7; 32], pin(&leaf)], &root, &leaf, &[]));
        assert!(met(&[pin(&root)], &root, &leaf, &[]), "the trusted root, not sent");
        assert!(met(&[pin(&root)], &root, &leaf, std::slice::from_ref(&root)));
        assert!(!met(&[[7; 32]], &root, &leaf, &[]));
        assert!(met(&[], &root, &leaf, &[]));
    }

    #[test]
    fn a_pinned_certificate_that_is_only_sent_along_meets_nothing() {
        let (root, leaf) = chain();
        let (stranger, _) = chain();
        let pin = key_pin(&stranger).unwrap();
        assert!(!met(&[pin], &root, &leaf, &[stranger]));
    }

    #[test]
    fn a_pin_does_not_replace_trust() {
        let (_, leaf) = chain();
        let (other, _) = chain();
        assert!(!met(&[key_pin(&leaf).unwrap()], &other, &leaf, &[]));
    }
}
