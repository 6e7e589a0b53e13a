//! TLS to the proxy itself: its certificate, and one connection with it.
//!
//! The certificate is read from files, which are watched, or signed by our own authority for the
//! listener's addresses and names. It reads no request. Called by `door`.

use crate::door::{ClientSecurity, ProxyClient, ProxyDoor, ProxyParts};
use crate::settings::Settings;
use http_engine::HttpVersions;
use origins::BecomesTunnel;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use transport::tls::{
    Alpn, FilesWatch, HANDSHAKE_DEADLINE, IdentityFiles, OwnCertificate, OwnName, ServerIdentity,
    WatchedIdentity, record_failure,
};
use transport::{Drain, ServerTls, Stream};
use vocab::{Complaint, Scheme};

const REMEDY: &str = "give a chain, leaf first, and its key, both in PEM";

/// Holds how `https` listeners speak TLS.
pub(crate) struct ProxyTls {
    tls: ServerTls,
    /// Follows the files while this is in use.
    _watch: Option<FilesWatch>,
}

impl ProxyTls {
    /// Reads the certificate or has it signed; nothing where no listener needs one. Complaints have
    /// paths relative to the section.
    pub(crate) fn open(
        settings: &Settings,
        parts: &ProxyParts,
    ) -> Result<Option<Self>, Vec<Complaint>> {
        if !settings.listen.iter().any(|listen| listen.scheme == Scheme::Https) {
            return Ok(None);
        }
        let wrong = |why: String, remedy: &str| {
            vec![Complaint::new("tls.certificate", why).remedy(remedy.to_owned())]
        };
        let (identity, watch) = if let Some(files) = files_of(settings, &parts.base) {
            let watched =
                WatchedIdentity::open(files).map_err(|why| wrong(why.to_string(), REMEDY))?;
            let (identity, tell) = (watched.identity().clone(), Arc::clone(&parts.tell));
            let watch =
                FilesWatch::start(vec![watched], move |news| tell(&format!("proxy: {news}")));
            // Where no thread can be had, files are still read on every reload.
            (identity, watch.ok())
        } else {
            let remedy = "set tls.certificate and tls.key";
            let Some(signer) = &parts.signer else {
                return Err(wrong("the proxy has no certificate".into(), remedy));
            };
            let subject = settings.own_certificate().unwrap_or_default().subject();
            let made = ServerIdentity::signed(signer, subject, transport::clock::now());
            (made.map_err(|why| wrong(why.to_string(), remedy))?, None)
        };
        let tls = ServerTls::with_identity(&identity, &[Alpn::Http2, Alpn::Http1]);
        Ok(Some(Self { tls, _watch: watch }))
    }
}

impl Settings {
    /// The certificate that our own authority is to sign for the `https` listeners; none without
    /// such listeners, or where files hold one.
    pub fn own_certificate(&self) -> Option<OwnCertificate> {
        let https = self.listen.iter().filter(|listen| listen.scheme == Scheme::Https);
        let listening: Vec<_> = https.map(|listen| listen.address).collect();
        let names = self.tls.names.iter().enumerate();
        let names = names.map(|(index, name)| OwnName {
            path: format!("tls.names.{index}"),
            name: name.as_str().to_owned(),
        });
        let wanted = !listening.is_empty() && self.tls.certificate.is_none();
        wanted.then(|| OwnCertificate { names: names.collect(), listening })
    }
}

fn files_of(settings: &Settings, base: &Path) -> Option<IdentityFiles> {
    let (chain, key) = (settings.tls.certificate.as_ref()?, settings.tls.key.as_ref()?);
    // An absolute path stands for itself.
    Some(IdentityFiles { chain: base.join(chain), key: base.join(key) })
}

/// Reads the certificate that the settings name, without signing any, and says what is wrong with
/// it.
pub(crate) fn check_files(settings: &Settings, base: &Path) -> Option<Complaint> {
    let why = files_of(settings, base)?.load().err()?;
    Some(Complaint::new("tls.certificate", why.to_string()).remedy(REMEDY))
}

impl ProxyDoor {
    /// Serves one connection to an `https` listener to its end. Within a `LocalSet` or local
    /// runtime only.
    pub async fn serve_tls_connection(self: Arc<Self>, stream: Stream, drain: Drain) {
        let setup = self.setup();
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
                return record_failure(ledger, vocab::Door::Proxy, client, started, &why);
            }
        };
        drop(setup);
        let versions = match stream.alpn() {
            Some(Alpn::Http2) => HttpVersions::Http2,
            Some(Alpn::Http1 | Alpn::Dot) | None => HttpVersions::Http1,
        };
        // TLS ends one half by itself.
        let caller = ProxyClient::of(stream.tcp(), ClientSecurity::Tls, BecomesTunnel::default());
        self.serve(stream, versions, caller, drain).await;
    }
}
