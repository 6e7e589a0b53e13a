//! Identity of a server: one certificate with its key, exchanged while listeners go on using it.
//!
//! It comes from PEM files, or is signed by our own authority for names and addresses that the
//! administrator gave, and then renews itself. It reads no files and chooses no names. Made by the
//! DNS door on start and reload; the handshakes of TLS and QUIC ask it for the certificate.

use super::{BadPem, PROVIDER, certificates};
use arc_swap::ArcSwap;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use signer::{CertificateSubject, IDENTITY_NAMES_MAX, MintError, Signer, own_name};
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use vocab::{Complaint, Now};
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

/// Time for which a start waits for its first certificate: the signer may have millions of rules to
/// read.
const FIRST_MAX: Duration = Duration::from_secs(30);
/// Time for which a handshake waits for a renewal, which happens every two months.
const RENEWAL_MAX: Duration = Duration::from_secs(1);
/// Delay of the next try after a renewal that failed, in milliseconds.
const AGAIN_MS: u64 = 60_000;

/// Identity of a server. Clones are the same identity.
#[derive(Clone)]
pub struct ServerIdentity(Arc<ArcSwap<CurrentIdentity>>);

struct CurrentIdentity {
    /// None while the signer has not answered yet: handshakes fail, and everything else goes on.
    certified: Option<Arc<CertifiedKey>>,
    origin: CertificateOrigin,
}

/// Where the certificate came from, and so what becomes of it when it grows old.
#[derive(Clone)]
enum CertificateOrigin {
    /// Files, which are renewed by the one who wrote them.
    Files,
    /// We sign another one outside the time, by the wall clock, in which this one is fresh.
    Signed { by: Arc<Signer>, subject: Arc<CertificateSubject>, fresh_ms: Range<u64> },
}

/// Facts of a certificate that people watch.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CertificateFacts {
    /// The first name or address that it is for, else its subject.
    pub name: String,
    /// When it ends, in seconds since 1970.
    pub not_after: u64,
}

/// A name that a certificate of ours is for, and where it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnName {
    /// The path of the setting, relative to the part's section.
    pub path: String,
    /// The name, lower-case; `*.` in front stands for one label.
    pub name: String,
}

/// A certificate that our own authority is to sign for a part's listeners, as its settings ask for
/// it. Every part that has one names it, so that the signer's process knows of all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnCertificate {
    /// Names.
    pub names: Vec<OwnName>,
    /// The encrypted listeners, whose addresses it is for too.
    pub listening: Vec<SocketAddr>,
}

impl OwnCertificate {
    /// Returns whom the certificate is for, with the addresses that this machine has now.
    pub fn subject(&self) -> CertificateSubject {
        CertificateSubject {
            names: self.subject_names(),
            addresses: crate::own_addresses(&self.listening),
        }
    }

    /// The names that the certificate is for.
    pub fn subject_names(&self) -> Vec<String> {
        self.names.iter().map(|own| own.name.clone()).collect()
    }

    /// Names that the authority never signs, and more of them than one certificate carries.
    pub fn check(&self) -> Vec<Complaint> {
        let wrong = |own: &OwnName| {
            let why = own_name(&own.name).err()?;
            let message = format!("no certificate can be signed for {}: {why}", own.name);
            Some(Complaint::new(&own.path, message).remedy("name a host, or give a certificate"))
        };
        let mut complaints: Vec<_> = self.names.iter().filter_map(wrong).collect();
        if let Some(beyond) = self.names.get(IDENTITY_NAMES_MAX) {
            let message = format!("a certificate carries {IDENTITY_NAMES_MAX} names at most");
            complaints.push(Complaint::new(&beyond.path, message).remedy("give certificates"));
        }
        complaints
    }
}

