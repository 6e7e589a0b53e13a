//! Lookup of a path of a site: a script, a file, in memory or open, a folder, or nothing.
//!
//! Whatever leads to a file, be it an index or a fallback, a script is never taken for one. It
//! decides nothing about the request and writes no answer. Called by `request`, and by `quick` for
//! what may be answered at once.

use crate::answer::{FileForm as Sent, FileMeta, FileSource};
use crate::fastcgi::{FoundScript, ScriptLookup};
use crate::path::{PathForm, PathTarget};
use crate::programs::FoundProgram;
use crate::root::{FileFacts, FoundFile, FoundPath, NotOpened};
use crate::settings::written::{HiddenFiles, ListingMode};
use crate::site::Site;
use crate::store::{self, ServedPlace};
use http_engine::mime;
use std::path::Path;
use vocab::Now;

/// Tells what stands at a path.
pub(crate) enum PathContent {
    /// To be asked of its server.
    Script(FoundScript),
    /// To be run.
    Program(FoundProgram),
    File(FileSource),
    /// A folder, asked for without its slash.
    Slash,
    /// A folder without an index page, to be listed; its path below the root.
    Folder(PathTarget),
    /// A folder without an index page, of which a notice says that it is not listed.
    Unlisted,
    NotFound(NotOpened),
}

impl PathContent {
    /// Path of the file or script that answers; none where there is neither.
    pub(crate) fn served(&self) -> Option<&str> {
        match self {
            Self::Script(script) => Some(&script.name),
            Self::Program(program) => Some(&program.name),
            Self::File(file) => Some(&file.meta().path),
            Self::Slash | Self::Folder(_) | Self::Unlisted | Self::NotFound(_) => None,
        }
    }
}

/// Looks for what `url` names: the path of a request as it was sent, and decoded.
pub(crate) fn look(site: &Site, url: &str, whole: &PathTarget, now: Now) -> PathContent {
    let Some(below) = whole.below(&site.path) else {
        return PathContent::NotFound(NotOpened::NotFound);
    };
    match site.hidden {
        HiddenFiles::Refuse if below.is_hidden() => {
            return PathContent::NotFound(NotOpened::NotFound);
        }
        HiddenFiles::Refuse | HiddenFiles::Serve => {}
    }
    if let Some(found) = site.programs.find(whole, now) {
        return found.map_or_else(PathContent::NotFound, PathContent::Program);
    }
    if !site.fastcgi.is_empty()
        && let Some(script) = site.fastcgi.script(&whole.text())
    {
        return runnable(site, script, now);
    }
    if is_withheld(site, whole) {
        return PathContent::NotFound(NotOpened::NotFound);
    }
    if let Some(kept) = site.store.get(url, store::StoredForm::Plain, &site.root, now) {
        return PathContent::File(FileSource::Kept(kept));
    }
    match (below.form(), site.root.find(below.path(), now)) {
        (PathForm::File, Ok(FoundPath::File(opened))) => {
            let place = ServedPlace {
                url,
                form: store::StoredForm::Plain,
                file: &below,
                before: &[],
                with: None,
            };
            PathContent::File(source(site, &place, whole, whole, opened, now))
        }
        (PathForm::File, Ok(FoundPath::Folder)) => PathContent::Slash,
        (PathForm::Folder, Ok(FoundPath::Folder)) => folder(site, url, whole, &below, now),
        // A file does not become a folder by a slash.
        (PathForm::Folder, Ok(FoundPath::File(_))) | (_, Err(NotOpened::NotFound)) => {
            nothing(site, now)
        }
        (_, Err(why)) => PathContent::NotFound(why),
    }
}

/// True for a file that is never sent: a script's source, or what the settings forbid.
pub(crate) fn is_withheld(site: &Site, whole: &PathTarget) -> bool {
    let path = whole.text();
    site.fastcgi.is_source(&path) || site.forbidden.hold(&path)
}

