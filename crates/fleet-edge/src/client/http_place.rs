//! Bundles at any HTTP server that takes `PUT`.

use super::exchange::{PlaceConnections, PlaceRequest, found};
use crate::objects;
use crate::placed::{PlaceFault, PlacedObject};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use fetch::{Url, WholeAnswer};
use http::header::{
    AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, IF_NONE_MATCH,
};
use http::{Method, StatusCode};

/// Bytes of an answer of which only the status counts.
const ANSWER_MAX: usize = 64 << 10;

/// A folder of a server.
pub(crate) struct HttpPlace {
    url: Url,
    authorization: Option<HeaderValue>,
    connections: PlaceConnections,
}

impl HttpPlace {
    pub(crate) fn open(
        url: &Url,
        user: Option<&str>,
        connections: PlaceConnections,
    ) -> Result<Self, PlaceFault> {
        let basic = |user: &str| {
            let value = HeaderValue::try_from(format!("Basic {}", STANDARD.encode(user)));
            value.map(|mut value| {
                value.set_sensitive(true);
                value
            })
        };
        let authorization = user.map(basic).transpose().map_err(PlaceFault::unreachable)?;
        Ok(Self { url: url.clone(), authorization, connections })
    }

    pub(crate) fn prepare(&self) -> Result<(), PlaceFault> {
        objects::WRITTEN_FOLDERS.into_iter().try_for_each(|name| self.make_collection(name))
    }

    /// Makes a folder by `MKCOL` (RFC 4918 §9.3).
    fn make_collection(&self, name: &str) -> Result<(), PlaceFault> {
        let method = Method::from_bytes(b"MKCOL").unwrap_or(Method::PUT);
        let answer = self.send(method, &format!("{name}/"), None, Bytes::new(), ANSWER_MAX)?;
        // One that is there already is not allowed once more.
        let is_there = answer.status == StatusCode::METHOD_NOT_ALLOWED
            && self.send(Method::HEAD, &format!("{name}/"), None, Bytes::new(), 0).is_ok();
        if answer.status.is_success() || is_there { Ok(()) } else { Err(refusal(answer.status)) }
    }

    pub(crate) fn get(
        &self,
        path: &str,
        tag: Option<&str>,
        most: usize,
    ) -> Result<PlacedObject, PlaceFault> {
        let tag = tag.and_then(|tag| HeaderValue::try_from(tag).ok());
        let field = tag.map(|tag| (IF_NONE_MATCH, tag));
        let answer = self.send(Method::GET, path, field, Bytes::new(), most)?;
        match answer.status {
            StatusCode::OK => Ok(found(answer)),
            StatusCode::NOT_MODIFIED => Ok(PlacedObject::Same),
            StatusCode::NOT_FOUND | StatusCode::GONE => Ok(PlacedObject::Missing),
            status => Err(refusal(status)),
        }
    }

    pub(crate) fn put(&self, path: &str, bytes: &[u8]) -> Result<(), PlaceFault> {
        let kind = HeaderValue::from_static("application/octet-stream");
        let body = Bytes::copy_from_slice(bytes);
        let answer = self.send(Method::PUT, path, Some((CONTENT_TYPE, kind)), body, ANSWER_MAX)?;
        if answer.status.is_success() { Ok(()) } else { Err(refusal(answer.status)) }
    }

    pub(crate) fn has(&self, path: &str) -> Result<bool, PlaceFault> {
        let answer = self.send(Method::HEAD, path, None, Bytes::new(), 0)?;
        match answer.status {
            StatusCode::OK | StatusCode::NO_CONTENT => Ok(true),
            StatusCode::NOT_FOUND | StatusCode::GONE => Ok(false),
            status => Err(refusal(status)),
        }
    }

    fn send(
        &self,
        method: Method,
        path: &str,
        field: Option<(HeaderName, HeaderValue)>,
        body: Bytes,
        most: usize,
    ) -> Result<WholeAnswer, PlaceFault> {
        let mut headers = HeaderMap::new();
        headers.extend(field);
        headers.extend(self.authorization.clone().map(|it| (AUTHORIZATION, it)));
        let url = self.url.join(path).map_err(PlaceFault::unreachable)?;
        self.connections.send(PlaceRequest { method, url, headers, body, most })
    }
}

fn refusal(status: StatusCode) -> PlaceFault {
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::METHOD_NOT_ALLOWED => {
            PlaceFault::Refused(format!("the server answered {status}"))
        }
        status => PlaceFault::Unreachable(format!("the server answered {status}")),
    }
}
