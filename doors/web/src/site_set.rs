//! All sites of the door, and the listeners that they answer at.
//!
//! A site whose settings stay keeps what it has in memory over a reload. It answers nothing. Made
//! by `door`; asked once a connection.

use crate::settings::{SiteSettings, claimed_twice};
use crate::site::{Site, SiteContext};
use crate::table::SiteTable;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use transport::Stream;
use vocab::{Complaint, Listen, Scheme};

/// All sites.
pub(crate) struct SiteSet {
    pub(crate) all: Vec<Arc<Site>>,
    /// What they were made from, in the same order.
    settings: Vec<SiteSettings>,
    /// The listeners, each once, with the sites that answer there.
    pub(crate) tables: Vec<(Listen, Arc<SiteTable>)>,
}

impl SiteSet {
    /// Opens every site, those of `before` that stay excepted.
    pub(crate) fn open(
        settings: &[SiteSettings],
        context: &SiteContext<'_>,
        before: Option<&Self>,
    ) -> Result<Self, Vec<Complaint>> {
        let (mut all, mut complaints) = (Vec::new(), claimed_twice(settings));
        for (index, site) in settings.iter().enumerate() {
            if let Some(same) = before.and_then(|before| before.same(index, site, context.base)) {
                all.push(same);
                continue;
            }
            let replaced = before.and_then(|before| before.all.get(index));
            match Site::open(index, site, context, replaced.map(Arc::as_ref)) {
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

    /// The site with this number, if nothing about it is another. One that asks for passwords, a
    /// script or filters is opened anew: its files may have changed.
    fn same(&self, number: usize, settings: &SiteSettings, base: &Path) -> Option<Arc<Site>> {
        let site = self.all.get(number)?;
        let is_same = self.settings.get(number) == Some(settings)
            && settings.auth.is_empty()
            && settings.script.is_none()
            && settings.wasm.is_empty()
            // A folder that is gone is complained about.
            && base.join(&settings.root).is_dir();
        is_same.then(|| Arc::clone(site))
    }

    /// The sites of the listener that this connection came to.
    pub(crate) fn at(&self, stream: &Stream, scheme: Scheme) -> Arc<SiteTable> {
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
