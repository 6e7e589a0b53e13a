//! An authority made for one test, and a certificate for `dns.test` and 127.0.0.1 that it signed.

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use resolver::KeyPin;
use transport::tls::{Alpn, ServerIdentity, key_pin};
use transport::{ClientTls, ServerTls};

pub(crate) struct Certificate {
    pub(crate) authority: String,
    pub(crate) chain: String,
    pub(crate) key: String,
    /// Of the leaf's key.
    pub(crate) pin: KeyPin,
    /// Of the authority's key.
    pub(crate) authority_pin: KeyPin,
}

impl Certificate {
    pub(crate) fn new() -> Self {
        let names = vec!["dns.test".to_owned(), "127.0.0.1".to_owned()];
        let (authority_key, key) = (KeyPair::generate().unwrap(), KeyPair::generate().unwrap());
        let mut authority = CertificateParams::new(Vec::new()).unwrap();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let root = authority.self_signed(&authority_key).unwrap();
        let issuer = Issuer::new(authority, authority_key);
        let leaf = CertificateParams::new(names).unwrap().signed_by(&key, &issuer).unwrap();
        Self {
            authority: root.pem(),
            chain: leaf.pem(),
            key: key.serialize_pem(),
            pin: KeyPin(key_pin(leaf.der()).unwrap()),
            authority_pin: KeyPin(key_pin(root.der()).unwrap()),
        }
    }

    pub(crate) fn server(&self) -> ServerTls {
        ServerTls::with_pem(self.chain.as_bytes(), self.key.as_bytes()).unwrap()
    }

    /// A server that speaks these protocols only.
    pub(crate) fn server_of(&self, protocols: &[Alpn]) -> ServerTls {
        let identity = ServerIdentity::from_pem(self.chain.as_bytes(), self.key.as_bytes());
        ServerTls::with_identity(&identity.unwrap(), protocols)
    }

    pub(crate) fn trusted(&self) -> ClientTls {
        ClientTls::new().trusting(self.authority.as_bytes()).unwrap()
    }
}
