//! The certificate authority: two files, made once, and a key that signs.
//!
//! `ca.pem` is for everyone; `ca.key` is for this process only and is refused if others can read
//! it. Both appear complete or not at all. When two thirds of its life have passed the certificate
//! is made anew with the same key and name, so that devices which trust the old one go on. It
//! decides nothing about names: that is the signer's, its only caller.

use crate::coverage::{moment, positive};
use crate::exclusions::NameExclusions;
use durable_file::{FileAccess, FileReplacement};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, PublicKeyData,
};
use rustix::fs::{Mode, OFlags, RenameFlags};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{self, PemObject};
use std::fmt;
use std::io::{self, Write};
use std::ops::Range;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use x509_parser::nom;
use x509_parser::prelude::{FromDer, X509Certificate, X509Error};

/// Time for which a new authority is valid. Apple's limit of 825 days is for leaves; people install
/// this by hand, so it must last.
const AUTHORITY_YEARS: u64 = 10;
const DAY_SECONDS: u64 = 86_400;

/// Why the authority cannot be used.
#[derive(Debug)]
pub enum AuthorityError {
    /// A file or its folder cannot be written.
    Write(PathBuf, io::Error),
    /// A file cannot be read.
    Read(PathBuf, io::Error),
    /// The certificate is there and its key is not.
    KeyMissing(PathBuf),
    /// Others may read the key; the mode it has.
    KeyExposed(PathBuf, u32),
    /// A file's content is not what it should be.
    Broken(PathBuf, String),
    /// The key is not the one in the certificate.
    Mismatch(PathBuf),
    /// The certificate's time has passed.
    Expired(PathBuf),
    /// Signing or key generation failed.
    Crypto(String),
}

/// Why a text is no certificate of an authority.
#[derive(Debug)]
pub enum BadCaCertificate {
    /// There is no certificate in PEM.
    Pem(pem::Error),
    /// The content is no certificate.
    Der(nom::Err<X509Error>),
    /// Certificates may not be signed with it.
    NotAuthority,
}

/// The key and what it signs with.
pub(crate) struct CertificateAuthority {
    certificate: CaCertificate,
    issuer: Issuer<'static, KeyPair>,
}

/// The authority's certificate, which is for everyone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaCertificate {
    /// In PEM.
    pub pem: String,
    /// SHA-256 of its DER.
    pub fingerprint: [u8; 32],
    /// When its time begins and ends, in seconds since 1970.
    pub valid_secs: Range<u64>,
}

impl CaCertificate {
    /// The certificate in `dir`, which nobody need be trusted with; none where there is none.
    pub fn read(dir: &Path) -> Option<Self> {
        let pem = std::fs::read_to_string(dir.join("ca.pem")).ok()?;
        Self::from_pem(&pem).ok()
    }

    /// Reason why the authority in `dir` could not be used, as far as its files tell; none where
    /// there is no authority yet.
    pub fn find_error(dir: &Path) -> Option<AuthorityError> {
        let (cert, key) = (dir.join("ca.pem"), dir.join("ca.key"));
        match (cert.exists(), key.exists()) {
            (false, false) => return None,
            (true, false) => return Some(AuthorityError::KeyMissing(key)),
            (true | false, true) => {}
        }
        let pair = match read_key(&key) {
            Ok(pair) => pair,
            Err(why) => return Some(why),
        };
        let pem = match std::fs::read_to_string(&cert) {
            Ok(pem) => pem,
            // It is made again from the key.
            Err(why) if why.kind() == io::ErrorKind::NotFound => return None,
            Err(why) => return Some(AuthorityError::Read(cert, why)),
        };
        if let Err(why) = Self::from_pem(&pem) {
            return Some(AuthorityError::Broken(cert, why.to_string()));
        }
        let der = CertificateDer::from_pem_slice(pem.as_bytes()).ok()?;
        let is_its = public_key(&der) == Some(pair.subject_public_key_info());
        (!is_its).then_some(AuthorityError::Mismatch(key))
    }

