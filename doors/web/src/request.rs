//! One request at the web door, top to bottom: read, decide, act, review, shape, record.

use crate::content::{self, Content};
use crate::door::{Door, Site, site_of};
use crate::pages;
use crate::path::{BadPath, Form, Target};
use crate::root::{Facts, Found, NotOpened};
use crate::secure;
use crate::ticket::Ticket;
use http::header::{
    ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, HOST, HeaderMap, HeaderName,
    HeaderValue, LAST_MODIFIED, ORIGIN, REFERER, X_CONTENT_TYPE_OPTIONS,
};
use http::{Method, Request, Response, StatusCode, request};
use http_body::Body as _;
use http_engine::conditional::{
    ETag, IfRange, Precondition, Validators, format_date, if_range, precondition,
};
use http_engine::range::{self, ByteRange, Selection};
use http_engine::{Body, Incoming, kind, mime, reply};
use ledger::Subject;
use policy::{Ask, Policy, Verdict};
use rustix::fd::OwnedFd;
use std::net::IpAddr;
use std::sync::Arc;
use transport::clock;
use vocab::{Action, DomainName, Kind, Name, Now, Source};

/// What a client wants, once it is understood.
struct Wish {
    host: DomainName,
    page: Option<DomainName>,
    kind: Kind,
    /// Absolute, for the policy and the ledger.
    url: String,
}

/// What came of a request.
enum Outcome {
    Refused(Refusal),
    Blocked(Verdict),
    File(File),
    /// A folder without its slash; the path with it.
    Elsewhere(String),
    NotOpened(NotOpened),
}

/// Why a request is not served.
enum Refusal {
    Method,
    Path(BadPath),
    /// The handshake was another site's.
    Misdirected,
}

/// A file to be sent.
struct File {
    open: OwnedFd,
    facts: Facts,
    media: HeaderValue,
}

/// How much of a file the client gets.
enum Due {
    /// It has it already.
    NotModified,
    /// It means another version.
    Failed,
    Whole,
    Part(ByteRange),
    Unsatisfiable,
}

/// What follows the head of an answer.
enum Payload {
    /// The response's own body, which is at hand.
    AtHand,
    Content {
        open: OwnedFd,
        offset: u64,
        len: u64,
    },
}

/// Answers one request. Nothing here waits: the bytes of a large file follow as its body is read.
pub(crate) fn answer(
    door: &Door,
    sites: &[Arc<Site>],
    client: IpAddr,
    request: Request<Incoming>,
) -> Response<Body> {
    let now = clock::now();
    let mut ticket = Ticket::open(&door.parts.ledger, now, client);

    // read
    let (head, _body) = request.into_parts();
    let wish = read(&head);
    ticket.asked(wish.kind, Subject::url(&wish.url));

    // decide
    let policy = door.parts.policy.load();
    let verdict = decide(&policy, client, &wish, now);
    ticket.decided(verdict.action, verdict.cause);

    // act
    let outcome = match verdict.action {
        Action::Block => Outcome::Blocked(verdict),
        Action::Pass => act(sites, &head, &wish, now),
    };

    // review
    let source = match &outcome {
        Outcome::Refused(_) => Source::Refused,
        Outcome::Blocked(_) => Source::Policy,
        Outcome::File(_)
        | Outcome::Elsewhere(_)
        | Outcome::NotOpened(NotOpened::Nothing | NotOpened::Forbidden) => Source::File,
        Outcome::NotOpened(NotOpened::Failed) => Source::Failed,
    };

    // shape
    let (response, payload) = shape(outcome, &policy, &head, &wish, now);

    // record
    record(ticket, source, response, payload)
}

