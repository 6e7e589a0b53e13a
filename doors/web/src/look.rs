//! What stands at a path of a site: a script, a file, in memory or open, a folder, or nothing.
//!
//! Whatever leads to a file, be it an index or a fallback, a script is never taken for one. It decides nothing about the request and writes no answer. Called by `request`, and by `quick`
//! for what may be answered at once.

use crate::answer::{Form as Sent, Meta, Source};
use crate::fastcgi::{Lookup, Script};
use crate::path::{Form, Target};
use crate::root::{Facts, Found, NotOpened};
use crate::settings::written::{Hidden, Listing};
use crate::site::Site;
use crate::store::{self, Place};
use http_engine::mime;
use rustix::fd::OwnedFd;
use std::path::Path;
use vocab::Now;

/// What stands at a path.
pub(crate) enum Stands {
    /// To be run.
    Script(Script),
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
    if !site.fastcgi.is_empty()
        && let Some(script) = site.fastcgi.script(&whole.text())
    {
        return runnable(site, script, now);
    }
    if !site.fastcgi.is_empty() && site.fastcgi.is_source(&whole.text()) {
        return Stands::Nothing(NotOpened::Nothing);
    }
    if let Some(kept) = site.store.get(url, store::Form::Plain, &site.root, now) {
        return Stands::File(Source::Kept(kept));
    }
    match (below.form(), site.root.find(below.path(), now)) {
        (Form::File, Ok(Found::File(open, facts))) => {
            let place =
                Place { url, form: store::Form::Plain, file: &below, before: &[], with: None };
            Stands::File(source(site, &place, whole, whole, (open, facts), now))
        }
        (Form::File, Ok(Found::Folder)) => Stands::Slash,
        (Form::Folder, Ok(Found::Folder)) => folder(site, url, (whole, &below), now),
        // A file does not become a folder by a slash.
        (Form::Folder, Ok(Found::File(..))) | (_, Err(NotOpened::Nothing)) => nothing(site, now),
        (_, Err(why)) => Stands::Nothing(why),
    }
}

/// A script, if it is a file of the site where it must be one.
fn runnable(site: &Site, script: Script, now: Now) -> Stands {
    if script.lookup() == Lookup::Elsewhere {
        return Stands::Script(script);
    }
    let below = script.below(&site.path).trim_start_matches('/');
    match site.root.find(Path::new(below), now) {
        Ok(Found::File(..)) => Stands::Script(script),
        Ok(Found::Folder) => Stands::Nothing(NotOpened::Nothing),
        Err(why) => Stands::Nothing(why),
    }
}

/// A file that the settings name: a fallback, or a page for an error. A script is none.
pub(crate) fn named(site: &Site, file: &Target, now: Now) -> Option<Source> {
    let whole = file.under(&site.path);
    let text = whole.text();
    if site.fastcgi.script(&text).is_some() || site.fastcgi.is_source(&text) {
        return None;
    }
    let url = whole.as_url();
    if let Some(kept) = site.store.get(&url, store::Form::Plain, &site.root, now) {
        return Some(Source::Kept(kept));
    }
    match site.root.find(file.path(), now) {
        Ok(Found::File(open, facts)) => {
            let place =
                Place { url: &url, form: store::Form::Plain, file, before: &[], with: None };
            Some(source(site, &place, &whole, &whole, (open, facts), now))
        }
        Ok(Found::Folder) | Err(_) => None,
    }
}

fn folder(site: &Site, url: &str, (whole, below): (&Target, &Target), now: Now) -> Stands {
    let mut before = Vec::new();
    for name in &site.index {
        let (file, served) = (below.child(name), whole.child(name));
        if let Some(script) = site.fastcgi.script(&served.text()) {
            match runnable(site, script, now) {
                Stands::Nothing(NotOpened::Nothing) => before.push(file),
                found => return found,
            }
            continue;
        }
        if site.fastcgi.is_source(&served.text()) {
            continue;
        }
        match site.root.find(file.path(), now) {
            Ok(Found::File(open, facts)) => {
                let form = store::Form::Plain;
                let place = Place { url, form, file: &file, before: &before, with: None };
                return Stands::File(source(site, &place, whole, &served, (open, facts), now));
            }
            // A folder called index.html is none.
            Ok(Found::Folder) | Err(NotOpened::Nothing) => before.push(file),
            Err(why) => return Stands::Nothing(why),
        }
    }
    for script in site.fastcgi.indexes(&whole.text()) {
        match runnable(site, script, now) {
            Stands::Nothing(NotOpened::Nothing) => {}
            found => return found,
        }
    }
    match site.listing {
        Listing::On => Stands::Folder(below.clone()),
        Listing::Off => nothing(site, now),
    }
}

fn nothing(site: &Site, now: Now) -> Stands {
    let Some(file) = &site.fallback else { return Stands::Nothing(NotOpened::Nothing) };
    if let Some(script) = site.fastcgi.script(&file.under(&site.path).text()) {
        // One script that answers for every path, as most frameworks want it.
        return runnable(site, script, now);
    }
    named(site, file, now).map_or(Stands::Nothing(NotOpened::Nothing), Stands::File)
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
    let meta = |facts: Facts| {
        let mut meta = Meta::new(facts, media.clone(), &served.text(), place.file.clone());
        if let Some(compress) = &site.compress
            && compress.may_code(&meta.media, facts.len)
        {
            meta.form = Sent::Negotiable;
        }
        meta
    };
    // Other spellings of a path would fill the store with copies.
    let is_plain = place.url == asked.as_url();
    if is_plain && facts.len <= store::FILE_BYTES_MAX {
        let kept = site.store.keep(place, (&open, facts), (&site.root, &site.rules), meta, now);
        if let Some(kept) = kept {
            return Source::Kept(kept);
        }
    }
    Source::Open(open, Box::new(meta(facts)))
}
