//! HTTPS: the certificate of every site, and whom a site lets in.
//!
//! Certificates are read from files, which are watched, or signed by our own authority for the
//! site's hosts. A site that wants clients' certificates is shown to no connection whose handshake
//! was another site's. It reads no request. Called by `door`; used by `serve`.

use crate::handshake::HandshakeDemand;
use crate::host::HostPattern;
use crate::parts::WebParts;
use crate::settings::SiteSettings;
use http_front::{CertificateOpener, check_certificate, client_certificates, https_addresses};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use transport::tls::{
    Alpn, CertificateFacts, ClientCertificates, FilesWatch, OwnCertificate, OwnName, SiteIdentity,
};
use transport::{Drain, ServerTls, Stream};
use vocab::{Complaint, Door, Network, Scheme};

/// The setting that a certificate is complained about at.
const PATH: &str = "tls.certificate";

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
    pub(crate) tls: Option<ServerTls>,
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
        let (mut identities, mut complaints) = (BTreeMap::new(), Vec::new());
        let mut opener = CertificateOpener::new(&parts.base, parts.signer.as_ref());
        for (number, site) in settings.iter().enumerate().filter(|(_, site)| has_tls(site)) {
            match identity_of(site, &parts.base, &mut opener) {
                Ok(identity) => {
                    identities.insert(number, identity);
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
        Ok(Self { fronts, _watch: opener.watch(Door::Web.as_str(), &parts.log) })
    }

    /// The certificates presented now.
    pub(crate) fn certificates(&self) -> Vec<CertificateFacts> {
        self.fronts
            .iter()
            .filter_map(|front| front.tls.as_ref())
            .flat_map(ServerTls::certificates)
            .collect()
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
    pub(crate) fn expect_proxy_header(&self) -> bool {
        self.fronts.iter().any(|front| !front.proxies.is_empty())
    }

    /// The connection with the client's own address, where a proxy in front says who that is;
    /// nothing where it should and does not, or where it comes from somebody else.
    pub(crate) async fn read_proxy_header(&self, stream: Stream, drain: &Drain) -> Option<Stream> {
        let front = self.at(&stream)?;
        http_front::introduced(stream, &front.proxies, drain).await
    }
}

impl ListenerFront {
    /// The handshake that a site with this number in `tls` was asked for by.
    pub(crate) fn demand(&self, site: usize) -> HandshakeDemand {
        self.sites.get(site).map_or(HandshakeDemand::None, |it| HandshakeDemand::Handshake(*it))
    }

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

/// Returns what a site presents and whom it lets in. Complaints have paths relative to the site.
fn identity_of(
    site: &SiteSettings,
    base: &Path,
    opener: &mut CertificateOpener<'_>,
) -> Result<SiteIdentity, Complaint> {
    let identity = match files_of(site) {
        Some((chain, key)) => opener.read(chain, key, PATH)?,
        None => opener.sign(&site.own_certificate().unwrap_or_default(), PATH)?,
    };
    Ok(SiteIdentity { names: names(site), identity, clients: clients(site, base)? })
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
            Ok(HostPattern::Subdomains(name)) => format!("*.{name}"),
            Ok(HostPattern::Matching(_)) | Err(_) => return None,
        };
        Some(OwnName { path: format!("hosts.{index}"), name })
    })
}

impl SiteSettings {
    /// The certificate that our own authority is to sign for the site; none without HTTPS, or where
    /// files hold one.
    pub fn own_certificate(&self) -> Option<OwnCertificate> {
        let listening = https_addresses(&self.listen);
        let wanted = !listening.is_empty() && self.tls.certificate.is_none();
        wanted.then(|| OwnCertificate { names: own_names(self).collect(), listening })
    }
}

fn files_of(site: &SiteSettings) -> Option<(&Path, &Path)> {
    Some((site.tls.certificate.as_deref()?, site.tls.key.as_deref()?))
}

fn clients(site: &SiteSettings, base: &Path) -> Result<ClientCertificates, Complaint> {
    client_certificates(site.tls.client_certificate, site.tls.client_ca.as_deref(), base)
}

/// Reads the certificates that sites name, without signing any, and says what is wrong with them.
pub(crate) fn check_files(settings: &[SiteSettings], base: &Path) -> Vec<Complaint> {
    let check = |(number, site): (usize, &SiteSettings)| {
        let files = files_of(site);
        let wrong = files.and_then(|(chain, key)| check_certificate(chain, key, base, PATH));
        wrong.or_else(|| clients(site, base).err()).map(|it| it.under(&number.to_string()))
    };
    settings.iter().enumerate().filter_map(check).collect()
}
