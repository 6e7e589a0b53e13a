//! The record of a request once it is done: its line in the site's access log.
//!
//! A body that is still to be sent carries its line along and writes it when its last byte is gone,
//! or when the client is. It decides nothing. Called by `request`.

use crate::access_log::{AccessLog, AccessLogEntry, protocol};
use bytes::Bytes;
use http::header::{HeaderValue, REFERER, USER_AGENT};
use http::{Method, Uri, Version, request};
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_engine::{Body, BodyError};
use http_front::RequestTicket;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;
use vocab::Now;

/// A line that waits for its status and length.
pub(crate) struct PendingLine {
    log: Arc<AccessLog>,
    client: IpAddr,
    user: Option<Arc<str>>,
    at: Now,
    started: Instant,
    method: Method,
    uri: Uri,
    version: Version,
    host: String,
    referrer: Option<HeaderValue>,
    agent: Option<HeaderValue>,
    status: u16,
}

impl PendingLine {
    /// Begins a line.
    pub(crate) fn begin(
        log: Arc<AccessLog>,
        head: &request::Parts,
        host: &str,
        client: IpAddr,
        at: Now,
    ) -> Self {
        Self {
            log,
            client,
            user: None,
            at,
            started: Instant::now(),
            method: head.method.clone(),
            uri: head.uri.clone(),
            version: head.version,
            host: host.to_owned(),
            referrer: head.headers.get(REFERER).cloned(),
            agent: head.headers.get(USER_AGENT).cloned(),
            status: 0,
        }
    }

    /// The name that the client has proven.
    pub(crate) fn user(&mut self, user: Option<Arc<str>>) {
        self.user = user;
    }

    /// The status that was answered.
    pub(crate) fn answered(&mut self, status: u16) {
        self.status = status;
    }

    /// Writes the line: `bytes` of body were sent.
    pub(crate) fn done(self, bytes: u64) {
        let target = self.uri.path_and_query().map_or("*", http::uri::PathAndQuery::as_str);
        let protocol = protocol(self.version);
        let entry = AccessLogEntry {
            client: self.client,
            user: self.user.as_deref().unwrap_or(""),
            unix_ms: self.at.unix_ms,
            method: self.method.as_str(),
            target,
            protocol,
            host: &self.host,
            status: self.status,
            bytes,
            referrer: self.referrer.as_ref().map_or(b"", HeaderValue::as_bytes),
            agent: self.agent.as_ref().map_or(b"", HeaderValue::as_bytes),
            duration_us: u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX),
        };
        self.log.write(&entry, transport::clock::now().mono_ms);
    }
}

/// A body that is counted as it leaves, with what is to be closed after it.
pub(crate) struct CountedBody {
    inner: Body,
    sent: u64,
    ticket: Option<RequestTicket>,
    line: Option<PendingLine>,
}

impl CountedBody {
    /// Counts `inner`; ticket and line are closed with the count when it is dropped.
    pub(crate) fn new(
        inner: Body,
        ticket: Option<RequestTicket>,
        line: Option<PendingLine>,
    ) -> Self {
        Self { inner, sent: 0, ticket, line }
    }
}

impl HttpBody for CountedBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let frame = ready!(Pin::new(&mut self.inner).poll_frame(cx));
        match &frame {
            Some(Ok(frame)) => self.sent += frame.data_ref().map_or(0, Bytes::len) as u64,
            Some(Err(_)) => {
                if let Some(ticket) = &mut self.ticket {
                    ticket.broke_off();
                }
            }
            None => {}
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

impl Drop for CountedBody {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            ticket.close(self.sent);
        }
        if let Some(line) = self.line.take() {
            line.done(self.sent);
        }
    }
}
