//! The signer with its key in the same process: names, limits, renewal, and what a damaged folder
//! does.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::*;
use crate::issuer::{OwnServerNames, SigningRefusal};
use crate::mint_policy::MintNothing;
use crate::names::BadName;
use crate::settings::BundleMode;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::atomic::AtomicU32;

/// Permits names that begin with `ads`, and so never a wildcard.
struct Ads;
impl MintPolicy for Ads {
    fn may_mint(&self, name: &str) -> bool {
        name.starts_with("ads")
    }
}

struct Folder(PathBuf);
impl Folder {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Relaxed);
        let name = format!("tidegate-signer-{}-{number}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }
    fn file(&self, name: &str) -> PathBuf {
        self.0.join("ca").join(name)
    }
    fn open(&self) -> Result<Signer, AuthorityError> {
        Signer::open(&self.0.join("ca"), Arc::new(Ads), now())
    }
}
impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const CLIENT: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 7));

fn now() -> Now {
    Now { unix_ms: 1_800_000_000_000, mono_ms: 1000 }
}

/// A leaf for a client that verifies ECDSA.
fn leaf(
    signer: &Signer,
    name: &str,
    client: IpAddr,
    now: Now,
) -> Result<LeafCertificate, MintError> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(signer.leaf(name, client, ClientSignatures::Ecdsa, now))
}

#[test]
fn the_authority_is_made_once_and_its_key_is_private() {
    let folder = Folder::new();
    let first = folder.open().unwrap();
    let mode = |name| std::fs::metadata(folder.file(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("ca.pem"), mode("ca.key")), (0o644, 0o600));
    assert_eq!(std::fs::read_dir(folder.file("")).unwrap().count(), 2);
    let second = folder.open().unwrap();
    assert_eq!(first.ca_pem(), second.ca_pem());
    assert_eq!(first.ca_fingerprint(), second.ca_fingerprint());
    assert_eq!(first.ca_fingerprint().len(), 32 * 3 - 1);
    assert_ne!(first.ca_pem(), Folder::new().open().unwrap().ca_pem());
}

#[test]
fn a_damaged_authority_is_named_and_never_replaced() {
    let folder = Folder::new();
    folder.open().unwrap();
    let (pem, key) = (folder.file("ca.pem"), folder.file("ca.key"));
    let (whole_pem, whole_key) = (std::fs::read(&pem).unwrap(), std::fs::read(&key).unwrap());

    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    let exposed = folder.open().unwrap_err();
    assert!(exposed.to_string().contains("chmod 600"), "{exposed}");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();

    std::fs::write(&pem, "nonsense").unwrap();
    assert!(matches!(folder.open(), Err(AuthorityError::Broken(path, _)) if path == pem));
    std::fs::write(&pem, &whole_pem).unwrap();

    std::fs::write(&key, &whole_key[..whole_key.len() / 2]).unwrap();
    assert!(matches!(folder.open(), Err(AuthorityError::Broken(path, _)) if path == key));

    let other = Folder::new();
    other.open().unwrap();
    std::fs::write(&key, std::fs::read(other.file("ca.key")).unwrap()).unwrap();
    assert!(matches!(folder.open(), Err(AuthorityError::Mismatch(_))));

    std::fs::remove_file(&key).unwrap();
    assert!(matches!(folder.open(), Err(AuthorityError::KeyMissing(_))));
    assert_eq!(std::fs::read(&pem).unwrap(), whole_pem);

    // A crash between the two files leaves the key alone: it gets its certificate.
    std::fs::write(&key, &whole_key).unwrap();
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::remove_file(&pem).unwrap();
    folder.open().unwrap();
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let why =
        Signer::open(Path::new("/proc/tidegate/ca"), Arc::new(MintNothing), now()).unwrap_err();
    let text = why.to_string();
    assert!(text.contains("/proc/tidegate/ca") && text.contains("--state"), "{text}");
}

