//! One exchange with a server at which bundles lie, on a run time of its own.

use crate::placed::{PlaceFault, PlacedObject};
use bytes::Bytes;
use fetch::{FetchError, RepeatableRequest, Url, WholeAnswer, WholeBounds, WholeFailure, whole};
use http::Method;
use http::header::{DATE, ETAG, HeaderMap, HeaderName};
use origins::{Dialer, OriginLimits, Origins};
use std::time::{Duration, UNIX_EPOCH};
use tokio::runtime::{Builder, LocalOptions, LocalRuntime};

/// Time for one object, and without a byte of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlacePatience {
    object: Duration,
    quiet: Duration,
}

impl PlacePatience {
    /// For revisions, which may come over a line of a ship's.
    pub(crate) const LONG: Self =
        Self { object: Duration::from_secs(30), quiet: Duration::from_secs(15) };
    /// For somebody who looks at a page.
    pub(crate) const SHORT: Self =
        Self { object: Duration::from_secs(3), quiet: Duration::from_secs(2) };
}

/// Connections to a server.
pub(crate) struct PlaceConnections {
    origins: Origins,
    runtime: LocalRuntime,
    patience: PlacePatience,
}

/// A request for one object.
pub(crate) struct PlaceRequest {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// Bytes of the longest answer.
    pub(crate) most: usize,
}

impl PlaceConnections {
    pub(crate) fn open(dialer: Dialer, patience: PlacePatience) -> Result<Self, PlaceFault> {
        let runtime =
            Builder::new_current_thread().enable_all().build_local(LocalOptions::default());
        let runtime = runtime.map_err(PlaceFault::unreachable)?;
        let limits = OriginLimits { response_timeout: patience.quiet, ..OriginLimits::default() };
        let origins = {
            let _inside = runtime.enter();
            Origins::new(dialer, limits)
        };
        Ok(Self { origins, runtime, patience })
    }

    pub(crate) fn send(&self, request: PlaceRequest) -> Result<WholeAnswer, PlaceFault> {
        let PlaceRequest { method, url, headers, body, most } = request;
        // An answer that says to look elsewhere is no answer of this place.
        let bounds = WholeBounds { redirects: 0, body: most, time: self.patience.object };
        let request = RepeatableRequest { method, url, headers, body };
        let answer = self.runtime.block_on(whole(&self.origins, request, bounds));
        answer.map_err(|why| match why {
            WholeFailure::Long(most) => PlaceFault::TooLarge(most),
            WholeFailure::Fetch(FetchError::Redirects | FetchError::Location(_)) => {
                PlaceFault::unreachable(
                    "it says to look elsewhere, which is not done: name the place itself",
                )
            }
            other => PlaceFault::unreachable(other),
        })
    }
}

/// The object in an answer, with the tag by which the next question is conditional.
pub(crate) fn found(answer: WholeAnswer) -> PlacedObject {
    PlacedObject::Found {
        tag: text(&answer.headers, ETAG).map(str::to_owned),
        server_time: time_of(&answer.headers),
        bytes: answer.body.into(),
    }
}

/// Seconds of Unix time by the server's clock.
pub(crate) fn time_of(headers: &HeaderMap) -> Option<u64> {
    let time = httpdate::parse_http_date(text(headers, DATE)?).ok()?;
    Some(time.duration_since(UNIX_EPOCH).ok()?.as_secs())
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}