fn read(head: &request::Parts) -> Wish {
    let headers = &head.headers;
    // RFC 9112 §3.2.2: the authority of an absolute target stands over Host.
    let authority = head.uri.authority().map(http::uri::Authority::as_str);
    let authority = authority.unwrap_or_else(|| text(headers, &HOST));
    let path = head.uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    Wish {
        host: host_of(authority).unwrap_or_else(|| Name::ROOT.to_owned()),
        page: [REFERER, ORIGIN].iter().find_map(|field| page_host(headers, field)),
        kind: kind::of_request(&head.method, &head.uri, headers),
        url: [secure::scheme(&head.extensions), authority, path].concat(),
    }
}

fn decide(policy: &Policy, client: IpAddr, wish: &Wish, now: Now) -> Verdict {
    let ask = Ask {
        door: vocab::Door::Web,
        client,
        host: wish.host.as_name(),
        kind: wish.kind,
        url: Some(&wish.url),
        page: wish.page.as_ref().map(DomainName::as_name),
    };
    policy.decide(&ask, now)
}

fn act(sites: &[Arc<Site>], head: &request::Parts, wish: &Wish, now: Now) -> Outcome {
    if head.method != Method::GET && head.method != Method::HEAD {
        return Outcome::Refused(Refusal::Method);
    }
    let target = match Target::parse(head.uri.path()) {
        Ok(target) => target,
        Err(why) => return Outcome::Refused(Refusal::Path(why)),
    };
    let Some(site) = site_of(sites, wish.host.as_name()) else {
        return Outcome::NotOpened(NotOpened::Nothing);
    };
    if !site.demand.is_met(&head.extensions) {
        return Outcome::Refused(Refusal::Misdirected);
    }
    let (target, found) = match (target.form(), site.root.find(target.path(), now)) {
        (Form::File, Ok(Found::Folder)) => return Outcome::Elsewhere(target.as_folder_url()),
        // A file does not become a folder by a slash.
        (Form::Folder, Ok(Found::File(..))) => return Outcome::NotOpened(NotOpened::Nothing),
        (Form::Folder, Ok(Found::Folder)) => {
            let index = target.index();
            let found = site.root.find(index.path(), now);
            (index, found)
        }
        (Form::File, found @ Ok(Found::File(..))) | (_, found @ Err(_)) => (target, found),
    };
    match found {
        Ok(Found::File(open, facts)) => {
            Outcome::File(File { open, facts, media: mime::of_path(target.file_name()) })
        }
        // A folder called index.html.
        Ok(Found::Folder) => Outcome::NotOpened(NotOpened::Nothing),
        Err(why) => Outcome::NotOpened(why),
    }
}

fn shape(
    outcome: Outcome,
    policy: &Policy,
    head: &request::Parts,
    wish: &Wish,
    now: Now,
) -> (Response<Body>, Payload) {
    let mut response = match outcome {
        Outcome::File(file) => return send(file, head, now),
        Outcome::Refused(Refusal::Method) => pages::method(),
        Outcome::Refused(Refusal::Misdirected) => pages::misdirected(),
        Outcome::Refused(Refusal::Path(why)) if why.is_nonsense() => {
            pages::bad_request(&why.to_string())
        }
        Outcome::Refused(Refusal::Path(_)) | Outcome::NotOpened(NotOpened::Nothing) => {
            pages::not_found()
        }
        Outcome::NotOpened(NotOpened::Forbidden) => pages::forbidden(),
        Outcome::NotOpened(NotOpened::Failed) => pages::failed(),
        Outcome::Blocked(verdict) => {
            let rule = verdict.cause.rule();
            let text = rule.and_then(|rule| policy.rule_text(rule, wish.host.as_name()));
            pages::blocked(text.as_ref())
        }
        Outcome::Elsewhere(path) => match head.uri.query() {
            Some(query) => pages::moved(&format!("{path}?{query}")),
            None => pages::moved(&path),
        },
    };
    if head.method == Method::HEAD {
        let length = response.body().size_hint().lower();
        response.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(length));
        *response.body_mut() = Body::empty();
    }
    (response, Payload::AtHand)
}

