//! HTTPS: the certificate of every site, whom a site lets in, and one connection with TLS.
//!
//! Certificates are read from files, which are watched, or signed by our own authority for the
//! site's hosts. A site that wants clients' certificates is shown to no connection whose handshake
//! was another site's. It reads no request. Called by `door`.

use crate::door::{WebConnection, WebDoor, WebParts};
use crate::host::HostPattern;
use crate::secure::{ConnectionEnds, HandshakeDemand, HandshakeInfo};
use crate::settings::SiteSettings;
use http_engine::HttpVersions;
use signer::Signer;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use transport::proxy_protocol::PROXY_HEADER_DEADLINE;
use transport::tls::{
    Alpn, ClientAuthorities, ClientCertificates, FilesWatch, HANDSHAKE_DEADLINE, IdentityFiles,
    OwnCertificate, OwnName, ServerIdentity, SiteIdentity, WatchedIdentity, read_pem,
    record_failure,
};
use transport::{Drain, ServerTls, Stream};
use vocab::Door::Web;
use vocab::{Complaint, Network, Scheme};

/// Holds how connections begin, by the address that they come to.
pub(crate) struct ListenerFronts {
    fronts: Vec<ListenerFront>,
    /// Follows the files while these fronts are in use.
    _watch: Option<FilesWatch>,
}

/// Holds how connections to one listener begin.
pub(crate) struct ListenerFront {
    address: SocketAddr,
    /// The networks from which a PROXY header is required; where there are some, nobody else is
    /// let in.
    proxies: Vec<Network>,
    tls: Option<ServerTls>,
    /// The numbers of its sites with TLS, in the order in which `tls` counts them.
    sites: Vec<usize>,
}

impl ListenerFronts {
    /// Reads every certificate, or says what is wrong with them, with paths relative to the `web`
    /// list.
    pub(crate) fn open(
        settings: &[SiteSettings],
        parts: &WebParts,
    ) -> Result<Self, Vec<Complaint>> {
        let (mut identities, mut watched, mut complaints) =
            (BTreeMap::new(), Vec::new(), Vec::new());
        for (number, site) in settings.iter().enumerate().filter(|(_, site)| has_tls(site)) {
            match material(site, &parts.base, parts.signer.as_ref()) {
                Ok((identity, files)) => {
                    identities.insert(number, identity);
                    watched.extend(files);
                }
                Err(why) => complaints.push(why.under(&number.to_string())),
            }
        }
        if !complaints.is_empty() {
            return Err(complaints);
        }
        let mut fronts: Vec<ListenerFront> = Vec::new();
        for listen in settings.iter().flat_map(|site| &site.listen) {
            if !fronts.iter().any(|front| front.address == listen.address) {
                fronts.push(ListenerFront::open(listen.address, settings, &identities)?);
            }
        }
        let tell = Arc::clone(&parts.tell);
        let watch = if watched.is_empty() {
            None
        } else {
            // Where no thread can be had, files are still read on every reload.
            FilesWatch::start(watched, move |news| tell(&format!("web: {news}"))).ok()
        };
        Ok(Self { fronts, _watch: watch })
    }

    /// The front that a connection came to; none where every connection begins with its request.
    pub(crate) fn at(&self, stream: &Stream) -> Option<&ListenerFront> {
        let local = stream.local().ok()?;
        let exact = |front: &&ListenerFront| front.address == local;
        let any_address = |front: &&ListenerFront| {
            let address = front.address;
            address.ip().is_unspecified()
                && address.port() == local.port()
                && address.is_ipv4() == local.is_ipv4()
        };
        // Port 0 stands for one that the system picked.
        let any_port = |front: &&ListenerFront| front.address.port() == 0;
        let fronts = || self.fronts.iter();
        fronts()
            .find(exact)
            .or_else(|| fronts().find(any_address))
            .or_else(|| fronts().find(any_port))
    }

    /// True if a proxy stands before any listener.
    pub(crate) fn are_introduced(&self) -> bool {
        self.fronts.iter().any(|front| !front.proxies.is_empty())
    }

