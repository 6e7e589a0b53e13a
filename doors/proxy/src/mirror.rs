//! The mirror form of URLs: `/https/HOST/PATH` at the proxy itself, for hosts that are named.
//!
//! Programs that know a base URL and no proxy (package managers, mostly) fetch through the cache
//! so. Such requests take no cookies along, and answers none back: hosts that have nothing to do
//! with each other would share them under the proxy's name. Called by `proxy_request` and
//! `request`.

use crate::setup::ProxySetup;
use crate::target::{self, ProxyTarget};
use http::header::{
    ALT_SVC, COOKIE, HeaderMap, HeaderValue, LOCATION, SET_COOKIE, STRICT_TRANSPORT_SECURITY,
};
use http::{Method, Uri};
use origins::{Origin, OriginScheme, UrlHost};
use settings::Text;
use vocab::DomainName;

/// Form in which a request has named its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TargetForm {
    /// As clients of a proxy do.
    Proxy,
    /// As a path of the mirror.
    Mirror,
    /// As clients of its server do, to whom they have connected.
    Intercepted,
}

/// The target that a path and query stand for; none for what is no mirrored URL.
pub(crate) fn read(setup: &ProxySetup, method: &Method, path: &str) -> Option<ProxyTarget> {
    if !matches!(*method, Method::GET | Method::HEAD) {
        return None;
    }
    let (scheme, rest) = [OriginScheme::Https, OriginScheme::Http].iter().find_map(|scheme| {
        let rest = path.strip_prefix('/')?.strip_prefix(scheme.as_str())?.strip_prefix('/')?;
        Some((*scheme, rest))
    })?;
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    // pip writes the colon of a port so, in links that it has resolved itself.
    let authority = authority.replace("%3A", ":").replace("%3a", ":");
    let origin = Origin::from_authority(scheme, &authority).ok()?;
    if !is_mirrored(&setup.settings.mirror, &origin.host) {
        return None;
    }
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    Some(ProxyTarget::Fetch { origin, path })
}

/// True for a host that is named, or below one that is.
fn is_mirrored(names: &[Text<DomainName>], host: &UrlHost) -> bool {
    let UrlHost::Name(host) = host else { return false };
    names.iter().any(|name| host.as_name().is_at_or_below(name.as_name()))
}

/// Takes out of a request what is not for the origin.
pub(crate) fn clean_request(fields: &mut HeaderMap) {
    fields.remove(COOKIE);
}

/// Makes an answer one of the mirror: redirects to hosts of the mirror stay in it.
pub(crate) fn clean_answer(setup: &ProxySetup, target: &ProxyTarget, fields: &mut HeaderMap) {
    for name in [SET_COOKIE, STRICT_TRANSPORT_SECURITY, ALT_SVC] {
        fields.remove(name);
    }
    let ProxyTarget::Fetch { origin, .. } = target else { return };
    let Some(to) = fields.get(LOCATION).and_then(|to| to.to_str().ok()) else { return };
    let within = within_mirror(setup, origin, to).and_then(|to| HeaderValue::try_from(to).ok());
    if let Some(within) = within {
        fields.insert(LOCATION, within);
    }
}

/// The path of the mirror for where a redirect leads; none if it leads out of it, or is relative.
fn within_mirror(setup: &ProxySetup, origin: &Origin, to: &str) -> Option<String> {
    let path_of = |origin: &Origin, path: &str| {
        format!("/{}/{}{path}", origin.scheme.as_str(), origin.authority())
    };
    if to.starts_with('/') && !to.starts_with("//") {
        return Some(path_of(origin, to));
    }
    let uri = match to.strip_prefix("//") {
        Some(rest) => format!("{}://{rest}", origin.scheme.as_str()).parse::<Uri>().ok()?,
        None => to.parse::<Uri>().ok()?,
    };
    let ProxyTarget::Fetch { origin, path } = target::read(&Method::GET, &uri).ok()? else {
        return None;
    };
    is_mirrored(&setup.settings.mirror, &origin.host).then(|| path_of(&origin, &path))
}
