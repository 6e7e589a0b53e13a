//! The fast path: small files out of memory, without building a request for hyper.
//!
//! It asks the policy and records as `request` does, with the same words; what it cannot answer at
//! once (anything but a file in memory, anything blocked, ranges) it leaves to `request`, untouched
//! and unrecorded. Called by the engine for every simple request of a connection.

use crate::answer::FileSource;
use crate::concat;
use crate::connection::WebConnection;
use crate::film;
use crate::forwarded::FORWARDED_PROTO;
use crate::look::{self, PathContent};
use crate::negotiate;
use crate::parts::WebParts;
use crate::path::{self, PathTarget};
use crate::site::Site;
use crate::store::{KeptFile, StoredForm};
use crate::table::RoutedSite;
use access_log::{AccessLog, AccessLogEntry, protocol};
use http::{HeaderValue, Method};
use http_engine::conditional::{Precondition, precondition};
use http_engine::fast_path::{FastPath, FastReply, SimpleMethod, SimpleRequest};
use http_engine::{authority, kind};
use http_front::{FastPathEvent, is_in_trace, page_of_fields, with_url};
use policy::{Ask, Policy, Verdict};
use std::sync::Arc;
use std::time::Instant;
use transport::clock;
use vocab::{Action, Caching, DomainName, Name, Now, RequestKind, Source};

/// Up to here a body is copied behind its head, for one write of one piece.
const COPIED_BYTES_MAX: usize = 16 << 10;
/// What changes the answer in ways that `request` knows.
const NOT_SIMPLE: [&str; 4] = ["range", "if-range", "if-match", "if-unmodified-since"];

/// The door, as one connection sees it.
pub(crate) struct WebFastPath(pub(crate) Arc<WebConnection>);

/// Holds what rules and rows ask of a request beyond its host. Nobody puts it together where there
/// are neither.
struct RuleInput<'a> {
    url: &'a str,
    kind: RequestKind,
    page: Option<DomainName>,
}

/// A request that the policy lets pass or not, with what rows ask of it.
struct DecidedRequest<'a> {
    host: Name<'a>,
    verdict: Verdict,
    /// None where neither a rule nor a row asks.
    asked: Option<RuleInput<'a>>,
    started: Instant,
    now: Now,
}

/// When a request was read, and the microseconds until its answer.
#[derive(Clone, Copy)]
struct FastTime {
    at: Now,
    took_us: u32,
}

/// What was written of an answer.
struct WrittenFile {
    status: u16,
    bytes: u32,
    reply: FastReply,
}

impl FastPath for WebFastPath {
    fn answer(&self, request: &SimpleRequest<'_>, out: &mut Vec<u8>) -> FastReply {
        if NOT_SIMPLE.iter().any(|name| request.field(name).is_some()) || is_in_trace(request) {
            return FastReply::Decline;
        }
        let authority = request.host().unwrap_or("");
        let host = authority::host(authority);
        let lowered;
        // Clients send names in lower case, nearly all of them.
        let host = if let Ok(name) = Name::from_lowercase(host) {
            name
        } else {
            lowered = DomainName::parse(host);
            lowered.as_ref().map_or(Name::ROOT, DomainName::as_name)
        };
        let (started, now) = (Instant::now(), clock::now());
        let WebParts { policy, ledger, .. } = &self.0.door.parts;
        let policy = policy.load();
        if let Some(verdict) = policy.verdict_for_all(now)
            && !ledger.wants_row(verdict.action)
        {
            let decided = DecidedRequest { host, verdict, asked: None, started, now };
            return self.answer_decided(request, decided, out);
        }
        let scheme = self.0.context.scheme();
        with_url([scheme, "://", authority, request.target()], |url| {
            let field = |name: &str| request.text(name).unwrap_or("");
            let asked = RuleInput {
                url,
                kind: kind::of_fields(&request.method().into(), request.path(), field),
                page: page_of_fields(field),
            };
            let verdict = self.decide(&policy, host, &asked, now);
            let decided = DecidedRequest { host, verdict, asked: Some(asked), started, now };
            self.answer_decided(request, decided, out)
        })
    }
}

impl WebFastPath {
    fn decide(&self, policy: &Policy, host: Name<'_>, asked: &RuleInput<'_>, now: Now) -> Verdict {
        let RuleInput { url, kind, page } = asked;
        let page = page.as_ref().map(DomainName::as_name);
        let (door, client) = (vocab::Door::Web, self.0.client());
        let who = self.0.context.link_info(policy.link_info_needs(), now).into();
        let ask =
            Ask { door, client, identity: Some(&who), host, kind: *kind, url: Some(url), page };
        policy.decide(&ask, now)
    }

