//! The fast path: hits of the cache, without building a request for hyper.
//!
//! It asks the policy and records as `request` does, with the same words; what it cannot answer at
//! once (anything but a fresh hit in memory for a client that needs no password) it leaves to
//! `request`, untouched and unrecorded. Called by the engine for every simple request of a
//! connection.

use crate::connection::ProxyConnection;
use crate::decide::{ProxyDecision, ProxyQuery, decide};
use crate::door::ProxyDoor;
use crate::setup::ProxySetup;
use access_log::{AccessLog, AccessLogEntry, protocol};
use http_engine::fast_path::{FastPath, FastReply, SimpleMethod, SimpleRequest, TargetForm};
use http_engine::{authority, kind};
use http_front::{FastPathEvent, is_in_trace, page_of_fields, with_url};
use std::sync::Arc;
use std::time::Instant;
use transport::clock;
use vocab::{Caching, DomainName, Name, Source};

/// The door, as one connection sees it.
pub(crate) struct ProxyFastPath {
    pub(crate) door: Arc<ProxyDoor>,
    pub(crate) connection: Arc<ProxyConnection>,
}

impl FastPath for ProxyFastPath {
    const FORM: TargetForm = TargetForm::Absolute;

    fn answer(&self, request: &SimpleRequest<'_>, out: &mut Vec<u8>) -> FastReply {
        let setup = self.door.setup();
        if is_in_trace(request) {
            return FastReply::Decline;
        }
        let authority = request.host().unwrap_or("");
        // Browsers send names in lower case; any other way is `request`'s to read.
        let Ok(host) = Name::from_lowercase(authority::host(authority)) else {
            return FastReply::Decline;
        };
        if !self.is_open(&setup, authority, host) {
            return FastReply::Decline;
        }
        with_url(["http://", authority, request.target()], |url| {
            self.answer_url(&setup, request, host, url, out).unwrap_or(FastReply::Decline)
        })
    }
}

impl ProxyFastPath {
    /// True if this client is served this host's pages without further questions.
    fn is_open(&self, setup: &ProxySetup, authority: &str, host: Name<'_>) -> bool {
        let port = match authority.strip_prefix(host.as_str()) {
            Some("") => 80,
            // What would be left out of the URL is left to `request`.
            Some(port) => match port.strip_prefix(':').and_then(|port| port.parse().ok()) {
                None | Some(80) => return false,
                Some(port) => port,
            },
            None => return false,
        };
        setup.access.is_none()
            && self.connection.intercepted.is_none()
            && setup.redirector.is_none()
            && setup.hooks.is_none()
            && setup.fields.keeps_answers()
            && setup.serves(self.connection.client())
            && setup.fetches_from(port)
            && self.connection.context.local.is_some_and(|local| local.port() != port)
    }

    fn answer_url(
        &self,
        setup: &ProxySetup,
        request: &SimpleRequest<'_>,
        host: Name<'_>,
        url: &str,
        out: &mut Vec<u8>,
    ) -> Option<FastReply> {
        let (started, now) = (Instant::now(), clock::now());
        let cache = setup.cache_for(host, url, now)?;
        if setup.never.as_ref().is_some_and(|never| never.holds(host, url, now)) {
            return None;
        }
        // decide
        let field = |name: &str| request.text(name).unwrap_or("");
        let page = page_of_fields(field);
        let method = request.method().into();
        let kind = kind::of_fields(&method, request.path(), field);
        let page_name = page.as_ref().map(DomainName::as_name);
        let (user, url_asked) = (None, Some(url));
        let asked =
            ProxyQuery { method: &method, host, page: page_name, kind, user, url: url_asked };
        let ProxyDecision::Pass(verdict) = decide(&self.door, &self.connection, &asked, now) else {
            return None;
        };
        // act, shape
        let written = cache.at_once(request, url, now, setup.fields.signature(), out)?;
        // record
        let event = FastPathEvent {
            at: now,
            took_us: u32::try_from(started.elapsed().as_micros()).unwrap_or(u32::MAX),
            door: vocab::Door::Proxy,
            client: self.connection.client(),
            kind,
            url,
            action: verdict.action,
            cause: verdict.cause,
            source: Source::Cache,
            caching: Caching::HIT,
            status: written.status,
            bytes: written.bytes,
        };
        if let Some(log) = &setup.access_log {
            self.log(log, request, host, &event);
        }
        event.record(&self.door.parts.ledger);
        if telemetry::is_observed() {
            event.observe(request, self.connection.context.scheme(), request.host().unwrap_or(""));
        }
        Some(written.reply)
    }

    fn log(
        &self,
        log: &AccessLog,
        request: &SimpleRequest<'_>,
        host: Name<'_>,
        event: &FastPathEvent<'_>,
    ) {
        log.write(&AccessLogEntry {
            door: event.door,
            client: event.client,
            user: "",
            unix_ms: event.at.unix_ms,
            method: if request.method() == SimpleMethod::Head { "HEAD" } else { "GET" },
            target: event.url,
            protocol: protocol(request.version()),
            scheme: self.connection.context.scheme(),
            host: host.as_str(),
            status: event.status,
            bytes: u64::from(event.bytes),
            duration_us: u64::from(event.took_us),
            action: event.action,
            source: event.source,
            caching: event.caching,
            field: &|name| request.field(name),
        });
    }
}