/// A script, if it is a file of the site where it must be one.
fn runnable(site: &Site, script: FoundScript, now: Now) -> PathContent {
    if script.lookup() == ScriptLookup::Remote {
        return PathContent::Script(script);
    }
    let below = script.below(&site.path).trim_start_matches('/');
    if site.seen_scripts.has(below, now) {
        return PathContent::Script(script);
    }
    match site.root.find(Path::new(below), now) {
        Ok(FoundPath::File(_)) => {
            site.seen_scripts.note(below, now);
            PathContent::Script(script)
        }
        Ok(FoundPath::Folder) => PathContent::NotFound(NotOpened::NotFound),
        Err(why) => PathContent::NotFound(why),
    }
}

/// A file that the settings name: a fallback, or a page for an error. A script is none.
pub(crate) fn named(site: &Site, file: &PathTarget, now: Now) -> Option<FileSource> {
    let whole = file.under(&site.path);
    if site.fastcgi.script(&whole.text()).is_some() || is_withheld(site, &whole) {
        return None;
    }
    let url = whole.as_url();
    if let Some(kept) = site.store.get(&url, store::StoredForm::Plain, &site.root, now) {
        return Some(FileSource::Kept(kept));
    }
    match site.root.find(file.path(), now) {
        Ok(FoundPath::File(opened)) => {
            let place = ServedPlace {
                url: &url,
                form: store::StoredForm::Plain,
                file,
                before: &[],
                with: None,
            };
            Some(source(site, &place, &whole, &whole, opened, now))
        }
        Ok(FoundPath::Folder) | Err(_) => None,
    }
}

fn folder(site: &Site, url: &str, whole: &PathTarget, below: &PathTarget, now: Now) -> PathContent {
    let mut before = Vec::new();
    for name in &site.index {
        let (file, served) = (below.child(name), whole.child(name));
        if let Some(script) = site.fastcgi.script(&served.text()) {
            match runnable(site, script, now) {
                PathContent::NotFound(NotOpened::NotFound) => before.push(file),
                found => return found,
            }
            continue;
        }
        if is_withheld(site, &served) {
            continue;
        }
        match site.root.find(file.path(), now) {
            Ok(FoundPath::File(opened)) => {
                let form = store::StoredForm::Plain;
                let place = ServedPlace { url, form, file: &file, before: &before, with: None };
                return PathContent::File(source(site, &place, whole, &served, opened, now));
            }
            // A folder called index.html is none.
            Ok(FoundPath::Folder) | Err(NotOpened::NotFound) => before.push(file),
            Err(why) => return PathContent::NotFound(why),
        }
    }
    for script in site.fastcgi.indexes(&whole.text()) {
        match runnable(site, script, now) {
            PathContent::NotFound(NotOpened::NotFound) => {}
            found => return found,
        }
    }
    match site.listing {
        ListingMode::On => PathContent::Folder(below.clone()),
        ListingMode::Off => nothing(site, now),
        ListingMode::Notice => PathContent::Unlisted,
    }
}

fn nothing(site: &Site, now: Now) -> PathContent {
    let Some(file) = &site.fallback else { return PathContent::NotFound(NotOpened::NotFound) };
    if let Some(script) = site.fastcgi.script(&file.under(&site.path).text()) {
        // One script that answers for every path, as most frameworks want it.
        return runnable(site, script, now);
    }
    named(site, file, now).map_or(PathContent::NotFound(NotOpened::NotFound), PathContent::File)
}

/// The file, out of memory if it can be kept. `asked` is the path of the request, `served` that of
/// the file.
fn source(
    site: &Site,
    place: &ServedPlace<'_>,
    asked: &PathTarget,
    served: &PathTarget,
    opened: FoundFile,
    now: Now,
) -> FileSource {
    let media = mime::of_path(served.file_name());
    let meta = |facts: FileFacts| {
        let mut meta = FileMeta::new(facts, media.clone(), &served.text(), place.file.clone());
        if let Some(compress) = &site.compress
            && compress.may_code(&meta.media, facts.len)
        {
            meta.form = Sent::Negotiable;
        }
        meta
    };
    // Other spellings of a path would fill the store with copies.
    let is_plain = place.url == asked.as_url();
    if is_plain && opened.facts.len <= store::FILE_BYTES_MAX {
        let kept = site.store.keep(place, &opened, &site.root, &site.rules, meta, now);
        if let Some(kept) = kept {
            return FileSource::Kept(kept);
        }
    }
    FileSource::Open(opened.file, Box::new(meta(opened.facts)))
}