#[test]
fn one_client_cannot_keep_the_signer_busy() {
    let folder = Folder::new();
    let signer = folder.open().unwrap();
    let now = now();
    for number in 0..PER_CLIENT.burst {
        leaf(&signer, &format!("ads{number}.example.com"), CLIENT, now).unwrap();
    }
    let over = leaf(&signer, "ads-more.example.com", CLIENT, now);
    assert_eq!(over.err(), Some(MintError::RateLimited));
    // What is signed is served to anyone, and other clients are unaffected.
    let last = format!("ads{}.example.com", PER_CLIENT.burst - 1);
    leaf(&signer, &last, CLIENT, now).unwrap();
    leaf(&signer, "ads-more.example.com", "192.0.2.8".parse().unwrap(), now).unwrap();
    let counts = signer.counts();
    assert_eq!((counts.minted, counts.cached), (u64::from(PER_CLIENT.burst) + 1, 1));
    assert_eq!((counts.rate_limited, counts.refused_by_policy), (1, 0));
}

#[test]
fn a_leaf_is_renewed_after_two_thirds_of_its_life() {
    let folder = Folder::new();
    let signer = folder.open().unwrap();
    let later = |days: u64| {
        let now = now();
        Now { unix_ms: now.unix_ms + days * DAY_MS, mono_ms: now.mono_ms }
    };
    leaf(&signer, "ads.example.com", CLIENT, later(0)).unwrap();
    leaf(&signer, "ads.example.com", CLIENT, later(57)).unwrap();
    assert_eq!(signer.counts().minted, 1);
    leaf(&signer, "ads.example.com", CLIENT, later(59)).unwrap();
    assert_eq!(signer.counts().minted, 2);
}

#[test]
fn what_is_no_name_is_never_signed() {
    let folder = Folder::new();
    let signer = folder.open().unwrap();
    let long = format!("ads.{}", "a.".repeat(126));
    for bad in ["ads.*.com", "ads..com", "ads\0.com", "ads/../x", "ads.1.2.3.4", "", long.as_str()]
    {
        let refused = leaf(&signer, bad, CLIENT, now());
        assert!(matches!(refused, Err(MintError::BadName(_))), "{bad:?}");
    }
    assert_eq!(leaf(&signer, "www.example.com", CLIENT, now()).err(), Some(MintError::NotBlocked));
    assert_eq!(signer.counts().minted, 0);
}

#[test]
fn leaves_are_kept_up_to_a_cap() {
    let folder = Folder::new();
    let signer = folder.open().unwrap();
    for number in 0..LEAVES_MAX as u32 + 200 {
        let client = IpAddr::V4(std::net::Ipv4Addr::from_bits(number));
        leaf(&signer, &format!("ads{number}.example.com"), client, now()).unwrap();
    }
    assert!(signer.leaf_cache.len() <= LEAVES_MAX);
}

#[test]
fn the_authority_is_made_anew_with_its_key_and_name_before_it_ends() {
    let folder = Folder::new();
    let dir = folder.file("");
    let open =
        |secs| crate::authority::CertificateAuthority::open(&dir, &NameExclusions::default(), secs);
    let began = now().unix_secs() - 7 * 365 * 86_400;
    let old = open(began).unwrap().certificate().clone();
    assert_eq!(old.warning(began), None);
    assert!(old.warning(now().unix_secs()).unwrap().contains("expires in"));
    let key = std::fs::read(folder.file("ca.key")).unwrap();
    let new = open(now().unix_secs()).unwrap().certificate().clone();
    assert_eq!(new.warning(now().unix_secs()), None);
    assert_eq!(std::fs::read(folder.file("ca.key")).unwrap(), key);
    assert_eq!(std::fs::read_to_string(folder.file("ca.pem")).unwrap(), new.pem);
    assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 2);
    assert_eq!(new.valid_secs.start, old.valid_secs.start);
    // A device that trusts the old one accepts what the new one signs: one key, one name.
    let (old, new) = (ca_of(&old.pem), ca_of(&new.pem));
    assert_eq!(old.0, new.0);
    assert_eq!(old.1, new.1);
}

/// Subject and public key of a certificate.
fn ca_of(pem: &str) -> (Vec<u8>, Vec<u8>) {
    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject;
    use x509_parser::prelude::{FromDer, X509Certificate};
    let der = CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
    let (_, parsed) = X509Certificate::from_der(&der).unwrap();
    (parsed.subject().as_raw().to_vec(), parsed.public_key().raw.to_vec())
}

