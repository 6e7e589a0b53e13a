//! Several files of a folder in one answer: `/dir/??a.js,b.js?v=1`, as Perlbal and Tengine have it.
//!
//! Every name is looked up like a request of its own, held against the policy by `request`, and
//! must lead to a file of the same type behind the same password. The whole is as new as the newest
//! of them. Called by `visit`.

use crate::answer::{FileMeta, FileSource};
use crate::look::{self, PathContent};
use crate::outcome::{WebOutcome, WebRefusal};
use crate::path::{BadPath, PathForm, PathTarget};
use crate::root::NotOpened;
use crate::settings::written::SiteSwitch;
use crate::site::Site;
use bytes::{Bytes, BytesMut};
use http_engine::content;
use rustix::fd::OwnedFd;
use rustix::io::pread;
use tokio::task::spawn_blocking;
use vocab::Now;

/// Files of one answer.
const FILES_MAX: usize = 100;
/// Bytes of one answer: it stands in memory.
const BYTES_MAX: u64 = 8 << 20;

/// The names that a query asks a site for, one more than it may at most; none if it is an ordinary
/// one, or the site joins no files.
pub(crate) fn names_of<'q>(
    site: &Site,
    query: Option<&'q str>,
) -> Option<impl Iterator<Item = &'q str>> {
    if site.concat == SiteSwitch::Off { None } else { names(query) }
}

fn names(query: Option<&str>) -> Option<impl Iterator<Item = &str>> {
    let list = query?.strip_prefix('?')?;
    // What follows is for caches alone.
    let list = list.split_once('?').map_or(list, |(list, _)| list);
    Some(list.split(',').take(FILES_MAX + 1))
}

/// The path that a name stands for in its folder.
pub(crate) fn target(folder: &PathTarget, name: &str) -> Result<PathTarget, BadPath> {
    PathTarget::parse(&[&folder.as_url(), name].concat())
}

/// Returns the files `names` of `folder`, one behind the other.
pub(crate) async fn join(
    site: &Site,
    folder: &PathTarget,
    names: impl Iterator<Item = &str>,
    now: Now,
) -> WebOutcome {
    let names: Vec<_> = names.collect();
    if names.len() > FILES_MAX || folder.form() != PathForm::Folder {
        return WebOutcome::Refused(WebRefusal::Joined);
    }
    let mut sources = Vec::with_capacity(names.len());
    for name in names {
        match source(site, folder, name, now) {
            Ok(source) => sources.push(source),
            Err(why) => return WebOutcome::NotOpened(why),
        }
    }
    let metas: Vec<_> = sources.iter().map(FileSource::meta).collect();
    let is_mixed = metas.windows(2).any(|two| two[0].media != two[1].media);
    let meta = match FileMeta::joined(&metas) {
        Some(meta) if meta.len <= BYTES_MAX && !is_mixed => meta,
        Some(_) | None => return WebOutcome::Refused(WebRefusal::Joined),
    };
    let mut all = BytesMut::with_capacity(meta.len as usize);
    for source in sources {
        match bytes(source).await {
            Some(bytes) => all.extend_from_slice(&bytes),
            None => return WebOutcome::NotOpened(NotOpened::Failed),
        }
    }
    WebOutcome::Joined(FileSource::Coded(all.freeze(), Box::new(meta)))
}

fn source(site: &Site, folder: &PathTarget, name: &str, now: Now) -> Result<FileSource, NotOpened> {
    let target = target(folder, name).map_err(|_| NotOpened::NotFound)?;
    if site.auth.guard_of(&target.text()) != site.auth.guard_of(&folder.text()) {
        return Err(NotOpened::NotFound);
    }
    match look::look(site, &target.as_url(), &target, now) {
        // An index or a fallback in its place is another file.
        PathContent::File(source) if *source.meta().path == *target.text() => Ok(source),
        PathContent::NotFound(why) => Err(why),
        PathContent::File(_)
        | PathContent::Script(_)
        | PathContent::Program(_)
        | PathContent::Slash
        | PathContent::Folder(_)
        | PathContent::Unlisted => Err(NotOpened::NotFound),
    }
}

/// All bytes of a file, as many as it had when it was opened; none where it has fewer now.
pub(crate) async fn bytes(source: FileSource) -> Option<Bytes> {
    match source {
        FileSource::Kept(kept) => Some(kept.body.clone()),
        FileSource::Coded(bytes, _) => Some(bytes),
        FileSource::Open(file, meta) => match content::read_now(&file, 0, meta.len) {
            Some(bytes) => Some(bytes),
            None => spawn_blocking(move || read(&file, meta.len)).await.ok()?,
        },
    }
}

fn read(file: &OwnedFd, len: u64) -> Option<Bytes> {
    let mut all = vec![0; usize::try_from(len).ok()?];
    let mut at = 0;
    while at < all.len() {
        match pread(file, &mut all[at..], at as u64) {
            Ok(0) | Err(_) => return None,
            Ok(count) => at += count,
        }
    }
    Some(all.into())
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_second_question_mark_asks_for_several() {
        let names = |query| super::names(query).map(Iterator::collect::<Vec<_>>);
        assert_eq!(names(Some("?a.js,b/c.js?v=1")), Some(vec!["a.js", "b/c.js"]));
        assert_eq!(names(Some("?a.js")), Some(vec!["a.js"]));
        assert_eq!(names(Some("a.js,b.js")), None);
        assert_eq!(names(None), None);
    }
}
