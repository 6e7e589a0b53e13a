//! How the cache has a request sent: by the door, which knows origins, pools and parents.

use http::{HeaderMap, Method, Response};
use http_engine::Body;

/// Sends requests without a body to the origin of one URL. Cloned for fetches that go on when the
/// client has left.
pub trait OriginFetcher: Clone + 'static {
    /// Why no answer came.
    type Failure: Clone + 'static;

    /// Sends the request with these fields in place of the client's, and waits for the head of the
    /// answer. Hop-by-hop fields are the implementer's, in both directions. What comes ahead of it
    /// ([`http_engine::interim`]) is told to the client that has caused the fetch.
    fn fetch(
        &self,
        method: &Method,
        fields: HeaderMap,
    ) -> impl Future<Output = Result<Response<Body>, Self::Failure>>;

    /// True if nothing is wrong with the origin, but this client must not reach it: nothing that is
    /// stored stands in for that, and others who wait for the fetch ask for themselves.
    fn is_refusal(_why: &Self::Failure) -> bool {
        false
    }
}
