//! One request at the pixel door, top to bottom: read, decide, act, review, shape, record.
//!
//! Every request that the fast path leaves comes here, over HTTP/1 and /2. It dials nobody. Called
//! by `door`, once per request.

use crate::connection::{CarryAttempt, PixelConnection};
use crate::counters::Count;
use crate::decision::{PixelDecision, PixelQuery, PolicyClient, decide, is_exempt};
use crate::door::PixelDoor;
use crate::inspection::{BodyBeginning, BodyContext, BodyInspection};
use crate::page;
use crate::setup::{self, SetupPage};
use crate::socket;
use crate::splice::{SpliceProtocol, names_no_other_port};
use crate::ticket::PixelTicket;
use http::header::{
    ACCEPT, ALT_SVC, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderName, HeaderValue, LOCATION,
    REFERER, UPGRADE,
};
use http::{Method, Request, Response, StatusCode, Version};
use http_body::Body as _;
use http_body_util::BodyExt;
use http_engine::upgrade::{self, OnUpgrade};
use http_engine::{Body, Incoming, authority, kind, reply};
use http_front::{ConnectionSecurity, field_text, host_of, page_of, target_authority};
use ledger::EventSubject;
use null_answers::continue_link;
use null_answers::page::BlockNotice;
use null_answers::{
    AnswerAudience, AnswerCaching, BlankBody, FORGET_HTTP3, NullAnswer, RequestHints,
    frame_context, render, select_answer,
};
use policy::{Policy, Verdict};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use transport::clock;
use vocab::{Action, Cause, DomainName, Name, RequestKind, Source};

/// Bytes of a request body that are taken and thrown away; beyond it the connection is closed. The
/// longest reports that pages send are some 100 KiB, and taking one costs less than a new
/// handshake.
const BODY_BYTES_MAX: u64 = 1 << 20;
/// Time that that may take.
const BODY_DEADLINE: Duration = Duration::from_secs(5);

/// Holds what a client wants, once it is understood.
struct PixelRequest {
    /// The host asked for; the root where none is named, or one that is no name.
    host: DomainName,
    page: Option<DomainName>,
    kind: RequestKind,
    /// Absolute.
    url: String,
    /// One of our own pages.
    setup_page: Option<SetupPage>,
}

/// Tells what the client gets.
enum PixelOutcome<'r> {
    Null(NullAnswer<'r>, AnswerCaching),
    BlockPage(Verdict),
    /// The URL inside the one that is blocked, as `Location` has it.
    Onward(HeaderValue),
    NotBlockedPage,
    NotCoveredPage,
    /// The name was let through since the connection began: it is to be asked for on a new one.
    Reconnect,
    Page(SetupPage),
}

impl PixelOutcome<'_> {
    /// The outcome with the page replaced by a redirect, where the door is to follow URLs inside
    /// blocked ones. The page that it leads to may ask here again, as conversions are counted:
    /// then the page is shown.
    fn followed(self, door: &PixelDoor, wish: &PixelRequest, head: &http::request::Parts) -> Self {
        if !matches!(self, Self::BlockPage(_)) || !door.settings().redirect {
            return self;
        }
        let referer = field_text(&head.headers, &REFERER);
        continue_link::find(&wish.url, &wish.host)
            .filter(|onward| !referer.contains(onward.host.as_str()))
            .and_then(|onward| HeaderValue::try_from(onward.url).ok())
            .map_or(self, Self::Onward)
    }
}

/// Tells whether the request's body has been read to its end.
enum BodyDrained {
    Yes,
    /// This is left of it.
    No(Incoming),
}