    /// A certificate of an authority, in PEM.
    pub fn from_pem(pem: &str) -> Result<Self, BadCaCertificate> {
        let der = CertificateDer::from_pem_slice(pem.as_bytes()).map_err(BadCaCertificate::Pem)?;
        let (_, parsed) = X509Certificate::from_der(&der).map_err(BadCaCertificate::Der)?;
        if !parsed.is_ca() {
            return Err(BadCaCertificate::NotAuthority);
        }
        let secs = |at: x509_parser::time::ASN1Time| u64::try_from(at.timestamp()).unwrap_or(0);
        let validity = parsed.validity();
        Ok(Self {
            pem: pem.to_owned(),
            fingerprint: sha256(&der),
            valid_secs: secs(validity.not_before)..secs(validity.not_after),
        })
    }

    /// As devices show the fingerprint: `AB:CD:…`.
    pub fn fingerprint_text(&self) -> String {
        self.fingerprint.iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().join(":")
    }

    /// When it is made anew, in seconds since 1970: at two thirds of its life.
    pub fn renewal_secs(&self) -> u64 {
        let life = self.valid_secs.end.saturating_sub(self.valid_secs.start);
        self.valid_secs.start + life / 3 * 2
    }

    /// Returns what people should know about its age, if anything.
    pub fn warning(&self, unix_secs: u64) -> Option<String> {
        let days = |secs: u64| secs / DAY_SECONDS;
        if unix_secs >= self.valid_secs.end {
            Some(
                "the certificate authority has expired: no device accepts what it signs; see \
                 that the clock is right, make the folder `ca` writable and restart"
                    .into(),
            )
        } else if unix_secs < self.valid_secs.start {
            Some("the certificate authority is not valid yet: see that the clock is right".into())
        } else if unix_secs >= self.renewal_secs() {
            let left = days(self.valid_secs.end - unix_secs);
            Some(format!(
                "the certificate authority expires in {left} days and was not renewed: make the \
                 folder `ca` writable and restart"
            ))
        } else {
            None
        }
    }
}

impl CertificateAuthority {
    /// Loads the authority in `dir`, or makes one there if there is none, which then never vouches
    /// for what `exclusions` name.
    pub(crate) fn open(
        dir: &Path,
        exclusions: &NameExclusions,
        unix_secs: u64,
    ) -> Result<Self, AuthorityError> {
        let (cert, key) = (dir.join("ca.pem"), dir.join("ca.key"));
        if !key.exists() {
            if cert.exists() {
                return Err(AuthorityError::KeyMissing(key));
            }
            std::fs::DirBuilder::new()
                .recursive(true)
                .mode(0o755)
                .create(dir)
                .map_err(|why| AuthorityError::Write(dir.into(), why))?;
            let made =
                KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(|why| crypto(&why))?;
            write_new(&key, made.serialize_pem().as_bytes(), 0o600)?;
        }
        let pair = read_key(&key)?;
        if !cert.exists() {
            // Also where a crash came between the two files: the key decides.
            let mut params = params(exclusions, unix_secs)?;
            params.distinguished_name.push(DnType::CommonName, subject()?);
            params.distinguished_name.push(DnType::OrganizationName, "Tidegate");
            let made = params.self_signed(&pair).map_err(|why| crypto(&why))?;
            write_new(&cert, made.pem().as_bytes(), 0o644)?;
        }
        Self::load(&cert, &key, pair, exclusions, unix_secs)
    }

