//! HTTPS: the gateway's certificates, whom it lets in, and one connection with TLS.
//!
//! Certificates are read from files, which are watched, or signed by our own authority. It reads no
//! request, but says for which hosts a connection may be used. Called by `door` and `request`.

use crate::caller::{ClientConnection, HandshakeInfo};
use crate::door::GatewayDoor;
use crate::settings::{CertificateSettings, Settings};
use crate::setup::GatewayParts;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use http::HeaderValue;
use http_engine::HttpVersions;
use origins::BecomesTunnel;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use transport::tls::{
    Alpn, ClientAuthorities, ClientCertificates, FilesWatch, HANDSHAKE_DEADLINE, IdentityFiles,
    OwnCertificate, OwnName, ServerIdentity, SiteIdentity, WatchedIdentity, read_pem,
    record_failure,
};
use transport::{Drain, ServerTls, Stream};
use vocab::{Complaint, Name, Scheme};

const REMEDY: &str = "give a chain, leaf first, and its key, both in PEM";

/// Holds how `https` listeners speak TLS.
pub(crate) struct GatewayTls {
    tls: ServerTls,
    /// Follows the files while this is in use.
    _watch: Option<FilesWatch>,
}

impl GatewayTls {
    /// Reads the certificates or has one signed; nothing where no listener needs any. Complaints
    /// have paths relative to the section.
    pub(crate) fn open(
        settings: &Settings,
        parts: &GatewayParts,
    ) -> Result<Option<Self>, Vec<Complaint>> {
        if !settings.listen.iter().any(|listen| listen.scheme == Scheme::Https) {
            return Ok(None);
        }
        let clients = clients(settings, &parts.base).map_err(|why| vec![why])?;
        let (mut sites, mut watched, mut complaints) = (Vec::new(), Vec::new(), Vec::new());
        let site = |names: Vec<String>, identity: ServerIdentity| SiteIdentity {
            names,
            identity,
            clients: clients.clone(),
        };
        for (index, files) in settings.tls.certificates.iter().enumerate() {
            match WatchedIdentity::open(files_of(files, &parts.base)) {
                Ok(files) => {
                    sites.push(site(Vec::new(), files.identity().clone()));
                    watched.push(files);
                }
                Err(why) => complaints.push(wrong_file(index, &why.to_string())),
            }
        }
        if !complaints.is_empty() {
            return Err(complaints);
        }
        if let Some(own) = settings.own_certificate() {
            let identity = signed(&own, parts).map_err(|why| vec![why])?;
            sites.push(site(own.subject_names(), identity));
        }
        let tls = ServerTls::with_sites(&sites, &[Alpn::Http2, Alpn::Http1])
            .map_err(|why| vec![Complaint::new("tls", why.to_string())])?;
        let tell = Arc::clone(&parts.tell);
        let watch = if watched.is_empty() {
            None
        } else {
            // Where no thread can be had, files are still read on every reload.
            FilesWatch::start(watched, move |news| tell(&format!("gateway: {news}"))).ok()
        };
        Ok(Some(Self { tls, _watch: watch }))
    }

    /// True if a connection that began with this handshake may ask for `host` (RFC 9110 §15.5.20):
    /// for the name of the handshake itself, or one that has the same certificate, as browsers that
    /// share a connection do (RFC 9113 §9.1.1). A client that named none was taken for the first.
    pub(crate) fn serves(&self, secured: &HandshakeInfo, host: Name<'_>) -> bool {
        if secured.name.as_deref() == Some(host.as_str()) {
            return true;
        }
        match self.tls.site_of(host.as_str()) {
            Some(site) => site == secured.certificate,
            None => secured.name.is_none(),
        }
    }
}

impl Settings {
    /// The certificate that our own authority is to sign, for the names that are set and the
    /// listeners' addresses; none without HTTPS, or where files hold all certificates.
    pub fn own_certificate(&self) -> Option<OwnCertificate> {
        let https = self.listen.iter().filter(|listen| listen.scheme == Scheme::Https);
        let listening: Vec<_> = https.map(|listen| listen.address).collect();
        let names = self.tls.names.iter().enumerate();
        let names: Vec<_> = names
            .map(|(index, name)| OwnName {
                path: format!("tls.names.{index}"),
                name: name.as_str().to_owned(),
            })
            .collect();
        let wanted = self.tls.certificates.is_empty() || !names.is_empty();
        (wanted && !listening.is_empty()).then_some(OwnCertificate { names, listening })
    }
}