/// Answers one request. The future is dropped when the client goes away; the ticket notes it.
pub(crate) async fn answer(
    door: &Arc<PixelDoor>,
    connection: &Rc<PixelConnection>,
    mut request: Request<Incoming>,
) -> Response<Body> {
    let now = clock::now();
    let mut ticket = PixelTicket::begin(door, now, connection, &mut request);

    // read
    let upgrade = request.headers().contains_key(UPGRADE).then(|| upgrade::on(&mut request));
    let (head, body) = request.into_parts();
    connection.note_request(door, &head.method);
    let wish = read(door, connection, &head);
    ticket.asked(wish.kind, EventSubject::url(&wish.url));
    let inspection = door.inspection();
    let (drained, posted) = drain(door, body, inspection.begin(connection.client())).await;

    // decide
    let policy = door.parts.policy.load();
    let page = wish.page.as_ref().map(DomainName::as_name);
    let asked = PixelQuery { host: wish.host.as_name(), url: &wish.url, kind: wish.kind, page };
    let decision = decide(&policy, connection, &asked, door.answered_names(), now);
    let verdict = decision.verdict();
    posted.keep(&inspection, &decision, connection, &wish, &head);

    // act
    let outcome = if is_exempt_since(&decision, connection, &policy, &wish, now) {
        PixelOutcome::Reconnect
    } else {
        act(&decision, connection, &policy, &wish, &head).followed(door, &wish, &head)
    };

    // review: nothing comes from elsewhere, so there is nothing to distrust.
    let (source, action, cause) = event_fields(&outcome, verdict);
    ticket.decided(action, cause);

    // shape
    let mut response = match outcome {
        PixelOutcome::Null(NullAnswer::Socket, keep) => {
            open_socket(door, connection, &head, upgrade, keep)
        }
        PixelOutcome::Null(null, keep) => {
            door.counters.answered(&null);
            render(&null, keep, &head.method, &head.headers)
        }
        PixelOutcome::BlockPage(verdict) => {
            blocked_page(door, connection, &policy, verdict, &wish, now)
        }
        PixelOutcome::Onward(location) => {
            door.counters.one(Count::Redirected);
            temporary_redirect(location)
        }
        PixelOutcome::NotBlockedPage => page_for(door, Count::NotBlocked, page::not_blocked, &wish),
        PixelOutcome::NotCoveredPage => page_for(door, Count::NotCovered, page::not_covered, &wish),
        PixelOutcome::Reconnect => {
            door.counters.one(Count::Anew);
            // Over HTTP/2 a client may ask once more before it has heard of the end.
            connection.end();
            reconnect_redirect(&wish, &head)
        }
        PixelOutcome::Page(wanted) => setup::answer(door, wanted, &head.headers),
    };
    shape(&mut response, connection, &head, &drained);
    linger(drained, head.version);

    // record
    ticket.answered(source, response.status().as_u16());
    ticket.close(response.body().size_hint().exact().unwrap_or(0));
    response
}

/// Returns what is recorded of an outcome.
const fn event_fields(outcome: &PixelOutcome<'_>, verdict: Verdict) -> (Source, Action, Cause) {
    let source = match outcome {
        PixelOutcome::Page(_) => return (Source::Local, Action::Pass, Cause::NotAsked),
        PixelOutcome::Reconnect => Source::Local,
        PixelOutcome::Null(..) if matches!(verdict.action, Action::Pass) => Source::Local,
        PixelOutcome::Null(..) | PixelOutcome::BlockPage(_) | PixelOutcome::Onward(_) => {
            Source::Policy
        }
        PixelOutcome::NotBlockedPage | PixelOutcome::NotCoveredPage => Source::Refused,
    };
    (source, verdict.action, verdict.cause)
}

fn read(
    door: &PixelDoor,
    connection: &PixelConnection,
    head: &http::request::Parts,
) -> PixelRequest {
    let headers = &head.headers;
    let authority = target_authority(&head.uri, headers);
    let path = head.uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    let url = [connection.context.scheme(), "://", authority, path].concat();
    let own = if is_at_address(connection) {
        let host = authority::host(authority);
        setup::setup_page(host, &head.method, head.uri.path())
            .filter(|page| page.is_for(connection.client(), &door.settings().servstats))
    } else {
        None
    };
    PixelRequest {
        host: host_of(authority).unwrap_or_else(|| Name::ROOT.to_owned()),
        page: page_of(headers),
        kind: kind::of_request(&head.method, &head.uri, headers),
        url,
        setup_page: own,
    }
}

/// True if the connection may be one to an address, and no name: without TLS nobody knows.
const fn is_at_address(connection: &PixelConnection) -> bool {
    match &connection.context.security {
        ConnectionSecurity::Plain => true,
        ConnectionSecurity::Tls(secured) => secured.own_address.is_some(),
    }
}

/// A body as far as it came, with its beginning where that may be kept.
struct PostedBody<'i> {
    beginning: Option<BodyBeginning<'i>>,
    taken: u64,
}

