//! The door itself: its sites, how it is reloaded, and one connection through it.

use crate::access_log;
use crate::quick::WebFastPath;
use crate::request;
use crate::secure::ConnectionEnds;
use crate::settings::{SiteSettings, caps, claimed_twice};
use crate::site::{LogOpening, Site, SiteContext};
use crate::store::FolderWatcher;
use crate::table::SiteTable;
use crate::tls::{self, ListenerFronts};
use arc_swap::ArcSwap;
use file_access::private_files::PrivateFiles;
use futures_util::FutureExt;
use futures_util::future::Either;
use http_engine::{HttpVersions, Limits, UnfinishedCounts, UnfinishedRequests, serve_quickly};
use ledger::Ledger;
use policy::Policy;
use rate_limit::client_of;
use signer::Signer;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use transport::{ConnectionLimits, Drain, Stream};
use vocab::{Complaint, Listen, Scheme};

/// Holds what the door is built from.
#[derive(Clone)]
pub struct WebParts {
    /// The policy, swapped as a whole on reload.
    pub policy: Arc<ArcSwap<Policy>>,
    /// Where requests are recorded.
    pub ledger: Ledger,
    /// The folder from which relative roots start.
    pub base: PathBuf,
    /// Files and folders that no site serves, whatever its root.
    pub private: Arc<PrivateFiles>,
    /// Who signs the certificates of sites that have none as files.
    pub signer: Option<Arc<Signer>>,
    /// Takes a line for the administrator: what came of a certificate that has changed.
    pub tell: Arc<dyn Fn(&str) + Send + Sync>,
}

/// The web door.
pub struct WebDoor {
    pub(crate) parts: WebParts,
    watcher: Arc<FolderWatcher>,
    connections: ConnectionLimits,
    unfinished: UnfinishedRequests,
    state: ArcSwap<WebState>,
}

/// Holds what the door knows of one connection.
pub(crate) struct WebConnection {
    pub(crate) door: Arc<WebDoor>,
    pub(crate) table: Arc<SiteTable>,
    pub(crate) ends: ConnectionEnds,
    pub(crate) versions: HttpVersions,
}

/// Holds what settings say, swapped as one: a front's numbers of sites mean the sites beside it.
pub(crate) struct WebState {
    sites: SiteSet,
    pub(crate) fronts: ListenerFronts,
}

/// All sites.
struct SiteSet {
    all: Vec<Arc<Site>>,
    /// What they were made from, in the same order.
    settings: Vec<SiteSettings>,
    /// The listeners, each once, with the sites that answer there.
    tables: Vec<(Listen, Arc<SiteTable>)>,
}

impl WebDoor {
    /// A door with settings that [`crate::check`] finds right. Opens the folders; what is wrong
    /// with them is returned, with paths relative to the `web` list.
    pub fn new(settings: &[SiteSettings], parts: WebParts) -> Result<Arc<Self>, Vec<Complaint>> {
        let watcher = FolderWatcher::start();
        let state = ArcSwap::from_pointee(WebState::open(settings, &parts, &watcher, None)?);
        let (all, each) = caps(settings);
        let connections = ConnectionLimits::new(all, each);
        let unfinished = UnfinishedRequests::for_connections(all);
        Ok(Arc::new(Self { parts, watcher, connections, unfinished, state }))
    }

    /// Takes new settings, or leaves everything as it was and says why. Open connections keep the
    /// old ones; listeners are the caller's. A site whose settings stay keeps what it has in
    /// memory.
    pub fn reload(&self, settings: &[SiteSettings]) -> Result<(), Vec<Complaint>> {
        let before = self.state();
        let state = WebState::open(settings, &self.parts, &self.watcher, Some(&before.sites))?;
        let (all, each) = caps(settings);
        self.connections.set(all, each);
        self.unfinished.set_connections(all);
        self.state.store(Arc::new(state));
        // The logs of sites that stay: files are opened anew by every reload.
        self.reopen_logs();
        Ok(())
    }

