//! Questions over HTTPS (RFC 8484): HTTP/2 where the server has it, HTTP/1.1 where not.
//!
//! One connection carries all questions over HTTP/2; over HTTP/1.1 each waits its turn on a few. A
//! connection that breaks or has gone silent is given up, and the question is asked once more on a
//! new one.

use super::dialer::UpstreamDialer;
use super::exchange_error::ExchangeError;
use super::means::ExchangeMeans;
use super::query::UpstreamQuestion;
use crate::settings::address::{UpstreamAddress, UpstreamHost};
use dns_wire::ask_options::age_ttls;
use dns_wire::{KeyBuffer, WireAnswer, check_response};
use http::header::{ACCEPT, AGE, CONTENT_TYPE, HOST};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri, Version};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use http_engine::client::{RequestSender, connect_http1, connect_http2};
use http_engine::{Body, Incoming};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};
use transport::ClientTls;
use transport::tls::Alpn;

/// The media type of DNS messages.
const MEDIA_TYPE: &str = "application/dns-message";
/// A DNS message is no longer.
const ANSWER_BYTES_MAX: usize = 65_535;
/// Connections kept for HTTP/1.1, at most; more are opened when needed, and then closed.
const KEEPALIVE_DEFAULT: usize = 8;
/// A connection unused for so long is not trusted to be alive any more.
const IDLE_DEFAULT: Duration = Duration::from_secs(30);
/// Nor is one that gave nothing for so long.
const REUSE_SILENCE_MAX: Duration = Duration::from_secs(2);

/// The way to one upstream.
pub(crate) struct DohTransport {
    dialer: UpstreamDialer,
    tls: ClientTls,
    idle: Duration,
    keepalive_max: usize,
    /// Connections that are kept open unused.
    standing: usize,
    /// `https://host/path`, for HTTP/2.
    absolute: Result<Uri, http::Error>,
    /// `/path`, for HTTP/1.1.
    path: Result<Uri, http::Error>,
    host: String,
    idle_connections: RefCell<Vec<KeptConnection>>,
    opening: tokio::sync::Mutex<()>,
}

struct KeptConnection {
    sender: RequestSender,
    version: Version,
    last_used: Instant,
}

/// A connection for one question, and whether it was there before.
struct DohSession {
    sender: RequestSender,
    version: Version,
    age: SessionAge,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum SessionAge {
    New,
    Used,
}

impl DohTransport {
    pub(crate) fn new(
        dialer: UpstreamDialer,
        address: &UpstreamAddress,
        means: &Rc<ExchangeMeans>,
    ) -> Self {
        let host = match &address.host {
            UpstreamHost::Ip(std::net::IpAddr::V6(ip)) => format!("[{ip}]"),
            UpstreamHost::Ip(std::net::IpAddr::V4(ip)) => ip.to_string(),
            UpstreamHost::Name(name) => name.to_string(),
        };
        let host = if address.port == 443 { host } else { format!("{host}:{}", address.port) };
        let path = Uri::builder().path_and_query(address.path.as_str()).build();
        let absolute = Uri::builder()
            .scheme("https")
            .authority(host.as_str())
            .path_and_query(address.path.as_str())
            .build();
        let reach = &dialer.dial_settings;
        Self {
            tls: reach.tls(&means.tls),
            idle: reach.idle.unwrap_or(IDLE_DEFAULT),
            keepalive_max: reach
                .connections
                .unwrap_or(KEEPALIVE_DEFAULT.max(reach.min_connections)),
            standing: reach.min_connections,
            dialer,
            absolute,
            path,
            host,
            idle_connections: RefCell::default(),
            opening: tokio::sync::Mutex::new(()),
        }
    }

    /// Asks; the caller ends it after `limit`.
    pub(crate) async fn ask(
        &self,
        wanted: &UpstreamQuestion<'_>,
        limit: Duration,
    ) -> Result<WireAnswer, ExchangeError> {
        let session = self.session(limit).await?;
        if session.age == SessionAge::New {
            return self.ask_on(session, wanted).await;
        }
        // Half of the time at most for a connection that may be dead without saying so.
        let patience = REUSE_SILENCE_MAX.min(limit / 2);
        match tokio::time::timeout(patience, self.ask_on(session, wanted)).await {
            Ok(Err(ExchangeError::Unreachable)) => {}
            Ok(outcome) => return outcome,
            Err(_) => self.idle_connections.borrow_mut().clear(),
        }
        let session = self.session(limit).await?;
        self.ask_on(session, wanted).await
    }

