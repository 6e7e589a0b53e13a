//! The answer as the client gets it: a file, a script's answer, or a page of the site's or ours.
//!
//! It decides nothing and opens nothing but the site's own pages for errors. Called by `request`,
//! and by `folder` for another door.

use crate::answer::{FilePayload, FileSource};
use crate::listing;
use crate::look;
use crate::outcome::{WebOutcome, WebRefusal};
use crate::pages;
use crate::path::PathTarget;
use crate::root::NotOpened;
use crate::script;
use crate::site::Site;
use crate::store::FILE_BYTES_MAX;
use http::header::{CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue};
use http::{Method, Response, StatusCode, request};
use http_body::Body as _;
use http_engine::Body;
use http_engine::content::read_now;
use vocab::Now;

/// The answer as the client gets it, to a request of `target` where that is one.
pub(crate) fn shape(
    outcome: WebOutcome,
    site: Option<&Site>,
    head: &request::Parts,
    target: Option<&PathTarget>,
    now: Now,
) -> (Response<Body>, FilePayload) {
    let with_query = |path: &str| match head.uri.query() {
        Some(query) if !path.contains('?') => format!("{path}?{query}"),
        Some(_) | None => path.to_owned(),
    };
    let mut own_page = site;
    let mut response = match (outcome, site) {
        (WebOutcome::File(file), Some(site)) => return file.send(head, &site.rules, now),
        (WebOutcome::Joined(files), Some(site)) => return joined(files, site, head, now),
        (WebOutcome::Script(Ok(answer)), site) => {
            let compress = site.and_then(|site| site.compress.as_ref());
            let mut response = script::shape(answer, compress, head);
            dress(site, target, &mut response);
            return (response, FilePayload::Streaming);
        }
        (WebOutcome::Script(Err(why)), _) => pages::script_failed(why.status()),
        (WebOutcome::Luau(answer), _) => {
            // The script's body is the answer, whatever the status.
            own_page = None;
            *answer
        }
        (WebOutcome::Written(answer), site) => {
            let mut response = *answer;
            dress(site, target, &mut response);
            return (response, FilePayload::Streaming);
        }
        (WebOutcome::LuauFailed, _) => pages::luau_failed(),
        (WebOutcome::Unauthorized(challenge), _) => pages::unauthorized(challenge),
        (WebOutcome::Busy, _) => pages::script_failed(StatusCode::SERVICE_UNAVAILABLE),
        (WebOutcome::Secure(location), _) => pages::secure(location),
        (WebOutcome::Listing(listed), _) => {
            listing::answer(listed, head.uri.query().unwrap_or(""), &head.headers)
        }
        (WebOutcome::Unlisted, _) => pages::unlisted(),
        (WebOutcome::Refused(why), site) => refused(why, site),
        (WebOutcome::NotOpened(NotOpened::NotFound), _)
        // A file is a site's.
        | (WebOutcome::File(_) | WebOutcome::Joined(_), None) => pages::not_found(),
        (WebOutcome::NotOpened(NotOpened::Forbidden), _) => pages::forbidden(),
        (WebOutcome::NotOpened(NotOpened::Failed), _) => pages::failed(),
        (WebOutcome::Blocked(rule), _) => {
            // The reason is the answer: no page of the site hides it.
            own_page = None;
            pages::blocked(rule.as_ref())
        }
        (WebOutcome::Slash(path), _) => {
            pages::moved(&with_query(&path), StatusCode::MOVED_PERMANENTLY)
        }
        (WebOutcome::Moved(to, status), _) => pages::moved(&with_query(&to), status),
    };
    if let Some(site) = own_page {
        show_own_page(site, &mut response, now);
    }
    dress(site, target, &mut response);
    if head.method == Method::HEAD {
        let length = response.body().size_hint().lower();
        response.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(length));
        *response.body_mut() = Body::empty();
    }
    (response, FilePayload::Buffered)
}

/// Several files as one, coded where that is worth it.
fn joined(
    files: FileSource,
    site: &Site,
    head: &request::Parts,
    now: Now,
) -> (Response<Body>, FilePayload) {
    let (response, payload) = files.send(head, &site.rules, now);
    if response.status() != StatusCode::OK || site.compress.is_none() {
        return (response, payload);
    }
    let length = response.body().size_hint().exact();
    let response = script::coded(response, length, site.compress.as_ref(), head);
    (response, FilePayload::Streaming)
}

fn refused(why: WebRefusal, site: Option<&Site>) -> Response<Body> {
    match why {
        WebRefusal::Method => {
            let writing = site.and_then(|site| site.writing.as_ref());
            pages::method(writing.map_or("GET, HEAD", |it| it.methods().allow()))
        }
        WebRefusal::Path(why) => pages::bad_request(&why.to_string()),
        WebRefusal::Misdirected => pages::misdirected(),
        WebRefusal::Joined => pages::bad_request(
            "These are not up to 100 files of one type and of 8 MiB at most, below a folder",
        ),
        WebRefusal::Writer => pages::no_writer(),
        WebRefusal::Destination => pages::other_site(),
        WebRefusal::Plain => pages::bad_request("This site is reached by HTTPS"),
        WebRefusal::Elsewhere(why) => pages::bad_request(why.reason()),
    }
}

/// Applies the site's rules about header fields.
fn dress(site: Option<&Site>, target: Option<&PathTarget>, response: &mut Response<Body>) {
    if let (Some(site), Some(target)) = (site, target) {
        site.rules.apply_headers(&target.text(), response.headers_mut());
    }
}

/// Puts the site's own page for an error in the place of ours. One that is not there, too large or
/// not at hand leaves ours: an error must not fail.
fn show_own_page(site: &Site, response: &mut Response<Body>, now: Now) {
    let Some(page) = site.errors.of(response.status()) else { return };
    let bytes = match look::named(site, page, now) {
        Some(FileSource::Kept(kept)) => kept.body.clone(),
        Some(FileSource::Open(file, meta)) if meta.len <= FILE_BYTES_MAX => {
            let Some(bytes) = read_now(&file, 0, meta.len) else { return };
            bytes
        }
        Some(FileSource::Open(..) | FileSource::Coded(..)) | None => return,
    };
    *response.body_mut() = Body::full(bytes);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, http_engine::mime::of_path(page.file_name()));
    // Ours is for our page.
    headers.remove(CONTENT_SECURITY_POLICY);
}