    /// The request once it is decided about: act, shape, record.
    fn answer_decided(
        &self,
        request: &SimpleRequest<'_>,
        decided: DecidedRequest<'_>,
        out: &mut Vec<u8>,
    ) -> FastReply {
        let DecidedRequest { host, verdict, asked, started, now } = decided;
        if verdict.action == Action::Block {
            return FastReply::Decline;
        }
        // act
        let said = request.field(FORWARDED_PROTO);
        let found = self.find(host, request.path(), said, now);
        let query = request.target().get(request.path().len() + 1..);
        // Several files are asked for, or a film from its middle on.
        let found = found.filter(|(site, kept)| {
            concat::names_of(site, query).is_none()
                && film::begin(site, &kept.meta.path, query).is_none()
        });
        let Some((site, kept)) = found else {
            return FastReply::Decline;
        };
        let accepts = request.text("accept-encoding");
        let Some(kept) = negotiate::stored_form(site, kept, accepts, now) else {
            return FastReply::Decline;
        };
        // shape
        let hsts = site.hsts.as_ref().filter(|_| self.0.context.handshake().is_some());
        let written = shape(request, &kept, hsts, out);
        // record
        let took_us = u32::try_from(started.elapsed().as_micros()).unwrap_or(u32::MAX);
        if let Some(log) = &site.log {
            self.log(log, request, host, &written, FastTime { at: now, took_us });
        }
        let ledger = &self.0.door.parts.ledger;
        let is_row = asked.is_some();
        let asked = asked.unwrap_or(RuleInput { url: "", kind: RequestKind::Other, page: None });
        let event = FastPathEvent {
            at: now,
            took_us,
            door: vocab::Door::Web,
            client: self.0.client(),
            kind: asked.kind,
            url: asked.url,
            action: verdict.action,
            cause: verdict.cause,
            source: Source::File,
            caching: Caching::NONE,
            status: written.status,
            bytes: written.bytes,
        };
        if is_row {
            event.record(ledger);
        } else {
            event.count(ledger);
        }
        if telemetry::is_observed() {
            event.observe(request, self.0.context.scheme(), request.host().unwrap_or(""));
        }
        written.reply
    }

    fn log(
        &self,
        log: &AccessLog,
        request: &SimpleRequest<'_>,
        host: Name<'_>,
        written: &WrittenFile,
        time: FastTime,
    ) {
        let entry = AccessLogEntry {
            door: vocab::Door::Web,
            client: self.0.client(),
            user: "",
            unix_ms: time.at.unix_ms,
            method: if request.method() == SimpleMethod::Head { "HEAD" } else { "GET" },
            target: request.target(),
            protocol: protocol(request.version()),
            scheme: self.0.context.scheme(),
            host: host.as_str(),
            status: written.status,
            bytes: u64::from(written.bytes),
            duration_us: u64::from(time.took_us),
            action: Action::Pass,
            source: Source::File,
            caching: Caching::NONE,
            field: &|name| request.field(name),
        };
        log.write(&entry);
    }

    /// The site and its file at this path, if that is in memory or can be kept there now, and
    /// nothing comes before it: another handshake, a password, HTTPS, a redirect, a script of any
    /// sort.
    fn find(
        &self,
        host: Name<'_>,
        path: &str,
        forwarded: Option<&[u8]>,
        now: Now,
    ) -> Option<(&Site, Arc<KeptFile>)> {
        let WebConnection { table, context, .. } = &*self.0;
        let text = path::plain_text(path)?;
        let RoutedSite::Site(site) = table.route(host, &text) else { return None };
        if !site.handshake_demand.allows(context)
            || site.sends_on(context, forwarded).is_some()
            || site.auth.guards(&text)
            || site.hooks.is_some()
            || site.rules.redirects(&text)
            // The other lane opens it once more.
            || site.fastcgi.script(&text).is_some()
        {
            return None;
        }
        // What is kept under a path was found there before, past scripts and hidden names.
        let kept =
            site.store.get(path, StoredForm::Plain, &site.root, now).or_else(
                || match look::look(site, path, &PathTarget::parse(path).ok()?, now) {
                    PathContent::File(FileSource::Kept(kept)) => Some(kept),
                    PathContent::Script(_)
                    | PathContent::Program(_)
                    | PathContent::File(FileSource::Open(..) | FileSource::Coded(..))
                    | PathContent::Slash
                    | PathContent::Folder(_)
                    | PathContent::Unlisted
                    | PathContent::NotFound(_) => None,
                },
            )?;
        // An index or a fallback may be guarded where its folder is not.
        (!site.auth.guards(&kept.meta.path)).then_some((&**site, kept))
    }
}

/// Writes the answer, or its head where the body is large.
fn shape(
    request: &SimpleRequest<'_>,
    kept: &KeptFile,
    hsts: Option<&HeaderValue>,
    out: &mut Vec<u8>,
) -> WrittenFile {
    let mut begin = |head: &[u8]| {
        out.extend_from_slice(head);
        if let Some(value) = hsts {
            out.extend_from_slice(b"strict-transport-security: ");
            out.extend_from_slice(value.as_bytes());
            out.extend_from_slice(b"\r\n");
        }
        request.end_head(out);
    };
    if is_current(request, kept) {
        begin(&kept.head_not_modified);
        return WrittenFile { status: 304, bytes: 0, reply: FastReply::Done };
    }
    begin(&kept.head);
    let len = kept.body.len();
    let (reply, len) = match request.method() {
        SimpleMethod::Head => (FastReply::Done, 0),
        SimpleMethod::Get if len > COPIED_BYTES_MAX => {
            (FastReply::DoneWithBody(kept.body.clone()), len)
        }
        SimpleMethod::Get => {
            out.extend_from_slice(&kept.body);
            (FastReply::Done, len)
        }
    };
    WrittenFile { status: 200, bytes: len as u32, reply }
}

/// True if the client's copy is current.
fn is_current(request: &SimpleRequest<'_>, kept: &KeptFile) -> bool {
    let tag = request.field("if-none-match");
    if tag.is_none() && request.field("if-modified-since").is_none() {
        return false;
    }
    // What browsers send back is the tag as it was given to them.
    if tag.is_some() && tag == kept.meta.etag.as_ref().map(HeaderValue::as_bytes) {
        return true;
    }
    let method: Method = request.method().into();
    precondition(&method, &request.header_map(), &kept.meta.validators) == Precondition::NotModified
}
