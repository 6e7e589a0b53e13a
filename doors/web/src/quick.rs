//! The quick lane: small files out of memory, without building a request for hyper.
//!
//! It asks the policy and records as `request` does, with the same words; what it cannot answer at once
//! (anything but a file in memory, anything blocked, ranges) it leaves to `request`, untouched and
//! unrecorded. Called by the engine for every simple request of a connection.

use crate::access_log::Entry;
use crate::answer::Source as FileSource;
use crate::door::Door;
use crate::look::{self, Stands};
use crate::negotiate;
use crate::path::Target;
use crate::request::{host_of, page_host_of};
use crate::secure::Ends;
use crate::site::Site;
use crate::store::Kept;
use crate::table::{Routed, Table};
use http::{HeaderValue, Method, Version};
use http_engine::conditional::{Precondition, precondition};
use http_engine::kind;
use http_engine::quick::{Quick, Quickly, Simple, SimpleMethod};
use ledger::{Event, Subject};
use policy::{Ask, Verdict};
use std::cell::RefCell;
use std::sync::Arc;
use std::time::Instant;
use transport::clock;
use vocab::{Action, DomainName, Kind, Name, Now, Source};

/// Up to here a body is copied behind its head, for one write of one piece.
const COPIED_BYTES_MAX: usize = 16 << 10;
/// What changes the answer in ways that `request` knows.
const NOT_SIMPLE: [&str; 4] = ["range", "if-range", "if-match", "if-unmodified-since"];

/// The door, as one connection sees it.
pub(crate) struct Lane {
    pub(crate) door: Arc<Door>,
    pub(crate) table: Arc<Table>,
    pub(crate) ends: Ends,
}

thread_local! {
    /// The URL of the request at hand: its memory is used again and again.
    static URL: RefCell<String> = const { RefCell::new(String::new()) };
}

impl Quick for Lane {
    fn answer(&self, request: &Simple<'_>, out: &mut Vec<u8>) -> Quickly {
        if NOT_SIMPLE.iter().any(|name| request.field(name).is_some()) {
            return Quickly::NotMine;
        }
        URL.with_borrow_mut(|url| {
            url.clear();
            let authority = request.host().unwrap_or("");
            url.extend([self.ends.scheme(), authority, request.target()]);
            let host = host_of(authority).unwrap_or_else(|| Name::ROOT.to_owned());
            self.answer_url(request, host.as_name(), url, out)
        })
    }
}

impl Lane {
    fn answer_url(
        &self,
        request: &Simple<'_>,
        host: Name<'_>,
        url: &str,
        out: &mut Vec<u8>,
    ) -> Quickly {
        let (started, now) = (Instant::now(), clock::now());
        // decide
        let field = |name: &str| request.text(name).unwrap_or("");
        let kind = kind::of_fields(&request.method().into(), request.path(), field);
        let page = ["referer", "origin"].iter().find_map(|name| page_host_of(field(name)));
        let verdict = self.decide(host, kind, url, page.as_ref(), now);
        if verdict.action == Action::Block {
            return Quickly::NotMine;
        }
        // act
        let Some((site, kept)) = self.find(host, request.path(), now) else {
            return Quickly::NotMine;
        };
        let accepts = request.text("accept-encoding");
        let Some(kept) = negotiate::at_hand(site, kept, accepts, now) else {
            return Quickly::NotMine;
        };
        // shape
        let hsts = site.hsts.as_ref().filter(|_| self.ends.secured.is_some());
        let (status, answer, bytes) = shape(request, &kept, hsts, out);
        // record
        let took_us = u32::try_from(started.elapsed().as_micros()).unwrap_or(u32::MAX);
        if let Some(log) = &site.log {
            let entry = Entry {
                client: self.ends.client.ip(),
                user: "",
                unix_ms: now.unix_ms,
                method: if request.method() == SimpleMethod::Head { "HEAD" } else { "GET" },
                target: request.target(),
                protocol: protocol(request.version()),
                host: host.as_str(),
                status,
                bytes: u64::from(bytes),
                referrer: request.field("referer").unwrap_or_default(),
                agent: request.field("user-agent").unwrap_or_default(),
                took_us: u64::from(took_us),
            };
            log.write(&entry, now.mono_ms);
        }
        let ledger = &self.door.parts.ledger;
        if ledger.wants_row(verdict.action) {
            ledger.record(Event {
                at: now,
                took_us,
                door: vocab::Door::Web,
                client: self.ends.client.ip(),
                kind,
                subject: Subject::url(url),
                action: verdict.action,
                cause: verdict.cause,
                source: Source::File,
                status,
                bytes,
            });
        } else {
            ledger.count(vocab::Door::Web, verdict.action, Source::File, took_us);
        }
        answer
    }

    fn decide(
        &self,
        host: Name<'_>,
        kind: Kind,
        url: &str,
        page: Option<&DomainName>,
        now: Now,
    ) -> Verdict {
        let page = page.map(DomainName::as_name);
        let door = vocab::Door::Web;
        let ask = Ask {
            door,
            client: self.ends.client.ip(),
            who: None,
            host,
            kind,
            url: Some(url),
            page,
        };
        self.door.parts.policy.load().decide(&ask, now)
    }

    /// The site and its file at this path, if that is in memory or can be kept there now, and nothing
    /// stands before it: another handshake, a password, HTTPS, a redirect, a script.
    fn find(&self, host: Name<'_>, path: &str, now: Now) -> Option<(&Site, Arc<Kept>)> {
        let target = Target::parse(path).ok()?;
        let text = target.text();
        let Routed::Site(site) = self.table.route(host, &text) else { return None };
        if !site.demand.is_met(&self.ends)
            || (site.redirect.is_some() && self.ends.secured.is_none())
            || site.auth.guards(&text)
            || site.rules.redirect(&text).is_some()
        {
            return None;
        }
        match look::look(site, path, &target, now) {
            Stands::File(FileSource::Kept(kept)) => {
                // An index or a fallback may be guarded where its folder is not.
                (!site.auth.guards(&kept.meta.path)).then_some((&**site, kept))
            }
            Stands::Script(_)
            | Stands::File(FileSource::Open(..) | FileSource::Coded(..))
            | Stands::Slash
            | Stands::Folder(_)
            | Stands::Nothing(_) => None,
        }
    }
}

/// Writes the answer: its status, what is left to be sent, and how many bytes of body it has.
fn shape(
    request: &Simple<'_>,
    kept: &Kept,
    hsts: Option<&HeaderValue>,
    out: &mut Vec<u8>,
) -> (u16, Quickly, u32) {
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
        return (304, Quickly::Written, 0);
    }
    begin(&kept.head);
    let len = kept.body.len();
    match request.method() {
        SimpleMethod::Head => (200, Quickly::Written, 0),
        SimpleMethod::Get if len > COPIED_BYTES_MAX => {
            (200, Quickly::Large(kept.body.clone()), len as u32)
        }
        SimpleMethod::Get => {
            out.extend_from_slice(&kept.body);
            (200, Quickly::Written, len as u32)
        }
    }
}

/// A version as access logs write it.
pub(crate) fn protocol(version: Version) -> &'static str {
    match version {
        Version::HTTP_10 => "HTTP/1.0",
        Version::HTTP_2 => "HTTP/2.0",
        _ => "HTTP/1.1",
    }
}

/// Whether the client's copy is current.
fn is_current(request: &Simple<'_>, kept: &Kept) -> bool {
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