    fn load(
        cert: &Path,
        key: &Path,
        pair: KeyPair,
        exclusions: &NameExclusions,
        unix_secs: u64,
    ) -> Result<Self, AuthorityError> {
        let pem =
            std::fs::read_to_string(cert).map_err(|why| AuthorityError::Read(cert.into(), why))?;
        let broken = |why: String| AuthorityError::Broken(cert.into(), why);
        let mut certificate =
            CaCertificate::from_pem(&pem).map_err(|why| broken(why.to_string()))?;
        let mut der = CertificateDer::from_pem_slice(pem.as_bytes())
            .map_err(|why| broken(why.to_string()))?;
        if public_key(&der) != Some(pair.subject_public_key_info()) {
            return Err(AuthorityError::Mismatch(key.into()));
        }
        if unix_secs >= certificate.renewal_secs()
            // Where it cannot be made anew, the old one serves as long as it is valid.
            && let Some(renewed) = renew(cert, &der, &pair, exclusions, unix_secs)
        {
            certificate =
                CaCertificate::from_pem(&renewed).map_err(|why| broken(why.to_string()))?;
            der = CertificateDer::from_pem_slice(renewed.as_bytes())
                .map_err(|why| broken(why.to_string()))?;
        }
        if certificate.valid_secs.end <= unix_secs {
            return Err(AuthorityError::Expired(cert.into()));
        }
        let issuer = Issuer::from_ca_cert_der(&der, pair).map_err(|why| broken(why.to_string()))?;
        Ok(Self { certificate, issuer })
    }

    pub(crate) fn certificate(&self) -> &CaCertificate {
        &self.certificate
    }

    /// Signs a leaf for a public key.
    pub(crate) fn sign(
        &self,
        leaf: &CertificateParams,
        key: &impl PublicKeyData,
    ) -> Result<CertificateDer<'static>, rcgen::Error> {
        leaf.signed_by(key, &self.issuer).map(|it| it.der().clone())
    }
}

fn public_key(der: &[u8]) -> Option<Vec<u8>> {
    let (_, parsed) = X509Certificate::from_der(der).ok()?;
    Some(parsed.public_key().raw.to_vec())
}

/// Returns what every certificate of the authority says, but for its subject.
fn params(
    exclusions: &NameExclusions,
    unix_secs: u64,
) -> Result<CertificateParams, AuthorityError> {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.serial_number = Some(positive(random()?));
    params.not_before = moment(unix_secs.saturating_sub(2 * DAY_SECONDS));
    params.not_after = moment(unix_secs + AUTHORITY_YEARS * 365 * DAY_SECONDS);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.name_constraints = Some(exclusions.constraints());
    Ok(params)
}

/// Writes the certificate anew for the same key under the same name, and returns it as PEM; none
/// where that cannot be.
fn renew(
    path: &Path,
    old: &[u8],
    key: &KeyPair,
    exclusions: &NameExclusions,
    unix_secs: u64,
) -> Option<String> {
    let (_, old) = X509Certificate::from_der(old).ok()?;
    let mut params = params(exclusions, unix_secs).ok()?;
    // Valid from the same day: the clock may be what is wrong, and be set right later.
    params.not_before = moment(u64::try_from(old.validity().not_before.timestamp()).ok()?);
    let text = |mut all: Box<
        dyn Iterator<Item = &x509_parser::x509::AttributeTypeAndValue<'_>>,
    >| { all.next().and_then(|it| it.as_str().ok()).map(str::to_owned) };
    let name = text(Box::new(old.subject().iter_common_name()))?;
    let organization = text(Box::new(old.subject().iter_organization()));
    params.distinguished_name.push(DnType::CommonName, name);
    if let Some(organization) = organization {
        params.distinguished_name.push(DnType::OrganizationName, organization);
    }
    let renewed = params.self_signed(key).ok()?;
    let (_, parsed) = X509Certificate::from_der(renewed.der()).ok()?;
    // Leaves name their authority byte by byte.
    if parsed.subject().as_raw() != old.subject().as_raw() {
        return None;
    }
    let pem = renewed.pem();
    let public = FileReplacement { access: FileAccess::Public, ..FileReplacement::private(path) };
    public.write(pem.as_bytes()).ok()?;
    Some(pem)
}

/// The subject tells installations apart: two authorities of one name confuse clients that trust
/// both, and people who look for the one to remove.
fn subject() -> Result<String, AuthorityError> {
    let tag: [u8; 4] = random()?;
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let host: String = host
        .chars()
        .filter(|it| it.is_ascii_alphanumeric() || "-._".contains(*it))
        .take(32)
        .collect();
    let tag = u32::from_be_bytes(tag);
    Ok(if host.is_empty() || host == "localhost" {
        format!("Tidegate CA {tag:08x}")
    } else {
        format!("Tidegate CA {tag:08x}, {host}")
    })
}