    async fn ask_on(
        &self,
        mut session: DohSession,
        wanted: &UpstreamQuestion<'_>,
    ) -> Result<WireAnswer, ExchangeError> {
        // Number 0 makes equal questions equal requests (RFC 8484 §4.1); TLS keeps guessers out.
        const ID: u16 = 0;
        let request = self.request(session.version, wanted.padded(ID))?;
        session.sender.ready().await.map_err(|_| ExchangeError::Unreachable)?;
        let response =
            session.sender.send(request).await.map_err(|_| ExchangeError::Unreachable)?;
        let (mut message, age_s) = read(response).await?;
        if session.version == Version::HTTP_11 {
            self.keep(session.sender, Version::HTTP_11);
        }
        check_response(&message, ID, KeyBuffer::question(wanted.key))
            .map_err(|_| ExchangeError::BadAnswer)?;
        age_ttls(&mut message, age_s);
        WireAnswer::from_upstream(&message).map_err(|_| ExchangeError::BadAnswer)
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

    async fn session(&self, limit: Duration) -> Result<DohSession, ExchangeError> {
        if let Some(session) = self.take_idle() {
            return Ok(session);
        }
        let _turn = self.opening.lock().await;
        // Somebody else may have opened one meanwhile.
        if let Some(session) = self.take_idle() {
            return Ok(session);
        }
        tokio::time::timeout(limit, self.open(limit)).await.unwrap_or(Err(ExchangeError::Timeout))
    }

    async fn open(&self, limit: Duration) -> Result<DohSession, ExchangeError> {
        let stream = self.dialer.dial(limit).await?;
        let name = self.dialer.server_name();
        let offered = [Alpn::Http2, Alpn::Http1];
        let io = self.tls.connect(stream, &name, &offered).await;
        let io = io.map_err(|_| ExchangeError::Tls)?;
        let (sender, version) = if io.alpn() == Some(Alpn::Http2) {
            let sender = connect_http2(io).await.map_err(|_| ExchangeError::Unreachable)?;
            (sender, Version::HTTP_2)
        } else {
            (connect_http1(io), Version::HTTP_11)
        };
        if let Some(shared) = sender.share() {
            self.keep(shared, version);
        }
        Ok(DohSession { sender, version, age: SessionAge::New })
    }

    fn keep(&self, mut sender: RequestSender, version: Version) {
        let mut kept = self.idle_connections.borrow_mut();
        if kept.len() < self.keepalive_max && !sender.is_closed() {
            kept.push(KeptConnection { sender, version, last_used: Instant::now() });
        }
    }

    /// Opens connections, each within `limit`, until as many stand open as the settings want: one
    /// where it is HTTP/2.
    pub(crate) async fn open_standing(&self, limit: Duration) -> Result<(), ExchangeError> {
        loop {
            let _turn = self.opening.lock().await;
            {
                let mut kept = self.idle_connections.borrow_mut();
                self.drop_unfit(&mut kept);
                let is_shared = kept.iter().any(|it| it.version == Version::HTTP_2);
                if is_shared || kept.len() >= self.standing {
                    return Ok(());
                }
            }
            let opened = tokio::time::timeout(limit, self.open(limit)).await;
            let session = opened.unwrap_or(Err(ExchangeError::Timeout))?;
            if session.version == Version::HTTP_11 {
                self.keep(session.sender, session.version);
            }
        }
    }

    /// Drops those that are closed, and those unused for too long but as many as are kept open.
    fn drop_unfit(&self, kept: &mut Vec<KeptConnection>) {
        kept.retain_mut(|it| !it.sender.is_closed());
        let surplus = kept.len().saturating_sub(self.standing);
        let mut place = 0;
        // The ones used last are at the end.
        kept.retain(|it| {
            place += 1;
            place > surplus || it.last_used.elapsed() < self.idle
        });
    }

    fn take_idle(&self) -> Option<DohSession> {
        let mut kept = self.idle_connections.borrow_mut();
        self.drop_unfit(&mut kept);
        let last = kept.last_mut()?;
        let version = last.version;
        let sender = match last.sender.share() {
            Some(shared) => {
                last.last_used = Instant::now();
                shared
            }
            None => kept.pop()?.sender,
        };
        Some(DohSession { sender, version, age: SessionAge::Used })
    }
}

/// The message, and for how many seconds a cache on the way has held it.
async fn read(response: Response<Incoming>) -> Result<(Vec<u8>, u32), ExchangeError> {
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
    let message = body.map_err(|why| {
        let too_long = why.is::<LengthLimitError>();
        if too_long { ExchangeError::BadAnswer } else { ExchangeError::Unreachable }
    })?;
    let message = message.to_bytes();
    Ok((message.into(), age(&head.headers)))
}

/// Returns what `Age` says (RFC 9111 §5.1); 0 without one, and the most that there is for one too
/// large.
fn age(headers: &HeaderMap) -> u32 {
    let digits = |it: &&str| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit());
    let age = headers.get(AGE).and_then(|it| it.to_str().ok()).map(str::trim).filter(digits);
    age.map_or(0, |age| age.parse().unwrap_or(u32::MAX))
}
