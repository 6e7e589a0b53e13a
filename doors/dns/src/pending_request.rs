//! The client's message and whence it came, for as long as anyone works on it.
//!
//! It owns what a [`DnsCaller`] borrows. Shared by the parts of one question that waits.

use crate::caller::{DnsCaller, QueryTransport};
use dns_wire::DnsQuery;
use resolver::QuerySource;
use std::net::IpAddr;
use std::time::Instant;
use telemetry::{QueryTrace, UpstreamExchange};
use vocab::{LinkInfo, NameBuffer, Now, RequestKind};

/// The client's message and whence it came, for as long as anyone works on it.
pub(crate) struct PendingRequest {
    message: Box<[u8]>,
    client: IpAddr,
    client_port: u16,
    link_info: LinkInfo,
    transport: QueryTransport,
    now: Now,
    started: Instant,
    entry: u16,
    server_name: Box<str>,
    url_path: Box<str>,
    client_id: Box<str>,
    trace: QueryTrace,
}

impl PendingRequest {
    pub(crate) fn new(message: &[u8], caller: DnsCaller<'_>) -> Self {
        Self {
            message: message.into(),
            client: caller.client,
            client_port: caller.client_port,
            link_info: caller.link_info,
            transport: caller.transport,
            now: caller.now,
            started: caller.started,
            entry: caller.entry,
            server_name: caller.server_name.into(),
            url_path: caller.url_path.into(),
            client_id: caller.client_id.into(),
            // What waits may ask upstreams, whose spans want a parent.
            trace: caller.trace.decided(),
        }
    }

    /// Reads the question again, from the same bytes: a question that is read borrows them, and
    /// cannot be kept beside them.
    pub(crate) fn query(&self, text: &mut NameBuffer) -> Option<DnsQuery<'_>> {
        DnsQuery::parse(&self.message, text).ok()
    }

    /// Returns whose share of the questions in flight it takes.
    pub(crate) fn source(&self) -> QuerySource {
        QuerySource::client(self.client, self.client_port)
    }

    /// Begins the span of an exchange with upstreams, if the question is recorded.
    pub(crate) fn exchange_span(&self) -> Option<Box<UpstreamExchange>> {
        if !matches!(self.trace, QueryTrace::Recorded(_)) {
            return None;
        }
        let mut text = NameBuffer::new();
        let kind = RequestKind::Lookup(self.query(&mut text)?.qtype);
        self.trace.exchange(kind, || text.as_name().as_str().to_owned())
    }

    pub(crate) fn caller(&self) -> DnsCaller<'_> {
        DnsCaller {
            client: self.client,
            client_port: self.client_port,
            link_info: self.link_info,
            transport: self.transport,
            now: self.now,
            started: self.started,
            entry: self.entry,
            server_name: &self.server_name,
            url_path: &self.url_path,
            client_id: &self.client_id,
            trace: &self.trace,
        }
    }
}