fn read_key(path: &Path) -> Result<KeyPair, AuthorityError> {
    let read = |why| AuthorityError::Read(path.into(), why);
    let mode = std::fs::metadata(path).map_err(read)?.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(AuthorityError::KeyExposed(path.into(), mode));
    }
    let pem = std::fs::read_to_string(path).map_err(read)?;
    KeyPair::from_pem(&pem).map_err(|why| AuthorityError::Broken(path.into(), why.to_string()))
}

/// Writes a file that must not exist yet, so that it is there whole and durable, or not at all.
/// Where another process was first, its file stands.
fn write_new(path: &Path, content: &[u8], mode: u32) -> Result<(), AuthorityError> {
    let failed = |why: io::Error| AuthorityError::Write(path.into(), why);
    let tag: [u8; 8] = random()?;
    let partial = path.with_extension(format!("{:016x}.part", u64::from_be_bytes(tag)));
    let outcome = (|| {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mut file =
            std::fs::File::from(rustix::fs::open(&partial, flags, Mode::from_raw_mode(mode))?);
        // The mode given to `open` is cut by the umask; a public certificate must be readable.
        file.set_permissions(std::fs::Permissions::from_mode(mode))?;
        file.write_all(content)?;
        file.sync_all()?;
        let here = rustix::fs::CWD;
        rustix::fs::renameat_with(here, &partial, here, path, RenameFlags::NOREPLACE)?;
        let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
        std::fs::File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
    })();
    match outcome {
        Ok(()) => Ok(()),
        Err(why) => {
            // Best effort: what matters is the error above.
            let _ = std::fs::remove_file(&partial);
            if why.kind() == io::ErrorKind::AlreadyExists { Ok(()) } else { Err(failed(why)) }
        }
    }
}

/// From the operating system's generator.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], AuthorityError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|why| AuthorityError::Crypto(why.to_string()))?;
    Ok(bytes)
}

fn crypto(why: &rcgen::Error) -> AuthorityError {
    AuthorityError::Crypto(why.to_string())
}

/// SHA-256 by the TLS library's own provider, so that no second one is linked.
fn sha256(bytes: &[u8]) -> [u8; 32] {
    use rustls::crypto::aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256;
    let mut digest = [0; 32];
    if let Some(suite) = TLS13_AES_128_GCM_SHA256.tls13() {
        digest.copy_from_slice(suite.common.hash_provider.hash(bytes).as_ref());
    }
    digest
}

impl fmt::Display for BadCaCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pem(why) => why.fmt(f),
            Self::Der(why) => why.fmt(f),
            Self::NotAuthority => f.write_str("the certificate is not an authority's"),
        }
    }
}

impl std::error::Error for BadCaCertificate {}

impl fmt::Display for AuthorityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Write(path, why) => write!(
                f,
                "cannot write {}: {why}; make the state folder writable, or choose another with \
                 --state",
                path.display()
            ),
            Self::Read(path, why) => write!(f, "cannot read {}: {why}", path.display()),
            Self::KeyMissing(path) => write!(
                f,
                "{} is missing beside its ca.pem; put it back, or delete ca.pem to have a new \
                 authority made, which every device must then trust again",
                path.display()
            ),
            Self::KeyExposed(path, mode) => write!(
                f,
                "{path} may be read by others (mode {mode:04o}); run `chmod 600 {path}`",
                path = path.display()
            ),
            Self::Broken(path, why) => write!(f, "{} is damaged: {why}", path.display()),
            Self::Mismatch(path) => {
                write!(f, "{} is not the key of the ca.pem beside it", path.display())
            }
            Self::Expired(path) => write!(
                f,
                "{} has expired and could not be renewed: see that the clock is right and the \
                 folder writable",
                path.display()
            ),
            Self::Crypto(why) => write!(f, "the certificate authority failed: {why}"),
        }
    }
}

impl std::error::Error for AuthorityError {}
