//! What is in a folder, for people as a page and for programs as JSON.
//!
//! It names nothing that could not be asked for: hidden names, private files, links that lead out,
//! devices. It reads no file. Called by `request` where a site lists its folders and one has no
//! index page.

mod page;

use crate::path::{PathTarget, encoded};
use crate::root::{FileFacts, NotOpened};
use crate::settings::written::HiddenFiles;
use crate::site::Site;
use http::header::{
    ACCEPT, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderMap, HeaderValue, VARY,
    X_CONTENT_TYPE_OPTIONS,
};
use http::{Response, StatusCode};
use http_engine::{Body, reply};
use rustix::fs::{AtFlags, Dir, FileType, OFlags, statat};
use serde::Serialize;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use tokio::task::spawn_blocking;
use vocab::Now;

/// Entries of one listing; what is beyond is left out, and the listing says so. A page of so many
/// has some 2 MB.
pub(crate) const ENTRIES_MAX: usize = 10_000;

/// Holds what is in a folder.
#[derive(Debug)]
pub(crate) struct ListedFolder {
    /// The path of its URL.
    target: PathTarget,
    entries: Vec<ListingEntry>,
    extent: ListingExtent,
}

/// Tells whether all of it is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ListingExtent {
    All,
    Cut,
}

/// One name in a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct ListingEntry {
    /// As text; what is no UTF-8 is replaced.
    name: String,
    /// Relative to the folder.
    url: String,
    #[serde(rename = "type")]
    sort: ListingSort,
    /// In bytes; none for folders.
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    /// Seconds since 1970.
    modified: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
enum ListingSort {
    Folder,
    File,
}

/// Tells what a listing is sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SortKey {
    Name,
    Size,
    Modified,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SortOrder {
    Ascending,
    Falling,
}

/// Reads a folder of a site, on a thread that may wait for the disk.
pub(crate) async fn list(
    site: &Arc<Site>,
    below: PathTarget,
    now: Now,
) -> Result<ListedFolder, NotOpened> {
    let site = Arc::clone(site);
    let read = spawn_blocking(move || read(&site, &below, now));
    // The thread is not stopped, and what it runs does not panic.
    read.await.unwrap_or(Err(NotOpened::Failed))
}

fn read(site: &Site, below: &PathTarget, now: Now) -> Result<ListedFolder, NotOpened> {
    let opened = site.root.open_at(below.path(), OFlags::RDONLY | OFlags::DIRECTORY, now)?;
    let (root, folder) = (Arc::clone(&site.root.current(now)), opened.file);
    let names = Dir::read_from(&folder).map_err(|_| NotOpened::Failed)?;
    let (mut entries, mut extent) = (Vec::new(), ListingExtent::All);
    let folder_path = below.under(&site.path).text().into_owned();
    for found in names {
        let found = found.map_err(|_| NotOpened::Failed)?;
        let name = found.file_name().to_bytes();
        if matches!(name, b"." | b"..")
            || (name.starts_with(b".") && site.hidden == HiddenFiles::Refuse)
            || site.forbidden.hold(&format!("{folder_path}{}", String::from_utf8_lossy(name)))
        {
            continue;
        }
        if entries.len() == ENTRIES_MAX {
            extent = ListingExtent::Cut;
            break;
        }
        let path = Path::new(OsStr::from_bytes(name));
        let Ok(mut stat) = statat(&folder, path, AtFlags::SYMLINK_NOFOLLOW) else { continue };
        if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
            // A link that is not followed, or leads to what is not served, is not there.
            let aim = site.root.open_at(&below.path().join(path), OFlags::PATH, now);
            let Ok(aim) = aim else { continue };
            stat = aim.stat;
        } else if root.is_hidden(&opened.stat, path.as_os_str(), &stat) {
            continue;
        }
        let facts = FileFacts::new(&stat);
        let (sort, slash) = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => (ListingSort::Folder, "/"),
            FileType::RegularFile => (ListingSort::File, ""),
            _ => continue,
        };
        entries.push(ListingEntry {
            name: String::from_utf8_lossy(name).into_owned(),
            // Without the dot, a name with a colon would be a URL of its own.
            url: format!("./{}{slash}", encoded(name)),
            sort,
            size: (sort == ListingSort::File).then_some(facts.len),
            modified: facts.modified_secs,
        });
    }
    Ok(ListedFolder { target: below.under(&site.path), entries, extent })
}

