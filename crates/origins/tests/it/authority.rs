//! An authority made for one test, and certificates that it signs.

use origins::OwnCertificate;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};
use std::sync::Arc;
use transport::ServerTls;
use transport::tls::{Alpn, ClientAuthorities, ClientCertificates, ServerIdentity, SiteIdentity};

pub(crate) struct Authority {
    pub(crate) pem: Arc<[u8]>,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = params.self_signed(&key).unwrap().pem();
        Self { pem: pem.into_bytes().into(), issuer: Issuer::new(params, key) }
    }

    /// A certificate for `name`, with its key.
    pub(crate) fn certificate(&self, name: &str) -> OwnCertificate {
        self.sign(&params_for(name))
    }

    fn sign(&self, params: &CertificateParams) -> OwnCertificate {
        let key = KeyPair::generate().unwrap();
        let chain = params.signed_by(&key, &self.issuer).unwrap().pem();
        OwnCertificate {
            chain: chain.into_bytes().into(),
            key: key.serialize_pem().into_bytes().into(),
        }
    }

    /// A server called `name` that knows these protocols.
    pub(crate) fn server(&self, name: &str, protocols: &[Alpn]) -> ServerTls {
        self.server_for(name, protocols, ClientCertificates::NotRequested)
    }

    /// The same that lets in only who shows a certificate of `clients`.
    pub(crate) fn strict_server(&self, name: &str, clients: &Self) -> ServerTls {
        let clients = ClientAuthorities::from_pem(&clients.pem).unwrap();
        self.server_for(name, &[Alpn::Http1], ClientCertificates::Required(clients))
    }

    /// A server called `name` whose certificate's time is over.
    pub(crate) fn expired_server(&self, name: &str) -> ServerTls {
        let mut params = params_for(name);
        params.not_after = date_time_ymd(2020, 1, 1);
        serving(&self.sign(&params), &[Alpn::Http1], ClientCertificates::NotRequested)
    }

    fn server_for(&self, name: &str, protocols: &[Alpn], clients: ClientCertificates) -> ServerTls {
        serving(&self.certificate(name), protocols, clients)
    }
}

fn params_for(name: &str) -> CertificateParams {
    CertificateParams::new(vec![name.to_owned()]).unwrap()
}

fn serving(shown: &OwnCertificate, protocols: &[Alpn], clients: ClientCertificates) -> ServerTls {
    let identity = ServerIdentity::from_pem(&shown.chain, &shown.key).unwrap();
    let site = SiteIdentity { names: Vec::new(), identity, clients };
    ServerTls::with_sites(&[site], protocols).unwrap()
}
