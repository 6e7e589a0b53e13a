//! What stands at a path of a site: a file, in memory or open, a folder, or nothing.
//!
//! It decides nothing about the request and writes no answer. Called by `request`, and by `quick`
//! for what may be answered at once.

use crate::answer::{Meta, Source};
use crate::path::{Form, Target};
use crate::root::{Facts, Found, NotOpened};
use crate::settings::written::{Hidden, Listing};
use crate::site::Site;
use crate::store::{self, Place};
use http_engine::mime;
use rustix::fd::OwnedFd;
use vocab::Now;

/// What stands at a path.
pub(crate) enum Stands {
    File(Source),
    /// A folder, asked for without its slash.
    Slash,
    /// A folder without an index page, to be listed; its path below the root.
    Folder(Target),
    Nothing(NotOpened),
}

/// Looks for what `url` names: the path of a request as it was sent, and decoded.
pub(crate) fn look(site: &Site, url: &str, whole: &Target, now: Now) -> Stands {
    let Some(below) = whole.below(&site.path) else { return Stands::Nothing(NotOpened::Nothing) };
    match site.hidden {
        Hidden::Refuse if below.is_hidden() => return Stands::Nothing(NotOpened::Nothing),
        Hidden::Refuse | Hidden::Serve => {}
    }
    if let Some(kept) = site.store.get(url, store::Form::Plain, &site.root, now) {
        return Stands::File(Source::Kept(kept));
    }
    match (below.form(), site.root.find(below.path(), now)) {
        (Form::File, Ok(Found::File(open, facts))) => {
            let place = Place { url, file: &below, before: &[] };
            Stands::File(source(site, &place, whole, whole, (open, facts), now))
        }
        (Form::File, Ok(Found::Folder)) => Stands::Slash,
        (Form::Folder, Ok(Found::Folder)) => folder(site, url, (whole, &below), now),
        // A file does not become a folder by a slash.
        (Form::Folder, Ok(Found::File(..))) | (_, Err(NotOpened::Nothing)) => nothing(site, now),
        (_, Err(why)) => Stands::Nothing(why),
    }
}

/// A file that the settings name: a fallback, or a page for an error.
pub(crate) fn named(site: &Site, file: &Target, now: Now) -> Option<Source> {
    let whole = file.under(&site.path);
    let url = whole.as_url();
    if let Some(kept) = site.store.get(&url, store::Form::Plain, &site.root, now) {
        return Some(Source::Kept(kept));
    }
    match site.root.find(file.path(), now) {
        Ok(Found::File(open, facts)) => {
            let place = Place { url: &url, file, before: &[] };
            Some(source(site, &place, &whole, &whole, (open, facts), now))
        }
        Ok(Found::Folder) | Err(_) => None,
    }
}

fn folder(site: &Site, url: &str, (whole, below): (&Target, &Target), now: Now) -> Stands {
    let mut before = Vec::new();
    for name in &site.index {
        let file = below.child(name);
        match site.root.find(file.path(), now) {
            Ok(Found::File(open, facts)) => {
                let place = Place { url, file: &file, before: &before };
                let served = whole.child(name);
                return Stands::File(source(site, &place, whole, &served, (open, facts), now));
            }
            // A folder called index.html is none.
            Ok(Found::Folder) | Err(NotOpened::Nothing) => before.push(file),
            Err(why) => return Stands::Nothing(why),
        }
    }
    match site.listing {
        Listing::On => Stands::Folder(below.clone()),
        Listing::Off => nothing(site, now),
    }
}

fn nothing(site: &Site, now: Now) -> Stands {
    let fallback = site.fallback.as_ref().and_then(|file| named(site, file, now));
    fallback.map_or(Stands::Nothing(NotOpened::Nothing), Stands::File)
}

/// The file, out of memory if it can be kept. `asked` is the path of the request, `served` that of the
/// file.
fn source(
    site: &Site,
    place: &Place<'_>,
    asked: &Target,
    served: &Target,
    (open, facts): (OwnedFd, Facts),
    now: Now,
) -> Source {
    let media = mime::of_path(served.file_name());
    let meta = |facts: Facts| Meta::new(&facts, media.clone(), &served.text());
    // Other spellings of a path would fill the store with copies.
    let is_plain = place.url == asked.as_url();
    if is_plain && facts.len <= store::FILE_BYTES_MAX {
        let kept = site.store.keep(place, (&open, facts), (&site.root, &site.rules), meta, now);
        if let Some(kept) = kept {
            return Source::Kept(kept);
        }
    }
    Source::Open(open, meta(facts))
}
