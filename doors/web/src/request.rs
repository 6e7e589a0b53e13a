//! One request at the web door, top to bottom: read, decide, act, review, shape, record.

use crate::answer::{FilePayload, FileSource};
use crate::door::WebConnection;
use crate::fastcgi::{ScriptAnswer, ScriptFailure};
use crate::listing;
use crate::listing::ListedFolder;
use crate::look;
use crate::pages;
use crate::path::{self, BadPath, PathTarget};
use crate::record::{CountedBody, PendingLine};
use crate::root::NotOpened;
use crate::script;
use crate::secure::ConnectionEnds;
use crate::site::Site;
use crate::store::FILE_BYTES_MAX;
use crate::table::{RoutedSite, SiteTable};
use crate::ticket::WebTicket;
use crate::visit::{self, PathStanding, SiteVisit, reads};
use http::header::{
    CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, HeaderMap, HeaderName,
    HeaderValue, ORIGIN, REFERER, STRICT_TRANSPORT_SECURITY,
};
use http::{Method, Request, Response, StatusCode, request};
use http_body::Body as _;
use http_engine::content::{FileContent, read_now};
use http_engine::{Body, Incoming, authority, kind};
use ledger::EventSubject;
use policy::{Ask, Policy, RuleText, Verdict};
use std::sync::Arc;
use transport::clock;
use vocab::{Action, DomainName, Name, Now, RequestKind, Source};

/// Holds what a client wants, once it is understood.
struct WebRequest {
    host: DomainName,
    page: Option<DomainName>,
    kind: RequestKind,
    /// Absolute, for the policy and the ledger.
    url: String,
    target: Result<PathTarget, BadPath>,
}

/// Outcome of a request.
pub(crate) enum WebOutcome {
    Refused(WebRefusal),
    /// By this rule of the policy.
    Blocked(Option<RuleText>),
    File(FileSource),
    Listing(ListedFolder),
    /// What a script says, or why it says nothing.
    Script(Result<ScriptAnswer, ScriptFailure>),
    /// A name and a password are due.
    Unauthorized(HeaderValue),
    /// Too many passwords are being checked.
    Busy,
    /// The same by HTTPS.
    Secure(HeaderValue),
    /// A folder without its slash; the path with it.
    Slash(String),
    /// The site's rules have it elsewhere.
    Moved(String, StatusCode),
    NotOpened(NotOpened),
}

/// Why a request is not served.
pub(crate) enum WebRefusal {
    Method,
    Path(BadPath),
    /// The handshake was another site's.
    Misdirected,
    /// Must come by HTTPS, and names no host to send it to.
    Plain,
}

/// Answers one request. The bytes of a large file follow as its body is read.
pub(crate) async fn answer(
    connection: Arc<WebConnection>,
    request: Request<Incoming>,
) -> Response<Body> {
    let WebConnection { door, table, ends, .. } = &*connection;
    let now = clock::now();
    let client = ends.client.ip();
    let mut ticket = WebTicket::open(&door.parts.ledger, now, client);

    // read
    let (head, body) = request.into_parts();
    let wish = read(&head, ends);
    ticket.asked(wish.kind, EventSubject::url(&wish.url));
    let (site, standing) = route(table, &wish);
    let log = site.and_then(|site| site.log.clone());
    let mut line = log.map(|log| PendingLine::begin(log, &head, wish.host.as_str(), client, now));

    // decide
    let policy = door.parts.policy.load_full();
    let verdict = decide(&policy, ends, &wish, now);
    ticket.decided(verdict.action, verdict.cause);

    // act
    let outcome = match (verdict.action, site, &wish.target) {
        (Action::Block, _, _) => WebOutcome::Blocked(rule_text(&policy, verdict, &wish)),
        (Action::Pass, _, Err(why)) if reads(&head) => WebOutcome::Refused(WebRefusal::Path(*why)),
        (Action::Pass, _, Err(_)) => WebOutcome::Refused(WebRefusal::Method),
        (Action::Pass, None, Ok(_)) => WebOutcome::NotOpened(NotOpened::Nothing),
        (Action::Pass, Some(site), Ok(target)) => {
            let (host, ledger) = (wish.host.as_str(), &door.parts.ledger);
            let mut visit = SiteVisit { site, host, user: None, ends, ledger, now };
            let outcome = visit::answer(&mut visit, standing, target, (&head, body)).await;
            if let Some(line) = &mut line {
                line.user(visit.user);
            }
            outcome
        }
    };

    // review
    let source = source(&outcome);

    // shape
    let site = site.map(Arc::as_ref);
    let (mut response, payload) = shape(outcome, site, (&head, wish.target.as_ref().ok()), now);
    if ends.secured.is_some()
        && let Some(hsts) = site.and_then(|site| site.hsts.as_ref())
    {
        response.headers_mut().insert(STRICT_TRANSPORT_SECURITY, hsts.clone());
    }

    // record
    record(ticket, line, source, response, payload)
}

