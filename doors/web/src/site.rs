//! One site, ready to serve: its folder open, its patterns compiled.
//!
//! Made from settings that were checked; it answers nothing itself. Made by `door`, asked by
//! `table`, `look` and `request`.

use crate::errors::ErrorPages;
use crate::host::HostPattern;
use crate::path::Target;
use crate::root::Root;
use crate::rules::Rules;
use crate::secure::Demand;
use crate::settings::SiteSettings;
use crate::settings::file_below_root;
use crate::settings::written::{Hidden, Listing};
use crate::store::{Store, Watcher};
use std::path::Path;
use std::sync::Arc;
use transport::clock;
use vocab::{Complaint, Listen};

/// One site.
pub(crate) struct Site {
    pub(crate) listen: Vec<Listen>,
    pub(crate) hosts: Vec<HostPattern>,
    /// From slash to slash.
    pub(crate) path: Box<str>,
    pub(crate) root: Root,
    /// Which handshake a request must have come by.
    pub(crate) demand: Demand,
    pub(crate) index: Vec<String>,
    pub(crate) listing: Listing,
    pub(crate) fallback: Option<Target>,
    pub(crate) hidden: Hidden,
    pub(crate) errors: ErrorPages,
    pub(crate) rules: Rules,
    pub(crate) store: Store,
}

impl Site {
    /// Opens the site with this number; what is wrong is returned, with paths relative to its entry.
    pub(crate) fn open(
        (number, settings): (usize, &SiteSettings),
        base: &Path,
        watcher: &Arc<Watcher>,
    ) -> Result<Self, Vec<Complaint>> {
        let mut complaints = settings.check();
        let hosts = settings.hosts.iter().filter_map(|host| HostPattern::parse(host).ok());
        let path = base.join(&settings.root);
        let root = Root::open(path, settings.symlinks, clock::now()).map_err(|why| {
            complaints.push(
                Complaint::new("root", format!("{}: {why}", settings.root))
                    .remedy("name a folder that this user may read"),
            );
        });
        match root {
            Ok(root) if complaints.is_empty() => Ok(Self {
                listen: settings.listen.iter().map(|listen| listen.0.clone()).collect(),
                hosts: hosts.collect(),
                path: settings.path.as_str().into(),
                root,
                demand: Demand::of(number, settings),
                index: settings.index.clone(),
                listing: settings.listing,
                fallback: settings.fallback.as_deref().and_then(file_below_root),
                hidden: settings.hidden,
                errors: ErrorPages::compile(&settings.errors).0,
                rules: Rules::compile(settings).0,
                store: Store::new(settings.memory.0, Arc::clone(watcher)),
            }),
            Ok(_) | Err(()) => Err(complaints),
        }
    }
}