impl PostedBody<'_> {
    /// Keeps the beginning for the administrator, if the request was blocked.
    fn keep(
        &self,
        inspection: &BodyInspection,
        decision: &PixelDecision,
        connection: &PixelConnection,
        wish: &PixelRequest,
        head: &http::request::Parts,
    ) {
        let (Some(beginning), PixelDecision::Block(_)) = (&self.beginning, decision) else {
            return;
        };
        let content_type = field_text(&head.headers, &CONTENT_TYPE);
        let (client, method) = (connection.client(), head.method.as_str());
        let of = BodyContext { client, method, url: &wish.url, content_type, taken: self.taken };
        inspection.keep(beginning, &of, clock::now());
    }
}

/// Takes a body and throws it away, but for its `beginning`, so that the connection can go on.
async fn drain<'i>(
    door: &PixelDoor,
    mut body: Incoming,
    beginning: Option<BodyBeginning<'i>>,
) -> (BodyDrained, PostedBody<'i>) {
    let mut posted = PostedBody { beginning: None, taken: 0 };
    if body.is_end_stream() {
        return (BodyDrained::Yes, posted);
    }
    if body.size_hint().lower() > BODY_BYTES_MAX {
        door.counters.one(Count::BodyCut);
        return (BodyDrained::No(body), posted);
    }
    posted.beginning = beginning;
    let is_whole = discard(&mut body, &mut posted).await;
    door.counters.took_body(posted.taken);
    if !is_whole {
        door.counters.one(Count::BodyCut);
        return (BodyDrained::No(body), posted);
    }
    (BodyDrained::Yes, posted)
}

/// True if the body's end came within cap and time; `posted` has what came.
async fn discard(body: &mut Incoming, posted: &mut PostedBody<'_>) -> bool {
    let to_the_end = async {
        while let Some(frame) = body.frame().await {
            let Ok(frame) = frame else { return false };
            let Some(data) = frame.data_ref() else { continue };
            posted.taken += data.len() as u64;
            if let Some(beginning) = &mut posted.beginning {
                beginning.add(data);
            }
            if posted.taken > BODY_BYTES_MAX {
                return false;
            }
        }
        true
    };
    tokio::time::timeout(BODY_DEADLINE, to_the_end).await.unwrap_or(false)
}

fn act<'r>(
    decision: &PixelDecision,
    connection: &PixelConnection,
    policy: &'r Policy,
    wish: &'r PixelRequest,
    head: &'r http::request::Parts,
) -> PixelOutcome<'r> {
    if let Some(own) = wish.setup_page {
        return PixelOutcome::Page(own);
    }
    let field = |name| field_text(&head.headers, &HeaderName::from_static(name));
    let (host, destination) = (wish.host.as_name(), field("sec-fetch-dest"));
    let hints = RequestHints {
        method: &head.method,
        kind: wish.kind,
        frame: frame_context(destination, wish.page.as_ref().map(DomainName::as_name), host),
        host,
        path: head.uri.path(),
        query: head.uri.query().unwrap_or(""),
        accept: field_text(&head.headers, &ACCEPT),
        destination,
        service_worker: field("service-worker"),
        named: decision.named(policy),
    };
    match (decision, select_answer(&hints)) {
        (PixelDecision::NotCovered(_), _) => PixelOutcome::NotCoveredPage,
        (PixelDecision::Block(verdict), AnswerAudience::Page) => PixelOutcome::BlockPage(*verdict),
        (PixelDecision::Block(_), AnswerAudience::Null(null)) => {
            PixelOutcome::Null(null, AnswerCaching::OneMinute)
        }
        (PixelDecision::NotBlocked(_), AnswerAudience::Page) => PixelOutcome::NotBlockedPage,
        (PixelDecision::NotBlocked(_), AnswerAudience::Null(null)) => {
            if is_at_address(connection) {
                // An alias behind the name may be blocked, and forgotten here since the device
                // asked: to the page that embeds it, it is blocked.
                PixelOutcome::Null(null, AnswerCaching::No)
            } else {
                // Over HTTP/2 a browser answers 421 by asking anew on a connection of its own.
                PixelOutcome::NotBlockedPage
            }
        }
    }
}