#[test]
fn an_authority_in_a_folder_that_cannot_be_written_serves_to_its_end() {
    let folder = Folder::new();
    let dir = folder.file("");
    let open =
        |secs| crate::authority::CertificateAuthority::open(&dir, &NameExclusions::default(), secs);
    let day = 86_400;
    let began = now().unix_secs() - 7 * 365 * day;
    let old = open(began).unwrap().certificate().pem.clone();
    // In the way of what is renewed; permissions would not stop root.
    std::fs::create_dir_all(folder.file("ca.pem.new/in")).unwrap();
    let aged = open(now().unix_secs()).unwrap().certificate().clone();
    assert_eq!(aged.pem, old);
    assert!(aged.warning(now().unix_secs()).is_some());
    let over = open(began + 11 * 365 * day).err().unwrap();
    assert!(matches!(over, AuthorityError::Expired(_)), "{over}");
    assert!(over.to_string().contains("writable"), "{over}");
}

#[test]
fn the_issuer_believes_nobody() {
    let folder = Folder::new();
    let exclusions =
        NameExclusions::new(["ads.bank".to_owned(), "ads.x.com".to_owned()], Vec::new());
    let ours = OwnServerNames::Names(
        ["dns.home.arpa", "*.home.example", "co.uk", "*.co.uk"].map(String::from).into(),
    );
    let mut issuer = LeafIssuer::open(&folder.file(""), Arc::new(Everything), exclusions, now())
        .unwrap()
        .with_own_names(ours);
    let key = KeyKind::P256;
    issuer.set_key(key, &LeafKey::make(key).unwrap().public).unwrap();
    let wide = |base: &str| LeafCoverage::WithWildcard(base.to_owned());
    let exact = |name: &str| LeafCoverage::Exact(name.to_owned());
    let blocked = |coverage| SigningOrder::Blocked { names: vec![coverage], key };
    let own = |names: &[&str], addresses: &[&str]| SigningOrder::Own {
        names: names.iter().map(|&it| it.to_owned()).collect(),
        addresses: addresses.iter().map(|it| it.parse().unwrap()).collect(),
    };
    let suffix = || Err(SigningRefusal::BadName(BadName::PublicSuffix));
    for (order, expected) in [
        (blocked(exact("ads.example")), Ok(())),
        (blocked(wide("example.com")), Ok(())),
        (blocked(wide("co.uk")), suffix()),
        (blocked(wide("com")), suffix()),
        (blocked(wide("lan")), suffix()),
        (blocked(exact("com")), suffix()),
        (blocked(exact("github.io")), suffix()),
        (own(&["co.uk"], &[]), suffix()),
        (own(&["*.co.uk"], &[]), suffix()),
        (blocked(wide("x.com")), Err(SigningRefusal::NotBlocked)),
        (blocked(exact("www.ads.bank")), Err(SigningRefusal::Excluded)),
        (blocked(exact("*.example.com")), Err(SigningRefusal::BadName(BadName::Label))),
        (blocked(exact("Ads.example.com")), Err(SigningRefusal::BadName(BadName::Label))),
        (blocked(exact("192.0.2.1")), Err(SigningRefusal::BadName(BadName::Address))),
        (blocked(exact("a\0b")), Err(SigningRefusal::BadName(BadName::Label))),
        (
            SigningOrder::Vouched { name: "cname.example".into(), key },
            Err(SigningRefusal::NotBlocked),
        ),
        (own(&["dns.home.arpa"], &["192.168.1.2"]), Ok(())),
        (own(&["www.example.com"], &[]), Err(SigningRefusal::NotOurName)),
        (own(&["*.home.example"], &[]), Ok(())),
        (own(&["a.home.example"], &[]), Err(SigningRefusal::NotOurName)),
        (own(&[], &["198.41.0.4"]), Err(SigningRefusal::Excluded)),
        (own(&[], &[]), Err(SigningRefusal::BadName(BadName::Length))),
        (blocked(exact("ads.example")), Ok(())),
    ] {
        assert_eq!(issuer.issue(&order, now()).map(drop), expected, "{order:?}");
    }
    let rsa = SigningOrder::Blocked { names: vec![exact("ads.example")], key: KeyKind::Rsa };
    assert!(matches!(issuer.issue(&rsa, now()), Err(SigningRefusal::Failed(_))));
    issuer.allow_vouched(&folder.file(""), now()).unwrap();
    for name in ["com", "co.uk", "github.io", "www.ads.bank"] {
        let order = SigningOrder::Vouched { name: name.into(), key };
        assert!(issuer.issue(&order, now()).is_err(), "{name}");
    }
    let vouched = || SigningOrder::Vouched { name: "cname.example".into(), key };
    let signed = (0..200).filter(|_| issuer.issue(&vouched(), now()).is_ok()).count();
    assert!((100..=101).contains(&signed), "{signed}");
}

