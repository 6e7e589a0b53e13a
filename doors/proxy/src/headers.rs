//! The header fields of what passes: what is taken out, what is put in, for the next hop and back.
//!
//! Hop-by-hop fields go (RFC 9110 §7.6), the owner's censorship is done, and we sign. It reads no
//! body. Called by `request`.

use crate::settings::{FieldDisclosure, RefererPolicy, Settings};
use http::header::{
    CACHE_CONTROL, CONNECTION, HOST, HeaderMap, HeaderName, HeaderValue, MAX_FORWARDS,
    PROXY_AUTHORIZATION, REFERER, UPGRADE,
};
use http::{Response, Version};
use http_engine::{Body, hop_by_hop};
use http_front::{field_text, page_host};
use origins::{Origin, RequestLoop, UrlHost, add_via, check_via};
use std::net::IpAddr;
use vocab::{DomainName, address_text};

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Holds what is done with header fields.
pub(crate) struct FieldPolicy {
    censored: Vec<HeaderName>,
    referer: RefererPolicy,
    via: FieldDisclosure,
    x_forwarded_for: FieldDisclosure,
    no_transform: FieldDisclosure,
}

impl FieldPolicy {
    pub(crate) fn new(settings: &Settings) -> Self {
        let names = settings.censor.iter();
        Self {
            censored: names
                .filter_map(|name| HeaderName::from_bytes(name.as_bytes()).ok())
                .collect(),
            referer: settings.referer,
            via: settings.via,
            x_forwarded_for: settings.x_forwarded_for,
            no_transform: settings.no_transform,
        }
    }

    /// Returns what goes on to `origin`: its `Host` is the one that was asked for, and a protocol
    /// to switch to is asked for on our own behalf.
    pub(crate) fn for_origin(
        &self,
        headers: &mut HeaderMap,
        origin: &Origin,
        received: Version,
        client: IpAddr,
        wanted: Option<HeaderValue>,
    ) -> Result<(), RequestLoop> {
        hop_by_hop::strip(headers);
        headers.remove(PROXY_AUTHORIZATION);
        self.censor(headers);
        let keeps = match self.referer {
            RefererPolicy::Keep => true,
            RefererPolicy::SameSite => page_host(field_text(headers, &REFERER))
                .is_some_and(|page| is_same_site(&page, &origin.host)),
            RefererPolicy::Drop => false,
        };
        if !keeps {
            headers.remove(REFERER);
        }
        let host = HeaderValue::try_from(origin.authority());
        headers.insert(HOST, host.expect("a host and port are visible ASCII"));
        if let Some(left) = max_forwards(headers) {
            headers.insert(MAX_FORWARDS, HeaderValue::from(left.saturating_sub(1)));
        }
        if self.x_forwarded_for == FieldDisclosure::On {
            let client = HeaderValue::try_from(address_text(client));
            headers.append(X_FORWARDED_FOR, client.expect("an address is visible ASCII"));
        }
        if self.no_transform == FieldDisclosure::On {
            headers.append(CACHE_CONTROL, HeaderValue::from_static("no-transform"));
        }
        if let Some(protocol) = wanted {
            headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
            headers.insert(UPGRADE, protocol);
        }
        self.sign(headers, received)
    }

    /// Signs what passes, or says that it has come round.
    pub(crate) fn sign(
        &self,
        headers: &mut HeaderMap,
        received: Version,
    ) -> Result<(), RequestLoop> {
        match self.via {
            FieldDisclosure::On => add_via(headers, received),
            FieldDisclosure::Off => check_via(headers),
        }
    }

    /// Returns what goes back to the client.
    pub(crate) fn for_client<B>(&self, mut response: Response<B>) -> Response<B> {
        let received = response.version();
        *response.version_mut() = Version::HTTP_11;
        hop_by_hop::strip(response.headers_mut());
        self.censor(response.headers_mut());
        // A response that has passed many of us is not dangerous: it has arrived.
        let _ = self.sign(response.headers_mut(), received);
        response
    }

    /// True if answers go back as they are, but for our signature.
    pub(crate) const fn keeps_answers(&self) -> bool {
        self.censored.is_empty()
    }

    /// Our signature under a stored answer, as a line of its head.
    pub(crate) const fn signature(&self) -> &'static [u8] {
        match self.via {
            FieldDisclosure::On => b"via: 1.1 tidegate\r\n",
            FieldDisclosure::Off => b"",
        }
    }

    /// The answer with which an origin switches protocols.
    pub(crate) fn switching(&self, response: Response<Body>) -> Response<Body> {
        let protocol = response.headers().get(UPGRADE).cloned();
        let mut response = self.for_client(response);
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("upgrade"));
        if let Some(protocol) = protocol {
            response.headers_mut().insert(UPGRADE, protocol);
        }
        response
    }

    fn censor(&self, headers: &mut HeaderMap) {
        for name in &self.censored {
            headers.remove(name);
        }
    }
}

/// The protocol that a request asks to switch to, if it is among those that may pass. `h2c` never
/// is: inside it, URLs would pass unread.
pub(crate) fn wanted_protocol(headers: &HeaderMap, allowed: &[String]) -> Option<HeaderValue> {
    HeaderValue::from_str(hop_by_hop::upgrade_to(headers, allowed)?).ok()
}

/// Returns how many more may pass it on (RFC 9110 §7.6.2).
pub(crate) fn max_forwards(headers: &HeaderMap) -> Option<u32> {
    headers.get(MAX_FORWARDS)?.to_str().ok()?.parse().ok()
}

fn is_same_site(page: &DomainName, host: &UrlHost) -> bool {
    let host = host.to_name();
    let site = |name: &'_ DomainName| psl::domain_str(name.as_str()).map(str::to_owned);
    page == &host || site(page).is_some_and(|page| site(&host) == Some(page))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_is_what_can_be_registered() {
        let same = |page: &str, host: &str| {
            is_same_site(&DomainName::parse(page).unwrap(), &host.parse().unwrap())
        };
        assert!(same("www.a.example", "img.a.example") && same("a.co.uk", "x.a.co.uk"));
        assert!(!same("a.co.uk", "b.co.uk") && !same("a.example", "b.example"));
        assert!(same("127.0.0.1", "127.0.0.1") && !same("127.0.0.1", "127.0.0.2"));
    }
}