    /// Opens every access log anew: the files were moved away.
    pub fn reopen_logs(&self) {
        for log in self.state().sites.all.iter().filter_map(|site| site.log.as_ref()) {
            log.reopen();
        }
    }

    /// Waits until what the cores have handed over is in the access logs, `patience` at most for
    /// each. Blocks its thread: for the end of the program, after [`flush_logs_of_core`] on every
    /// core.
    pub fn finish_logs(&self, patience: Duration) {
        for log in self.state().sites.all.iter().filter_map(|site| site.log.as_ref()) {
            log.wait_until_written(patience);
        }
    }

    /// Connections to `FastCGI` servers opened so far.
    pub fn script_connections(&self) -> u32 {
        self.state().sites.all.iter().map(|site| site.fastcgi.connections()).sum()
    }

    /// Lines that access logs have lost to a slow or full disk.
    pub fn log_lines_dropped(&self) -> u64 {
        let state = self.state();
        state.sites.all.iter().filter_map(|site| site.log.as_ref()).map(|log| log.dropped()).sum()
    }

    /// Where to listen: each entry once, however many sites share it.
    pub fn listeners(&self) -> Vec<Listen> {
        self.state.load().sites.tables.iter().map(|(listen, _)| listen.clone()).collect()
    }

    /// Returns how many requests are within their bodies, and how many were refused for that.
    pub fn unfinished_requests(&self) -> UnfinishedCounts {
        self.unfinished.counts()
    }

    /// The caps on its connections, to share among all its listeners.
    pub fn connection_limits(&self) -> ConnectionLimits {
        self.connections.clone()
    }

    /// Returns what settings say now.
    pub(crate) fn state(&self) -> Arc<WebState> {
        self.state.load_full()
    }

    /// Serves one connection without TLS to its end. Within a `LocalSet` or local runtime only.
    ///
    /// Not an async function: the future is most of what an idle connection takes, and would hold
    /// the stream a second time.
    pub fn serve_connection(
        self: Arc<Self>,
        stream: Stream,
        drain: Drain,
    ) -> impl Future<Output = ()> {
        let state = self.state();
        if !state.fronts.are_introduced() {
            return Either::Left(WebConnection::plain(self, &state, &stream).serve(stream, &drain));
        }
        Either::Right(Box::pin(async move {
            if let Some(stream) = state.fronts.introduced(stream, &drain).await {
                let connection = WebConnection::plain(self, &state, &stream);
                drop(state);
                connection.serve(stream, &drain).await;
            }
        }))
    }
}

impl WebConnection {
    fn plain(door: Arc<WebDoor>, state: &WebState, stream: &Stream) -> Arc<Self> {
        let (table, ends) =
            (state.table_at(stream, Scheme::Http), ConnectionEnds::of(stream, None));
        Arc::new(Self { door, table, ends, versions: HttpVersions::Http1 })
    }

    /// Serves what comes by `stream`, whose handshake is over if there is one.
    pub(crate) fn serve<S>(
        self: Arc<Self>,
        stream: S,
        drain: &Drain,
    ) -> impl Future<Output = ()> + use<S>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (versions, lane) = (self.versions, WebFastPath(Arc::clone(&self)));
        let handler = move |incoming| {
            let client = || client_of(self.ends.client.ip());
            match self.door.unfinished.admit(incoming, client) {
                Ok(incoming) => Either::Left(request::answer(Arc::clone(&self), incoming)),
                Err(too_many) => Either::Right(std::future::ready(too_many.answer())),
            }
        };
        let stop = drain.begun();
        // How a connection ends is the client's affair; what matters stands in the ledger.
        serve_quickly(stream, versions, Limits::default(), stop, lane, handler).map(drop)
    }
}

/// Hands over the lines that this core has gathered for access logs.
pub fn flush_logs_of_core() {
    access_log::flush_core(u64::MAX);
}

