//! The door itself: its sites, how it is reloaded, and one connection through it.

use crate::request;
use crate::root::Root;
use crate::secure::Demand;
use crate::settings::{SiteSettings, claimed_twice};
use crate::tls::{self, Fronts};
use arc_swap::ArcSwap;
use http_engine::{Limits, Versions, serve};
use ledger::Ledger;
use policy::Policy;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use transport::{ConnectionLimits, Drain, Signer, Stream, clock};
use vocab::{Complaint, DomainName, Listen, Name};

/// What the door is built from.
#[derive(Clone)]
pub struct Parts {
    /// The policy, swapped as a whole on reload.
    pub policy: Arc<ArcSwap<Policy>>,
    /// Where requests are recorded.
    pub ledger: Ledger,
    /// The folder from which relative roots start.
    pub base: PathBuf,
    /// Who signs the certificates of sites that have none as files.
    pub signer: Option<Arc<Signer>>,
    /// Takes a line for the administrator: what came of a certificate that has changed.
    pub tell: Arc<dyn Fn(&str) + Send + Sync>,
}

/// The web door.
pub struct Door {
    pub(crate) parts: Parts,
    state: ArcSwap<State>,
}

/// What settings say, swapped as one: a front's numbers of sites mean the sites beside it.
pub(crate) struct State {
    sites: Sites,
    pub(crate) fronts: Fronts,
}

/// All sites, swapped as a whole.
struct Sites(Vec<Arc<Site>>);

/// One site.
pub(crate) struct Site {
    listen: Vec<Listen>,
    hosts: Vec<DomainName>,
    pub(crate) root: Root,
    /// Which handshake a request must have come by.
    pub(crate) demand: Demand,
}

impl Door {
    /// A door with settings that [`crate::check`] finds right. Opens the folders; what is wrong
    /// with them is returned, with paths relative to the `web` list.
    pub fn new(settings: &[SiteSettings], parts: Parts) -> Result<Arc<Self>, Vec<Complaint>> {
        let state = ArcSwap::from_pointee(State::open(settings, &parts)?);
        Ok(Arc::new(Self { parts, state }))
    }

    /// Takes new settings, or leaves everything as it was and says why. Open connections keep the
    /// old ones; listeners are the caller's.
    pub fn reload(&self, settings: &[SiteSettings]) -> Result<(), Vec<Complaint>> {
        self.state.store(Arc::new(State::open(settings, &self.parts)?));
        Ok(())
    }

    /// Where to listen: each entry once, however many sites share it.
    pub fn listeners(&self) -> Vec<Listen> {
        let mut all: Vec<Listen> = Vec::new();
        for listen in self.state.load().sites.0.iter().flat_map(|site| &site.listen) {
            if !all.contains(listen) {
                all.push(listen.clone());
            }
        }
        all
    }

    /// The caps on its connections, to share among all its listeners.
    pub fn connection_limits(&self) -> ConnectionLimits {
        ConnectionLimits::default()
    }

    /// What settings say now.
    pub(crate) fn state(&self) -> Arc<State> {
        self.state.load_full()
    }

    /// Serves one connection without TLS to its end. Within a `LocalSet` or local runtime only.
    pub async fn serve_connection(self: Arc<Self>, stream: Stream, drain: Drain) {
        let state = self.state();
        let Some(stream) = state.fronts.introduced(stream, &drain).await else { return };
        let client = stream.peer().ip().to_canonical();
        let sites = state.sites_at(&stream);
        drop(state);
        let stop = async move { drain.begun().await };
        let handler =
            move |incoming| std::future::ready(request::answer(&self, &sites, client, incoming));
        // How a connection ends is the client's affair; what matters stands in the ledger.
        drop(serve(stream, Versions::Http1, Limits::default(), stop, handler).await);
    }
}

/// Opens every folder and every certificate as [`Door::new`] would, relative ones from `base`, and
/// says what is wrong with them.
pub fn check_folders(settings: &[SiteSettings], base: &Path) -> Vec<Complaint> {
    let mut complaints = Sites::open(settings, base).err().unwrap_or_default();
    complaints.extend(tls::check_files(settings, base));
    complaints
}

impl State {
    fn open(settings: &[SiteSettings], parts: &Parts) -> Result<Self, Vec<Complaint>> {
        let sites = Sites::open(settings, &parts.base)?;
        Ok(Self { sites, fronts: Fronts::open(settings, parts)? })
    }

    /// The sites of the listener that this connection came to.
    pub(crate) fn sites_at(&self, stream: &Stream) -> Arc<[Arc<Site>]> {
        self.sites.at(stream).into()
    }
}

impl Sites {
    fn open(settings: &[SiteSettings], base: &Path) -> Result<Self, Vec<Complaint>> {
        let (mut sites, mut complaints) = (Vec::new(), claimed_twice(settings));
        for (index, site) in settings.iter().enumerate() {
            match Root::open(base.join(&site.root), clock::now()) {
                Ok(root) => sites.push(Arc::new(Site {
                    listen: site.listen.iter().map(|listen| listen.0.clone()).collect(),
                    hosts: site.hosts.iter().map(|host| host.0.clone()).collect(),
                    root,
                    demand: Demand::of(index, site),
                })),
                Err(why) => complaints.push(
                    Complaint::new(format!("{index}.root"), format!("{}: {why}", site.root))
                        .remedy("name a folder that this user may read"),
                ),
            }
        }
        if complaints.is_empty() { Ok(Self(sites)) } else { Err(complaints) }
    }

    /// The sites of the listener that this connection came to.
    fn at(&self, stream: &Stream) -> Vec<Arc<Site>> {
        let mut entries = self.0.iter().flat_map(|site| &site.listen);
        let first = entries.next();
        if entries.all(|other| Some(other) == first) {
            // One listener for all: no need to ask the kernel which it was.
            return self.0.clone();
        }
        let Ok(local) = stream.local() else { return self.0.clone() };
        // The most exact entry counts; port 0 stands for one that the system picked.
        let fits: [fn(SocketAddr, SocketAddr) -> bool; 3] = [
            |entry, local| entry == local,
            |entry, local| entry.ip().is_unspecified() && entry.port() == local.port(),
            |entry, _| entry.port() == 0,
        ];
        let found = fits.iter().map(|fits| {
            let listens_there =
                |site: &&Arc<Site>| site.listen.iter().any(|entry| fits(entry.address, local));
            self.0.iter().filter(listens_there).cloned().collect::<Vec<_>>()
        });
        found.into_iter().find(|sites| !sites.is_empty()).unwrap_or_else(|| self.0.clone())
    }
}

/// The site of a host: the one that names it, else the first.
pub(crate) fn site_of<'s>(sites: &'s [Arc<Site>], host: Name<'_>) -> Option<&'s Site> {
    let named = sites.iter().find(|site| site.hosts.iter().any(|it| it.as_name() == host));
    named.or(sites.first()).map(Arc::as_ref)
}