    /// The connection with the client's own address, where a proxy in front says who that is;
    /// nothing where it should and does not, or where it comes from somebody else.
    pub(crate) async fn introduced(&self, stream: Stream, drain: &Drain) -> Option<Stream> {
        let front = self.at(&stream)?;
        if front.proxies.is_empty() {
            return Some(stream);
        }
        let from = stream.peer().ip();
        let is_proxy = front.proxies.iter().any(|network| network.contains(from));
        if !is_proxy {
            return None;
        }
        tokio::select! {
            introduced = stream.introduced_by_proxy(PROXY_HEADER_DEADLINE) => introduced.ok(),
            () = drain.begun() => None,
        }
    }
}

impl ListenerFront {
    fn open(
        address: SocketAddr,
        settings: &[SiteSettings],
        identities: &BTreeMap<usize, SiteIdentity>,
    ) -> Result<Self, Vec<Complaint>> {
        let here = |site: &SiteSettings, scheme: Option<Scheme>| {
            let fits = |it: Scheme| scheme.is_none_or(|scheme| scheme == it);
            site.listen.iter().any(|it| it.address == address && fits(it.scheme))
        };
        let first = settings.iter().find(|site| here(site, None));
        let proxies = first.map_or(&[][..], |site| &site.proxy_protocol);
        let secured = settings.iter().enumerate().filter(|(_, it)| here(it, Some(Scheme::Https)));
        let sites: Vec<usize> = secured.map(|(number, _)| number).collect();
        let theirs: Vec<_> = sites.iter().filter_map(|it| identities.get(it).cloned()).collect();
        let tls = match theirs.as_slice() {
            [] => None,
            theirs => Some(
                ServerTls::with_sites(theirs, &[Alpn::Http2, Alpn::Http1])
                    .map_err(|why| vec![Complaint::new("", format!("{address}: {why}"))])?,
            ),
        };
        Ok(Self { address, proxies: proxies.iter().map(|it| it.0).collect(), tls, sites })
    }
}

fn has_tls(site: &SiteSettings) -> bool {
    site.listen.iter().any(|listen| listen.scheme == Scheme::Https)
}

/// Returns what a site presents and whom it lets in, and its files if it has some. Complaints have
/// paths relative to the site.
fn material(
    site: &SiteSettings,
    base: &Path,
    signer: Option<&Arc<Signer>>,
) -> Result<(SiteIdentity, Option<WatchedIdentity>), Complaint> {
    let certificate = |why: String, remedy: &str| {
        Complaint::new("tls.certificate", why).remedy(remedy.to_owned())
    };
    let (identity, watched) = if let Some(files) = files_of(site, base) {
        let watched = WatchedIdentity::open(files).map_err(|why| {
            certificate(why.to_string(), "give a chain, leaf first, and its key, both in PEM")
        })?;
        (watched.identity().clone(), Some(watched))
    } else {
        let signer = signer.ok_or_else(|| {
            certificate("the site has no certificate".into(), "set tls.certificate and tls.key")
        })?;
        let subject = site.own_certificate().unwrap_or_default().subject();
        let made = ServerIdentity::signed(signer, subject, transport::clock::now());
        let remedy = "set tls.certificate and tls.key";
        (made.map_err(|why| certificate(why.to_string(), remedy))?, None)
    };
    Ok((SiteIdentity { names: names(site), identity, clients: clients(site, base)? }, watched))
}

/// The names by which a handshake can ask for a site. A regular expression is none: what it stands
/// for gets the certificate that names it, else the first.
fn names(site: &SiteSettings) -> Vec<String> {
    own_names(site).map(|own| own.name).collect()
}

fn own_names(site: &SiteSettings) -> impl Iterator<Item = OwnName> {
    site.hosts.iter().enumerate().filter_map(|(index, host)| {
        let name = match HostPattern::parse(host) {
            Ok(HostPattern::Exact(name)) => name.as_str().to_owned(),
            Ok(HostPattern::Below(name)) => format!("*.{name}"),
            Ok(HostPattern::Matching(_)) | Err(_) => return None,
        };
        Some(OwnName { path: format!("hosts.{index}"), name })
    })
}

