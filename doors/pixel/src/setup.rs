//! Our own pages: what a device needs in order to trust the certificates made here.
//!
//! Shown only where a request names an address and no host, without TLS or over a connection whose
//! certificate is for an address; no name that is blocked or not ever leads here, and nothing can
//! be changed. Called by `request`.

use crate::counters::Count;
use crate::door::PixelDoor;
use crate::page;
use crate::platform::DevicePlatform;
use crate::servstats;
use bytes::Bytes;
use http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName,
    HeaderValue, USER_AGENT, X_CONTENT_TYPE_OPTIONS,
};
use http::{Method, Response};
use http_engine::Body;
use settings::Text;
use std::net::IpAddr;
use vocab::Network;

/// Path of the picture that the dashboard loads to learn whether a device trusts the authority.
pub const CHECK_PATH: &str = "/tidegate-check.gif";
/// A transparent GIF of one pixel.
const CHECK_GIF: &[u8] =
    b"GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff!\xf9\x04\x01\x00\
    \x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x01D\x00;";
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// One of our own answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SetupPage {
    /// The page with instructions.
    Instructions,
    /// The authority's certificate, for devices to install.
    Certificate,
    /// The same as a file to be kept.
    File,
    /// A picture of one pixel, which loads over HTTPS where the authority is trusted.
    Check,
    /// The counters as a page.
    CounterPage,
    /// The counters in one line.
    CounterLine,
}

impl SetupPage {
    /// True if this client may have it: the counters are for those in `readers`.
    pub(crate) fn is_for(self, client: IpAddr, readers: &[Text<Network>]) -> bool {
        match self {
            Self::Instructions | Self::Certificate | Self::File | Self::Check => true,
            Self::CounterPage | Self::CounterLine => {
                readers.iter().any(|network| network.0.contains(client))
            }
        }
    }
}

/// Returns what is wanted of our own, if a request for this host and path wants any of it.
pub(crate) fn setup_page(host: &str, method: &Method, path: &str) -> Option<SetupPage> {
    let address = host.strip_prefix('[').and_then(|it| it.strip_suffix(']')).unwrap_or(host);
    if address.parse::<IpAddr>().is_err() || (*method != Method::GET && *method != Method::HEAD) {
        return None;
    }
    match path {
        "/" => Some(SetupPage::Instructions),
        "/ca.crt" | "/tidegate-ca.crt" => Some(SetupPage::Certificate),
        "/ca.pem" | "/tidegate-ca.pem" => Some(SetupPage::File),
        CHECK_PATH => Some(SetupPage::Check),
        "/servstats" => Some(SetupPage::CounterPage),
        "/servstats.txt" => Some(SetupPage::CounterLine),
        _ => None,
    }
}

/// The answer to it.
pub(crate) fn answer(door: &PixelDoor, wanted: SetupPage, headers: &HeaderMap) -> Response<Body> {
    let signer = &door.parts.signer;
    match wanted {
        SetupPage::Instructions => {
            door.counters.one(Count::Setup);
            let agent = headers.get(USER_AGENT).and_then(|it| it.to_str().ok()).unwrap_or("");
            page::setup(&signer.ca_fingerprint(), DevicePlatform::of(agent), door.answered_names())
        }
        SetupPage::Certificate => {
            door.counters.one(Count::Certificate);
            // The type that has phones and Firefox offer to install it, which they do not for a
            // file that is to be kept.
            file(&signer.ca_pem(), "application/x-x509-ca-cert")
        }
        SetupPage::File => {
            door.counters.one(Count::Certificate);
            let mut kept = file(&signer.ca_pem(), "application/x-pem-file");
            let name = HeaderValue::from_static("attachment; filename=\"tidegate-ca.pem\"");
            kept.headers_mut().insert(CONTENT_DISPOSITION, name);
            kept
        }
        SetupPage::Check => {
            door.counters.one(Count::Setup);
            let mut picture = bytes_of(Bytes::from_static(CHECK_GIF), "image/gif");
            let fields = picture.headers_mut();
            fields.insert(RESOURCE_POLICY, HeaderValue::from_static("cross-origin"));
            picture
        }
        SetupPage::CounterPage => servstats::page(door),
        SetupPage::CounterLine => file(&servstats::text(door), "text/plain; charset=utf-8"),
    }
}

fn file(text: &str, media: &'static str) -> Response<Body> {
    bytes_of(Bytes::copy_from_slice(text.as_bytes()), media)
}

fn bytes_of(bytes: Bytes, media: &'static str) -> Response<Body> {
    let length = bytes.len();
    let mut response = Response::new(Body::full(bytes));
    let fields = response.headers_mut();
    fields.insert(CONTENT_TYPE, HeaderValue::from_static(media));
    fields.insert(CONTENT_LENGTH, HeaderValue::from(length));
    fields.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    fields.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_address_leads_to_our_own_pages() {
        let check = |host, path, expected| {
            assert_eq!(setup_page(host, &Method::GET, path), expected, "{host}{path}");
        };
        check("192.0.2.1", "/", Some(SetupPage::Instructions));
        check("[2001:db8::1]", "/ca.crt", Some(SetupPage::Certificate));
        check("192.0.2.1", "/ca.pem", Some(SetupPage::File));
        check("192.0.2.1", "/servstats", Some(SetupPage::CounterPage));
        check("192.0.2.1", "/servstats.txt", Some(SetupPage::CounterLine));
        check("192.0.2.1", "/tidegate-check.gif", Some(SetupPage::Check));
        check("ads.example", "/tidegate-check.gif", None);
        check("ads.example", "/servstats", None);
        check("192.0.2.1", "/x", None);
        check("ads.example", "/", None);
        check("", "/", None);
        assert_eq!(setup_page("192.0.2.1", &Method::POST, "/"), None);
    }
}