#[test]
fn well_known_names_share_one_leaf_and_any_client_gets_the_same() {
    let folder = Folder::new();
    let signer = Signer::open(&folder.file(""), Arc::new(Everything), now()).unwrap();
    let first = leaf(&signer, "www.google-analytics.com", CLIENT, now()).unwrap();
    let second = leaf(&signer, "bat.bing.com", "192.0.2.8".parse().unwrap(), now()).unwrap();
    assert!(Arc::ptr_eq(&first.presented, &second.presented));
    for host in ["bat.bing.com", "stats.g.doubleclick.net", "connect.facebook.net"] {
        assert!(first.names.covers(host), "{host}");
    }
    for host in ["ads.example.com", "a.b.g.doubleclick.net", "com", "g.doubleclick.net.example"] {
        assert!(!first.names.covers(host), "{host}");
    }
    let alone = leaf(&signer, "ads.example.com", CLIENT, now()).unwrap();
    assert!(alone.names.covers("x.example.com") && !alone.names.covers("bat.bing.com"));
    assert_eq!((signer.counts().minted, signer.counts().cached), (2, 1));
    // What TLS adds to it stays under four packets: see `BUNDLE_BYTES_MAX`.
    assert!(first.bytes < 12 << 10 && alone.bytes < 700, "{} {}", first.bytes, alone.bytes);
}

#[test]
fn learned_names_share_a_leaf_with_no_other_clients() {
    let folder = Folder::new();
    let signer = folder.open().unwrap();
    signer.apply_settings(&Settings { bundles: BundleMode::Learned, ..Settings::default() });
    for name in ["ads.one.test", "ads.two.test", "ads.one.test"] {
        leaf(&signer, name, CLIENT, now()).unwrap();
    }
    let mine = leaf(&signer, "ads.one.test", CLIENT, now()).unwrap();
    assert!(mine.names.covers("ads.two.test"));
    assert_eq!((signer.counts().minted, signer.counts().cached), (2, 2));
    let other = leaf(&signer, "ads.one.test", "192.0.2.8".parse().unwrap(), now()).unwrap();
    assert!(other.names.covers("ads.one.test") && !other.names.covers("ads.two.test"));
    signer.apply_settings(&Settings { bundles: BundleMode::Never, ..Settings::default() });
    let alone = leaf(&signer, "ads.one.test", CLIENT, now()).unwrap();
    assert!(!alone.names.covers("ads.two.test"));
}

#[test]
fn what_the_issuer_may_not_sign_is_left_out_of_a_bundle_and_harms_no_other_name() {
    let folder = Folder::new();
    let exclusions = NameExclusions::new(["hotjar.com".to_owned()], Vec::new());
    let issuer =
        LeafIssuer::open(&folder.file(""), Arc::new(Everything), exclusions, now()).unwrap();
    let signer = Signer::with(issuer, Arc::new(Everything)).unwrap();
    let first = leaf(&signer, "static.hotjar.com", CLIENT, now());
    assert_eq!(first.err(), Some(MintError::Excluded));
    let bundle = leaf(&signer, "bat.bing.com", CLIENT, now()).unwrap();
    assert!(bundle.names.covers("www.clarity.ms") && !bundle.names.covers("static.hotjar.com"));
}

/// Permits every name.
struct Everything;
impl MintPolicy for Everything {
    fn may_mint(&self, _: &str) -> bool {
        true
    }
    fn may_mint_below(&self, _: &str) -> bool {
        true
    }
}
