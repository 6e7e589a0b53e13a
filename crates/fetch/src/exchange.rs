//! One HTTP request, with the redirects that it leads to.
//!
//! It goes wherever the configuration says, over our own resolver. What was meant for one host
//! alone (`Authorization`, `Cookie`) does not follow to another, and nothing goes from TLS to plain
//! text by a redirect. Called by the DNS door's HTTP hook and by [`super::keep`].

use super::url::{BadUrl, Url};
use bytes::Bytes;
use http::header::{
    AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, HOST, LOCATION, USER_AGENT,
};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_engine::Body;
use origins::{AnyDestination, OriginScheme, Origins, SendError};
use std::fmt;

const OUR_NAME: &str = concat!("tidegate/", env!("CARGO_PKG_VERSION"));

/// A request that can be made again.
#[derive(Clone, Debug)]
pub struct RepeatableRequest {
    /// GET, POST and so on.
    pub method: Method,
    /// Where it goes.
    pub url: Url,
    /// Fields besides `Host`; `User-Agent` is ours if none is here.
    pub headers: HeaderMap,
    /// The body; may be empty.
    pub body: Bytes,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FetchError {
    /// The host did not answer.
    Send(SendError),
    /// A redirect leads nowhere.
    Location(BadUrl),
    /// A redirect would leave TLS.
    Insecure,
    /// More redirects than allowed.
    Redirects,
}

/// Sends it, and follows at most `redirects_max` redirects.
pub async fn fetch(
    origins: &Origins,
    mut outgoing: RepeatableRequest,
    redirects_max: u8,
) -> Result<Response<Body>, FetchError> {
    for _ in 0..=redirects_max {
        let response =
            origins.send(&outgoing.url.origin, Box::new(outgoing.request()), &AnyDestination).await;
        let response = response.map_err(|unanswered| FetchError::Send(unanswered.error))?;
        let location = response.headers().get(LOCATION).and_then(|it| it.to_str().ok());
        let (true, Some(location)) = (is_redirect(response.status()), location) else {
            return Ok(response);
        };
        let next = outgoing.url.join(location).map_err(FetchError::Location)?;
        outgoing = outgoing.redirected(next, response.status())?;
    }
    Err(FetchError::Redirects)
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::MOVED_PERMANENTLY
            | StatusCode::FOUND
            | StatusCode::SEE_OTHER
            | StatusCode::TEMPORARY_REDIRECT
            | StatusCode::PERMANENT_REDIRECT
    )
}

impl RepeatableRequest {
    fn request(&self) -> Request<Body> {
        let mut request = Request::new(Body::full(self.body.clone()));
        *request.method_mut() = self.method.clone();
        // A target is ASCII without blanks and controls, which is all that a URI asks for.
        *request.uri_mut() = self.url.target.parse().unwrap_or_default();
        let headers = request.headers_mut();
        headers.clone_from(&self.headers);
        if let Ok(host) = HeaderValue::from_str(&self.url.origin.authority()) {
            headers.insert(HOST, host);
        }
        headers.entry(USER_AGENT).or_insert(HeaderValue::from_static(OUR_NAME));
        request
    }

    fn redirected(mut self, next: Url, status: StatusCode) -> Result<Self, FetchError> {
        let was_tls = self.url.origin.scheme == OriginScheme::Https;
        if was_tls && next.origin.scheme == OriginScheme::Http {
            return Err(FetchError::Insecure);
        }
        if self.url.origin != next.origin {
            self.headers.remove(AUTHORIZATION);
            self.headers.remove(COOKIE);
        }
        // 303 always, 301 and 302 by custom for POST: the next one only looks (RFC 9110 §15.4).
        let looks = match status {
            StatusCode::SEE_OTHER => self.method != Method::HEAD,
            StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND => self.method == Method::POST,
            _ => false,
        };
        if looks {
            self.method = Method::GET;
            self.body = Bytes::new();
            self.headers.remove(CONTENT_TYPE);
            self.headers.remove(CONTENT_LENGTH);
        }
        self.url = next;
        Ok(self)
    }
}

impl fmt::Display for FetchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Send(why) => why.fmt(f),
            Self::Location(why) => write!(f, "a redirect leads nowhere: {why}"),
            Self::Insecure => f.write_str("a redirect would leave TLS"),
            Self::Redirects => f.write_str("there are more redirects than are followed"),
        }
    }
}

impl std::error::Error for FetchError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn post(url: &str) -> RepeatableRequest {
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, HeaderValue::from_static("secret"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
        let url = Url::parse(url).expect("right");
        RepeatableRequest { method: Method::POST, url, headers, body: Bytes::from_static(b"x") }
    }

    #[test]
    fn secrets_do_not_follow_to_another_host() {
        let next = Url::parse("https://b.example/").expect("right");
        let sent = post("https://a.example/").redirected(next, StatusCode::TEMPORARY_REDIRECT);
        let sent = sent.expect("still TLS");
        assert_eq!(sent.headers.get(AUTHORIZATION), None);
        assert_eq!((sent.method, &sent.body[..]), (Method::POST, &b"x"[..]));
        let same = Url::parse("https://a.example/b").expect("right");
        let sent = post("https://a.example/").redirected(same, StatusCode::SEE_OTHER);
        let sent = sent.expect("still TLS");
        assert!(sent.headers.contains_key(AUTHORIZATION));
        assert_eq!((sent.method, sent.body.len()), (Method::GET, 0));
        assert_eq!(sent.headers.get(CONTENT_TYPE), None);
    }

    #[test]
    fn a_redirect_does_not_leave_tls() {
        let next = Url::parse("http://a.example/").expect("right");
        let sent = post("https://a.example/").redirected(next, StatusCode::FOUND);
        assert_eq!(sent.map(|it| it.url), Err(FetchError::Insecure));
    }
}