/// Opens every folder and every certificate as [`WebDoor::new`] would, relative ones from `base`,
/// and says what is wrong with them.
pub fn check_folders(
    settings: &[SiteSettings],
    base: &Path,
    private: &Arc<PrivateFiles>,
) -> Vec<Complaint> {
    let context =
        SiteContext { base, logs: LogOpening::Leave, private, watcher: &FolderWatcher::off() };
    let sites = SiteSet::open(settings, &context, None);
    let mut complaints = sites.err().unwrap_or_default();
    complaints.extend(tls::check_files(settings, base));
    complaints
}

impl WebState {
    fn open(
        settings: &[SiteSettings],
        parts: &WebParts,
        watcher: &Arc<FolderWatcher>,
        before: Option<&SiteSet>,
    ) -> Result<Self, Vec<Complaint>> {
        let (base, private) = (parts.base.as_path(), &parts.private);
        let context = SiteContext { base, logs: LogOpening::Open, private, watcher };
        let sites = SiteSet::open(settings, &context, before)?;
        Ok(Self { sites, fronts: ListenerFronts::open(settings, parts)? })
    }

    /// The sites of the listener that this connection came to.
    pub(crate) fn table_at(&self, stream: &Stream, scheme: Scheme) -> Arc<SiteTable> {
        self.sites.at(stream, scheme)
    }
}

impl SiteSet {
    fn open(
        settings: &[SiteSettings],
        context: &SiteContext<'_>,
        before: Option<&Self>,
    ) -> Result<Self, Vec<Complaint>> {
        let (mut all, mut complaints) = (Vec::new(), claimed_twice(settings));
        for (index, site) in settings.iter().enumerate() {
            if let Some(same) = before.and_then(|before| before.same((index, site), context.base)) {
                all.push(same);
                continue;
            }
            match Site::open((index, site), context) {
                Ok(site) => all.push(Arc::new(site)),
                Err(wrong) => {
                    complaints.extend(wrong.into_iter().map(|it| it.under(&index.to_string())));
                }
            }
        }
        if !complaints.is_empty() {
            return Err(complaints);
        }
        let mut tables: Vec<(Listen, Arc<SiteTable>)> = Vec::new();
        for listen in all.iter().flat_map(|site| &site.listen) {
            if tables.iter().all(|(known, _)| known != listen) {
                let there = all.iter().filter(|site| site.listen.contains(listen));
                tables.push((listen.clone(), Arc::new(SiteTable::new(there))));
            }
        }
        Ok(Self { all, settings: settings.to_vec(), tables })
    }

    /// The site with this number, if nothing about it is another. One that asks for passwords is
    /// opened anew: its file of users may have changed.
    fn same(&self, (number, settings): (usize, &SiteSettings), base: &Path) -> Option<Arc<Site>> {
        let site = self.all.get(number)?;
        let is_same = self.settings.get(number) == Some(settings)
            && settings.auth.is_empty()
            // A folder that is gone is complained about.
            && base.join(&settings.root).is_dir();
        is_same.then(|| Arc::clone(site))
    }

    /// The sites of the listener that this connection came to.
    fn at(&self, stream: &Stream, scheme: Scheme) -> Arc<SiteTable> {
        if let [(_, table)] = &*self.tables {
            // One listener for all: no need to ask the kernel which it was.
            return Arc::clone(table);
        }
        // The most exact entry counts; port 0 stands for one that the system picked.
        let fits: [fn(SocketAddr, SocketAddr) -> bool; 4] = [
            |entry, local| entry == local,
            |entry, local| entry.ip().is_unspecified() && entry.port() == local.port(),
            |entry, local| entry.port() == 0 && entry.ip() == local.ip(),
            |entry, _| entry.port() == 0,
        ];
        let found = stream.local().ok().and_then(|local| {
            let fits_here = |fits: &fn(SocketAddr, SocketAddr) -> bool| {
                let mut tables = self.tables.iter();
                tables.find(|(it, _)| it.scheme == scheme && fits(it.address, local))
            };
            fits.iter().find_map(fits_here)
        });
        // After a reload, a connection may come from a listener that has no site any more.
        found.map_or_else(
            || Arc::new(SiteTable::new(self.all.iter())),
            |(_, table)| Arc::clone(table),
        )
    }
}