impl ServerIdentity {
    /// One certificate chain, leaf first, and its key, as PEM.
    pub fn from_pem(chain: &[u8], key: &[u8]) -> Result<Self, BadPem> {
        let chain = certificates(chain)?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|why| BadPem(why.to_string()))?;
        let certified =
            CertifiedKey::from_der(chain, key, &PROVIDER).map_err(|why| BadPem(why.to_string()))?;
        Ok(Self::new(CurrentIdentity {
            certified: Some(Arc::new(certified)),
            origin: CertificateOrigin::Files,
        }))
    }

    /// A certificate for `subject`, signed by our authority; the signer asks no policy about it,
    /// so it must be what the administrator wrote. Where the signer cannot begin, because its key
    /// cannot be read or its disk is full, there is no certificate until it can.
    pub fn signed(
        signer: &Arc<Signer>,
        subject: CertificateSubject,
        now: Now,
    ) -> Result<Self, MintError> {
        let subject = Arc::new(subject);
        if signer.start().is_ok() {
            return Ok(Self::new(CurrentIdentity::sign(signer, &subject, FIRST_MAX, now)?));
        }
        let origin = CertificateOrigin::Signed { by: Arc::clone(signer), subject, fresh_ms: 0..0 };
        Ok(Self::new(CurrentIdentity { certified: None, origin }))
    }

    fn new(current: CurrentIdentity) -> Self {
        Self(Arc::new(ArcSwap::from_pointee(current)))
    }

    /// Presents from now on what `other` presents: to every handshake that begins afterwards.
    pub fn replace_with(&self, other: &Self) {
        self.0.store(other.0.load_full());
    }

    /// The certificate presented now, as DER.
    pub fn leaf(&self) -> Vec<u8> {
        let certified = self.certified(crate::clock::now());
        let leaf = certified.as_ref().and_then(|certified| certified.cert.first());
        leaf.map_or_else(Vec::new, |leaf| leaf.to_vec())
    }

    /// The host names that the certificate presented now covers, `*.` in front of wildcards.
    pub(crate) fn host_names(&self) -> Vec<String> {
        let leaf = self.leaf();
        let Ok((_, leaf)) = X509Certificate::from_der(&leaf) else { return Vec::new() };
        let Ok(Some(names)) = leaf.subject_alternative_name() else { return Vec::new() };
        let host_name = |name: &GeneralName<'_>| match name {
            GeneralName::DNSName(name) => Some(name.to_ascii_lowercase()),
            _ => None,
        };
        names.value.general_names.iter().filter_map(host_name).collect()
    }

    /// The name and the end of the certificate presented now, without renewing it; none while
    /// there is none.
    pub fn facts(&self) -> Option<CertificateFacts> {
        let certified = self.0.load().certified.clone()?;
        let (_, leaf) = X509Certificate::from_der(certified.cert.first()?).ok()?;
        let alternative = leaf.subject_alternative_name().ok().flatten();
        let general = alternative.and_then(|names| names.value.general_names.first().cloned());
        let name = match general {
            Some(GeneralName::DNSName(name)) => name.to_ascii_lowercase(),
            Some(GeneralName::IPAddress([a, b, c, d])) => Ipv4Addr::new(*a, *b, *c, *d).to_string(),
            _ => leaf.subject().to_string(),
        };
        let not_after = u64::try_from(leaf.validity().not_after.timestamp()).unwrap_or(0);
        Some(CertificateFacts { name, not_after })
    }

    /// Returns what is presented at `now`.
    fn certified(&self, now: Now) -> Option<Arc<CertifiedKey>> {
        let current = self.0.load();
        if let CertificateOrigin::Signed { by, subject, fresh_ms } = &current.origin
            && !fresh_ms.contains(&now.unix_ms)
            // Without a first certificate every handshake would wait for a signer that does not
            // work.
            && (current.certified.is_some() || by.is_ready())
        {
            let again_ms = now.unix_ms..now.unix_ms + AGAIN_MS;
            // An old certificate is better than none: the clock may be what is wrong. And other
            // handshakes go on with it, while this one renews it.
            self.0.store(Arc::new(current.fresh(again_ms)));
            if let Ok(renewed) = CurrentIdentity::sign(by, subject, RENEWAL_MAX, now) {
                let certified = renewed.certified.clone();
                self.0.store(Arc::new(renewed));
                return certified;
            }
        }
        current.certified.clone()
    }
}

impl CurrentIdentity {
    /// Goes on presenting this at these times.
    fn fresh(&self, fresh_ms: Range<u64>) -> Self {
        let origin = match &self.origin {
            CertificateOrigin::Files => CertificateOrigin::Files,
            CertificateOrigin::Signed { by, subject, .. } => {
                let (by, subject) = (Arc::clone(by), Arc::clone(subject));
                CertificateOrigin::Signed { by, subject, fresh_ms }
            }
        };
        Self { certified: self.certified.clone(), origin }
    }

    fn sign(
        signer: &Arc<Signer>,
        subject: &Arc<CertificateSubject>,
        patience: Duration,
        now: Now,
    ) -> Result<Self, MintError> {
        let (certified, fresh_ms) = signer.server_leaf(subject, patience, now)?;
        let origin = CertificateOrigin::Signed {
            by: Arc::clone(signer),
            subject: Arc::clone(subject),
            fresh_ms,
        };
        Ok(Self { certified: Some(Arc::new(certified)), origin })
    }
}

