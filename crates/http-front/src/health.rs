//! A path at which a door says that it serves, for load balancers that ask.
//!
//! It asks no policy and no server, records nothing and tells nothing but that the door answers.
//! Called by the doors before anything else of a request is read.

use http::{Method, Request, Response, StatusCode, header};
use http_engine::Body;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vocab::Complaint;

/// Longest path, in bytes.
const PATH_BYTES_MAX: usize = 256;

/// The path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct HealthPath(String);

impl HealthPath {
    /// The complaint about a path that no request could ask for, or that asks for everything.
    pub fn check(&self) -> Option<Complaint> {
        let path = &self.0;
        let is_right = path.len() > 1
            && path.len() <= PATH_BYTES_MAX
            && path.starts_with('/')
            && path.bytes().all(|byte| byte.is_ascii_graphic() && !b"?#".contains(&byte));
        (!is_right).then(|| {
            let remedy = "write a path from the slash without query, as in /healthz";
            Complaint::new("health", format!("{path:?} is no path of its own")).remedy(remedy)
        })
    }

    /// The answer, if the request asks for it: `GET` or `HEAD` of this path and no query.
    pub fn answer<B>(path: Option<&Self>, request: &Request<B>) -> Option<Response<Body>> {
        let path = path?;
        let reads = matches!(*request.method(), Method::GET | Method::HEAD);
        if !reads || request.uri().path_and_query()?.as_str() != path.0 {
            return None;
        }
        let text = "ok\n";
        let is_head = request.method() == Method::HEAD;
        let body = if is_head { Body::empty() } else { Body::full(text) };
        let mut response = Response::new(body);
        *response.status_mut() = StatusCode::OK;
        let fields = response.headers_mut();
        let plain = http::HeaderValue::from_static("text/plain; charset=utf-8");
        fields.insert(header::CONTENT_TYPE, plain);
        fields.insert(header::CACHE_CONTROL, http::HeaderValue::from_static("no-store"));
        Some(response)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_path_itself_is_answered_and_only_to_who_reads() {
        let path = HealthPath("/healthz".into());
        let asked = |method: &str, uri: &str| {
            let request = Request::builder().method(method).uri(uri).body(()).unwrap();
            HealthPath::answer(Some(&path), &request).is_some()
        };
        assert!(asked("GET", "/healthz") && asked("HEAD", "https://a.example/healthz"));
        for (method, uri) in
            [("POST", "/healthz"), ("GET", "/healthz?x"), ("GET", "/healthz/"), ("GET", "/")]
        {
            assert!(!asked(method, uri), "{method} {uri}");
        }
        let request = Request::builder().uri("/healthz").body(()).unwrap();
        assert!(HealthPath::answer(None, &request).is_none());
    }

    #[test]
    fn a_path_that_would_take_others_along_is_refused() {
        for wrong in ["", "/", "healthz", "/a?b", "/a b", "/\u{e4}"] {
            assert!(HealthPath(wrong.into()).check().is_some(), "{wrong}");
        }
        assert_eq!(HealthPath("/.well-known/health".into()).check(), None);
    }
}
