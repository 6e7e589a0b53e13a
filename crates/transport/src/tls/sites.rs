//! Several sites behind one listener: which certificate a client gets by the name it asks for, and
//! which clients must show one of their own.
//!
//! An exact name stands over a wildcard, the longest wildcard over shorter ones, and a name that
//! nobody has leads to the first site. It reads no file and answers no request. Made by the doors
//! through [`super::ServerTls::with_sites`]; asked once a handshake.

use super::server_config::server_config_for;
use super::{Alpn, BadPem, PROVIDER, ServerIdentity, certificates};
use rustls::crypto::aws_lc_rs;
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{RootCertStore, ServerConfig};
use std::collections::HashMap;
use std::sync::Arc;

/// One site, as handshakes see it.
#[derive(Clone, Debug)]
pub struct SiteIdentity {
    /// The names by which it is asked for, lower-case; `*.example.com` stands for every name below
    /// example.com. The names in its certificate lead to it too, where no site claims them here.
    pub names: Vec<String>,
    /// Certificate that it presents.
    pub identity: ServerIdentity,
    /// Clients that it lets in.
    pub clients: ClientCertificates,
}

/// Tells whether clients show a certificate.
#[derive(Clone, Debug)]
pub enum ClientCertificates {
    /// They are not asked.
    NotRequested,
    /// They are asked; one without a certificate is let in, one with a certificate that the
    /// authorities did not sign is not.
    Requested(ClientAuthorities),
    /// Only those with a certificate of the authorities are let in.
    Required(ClientAuthorities),
}

/// Holds whose signatures on clients' certificates count.
#[derive(Clone, Debug)]
pub struct ClientAuthorities(Arc<RootCertStore>);

/// The sites of a listener.
pub(super) struct TlsSites {
    /// One configuration a site, in the order given.
    configs: Vec<Arc<ServerConfig>>,
    pub(super) identities: Vec<ServerIdentity>,
    exact: HashMap<String, usize>,
    /// By the name without its `*.`.
    wildcard: HashMap<String, usize>,
}

impl ClientAuthorities {
    /// Certificates of authorities, as PEM.
    pub fn from_pem(pem: &[u8]) -> Result<Self, BadPem> {
        let mut roots = RootCertStore::empty();
        for certificate in certificates(pem)? {
            roots.add(certificate).map_err(|why| BadPem(why.to_string()))?;
        }
        Ok(Self(Arc::new(roots)))
    }
}

impl ClientCertificates {
    fn verifier(&self) -> Result<Arc<dyn ClientCertVerifier>, BadPem> {
        let of = |authorities: &ClientAuthorities| {
            let (roots, provider) = (Arc::clone(&authorities.0), Arc::clone(&PROVIDER));
            WebPkiClientVerifier::builder_with_provider(roots, provider)
        };
        let made = match self {
            Self::NotRequested => return Ok(WebPkiClientVerifier::no_client_auth()),
            Self::Requested(authorities) => of(authorities).allow_unauthenticated().build(),
            Self::Required(authorities) => of(authorities).build(),
        };
        made.map_err(|why| BadPem(why.to_string()))
    }
}

impl TlsSites {
    pub(super) fn new(sites: &[SiteIdentity], protocols: &[Alpn]) -> Result<Self, BadPem> {
        let config = |site: &SiteIdentity| config(site, protocols).map(Arc::new);
        let mut made = Self {
            configs: sites.iter().map(config).collect::<Result<_, _>>()?,
            identities: sites.iter().map(|site| site.identity.clone()).collect(),
            exact: HashMap::new(),
            wildcard: HashMap::new(),
        };
        for (number, site) in sites.iter().enumerate() {
            made.claim(&site.names, number);
        }
        for (number, site) in sites.iter().enumerate() {
            made.claim(&site.identity.host_names(), number);
        }
        Ok(made)
    }

    /// The first site that claims a name has it.
    fn claim(&mut self, names: &[String], number: usize) {
        for name in names {
            match name.strip_prefix("*.") {
                Some(base) => self.wildcard.entry(base.to_owned()).or_insert(number),
                None => self.exact.entry(name.clone()).or_insert(number),
            };
        }
    }

    /// The number of the site of `name`, and how to speak TLS as that site. None where there is no
    /// site at all.
    pub(super) fn choose(&self, name: Option<&str>) -> Option<(usize, &Arc<ServerConfig>)> {
        let number = name.and_then(|name| self.number_of(name)).unwrap_or(0);
        self.configs.get(number).map(|config| (number, config))
    }

    /// The number of the site that has this name.
    pub(super) fn number_of(&self, name: &str) -> Option<usize> {
        let name = name.to_ascii_lowercase();
        if let Some(number) = self.exact.get(&name) {
            return Some(*number);
        }
        let mut rest = name.as_str();
        while let Some((_, base)) = rest.split_once('.') {
            if let Some(number) = self.wildcard.get(base) {
                return Some(*number);
            }
            rest = base;
        }
        None
    }
}

fn config(site: &SiteIdentity, protocols: &[Alpn]) -> Result<ServerConfig, BadPem> {
    let identity = Arc::new(site.identity.clone());
    let mut config = server_config_for(identity, site.clients.verifier()?);
    config.alpn_protocols = protocols.iter().map(|it| it.as_bytes().to_vec()).collect();
    match site.clients {
        ClientCertificates::NotRequested => {}
        // A resumed session brings the client's certificate along unverified. A ticket is worth
        // nothing but where these very authorities have looked at it: keys of its own.
        ClientCertificates::Requested(_) | ClientCertificates::Required(_) => {
            config.ticketer = aws_lc_rs::Ticketer::new().map_err(|why| BadPem(why.to_string()))?;
        }
    }
    Ok(config)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn site(names: &[&str], certified: &[&str]) -> SiteIdentity {
        let owned = |names: &[&str]| names.iter().map(|&it| it.to_owned()).collect::<Vec<_>>();
        let pair = rcgen::generate_simple_self_signed(owned(certified)).unwrap();
        let (chain, key) = (pair.cert.pem(), pair.signing_key.serialize_pem());
        SiteIdentity {
            names: owned(names),
            identity: ServerIdentity::from_pem(chain.as_bytes(), key.as_bytes()).unwrap(),
            clients: ClientCertificates::NotRequested,
        }
    }

    #[test]
    fn the_most_exact_name_wins_and_the_first_site_has_the_rest() {
        let sites = [
            site(&["www.example"], &["www.example", "mail.example"]),
            site(&["*.example", "a.deep.example"], &["x.test"]),
            site(&["*.deep.example"], &["*.files.test", "www.example"]),
        ];
        let sites = TlsSites::new(&sites, &[Alpn::Http1]).unwrap();
        for (name, expected) in [
            (Some("www.example"), 0),
            (Some("WWW.Example"), 0),
            (Some("mail.example"), 0),
            (Some("other.example"), 1),
            (Some("very.other.example"), 1),
            (Some("a.deep.example"), 1),
            (Some("b.deep.example"), 2),
            (Some("c.b.deep.example"), 2),
            (Some("x.test"), 1),
            (Some("a.files.test"), 2),
            (Some("example"), 0),
            (Some("nobody.test"), 0),
            (None, 0),
        ] {
            assert_eq!(sites.choose(name).unwrap().0, expected, "{name:?}");
        }
        assert!(TlsSites::new(&[], &[]).unwrap().choose(None).is_none());
    }

    #[test]
    fn authorities_are_certificates() {
        assert!(ClientAuthorities::from_pem(b"nonsense").is_err());
        assert!(ClientAuthorities::from_pem(b"").is_err());
    }
}