impl SiteSettings {
    /// The certificate that our own authority is to sign for the site; none without HTTPS, or where
    /// files hold one.
    pub fn own_certificate(&self) -> Option<OwnCertificate> {
        let https = self.listen.iter().filter(|it| it.scheme == Scheme::Https);
        let listening: Vec<_> = https.map(|it| it.address).collect();
        let wanted = !listening.is_empty() && self.tls.certificate.is_none();
        wanted.then(|| OwnCertificate { names: own_names(self).collect(), listening })
    }
}

fn files_of(site: &SiteSettings, base: &Path) -> Option<IdentityFiles> {
    let (chain, key) = (site.tls.certificate.as_ref()?, site.tls.key.as_ref()?);
    // An absolute path stands for itself.
    Some(IdentityFiles { chain: base.join(chain), key: base.join(key) })
}

fn clients(site: &SiteSettings, base: &Path) -> Result<ClientCertificates, Complaint> {
    let Some(path) = &site.tls.client_ca else { return Ok(ClientCertificates::NotAsked) };
    let path = base.join(path);
    let wrong = |why: String| {
        Complaint::new("tls.client_ca", why).remedy("give certificates of authorities in PEM")
    };
    let pem = read_pem(&path).map_err(|why| wrong(why.to_string()))?;
    let authorities = ClientAuthorities::from_pem(&pem)
        .map_err(|why| wrong(format!("{}: {why}", path.display())))?;
    Ok(site.tls.client_certificate.of(authorities))
}

/// Reads the certificates that sites name, without signing any, and says what is wrong with them.
pub(crate) fn check_files(settings: &[SiteSettings], base: &Path) -> Vec<Complaint> {
    let check = |(number, site): (usize, &SiteSettings)| {
        let files = files_of(site, base).map(|files| files.load().map(drop));
        let wrong = files.and_then(Result::err).map(|why| {
            Complaint::new("tls.certificate", why.to_string())
                .remedy("give a chain, leaf first, and its key, both in PEM")
        });
        wrong.or_else(|| clients(site, base).err()).map(|it| it.under(&number.to_string()))
    };
    settings.iter().enumerate().filter_map(check).collect()
}

impl WebDoor {
    /// Serves one connection to an `https` listener to its end. Within a `LocalSet` or local
    /// runtime only.
    pub async fn serve_tls_connection(self: Arc<Self>, stream: Stream, drain: Drain) {
        // Held through the handshake: what it was for must mean the same afterwards.
        let state = self.state();
        let stream = if state.fronts.are_introduced() {
            match Box::pin(state.fronts.introduced(stream, &drain)).await {
                Some(stream) => stream,
                None => return,
            }
        } else {
            stream
        };
        let Some((front, tls)) =
            state.fronts.at(&stream).and_then(|it| Some((it, it.tls.as_ref()?)))
        else {
            return;
        };
        let (client, started) = (stream.peer().ip().to_canonical(), Instant::now());
        let accepted = tokio::select! {
            accepted = tls.accept(stream, HANDSHAKE_DEADLINE) => accepted,
            // A handshake that is not through yet has asked for nothing.
            () = drain.begun() => return,
        };
        let stream = match accepted {
            Ok(stream) => stream,
            Err(why) => {
                return record_failure(&self.parts.ledger, Web, client, started, &why);
            }
        };
        let versions = match stream.alpn() {
            Some(Alpn::Http2) => HttpVersions::Http2,
            Some(Alpn::Http1 | Alpn::Dot) | None => HttpVersions::Http1,
        };
        let demand = front
            .sites
            .get(stream.site())
            .map_or(HandshakeDemand::None, |it| HandshakeDemand::Handshake(*it));
        let client_certificate = stream.client_certificate().map(Into::into);
        let ends =
            ConnectionEnds::of(stream.tcp(), Some(HandshakeInfo { demand, client_certificate }));
        let table = state.table_at(stream.tcp(), Scheme::Https);
        drop(state);
        let connection = Arc::new(WebConnection { door: self, table, ends, versions });
        connection.serve(stream, &drain).await;
    }
}
