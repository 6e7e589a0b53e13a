//! One request to write at a site: who may, and what it touches.
//!
//! A client writes with a name that it has proven at the path, or from a network of writers. It
//! reaches what the site serves, and nothing that is kept from readers: names that are hidden or
//! forbidden, and paths with another password than its own. What is written is out of the site's
//! memory before the answer goes. Called by `visit`.

use crate::look::is_withheld;
use crate::outcome::{WebOutcome, WebRefusal};
use crate::path::PathTarget;
use crate::settings::written::HiddenFiles;
use crate::site::Site;
use crate::writing::{Md5Field, SiteWriting};
use http::header::{HeaderMap, HeaderValue, ORIGIN};
use http::{Method, StatusCode, Uri, request};
use http_engine::{Body, Incoming};
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use vocab::Now;
use webdav::{DavRequest, PathRules, PathStanding};

/// Where a copy or a move leads (RFC 4918 §10.3).
const DESTINATION: &str = "destination";

/// One request to write, let in by the site.
pub(crate) struct WriteRequest<'r> {
    pub(crate) site: &'r Arc<Site>,
    pub(crate) writing: &'r SiteWriting,
    pub(crate) target: &'r PathTarget,
    pub(crate) head: &'r request::Parts,
    /// The host that was asked for.
    pub(crate) host: &'r str,
    /// The name that the client has proven.
    pub(crate) user: Option<&'r str>,
    pub(crate) client: IpAddr,
    pub(crate) now: Now,
}

/// Rules about what one request may touch.
struct VisitRules {
    site: Arc<Site>,
    /// The entry of `auth` that guards the request's own path.
    guard: Option<usize>,
}

/// Answers a request to write at `target`.
pub(crate) async fn answer(request: WriteRequest<'_>, body: Incoming) -> WebOutcome {
    let WriteRequest { site, writing, target, head, host, user, client, now } = request;
    let is_writer = user.is_some()
        || (writing.trusts(client) && !is_of_strange_page(site, host, &head.headers));
    if !is_writer && head.method != Method::OPTIONS {
        return WebOutcome::Refused(WebRefusal::Writer);
    }
    let mut head = head.clone();
    if writing.md5 == Md5Field::Ignored {
        head.headers.remove("content-md5");
    }
    let destination = match destination(site, host, &head) {
        Ok(destination) => destination,
        Err(refused) => return WebOutcome::Refused(refused),
    };
    if let Some(destination) = &destination
        && let Ok(path) = HeaderValue::from_str(&destination.as_url())
    {
        head.headers.insert(DESTINATION, path);
    }
    head.uri = match target.as_url().parse() {
        Ok(uri) => uri,
        Err(_) => return WebOutcome::Refused(WebRefusal::Method),
    };
    let guard = site.auth.guard_of(&target.text());
    let client = user.map_or_else(|| client.to_string(), str::to_owned);
    let rules = Arc::new(VisitRules { site: Arc::clone(site), guard });
    let method = head.method.clone();
    let request = DavRequest { head, body: Body::from(body), client, rules, now };
    let response = writing.answer(request).await;
    let is_change = !matches!(method.as_str(), "OPTIONS" | "PROPFIND");
    if is_change && response.status() != StatusCode::NOT_FOUND {
        forget(site, &method, target);
    }
    WebOutcome::Written(Box::new(response))
}

/// True for a request by a page of a host that is none of the site's: a name of a stranger may lead
/// to this machine ("DNS rebinding"), and what its page asks comes from a browser in a network of
/// writers.
fn is_of_strange_page(site: &Site, host: &str, headers: &HeaderMap) -> bool {
    let is_page = headers.contains_key(ORIGIN) || headers.contains_key("sec-fetch-site");
    is_page && !site.hosts.iter().any(|it| it.names(host))
}

/// The path that `Destination` names, on this site.
fn destination(
    site: &Site,
    host: &str,
    head: &request::Parts,
) -> Result<Option<PathTarget>, WebRefusal> {
    let Some(field) = head.headers.get(DESTINATION) else { return Ok(None) };
    let elsewhere = || WebRefusal::Destination;
    let uri: Uri = field.to_str().ok().and_then(|it| it.parse().ok()).ok_or_else(elsewhere)?;
    if uri.host().is_some_and(|named| !named.eq_ignore_ascii_case(host)) {
        return Err(elsewhere());
    }
    let target = PathTarget::parse(uri.path());
    let target = target.map_err(WebRefusal::Path)?;
    target.below(&site.path).ok_or_else(elsewhere)?;
    Ok(Some(target))
}

/// Takes what was written out of the site's memory.
fn forget(site: &Site, method: &Method, target: &PathTarget) {
    if !matches!(*method, Method::PUT | Method::PATCH | Method::DELETE) {
        site.store.forget_all();
        return;
    }
    let url = target.as_url();
    site.store.forget(&url);
    let name = target.file_name().as_os_str();
    if site.index.iter().any(|index| name == index.as_str())
        && let Some((folder, _)) = url.rsplit_once('/')
    {
        site.store.forget(&[folder, "/"].concat());
    }
}

impl PathRules for VisitRules {
    fn standing(&self, below: &Path) -> PathStanding {
        let site = &self.site;
        let below = PathTarget::of_path(below);
        let whole = below.under(&site.path);
        let is_hidden = site.hidden == HiddenFiles::Refuse && below.is_hidden();
        if is_hidden || is_withheld(site, &whole) {
            PathStanding::Withheld
        } else if site.auth.guard_of(&whole.text()) != self.guard {
            PathStanding::Guarded
        } else {
            PathStanding::Open
        }
    }
}
