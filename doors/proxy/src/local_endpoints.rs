//! Requests for the proxy itself: its help page, and the script that browsers set themselves
//! up by.
//!
//! Nobody is asked for a password here: a browser must learn of the proxy before it can use it. It
//! fetches nothing. Called by `request`.

use crate::connection::ProxyConnection;
use crate::pac;
use crate::settings::PacSettings;
use http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderMap, HeaderValue};
use http::uri::Authority;
use http::{Method, Request, Response, StatusCode};
use http_engine::Body;
use http_engine::html::{self, escape, fill};
use origins::{Origin, OriginScheme, UrlHost};

const HELP: &str = include_str!("help.html");
/// The paths of scripts for browsers, ours and that of WPAD.
const PAC_PATHS: [&str; 2] = ["/proxy.pac", "/wpad.dat"];

/// Something of the proxy's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LocalEndpoint {
    /// The script.
    Pac,
    /// The page.
    Help,
    /// Nothing that there is: somebody takes the proxy for a web server.
    NotFound,
}

impl LocalEndpoint {
    /// Returns what stands at `path`.
    pub(crate) fn at(method: &Method, path: &str) -> Self {
        if !matches!(*method, Method::GET | Method::HEAD) {
            return Self::NotFound;
        }
        let path = path.split('?').next().unwrap_or(path);
        match path {
            "/" => Self::Help,
            path if PAC_PATHS.contains(&path) => Self::Pac,
            _ => Self::NotFound,
        }
    }
}

/// True if a URL in absolute form leads back here: over HTTP/2 every request has that form. The
/// name by which a client knows us is known to it alone, so a script at our port is taken for ours.
pub(crate) fn is_self(caller: &ProxyConnection, origin: &Origin, path: &str) -> bool {
    let Some(local) = caller.context.local else { return false };
    if origin.port != local.port() {
        return false;
    }
    match &origin.host {
        UrlHost::Address(address) if address.to_canonical() == local.ip().to_canonical() => true,
        UrlHost::Address(_) | UrlHost::Name(_) => PAC_PATHS.contains(&path),
    }
}

/// Returns how clients reach this proxy: the host by which this one has.
pub(crate) fn address_for<B>(caller: &ProxyConnection, request: &Request<B>) -> String {
    let local = caller.context.local.map(|local| local.to_string());
    let port = caller.context.local.map(|local| local.port());
    let named = named(request.headers(), request.uri().authority().map(Authority::as_str));
    match (named, port) {
        (Some(host), Some(port)) => format!("{host}:{port}"),
        (Some(_) | None, _) => local.unwrap_or_default(),
    }
}

fn named(headers: &HeaderMap, authority: Option<&str>) -> Option<UrlHost> {
    let authority = authority.or_else(|| headers.get(HOST)?.to_str().ok())?;
    Origin::from_authority(OriginScheme::Http, authority).ok().map(|origin| origin.host)
}

/// The script for clients that reach this proxy at `address`.
pub(crate) fn script(
    caller: &ProxyConnection,
    address: &str,
    settings: &PacSettings,
) -> Response<Body> {
    let script = pac::script(caller.context.security, address, settings);
    let length = HeaderValue::from(script.len());
    let mut answer = Response::new(Body::from(script));
    let fields = answer.headers_mut();
    fields.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-ns-proxy-autoconfig"));
    // Long enough for a browser's start, short enough for a change to be followed the same day.
    fields.insert(CACHE_CONTROL, HeaderValue::from_static("max-age=3600"));
    fields.insert(CONTENT_LENGTH, length);
    answer
}

/// The page that says how to use this proxy.
pub(crate) fn help(caller: &ProxyConnection, address: &str) -> Response<Body> {
    let (host, port) = address.rsplit_once(':').unwrap_or((address, ""));
    let scheme = caller.context.security.scheme();
    let slots = [
        ("address", address),
        ("host", host.trim_matches(['[', ']'])),
        ("port", port),
        ("scheme", scheme),
    ]
    .map(|(slot, text)| (slot, escape(text)));
    let slots: Vec<_> = slots.iter().map(|(slot, text)| (*slot, text.as_str())).collect();
    html::page(StatusCode::OK, "A proxy", &fill(HELP, &slots))
}