/// True if the name was let through after this connection had begun: the next one to it is carried
/// to its server. Over a connection for another name it is asked for on one of its own, by 421.
fn is_exempt_since(
    decision: &PixelDecision,
    connection: &PixelConnection,
    policy: &Policy,
    wish: &PixelRequest,
    now: vocab::Now,
) -> bool {
    let (is_own, way) = match &connection.context.security {
        ConnectionSecurity::Plain => (true, SpliceProtocol::Plain),
        ConnectionSecurity::Tls(secured) => (secured.server_name == wish.host, SpliceProtocol::Tls),
    };
    let authority = wish.url.split('/').nth(2).unwrap_or("");
    let is_spared = || {
        let who = connection.link_info(policy, now).into();
        let client = PolicyClient { address: connection.client(), who: &who };
        is_exempt(policy, client, wish.host.as_name(), now)
    };
    matches!(decision, PixelDecision::NotBlocked(_))
        && is_own
        && names_no_other_port(authority, way)
        && wish.setup_page.is_none()
        && connection.attempt == CarryAttempt::None
        && is_spared()
}

/// Back to where it asked, with method and body (RFC 9110 section 15.4.8), on another connection. A
/// preflight must not be redirected (Fetch section 4.10), and fails once.
fn reconnect_redirect(wish: &PixelRequest, head: &http::request::Parts) -> Response<Body> {
    let location = HeaderValue::try_from(&wish.url).ok().filter(|_| head.method != Method::OPTIONS);
    let Some(location) = location else { return page::not_blocked(&wish.host) };
    let mut response = temporary_redirect(location);
    null_answers::share(response.headers_mut(), &head.headers);
    response
}

/// 307 to `location`.
fn temporary_redirect(location: HeaderValue) -> Response<Body> {
    let mut response = reply::empty(StatusCode::TEMPORARY_REDIRECT);
    let fields = response.headers_mut();
    fields.insert(LOCATION, location);
    fields.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Opens a WebSocket, which `door` closes once the connection has left HTTP; one that cannot be
/// opened is refused.
fn open_socket(
    door: &PixelDoor,
    connection: &PixelConnection,
    head: &http::request::Parts,
    upgrade: Option<OnUpgrade>,
    keep: AnswerCaching,
) -> Response<Body> {
    let opened = upgrade.and_then(|upgrade| Some((upgrade, socket::accept(&head.headers)?)));
    let Some((upgrade, response)) = opened else {
        let refused = NullAnswer::Blank(BlankBody::NoSocket);
        door.counters.answered(&refused);
        return render(&refused, keep, &head.method, &head.headers);
    };
    door.counters.answered(&NullAnswer::Socket);
    connection.upgrade.set(Some(upgrade));
    response
}

fn page_for(
    door: &PixelDoor,
    count: Count,
    page: fn(&DomainName) -> Response<Body>,
    wish: &PixelRequest,
) -> Response<Body> {
    door.counters.one(count);
    page(&wish.host)
}

fn blocked_page(
    door: &PixelDoor,
    connection: &PixelConnection,
    policy: &Policy,
    verdict: Verdict,
    wish: &PixelRequest,
    now: vocab::Now,
) -> Response<Body> {
    door.counters.one(Count::BlockPage);
    let told = BlockNotice {
        policy,
        verdict,
        door: vocab::Door::Pixel,
        client: connection.client(),
        identity: &connection.link_info(policy, now).into(),
        dashboard: door.parts.dashboard.load().as_deref().copied(),
        setup: door.setup_url(),
        now,
    };
    null_answers::page::blocked(&wish.host, &wish.url, &told)
}

/// Adds what depends on the form of the request and on the connection alone.
fn shape(
    response: &mut Response<Body>,
    connection: &PixelConnection,
    head: &http::request::Parts,
    drained: &BodyDrained,
) {
    if connection.context.handshake().is_some() {
        // A blocked host may have promised HTTP/3 before: have the browser forget it.
        response.headers_mut().insert(ALT_SVC, FORGET_HTTP3);
    }
    if head.method == Method::HEAD {
        // The length stands in its field already.
        *response.body_mut() = Body::empty();
    }
    let is_last = matches!(drained, BodyDrained::No(_)) || connection.is_over();
    if is_last && head.version != Version::HTTP_2 {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
}

/// Over HTTP/2, dropping a body resets its stream, and the reset would overtake the answer: the
/// rest is taken for a while longer, within the same cap. Over HTTP/1 the connection closes anyway.
fn linger(drained: BodyDrained, version: Version) {
    if let BodyDrained::No(mut rest) = drained
        && version == Version::HTTP_2
    {
        tokio::task::spawn_local(async move {
            if !discard(&mut rest, &mut PostedBody { beginning: None, taken: 0 }).await {
                // Not read on: what is on its way stays within the stream's window.
                tokio::time::sleep(BODY_DEADLINE).await;
            }
        });
    }
}