fn read(head: &request::Parts, ends: &ConnectionEnds) -> WebRequest {
    let headers = &head.headers;
    // RFC 9112 §3.2.2: the authority of an absolute target stands over Host.
    let authority = head.uri.authority().map(http::uri::Authority::as_str);
    let authority = authority.unwrap_or_else(|| text(headers, &HOST));
    let path = head.uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    let target = PathTarget::parse(head.uri.path());
    WebRequest {
        host: host_of(authority).unwrap_or_else(|| Name::ROOT.to_owned()),
        page: [REFERER, ORIGIN].iter().find_map(|field| page_host(headers, field)),
        kind: kind::of_request(&head.method, &head.uri, headers),
        url: match &target {
            // Rules are held against the path that is served, whatever it was written like.
            Ok(target) if !path::is_plain(head.uri.path()) => {
                let query = head.uri.query().map(|query| ["?", query].concat());
                let path = target.as_url();
                [ends.scheme(), authority, &path, query.as_deref().unwrap_or("")].concat()
            }
            Ok(_) | Err(_) => [ends.scheme(), authority, path].concat(),
        },
        target,
    }
}

/// The site that a request is for, if there is one.
fn route<'t>(table: &'t SiteTable, wish: &WebRequest) -> (Option<&'t Arc<Site>>, PathStanding) {
    let routed = wish.target.as_ref().map(|it| table.route(wish.host.as_name(), &it.text()));
    match routed {
        Ok(RoutedSite::Site(site)) => (Some(site), PathStanding::Below),
        Ok(RoutedSite::Slash(site)) => (Some(site), PathStanding::Slash),
        Ok(RoutedSite::Nowhere) | Err(_) => (None, PathStanding::Below),
    }
}

fn decide(policy: &Policy, ends: &ConnectionEnds, wish: &WebRequest, now: Now) -> Verdict {
    let who = ends.near(policy, now).into();
    let ask = Ask {
        door: vocab::Door::Web,
        client: ends.client.ip(),
        who: Some(&who),
        host: wish.host.as_name(),
        kind: wish.kind,
        url: Some(&wish.url),
        page: wish.page.as_ref().map(DomainName::as_name),
    };
    policy.decide(&ask, now)
}

/// Where an answer comes from.
pub(crate) fn source(outcome: &WebOutcome) -> Source {
    match outcome {
        WebOutcome::Refused(_) | WebOutcome::Unauthorized(_) | WebOutcome::Busy => Source::Refused,
        WebOutcome::Blocked(_) => Source::Policy,
        WebOutcome::File(_)
        | WebOutcome::Listing(_)
        | WebOutcome::Slash(_)
        | WebOutcome::Moved(..)
        | WebOutcome::Secure(_)
        | WebOutcome::NotOpened(NotOpened::Nothing | NotOpened::Forbidden) => Source::File,
        WebOutcome::Script(Ok(_)) => Source::Origin,
        WebOutcome::Script(Err(_)) | WebOutcome::NotOpened(NotOpened::Failed) => Source::Failed,
    }
}

fn rule_text(policy: &Policy, verdict: Verdict, wish: &WebRequest) -> Option<RuleText> {
    policy.rule_text(verdict.cause.rule()?, wish.host.as_name())
}

