//! The door itself: its sites, and how it is reloaded.
//!
//! `serve` takes its connections. Made by the binary.

use crate::parts::WebParts;
use crate::settings::{SiteSettings, caps};
use crate::site::{LogOpening, SiteContext};
use crate::site_set::SiteSet;
use crate::store::FolderWatcher;
use crate::table::SiteTable;
use crate::tls::{self, ListenerFronts};
use arc_swap::ArcSwap;
use file_access::private_files::PrivateFiles;
use http_front::{DoorLimits, MessageHooks};
use std::path::Path;
use std::sync::Arc;
use transport::Stream;
use vocab::{Complaint, Scheme};

/// The web door.
pub struct WebDoor {
    pub(crate) parts: WebParts,
    watcher: Arc<FolderWatcher>,
    pub(crate) limits: DoorLimits,
    state: ArcSwap<WebState>,
}

/// Holds what settings say, swapped as one: a front's numbers of sites mean the sites beside it.
pub(crate) struct WebState {
    pub(crate) sites: SiteSet,
    pub(crate) listeners: ListenerFronts,
}

impl WebDoor {
    /// A door with settings that [`crate::check`] finds right. Opens the folders; what is wrong
    /// with them is returned, with paths relative to the `web` list.
    pub fn new(settings: &[SiteSettings], parts: WebParts) -> Result<Arc<Self>, Vec<Complaint>> {
        let watcher = FolderWatcher::start();
        let state = ArcSwap::from_pointee(WebState::open(settings, &parts, &watcher, None)?);
        let limits = DoorLimits::new(caps(settings));
        Ok(Arc::new(Self { parts, watcher, limits, state }))
    }

    /// Takes new settings, or leaves everything as it was and says why. Open connections keep the
    /// old ones; listeners are the caller's. A site whose settings stay keeps what it has in
    /// memory.
    pub fn reload(&self, settings: &[SiteSettings]) -> Result<(), Vec<Complaint>> {
        let before = self.state();
        let state = WebState::open(settings, &self.parts, &self.watcher, Some(&before.sites))?;
        self.limits.set(caps(settings));
        self.state.store(Arc::new(state));
        Ok(())
    }

    /// Connections to `FastCGI` servers opened so far.
    pub fn script_connections(&self) -> u32 {
        self.state().sites.all.iter().map(|site| site.fastcgi.connections()).sum()
    }

    /// Scripts and filters of sites that are in force.
    pub fn hooks(&self) -> Vec<MessageHooks> {
        self.state().sites.all.iter().filter_map(|site| site.hooks.clone()).collect()
    }

    /// Returns what settings say now.
    pub(crate) fn state(&self) -> Arc<WebState> {
        self.state.load_full()
    }
}

/// Opens every folder and every certificate as [`WebDoor::new`] would, relative ones from `base`,
/// and says what is wrong with them.
pub fn check_folders(
    settings: &[SiteSettings],
    base: &Path,
    private: &Arc<PrivateFiles>,
) -> Vec<Complaint> {
    let context = SiteContext {
        base,
        logs: LogOpening::Leave,
        private,
        watcher: &FolderWatcher::off(),
        script_log: None,
    };
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
        let script_log = Some(&parts.log);
        let context = SiteContext { base, logs: LogOpening::Open, private, watcher, script_log };
        let sites = SiteSet::open(settings, &context, before)?;
        Ok(Self { sites, listeners: ListenerFronts::open(settings, parts)? })
    }

    /// The sites of the listener that this connection came to.
    pub(crate) fn table_at(&self, stream: &Stream, scheme: Scheme) -> Arc<SiteTable> {
        self.sites.at(stream, scheme)
    }
}