impl ResolvesServerCert for ServerIdentity {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.certified(crate::clock::now())
    }
}

impl fmt::Debug for ServerIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0.load().origin {
            CertificateOrigin::Files => "Identity(files)",
            CertificateOrigin::Signed { .. } => "Identity(signed)",
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use signer::MintNothing;

    const DAY_MS: u64 = 86_400_000;

    fn signer(test: &str) -> Arc<Signer> {
        let folder =
            std::env::temp_dir().join(format!("tidegate-identity-{}-{test}", std::process::id()));
        let signer = Signer::open(&folder, Arc::new(MintNothing), crate::clock::now()).unwrap();
        let _ = std::fs::remove_dir_all(&folder);
        Arc::new(signer)
    }

    fn subject(names: &[&str], addresses: &[&str]) -> CertificateSubject {
        CertificateSubject {
            names: names.iter().map(|&name| name.to_owned()).collect(),
            addresses: addresses.iter().map(|it| it.parse().unwrap()).collect(),
        }
    }

    #[test]
    fn our_own_names_and_addresses_are_certified_though_no_list_blocks_them() {
        let wanted = subject(&["dns.home.arpa"], &["192.0.2.53", "2001:db8::53"]);
        let now = crate::clock::now();
        let identity = ServerIdentity::signed(&signer("own"), wanted, now).unwrap();
        let leaf = identity.certified(now).unwrap().cert[0].clone();
        let (_, leaf) = X509Certificate::from_der(&leaf).unwrap();
        let names = leaf.subject_alternative_name().unwrap().unwrap().value.general_names.clone();
        assert_eq!(
            names,
            [
                GeneralName::DNSName("dns.home.arpa"),
                GeneralName::IPAddress(&[192, 0, 2, 53]),
                GeneralName::IPAddress(&[
                    0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x53
                ]),
            ]
        );
        assert!(!leaf.is_ca());
    }

    #[test]
    fn a_certificate_of_ours_is_renewed_before_it_runs_out() {
        let now = crate::clock::now();
        let at = |days: u64| Now { unix_ms: now.unix_ms + days * DAY_MS, ..now };
        let identity =
            ServerIdentity::signed(&signer("renewal"), subject(&["dns.home.arpa"], &[]), now)
                .unwrap();
        let first = identity.certified(now).unwrap();
        assert!(Arc::ptr_eq(&first, &identity.certified(at(50)).unwrap()));
        let second = identity.certified(at(60)).unwrap();
        assert!(!Arc::ptr_eq(&first, &second));
        assert!(Arc::ptr_eq(&second, &identity.certified(at(61)).unwrap()));
    }

    #[test]
    fn nobody_and_what_is_no_name_get_no_certificate() {
        let (signer, now) = (signer("nobody"), crate::clock::now());
        for wrong in [subject(&[], &[]), subject(&["*.co.uk"], &[]), subject(&["1.2"], &[])] {
            let refused = ServerIdentity::signed(&signer, wrong.clone(), now);
            assert!(matches!(refused, Err(MintError::BadName(_))), "{wrong:?}");
        }
        let many = CertificateSubject {
            names: vec!["a.test".into(); IDENTITY_NAMES_MAX + 1],
            ..subject(&[], &[])
        };
        assert!(ServerIdentity::signed(&signer, many, now).is_err());
    }

    #[test]
    fn an_identity_takes_another_ones_place() {
        let (signer, now) = (signer("place"), crate::clock::now());
        let made = |name| ServerIdentity::signed(&signer, subject(&[name], &[]), now).unwrap();
        let (old, new) = (made("old.test"), made("new.test"));
        let held = old.clone();
        old.replace_with(&new);
        assert!(Arc::ptr_eq(&held.certified(now).unwrap(), &new.certified(now).unwrap()));
    }

    #[test]
    fn a_key_that_is_not_the_certificates_is_refused() {
        let pair = |name: &str| {
            let key = rcgen::KeyPair::generate().unwrap();
            let params = rcgen::CertificateParams::new(vec![name.to_owned()]).unwrap();
            (params.self_signed(&key).unwrap().pem(), key.serialize_pem())
        };
        let ((chain, key), (_, other)) = (pair("a.test"), pair("b.test"));
        assert!(ServerIdentity::from_pem(chain.as_bytes(), key.as_bytes()).is_ok());
        assert!(ServerIdentity::from_pem(chain.as_bytes(), other.as_bytes()).is_err());
        assert!(ServerIdentity::from_pem(b"nonsense", key.as_bytes()).is_err());
        assert!(ServerIdentity::from_pem(chain.as_bytes(), b"").is_err());
    }
}
