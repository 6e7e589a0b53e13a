//! Questions over HTTPS (RFC 8484): HTTP/2 where the server has it, HTTP/1.1 where not.
//!
//! One connection carries all questions over HTTP/2; over HTTP/1.1 each waits its turn on a few. A
//! connection that breaks or has gone silent is given up, and the question is asked once more on a
//! new one.

use super::address::{Host, UpstreamAddress};
use super::exchange::{ExchangeError, Means, Place};
use dns_wire::{Answer, KeyBuffer, check_response, write_query};
use http::header::{ACCEPT, CONTENT_TYPE, HOST};
use http::{HeaderValue, Method, Request, Response, StatusCode, Uri, Version};
use http_body_util::{BodyExt, Limited};
use http_engine::client::{Sender, connect_http1, connect_http2};
use http_engine::{Body, Incoming};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};
use transport::tls::Alpn;

/// The media type of DNS messages.
const MEDIA_TYPE: &str = "application/dns-message";
/// A DNS message is no longer.
const ANSWER_BYTES_MAX: usize = 65_535;
/// Connections kept for HTTP/1.1, at most; more are opened when needed, and then closed.
const KEPT_MAX: usize = 8;
/// A connection unused for so long is not trusted to be alive any more.
const IDLE_MAX: Duration = Duration::from_secs(30);
/// Nor is one that gave nothing for so long.
const SILENCE_MAX: Duration = Duration::from_secs(2);

/// The way to one upstream.
pub(super) struct HttpWay {
    place: Place,
    means: Rc<Means>,
    /// `https://host/path`, for HTTP/2.
    absolute: Result<Uri, http::Error>,
    /// `/path`, for HTTP/1.1.
    path: Result<Uri, http::Error>,
    host: String,
    kept: RefCell<Vec<Kept>>,
    opening: tokio::sync::Mutex<()>,
}

struct Kept {
    sender: Sender,
    version: Version,
    used: Instant,
}

/// A connection for one question, and whether it was there before.
struct Session {
    sender: Sender,
    version: Version,
    age: Age,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Age {
    New,
    Used,
}

impl HttpWay {
    pub(super) fn new(place: Place, address: &UpstreamAddress, means: Rc<Means>) -> Self {
        let host = match &address.host {
            Host::Ip(std::net::IpAddr::V6(ip)) => format!("[{ip}]"),
            Host::Ip(std::net::IpAddr::V4(ip)) => ip.to_string(),
            Host::Name(name) => name.to_string(),
        };
        let host = if address.port == 443 { host } else { format!("{host}:{}", address.port) };
        let path = Uri::builder().path_and_query(address.path.as_str()).build();
        let absolute = Uri::builder()
            .scheme("https")
            .authority(host.as_str())
            .path_and_query(address.path.as_str())
            .build();
        Self {
            place,
            means,
            absolute,
            path,
            host,
            kept: RefCell::default(),
            opening: tokio::sync::Mutex::new(()),
        }
    }

    /// Asks the question within `key`; the caller ends it after `limit`.
    pub(super) async fn ask(&self, key: &[u8], limit: Duration) -> Result<Answer, ExchangeError> {
        let session = self.session(limit).await?;
        if session.age == Age::New {
            return self.ask_on(session, key).await;
        }
        // Half of the time at most for a connection that may be dead without saying so.
        let patience = SILENCE_MAX.min(limit / 2);
        match tokio::time::timeout(patience, self.ask_on(session, key)).await {
            Ok(Err(ExchangeError::Unreachable)) => {}
            Ok(outcome) => return outcome,
            Err(_) => self.kept.borrow_mut().clear(),
        }
        let session = self.session(limit).await?;
        self.ask_on(session, key).await
    }