/// The answer as the client gets it, to a request of `target` where that is one.
pub(crate) fn shape(
    outcome: WebOutcome,
    site: Option<&Site>,
    (head, target): (&request::Parts, Option<&PathTarget>),
    now: Now,
) -> (Response<Body>, FilePayload) {
    let with_query = |path: &str| match head.uri.query() {
        Some(query) if !path.contains('?') => format!("{path}?{query}"),
        Some(_) | None => path.to_owned(),
    };
    let mut own_page = site;
    let mut response = match (outcome, site) {
        (WebOutcome::File(file), Some(site)) => return file.send(head, &site.rules, now),
        (WebOutcome::Script(Ok(answer)), site) => {
            let compress = site.and_then(|site| site.compress.as_ref());
            let mut response = script::shape(answer, compress, head);
            dress(site, target, &mut response);
            return (response, FilePayload::Flowing);
        }
        (WebOutcome::Script(Err(why)), _) => pages::script_failed(why.status()),
        (WebOutcome::Unauthorized(challenge), _) => pages::unauthorized(challenge),
        (WebOutcome::Busy, _) => pages::script_failed(StatusCode::SERVICE_UNAVAILABLE),
        (WebOutcome::Secure(location), _) => pages::secure(location),
        (WebOutcome::Refused(WebRefusal::Plain), _) => pages::bad_request("This site is reached by HTTPS"),
        (WebOutcome::Listing(listed), _) => {
            listing::answer(listed, head.uri.query().unwrap_or(""), &head.headers)
        }
        (WebOutcome::Refused(WebRefusal::Method), _) => pages::method(),
        (WebOutcome::Refused(WebRefusal::Misdirected), _) => pages::misdirected(),
        (WebOutcome::Refused(WebRefusal::Path(why)), _) => pages::bad_request(&why.to_string()),
        (WebOutcome::NotOpened(NotOpened::Nothing), _)
        // A file is a site's.
        | (WebOutcome::File(_), None) => pages::not_found(),
        (WebOutcome::NotOpened(NotOpened::Forbidden), _) => pages::forbidden(),
        (WebOutcome::NotOpened(NotOpened::Failed), _) => pages::failed(),
        (WebOutcome::Blocked(rule), _) => {
            // The reason is the answer: no page of the site hides it.
            own_page = None;
            pages::blocked(rule.as_ref())
        }
        (WebOutcome::Slash(path), _) => {
            pages::moved(&with_query(&path), StatusCode::MOVED_PERMANENTLY)
        }
        (WebOutcome::Moved(to, status), _) => pages::moved(&with_query(&to), status),
    };
    if let Some(site) = own_page {
        show_own_page(site, &mut response, now);
    }
    dress(site, target, &mut response);
    if head.method == Method::HEAD {
        let length = response.body().size_hint().lower();
        response.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(length));
        *response.body_mut() = Body::empty();
    }
    (response, FilePayload::AtHand)
}

/// Applies the site's rules about header fields.
fn dress(site: Option<&Site>, target: Option<&PathTarget>, response: &mut Response<Body>) {
    if let (Some(site), Some(target)) = (site, target) {
        site.rules.dress(&target.text(), response.headers_mut());
    }
}

/// Puts the site's own page for an error in the place of ours. One that is not there, too large or
/// not at hand leaves ours: an error must not fail.
fn show_own_page(site: &Site, response: &mut Response<Body>, now: Now) {
    let Some(page) = site.errors.of(response.status()) else { return };
    let bytes = match look::named(site, page, now) {
        Some(FileSource::Kept(kept)) => kept.body.clone(),
        Some(FileSource::Open(file, meta)) if meta.len <= FILE_BYTES_MAX => {
            let Some(bytes) = read_now(&file, 0, meta.len) else { return };
            bytes
        }
        Some(FileSource::Open(..) | FileSource::Coded(..)) | None => return,
    };
    *response.body_mut() = Body::full(bytes);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, http_engine::mime::of_path(page.file_name()));
    // Ours is for our page.
    headers.remove(CONTENT_SECURITY_POLICY);
}

fn record(
    mut ticket: WebTicket,
    mut line: Option<PendingLine>,
    source: Source,
    response: Response<Body>,
    payload: FilePayload,
) -> Response<Body> {
    let status = response.status().as_u16();
    ticket.answered(source, status);
    if let Some(line) = &mut line {
        line.answered(status);
    }
    match payload {
        FilePayload::AtHand => {
            let bytes = response.body().size_hint().lower();
            ticket.close(bytes);
            if let Some(line) = line {
                line.done(bytes);
            }
            response
        }
        FilePayload::Flowing => {
            response.map(|body| Body::boxed(CountedBody::new(body, Some(ticket), line)))
        }
        FilePayload::Content(open, segments) => response.map(|_| {
            let body =
                Body::boxed(FileContent::new(Arc::new(open), segments, |sent| ticket.close(sent)));
            match line {
                Some(line) => Body::boxed(CountedBody::new(body, None, Some(line))),
                None => body,
            }
        }),
    }
}

fn text<'h>(headers: &'h HeaderMap, field: &HeaderName) -> &'h str {
    headers.get(field).and_then(|value| value.to_str().ok()).unwrap_or("")
}

/// The name in `host[:port]`.
fn host_of(authority: &str) -> Option<DomainName> {
    DomainName::parse(authority::host(authority)).ok()
}

/// The host of the page that asks, where it says so and is one.
fn page_host(headers: &HeaderMap, field: &HeaderName) -> Option<DomainName> {
    page_host_of(text(headers, field))
}

/// The host of a page's URL.
pub(crate) fn page_host_of(url: &str) -> Option<DomainName> {
    DomainName::parse(authority::host_of_url(url)?).ok()
}