fn signed(own: &OwnCertificate, parts: &GatewayParts) -> Result<ServerIdentity, Complaint> {
    let wrong = |why: String| {
        Complaint::new("tls.certificates", why).remedy("give certificates and their keys as files")
    };
    let Some(signer) = &parts.signer else {
        return Err(wrong("the gateway has no certificate".into()));
    };
    let made = ServerIdentity::signed(signer, own.subject(), transport::clock::now());
    made.map_err(|why| wrong(why.to_string()))
}

fn files_of(files: &CertificateSettings, base: &Path) -> IdentityFiles {
    // An absolute path stands for itself.
    IdentityFiles { chain: base.join(&files.certificate), key: base.join(&files.key) }
}

fn wrong_file(index: usize, why: &str) -> Complaint {
    Complaint::new(format!("tls.certificates.{index}"), why).remedy(REMEDY)
}

fn clients(settings: &Settings, base: &Path) -> Result<ClientCertificates, Complaint> {
    let Some(path) = &settings.tls.client_ca else { return Ok(ClientCertificates::NotAsked) };
    let wrong = |why: String| {
        Complaint::new("tls.client_ca", why).remedy("give certificates of authorities in PEM")
    };
    let pem = read_pem(&base.join(path)).map_err(|why| wrong(why.to_string()))?;
    let authorities = ClientAuthorities::from_pem(&pem).map_err(|why| wrong(why.to_string()))?;
    Ok(settings.tls.client_certificate.of(authorities))
}

/// Reads the certificates that the settings name, without signing any, and says what is wrong with
/// them.
pub(crate) fn check_files(settings: &Settings, base: &Path) -> Vec<Complaint> {
    let files = settings.tls.certificates.iter().enumerate();
    let wrong = files.filter_map(|(index, files)| {
        files_of(files, base).load().err().map(|why| wrong_file(index, &why.to_string()))
    });
    wrong.chain(clients(settings, base).err()).collect()
}

impl GatewayDoor {
    /// Serves one connection to an `https` listener to its end. Within a `LocalSet` or local
    /// runtime only.
    pub async fn serve_tls_connection(self: Arc<Self>, stream: Stream, drain: Drain) {
        let setup = self.setup();
        let Some(stream) = setup.introduced(stream, &drain).await else { return };
        let Some(secure) = &setup.secure else { return };
        let (client, started) = (stream.peer().ip().to_canonical(), Instant::now());
        let accepted = tokio::select! {
            accepted = secure.tls.accept(stream, HANDSHAKE_DEADLINE) => accepted,
            // A handshake that is not through yet has asked for nothing.
            () = drain.begun() => return,
        };
        let stream = match accepted {
            Ok(stream) => stream,
            Err(why) => {
                let ledger = &self.parts.ledger;
                return record_failure(ledger, vocab::Door::Gateway, client, started, &why);
            }
        };
        let versions = match stream.alpn() {
            Some(Alpn::Http2) => HttpVersions::Http2,
            Some(Alpn::Http1 | Alpn::Dot) | None => HttpVersions::Http1,
        };
        let secured = HandshakeInfo {
            name: stream.sni().map(str::to_ascii_lowercase),
            certificate: stream.site(),
            client_certificate: stream.client_certificate().and_then(client_cert),
        };
        let limits = setup.limits;
        drop(setup);
        // TLS ends one half by itself.
        let caller = ClientConnection::of(
            stream.tcp(),
            self.near_wanted(),
            Some(secured),
            BecomesTunnel::default(),
        );
        self.serve(stream, (versions, limits), caller, drain).await;
    }
}

/// A certificate as an item of a structured field (RFC 9440 §2.2): bytes between colons.
fn client_cert(der: &[u8]) -> Option<HeaderValue> {
    HeaderValue::try_from(format!(":{}:", BASE64.encode(der))).ok()
}
