//! A request as HTTP/2 has it: an absolute URI, no `Host`, nothing that is for one connection
//! alone.
//!
//! The gateway's requests are made for HTTP/1.1, whichever server they will go to; this changes one
//! when its connection is known, and changes it back if it was not sent (RFC 9113 §8.2.2, §8.3.1).
//! Called by
//! [`super::send`].

use super::server::OriginServer;
use http::header::{HOST, HeaderValue};
use http::uri::{Authority, PathAndQuery};
use http::{Request, Uri};
use http_engine::body::Body;
use http_engine::{hop_by_hop, upgrade};

/// Holds what a request for HTTP/1.1 has that one for HTTP/2 has not.
pub(super) struct Http1Fields {
    uri: Uri,
    host: Option<HeaderValue>,
}

/// Its `Host` cannot stand in a URL.
pub(super) struct BadHost;

/// Makes `request` one for HTTP/2 with `server`.
pub(super) fn prepare_request(
    request: &mut Request<Body>,
    server: &OriginServer,
) -> Result<Http1Fields, BadHost> {
    let named = request.headers().get(HOST).filter(|host| !host.is_empty());
    let authority = match named {
        Some(host) => Authority::try_from(host.as_bytes()).map_err(|_| BadHost)?,
        None => Authority::try_from(server.authority()).map_err(|_| BadHost)?,
    };
    let path = request.uri().path_and_query().cloned();
    let absolute = Uri::builder()
        .scheme(server.scheme())
        .authority(authority)
        .path_and_query(path.unwrap_or_else(|| PathAndQuery::from_static("/")))
        .build()
        .map_err(|_| BadHost)?;
    let host = request.headers_mut().remove(HOST);
    hop_by_hop::strip(request.headers_mut());
    // Of the client's own stream, and none of the server's.
    request.extensions_mut().remove::<upgrade::Protocol>();
    Ok(Http1Fields { uri: std::mem::replace(request.uri_mut(), absolute), host })
}

impl Http1Fields {
    /// Makes a request that was not sent what it was.
    pub(super) fn restore(self, request: &mut Request<Body>) {
        *request.uri_mut() = self.uri;
        if let Some(host) = self.host {
            request.headers_mut().insert(HOST, host);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;
    use http::header::{CONNECTION, TE, UPGRADE};

    #[test]
    fn a_request_becomes_absolute_and_comes_back() {
        let request = |path: &str, host: &str| {
            Request::builder()
                .uri(path)
                .header(HOST, host)
                .header(CONNECTION, "upgrade")
                .header(UPGRADE, "websocket")
                .header(TE, "trailers")
                .body(Body::empty())
                .unwrap()
        };
        for (path, host, server, expected) in [
            ("/a?b", "app.example", "https://10.0.0.1", "https://app.example/a?b"),
            ("/a", "", "h2c://10.0.0.1:81", "http://10.0.0.1:81/a"),
            ("/", "app.example:8080", "h2c+unix:/x", "http://app.example:8080/"),
        ] {
            let mut request = request(path, host);
            let before = prepare_request(&mut request, &server.parse().unwrap()).ok().unwrap();
            assert_eq!(request.uri().to_string(), expected);
            assert_eq!(request.headers().keys().collect::<Vec<_>>(), [TE]);
            before.restore(&mut request);
            assert_eq!(request.uri().to_string(), path);
            assert_eq!(request.headers()[HOST], host);
        }
        let mut everything = request("*", "app.example");
        assert!(prepare_request(&mut everything, &"h2c://10.0.0.1".parse().unwrap()).is_ok());
        assert_eq!(everything.uri().path(), "*");
        let mut wrong = request("/", "a b");
        assert!(prepare_request(&mut wrong, &"h2c://10.0.0.1".parse().unwrap()).is_err());
        assert_eq!(wrong.headers()[HOST], "a b");
    }
}