/// The answer: JSON for programs that ask for it, else a page.
pub(crate) fn answer(listed: ListedFolder, query: &str, headers: &HeaderMap) -> Response<Body> {
    let (by, order) = sorting(query);
    let listed = sorted(listed, by, order);
    let mut response = if wants_json(query, headers) {
        json(&listed)
    } else {
        let mut page = Response::new(Body::from(page::html(&listed, by, order)));
        let fields = page.headers_mut();
        fields.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
        fields.insert(CONTENT_SECURITY_POLICY, page::POLICY);
        page
    };
    let fields = response.headers_mut();
    fields.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    fields.insert(VARY, HeaderValue::from_static("accept"));
    fields.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

fn json(listed: &ListedFolder) -> Response<Body> {
    #[derive(Serialize)]
    struct JsonListing<'l> {
        path: &'l str,
        /// True if all entries are listed.
        complete: bool,
        entries: &'l [ListingEntry],
    }
    let complete = listed.extent == ListingExtent::All;
    let json = JsonListing { path: &listed.target.text(), complete, entries: &listed.entries };
    let Ok(text) = serde_json::to_string(&json) else {
        // Text and numbers are always JSON.
        return reply::text(StatusCode::INTERNAL_SERVER_ERROR, "This folder cannot be listed.\n");
    };
    let mut response = Response::new(Body::from(text + "\n"));
    let media = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, media);
    response
}

fn parameters(query: &str) -> impl Iterator<Item = (&str, &str)> {
    query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")))
}

fn sorting(query: &str) -> (SortKey, SortOrder) {
    let (mut by, mut order) = (SortKey::Name, SortOrder::Ascending);
    for parameter in parameters(query) {
        match parameter {
            ("sort", "name") => by = SortKey::Name,
            ("sort", "size") => by = SortKey::Size,
            ("sort", "modified") => by = SortKey::Modified,
            ("order", "asc") => order = SortOrder::Ascending,
            ("order", "desc") => order = SortOrder::Falling,
            _ => {}
        }
    }
    (by, order)
}

/// Folders first; names as people read them, without regard to case.
fn sorted(mut listed: ListedFolder, by: SortKey, order: SortOrder) -> ListedFolder {
    listed.entries.sort_by_cached_key(|entry| entry.name.to_lowercase());
    match by {
        SortKey::Name => {}
        SortKey::Size => listed.entries.sort_by_key(|entry| entry.size),
        SortKey::Modified => listed.entries.sort_by_key(|entry| entry.modified),
    }
    if order == SortOrder::Falling {
        listed.entries.reverse();
    }
    listed.entries.sort_by_key(|entry| entry.sort);
    listed
}

/// True if JSON is asked for: by the query, or by an `Accept` that likes it better than HTML.
fn wants_json(query: &str, headers: &HeaderMap) -> bool {
    if let Some((_, format)) = parameters(query).find(|(name, _)| *name == "format") {
        return format == "json";
    }
    let accept = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or("");
    let liking = |media: &str| {
        let mut ranges = accept.split(',').map(|range| range.split(';').map(str::trim));
        let found = ranges.find_map(|mut range| {
            range.next().filter(|it| it.eq_ignore_ascii_case(media)).map(|_| range)
        });
        found.map_or(0.0, |mut parameters| {
            let quality = parameters.find_map(|it| it.strip_prefix("q=").or(it.strip_prefix("Q=")));
            quality.and_then(|it| it.parse::<f32>().ok()).unwrap_or(1.0)
        })
    };
    liking("application/json") > liking("text/html")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, sort: ListingSort, size: u64, modified: u64) -> ListingEntry {
        let (name, url) = (name.to_owned(), name.to_owned());
        ListingEntry {
            name,
            url,
            sort,
            size: (sort == ListingSort::File).then_some(size),
            modified,
        }
    }

    #[test]
    fn folders_come_first_in_every_order() {
        let names = |query: &str| {
            let entries = vec![
                entry("b.txt", ListingSort::File, 1, 30),
                entry("A.txt", ListingSort::File, 5, 10),
                entry("z", ListingSort::Folder, 0, 20),
                entry("c.txt", ListingSort::File, 3, 20),
            ];
            let (by, order) = sorting(query);
            let listed = sorted(
                ListedFolder {
                    target: PathTarget::parse("/").unwrap(),
                    entries,
                    extent: ListingExtent::All,
                },
                by,
                order,
            );
            listed.entries.into_iter().map(|it| it.name).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(names(""), "z A.txt b.txt c.txt");
        assert_eq!(names("order=desc"), "z c.txt b.txt A.txt");
        assert_eq!(names("sort=size"), "z b.txt c.txt A.txt");
        assert_eq!(names("sort=modified&order=desc"), "z b.txt c.txt A.txt");
        assert_eq!(names("sort=nonsense&order="), "z A.txt b.txt c.txt");
    }

    #[test]
    fn json_is_for_those_that_like_it_better() {
        let wants = |query, accept: &'static str| {
            let fields = [(ACCEPT, HeaderValue::from_static(accept))];
            wants_json(query, &fields.into_iter().collect())
        };
        assert!(wants("format=json", "text/html"));
        assert!(!wants("format=html", "application/json"));
        assert!(wants("", "application/json"));
        assert!(wants("", "application/json, text/plain, */*"));
        assert!(wants("", "text/html;q=0.5, application/json;q=0.9"));
        assert!(!wants("", "text/html,application/xhtml+xml,*/*;q=0.8"));
        assert!(!wants("", "*/*"));
        assert!(!wants("", "text/html, application/json;q=0.9"));
    }
}