    async fn ask_on(&self, mut session: Session, key: &[u8]) -> Result<Answer, ExchangeError> {
        // Number 0 makes equal questions equal requests (RFC 8484 §4.1); TLS keeps guessers out.
        const ID: u16 = 0;
        let mut query = Vec::with_capacity(key.len() + 32);
        write_query(ID, key, &mut query);
        let request = self.request(session.version, query)?;
        session.sender.ready().await.map_err(|_| ExchangeError::Unreachable)?;
        let response =
            session.sender.send(request).await.map_err(|_| ExchangeError::Unreachable)?;
        let message = read(response).await?;
        if session.version == Version::HTTP_11 {
            self.keep(session.sender, Version::HTTP_11);
        }
        check_response(&message, ID, KeyBuffer::question(key))
            .map_err(|_| ExchangeError::BadAnswer)?;
        Answer::from_response(&message).map_err(|_| ExchangeError::BadAnswer)
    }

    fn request(&self, version: Version, query: Vec<u8>) -> Result<Request<Body>, ExchangeError> {
        let uri = if version == Version::HTTP_2 { &self.absolute } else { &self.path };
        let uri = uri.as_ref().map_err(|_| ExchangeError::Unreachable)?.clone();
        let media_type = HeaderValue::from_static(MEDIA_TYPE);
        let mut request = Request::builder()
            .method(Method::POST)
            .uri(uri)
            .header(ACCEPT, &media_type)
            .header(CONTENT_TYPE, media_type);
        if version == Version::HTTP_11 {
            request = request.header(HOST, self.host.as_str());
        }
        request.body(Body::full(query)).map_err(|_| ExchangeError::Unreachable)
    }

    async fn session(&self, limit: Duration) -> Result<Session, ExchangeError> {
        if let Some(session) = self.kept() {
            return Ok(session);
        }
        let _turn = self.opening.lock().await;
        // Somebody else may have opened one meanwhile.
        if let Some(session) = self.kept() {
            return Ok(session);
        }
        tokio::time::timeout(limit, self.open(limit)).await.unwrap_or(Err(ExchangeError::Timeout))
    }

    async fn open(&self, limit: Duration) -> Result<Session, ExchangeError> {
        let stream = self.place.dial(limit).await?;
        let name = self.place.server_name();
        let offered = [Alpn::Http2, Alpn::Http1];
        let io = self.means.tls.connect(stream, &name, &offered).await;
        let io = io.map_err(|_| ExchangeError::Tls)?;
        let (sender, version) = if io.alpn() == Some(Alpn::Http2) {
            (connect_http2(io).await, Version::HTTP_2)
        } else {
            (connect_http1(io).await, Version::HTTP_11)
        };
        let sender = sender.map_err(|_| ExchangeError::Unreachable)?;
        if let Some(shared) = sender.share() {
            self.keep(shared, version);
        }
        Ok(Session { sender, version, age: Age::New })
    }

    fn keep(&self, sender: Sender, version: Version) {
        let mut kept = self.kept.borrow_mut();
        if kept.len() < KEPT_MAX && !sender.is_closed() {
            kept.push(Kept { sender, version, used: Instant::now() });
        }
    }

    fn kept(&self) -> Option<Session> {
        let mut kept = self.kept.borrow_mut();
        kept.retain(|it| !it.sender.is_closed() && it.used.elapsed() < IDLE_MAX);
        let last = kept.last_mut()?;
        let version = last.version;
        let sender = match last.sender.share() {
            Some(shared) => {
                last.used = Instant::now();
                shared
            }
            None => kept.pop()?.sender,
        };
        Some(Session { sender, version, age: Age::Used })
    }
}

async fn read(response: Response<Incoming>) -> Result<bytes::Bytes, ExchangeError> {
    let (head, body) = response.into_parts();
    let is_dns = head
        .headers
        .get(CONTENT_TYPE)
        .and_then(|it| it.to_str().ok())
        .and_then(|it| it.split(';').next())
        .is_some_and(|it| it.trim().eq_ignore_ascii_case(MEDIA_TYPE));
    if head.status != StatusCode::OK || !is_dns {
        return Err(ExchangeError::BadAnswer);
    }
    let body = Limited::new(body, ANSWER_BYTES_MAX).collect().await;
    body.map(http_body_util::Collected::to_bytes).map_err(|_| ExchangeError::Unreachable)
}