/// The answer for a file: as much of it as the client asked for and has not.
fn send(file: File, head: &request::Parts, now: Now) -> (Response<Body>, Payload) {
    let validators = validators(&file.facts);
    let due = due(head, &validators, file.facts.len, now);
    let (status, offset, len) = match due {
        Due::NotModified => (StatusCode::NOT_MODIFIED, 0, 0),
        Due::Failed => (StatusCode::PRECONDITION_FAILED, 0, 0),
        Due::Whole => (StatusCode::OK, 0, file.facts.len),
        Due::Part(part) => (StatusCode::PARTIAL_CONTENT, part.first, part.len()),
        Due::Unsatisfiable => (StatusCode::RANGE_NOT_SATISFIABLE, 0, 0),
    };
    let mut response = reply::empty(status);
    let headers = response.headers_mut();
    if let Some(etag) = &validators.etag {
        headers.insert(ETAG, etag.to_value());
    }
    headers.insert(LAST_MODIFIED, format_date(file.facts.modified_secs));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    match due {
        Due::Whole | Due::Part(_) => {
            headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
            headers.insert(CONTENT_TYPE, file.media);
            headers.insert(CONTENT_LENGTH, HeaderValue::from(len));
            if let Due::Part(part) = due {
                headers.insert(CONTENT_RANGE, part.content_range());
            }
        }
        Due::Unsatisfiable => {
            headers.insert(CONTENT_RANGE, range::unsatisfied(file.facts.len));
        }
        Due::NotModified | Due::Failed => {}
    }
    if len == 0 || head.method == Method::HEAD {
        return (response, Payload::AtHand);
    }
    if let Some(bytes) = content::read_now(&file.open, offset, len) {
        *response.body_mut() = Body::full(bytes);
        return (response, Payload::AtHand);
    }
    (response, Payload::Content { open: file.open, offset, len })
}

fn due(head: &request::Parts, validators: &Validators, len: u64, now: Now) -> Due {
    match precondition(&head.method, &head.headers, validators) {
        Precondition::NotModified => return Due::NotModified,
        Precondition::Failed => return Due::Failed,
        Precondition::Met => {}
    }
    if if_range(&head.headers, validators, now.unix_secs()) == IfRange::Ignore {
        return Due::Whole;
    }
    match range::select(&head.method, &head.headers, len) {
        Selection::Whole => Due::Whole,
        Selection::Part(part) => Due::Part(part),
        Selection::Unsatisfiable => Due::Unsatisfiable,
    }
}

/// The tag is strong: a file's inode, size or time (to the grain of the file system's clock) changes
/// with its bytes.
fn validators(facts: &Facts) -> Validators {
    let nanos = u128::from(facts.modified_secs) * 1_000_000_000 + u128::from(facts.modified_nanos);
    Validators {
        etag: ETag::strong(&format!("{:x}-{:x}-{nanos:x}", facts.inode, facts.len)),
        modified_unix_secs: Some(facts.modified_secs),
    }
}

fn record(
    mut ticket: Ticket,
    source: Source,
    response: Response<Body>,
    payload: Payload,
) -> Response<Body> {
    ticket.answered(source, response.status().as_u16());
    match payload {
        Payload::AtHand => {
            ticket.close(response.body().size_hint().lower());
            response
        }
        Payload::Content { open, offset, len } => {
            response.map(|_| Body::boxed(Content::new(open, offset, len, ticket)))
        }
    }
}

fn text<'h>(headers: &'h HeaderMap, field: &HeaderName) -> &'h str {
    headers.get(field).and_then(|value| value.to_str().ok()).unwrap_or("")
}

/// The name in `host[:port]`.
fn host_of(authority: &str) -> Option<DomainName> {
    let host = authority.rsplit_once(':').map_or(authority, |(host, _)| host);
    DomainName::parse(host).ok()
}

/// The host of the page that asks, where it says so and is one.
fn page_host(headers: &HeaderMap, field: &HeaderName) -> Option<DomainName> {
    let (_, rest) = text(headers, field).split_once("://")?;
    host_of(rest.split(['/', '?', '#']).next().unwrap_or(rest))
}
