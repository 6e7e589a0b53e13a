//! One request through the gateway, top to bottom: read, decide, act, review, shape, record.

use crate::caller::ClientConnection;
use crate::decide::{RouteDecision, decide};
use crate::door::{GatewayDoor, GatewaySetup};
use crate::finish::AnswerFinish;
use crate::guards::{AdmittedRequest, BlockOccasion, BlockRules, GuardAnswer, GuardVisit};
use crate::leaving::LeavingConnection;
use crate::passing::{PassContext, pass};
use crate::reproxy;
use crate::route::RouteDestination;
use crate::shape::{ShapedAnswer, review, shape};
use crate::ticket::GatewayTicket;
use crate::websocket::{self, ConnectRequest};
use balancer::ServerLease;
use http::header::{HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN, REFERER};
use http::{Method, Request, Response, Uri};
use http_body::Body as _;
use http_engine::claims::MethodOverrides;
use http_engine::html::PageReader;
use http_engine::{Body, Incoming, interim, kind, upgrade};
use ledger::EventSubject;
use origins::{
    BecomesTunnel, MeteredBody, Origin, OriginScheme, SendError, UrlHost, carry_switched,
};
use policy::Verdict;
use route_matching::{BadPath, MatchInput, ParsedRequest, PathSource, RequestAim};
use std::cell::RefCell;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use transport::clock;
use vocab::{DomainName, Name, Now, RequestKind, Source};

/// Holds what doing something about a request needs to know.
#[derive(Clone, Copy)]
pub(crate) struct RequestContext<'s> {
    pub(crate) door: &'s Arc<GatewayDoor>,
    pub(crate) setup: &'s Arc<GatewaySetup>,
    pub(crate) caller: &'s Arc<ClientConnection>,
    pub(crate) now: Now,
    /// What the guards of its routes have to say with the answer.
    pub(crate) stood: &'s RefCell<AdmittedRequest>,
}

/// Why a request goes no further than being read.
pub(crate) enum GatewayRefusal {
    Method,
    Host,
    Path(BadPath),
    BodyTooLarge,
    /// The connection was made for another name.
    Misdirected,
    /// Too many connections have left HTTP.
    TooManyUpgrades,
}

/// Outcome of a request.
pub(crate) enum GatewayOutcome {
    Refused(GatewayRefusal),
    Blocked {
        verdict: Verdict,
        host: DomainName,
        /// What refuses it, where that is not the policy.
        block: Option<Arc<BlockRules>>,
    },
    Nowhere,
    /// The route's own answer, or what its folder has.
    Answered(Response<Body>, Source),
    /// A guard of its route did not let it through.
    Turned(Box<GuardAnswer>),
    Fetched(Response<Body>),
    Cached(http_cache::ServedAnswer),
    /// The server agreed to leave HTTP, and the client had asked for it.
    Switched(Response<Body>, LeavingConnection),
    GoingRound,
    Failed(SendError),
    /// The pool has nobody for it; this is when to ask again.
    Unavailable(Duration),
}

/// Answers one request. The future is dropped when the client goes away; the ticket notes it.
pub(crate) async fn answer(
    door: &Arc<GatewayDoor>,
    caller: &Arc<ClientConnection>,
    mut request: Box<Request<Incoming>>,
) -> Response<Body> {
    let now = clock::now();
    let setup = door.setup();
    let mut ticket = GatewayTicket::open(&door.parts.ledger, now, caller.peer);
    let reader = PageReader::of(request.headers());

    // read
    let parsed = match read(&setup, caller, &mut request) {
        Ok(parsed) => parsed,
        Err(refusal) => {
            ticket.asked(RequestKind::Other, EventSubject::url(&request.uri().to_string()));
            let shaped = shape(door, &setup, GatewayOutcome::Refused(refusal), reader);
            return record(ticket, shaped, (&setup, None), &caller.tunnel);
        }
    };
    ticket.came_from(parsed.client);
    ticket.asked(parsed.kind, EventSubject::url(&parsed.url));

    // decide
    let decision = decide(
        (door, &setup),
        &parsed,
        (MatchInput::of(&request), BlockOccasion::Request),
        (caller.local, now),
    );
    if let Some(verdict) = decision.verdict() {
        ticket.decided(verdict.action, verdict.cause);
    }
    let parsed = as_taken(parsed, &decision, &mut request);
    if parsed.raw.is_some() {
        ticket.asked(parsed.kind, EventSubject::url(&parsed.url));
    }
    let route = decision.route();
    let finish = AnswerFinish::of(&setup, route, (&parsed, caller), &request);
    let stall = route.and_then(|route| route.silence_max());

    // act
    let stood = RefCell::new(AdmittedRequest::default());
    let scene = RequestContext { door, setup: &setup, caller, now, stood: &stood };
    let tell = |early| interim::tell(finish.interim(early));
    let acted = interim::hearing(pin!(reproxy::act(scene, decision, &parsed, request)), tell).await;
    let stood = stood.into_inner();

    // review
    let reviewed = review(acted);

    // shape
    if let GatewayOutcome::Cached(served) = &reviewed {
        ticket.cached(served.caching);
    }
    let mut shaped = finish.apply(shape(door, &setup, reviewed, reader));
    stood.tell(shaped.response.headers_mut());
    ticket.keep(stood.permits);

    // record
    record(ticket, shaped, (&setup, stall), &caller.tunnel)
}

/// Does what was decided.
pub(crate) async fn act(
    scene: RequestContext<'_>,
    decision: RouteDecision,
    parsed: &ParsedRequest,
    mut request: Box<Request<Incoming>>,
) -> GatewayOutcome {
    let RequestContext { setup, caller, now, .. } = scene;
    match decision {
        RouteDecision::Block(verdict, block) => {
            GatewayOutcome::Blocked { verdict, host: parsed.host.clone(), block }
        }
        RouteDecision::Nowhere(_) => GatewayOutcome::Nowhere,
        RouteDecision::Refuse(why) => GatewayOutcome::Refused(GatewayRefusal::Path(why)),
        RouteDecision::Pass(_, route) => {
            let Some(to) = &route.to else { return GatewayOutcome::Nowhere };
            let method = request.method().clone();
            let visit = GuardVisit { setup, parsed, method: &method, caller, now };
            match route.guards.stand(&visit, request.headers_mut()).await {
                Err(turned) => return GatewayOutcome::Turned(turned),
                Ok(through) => scene.stood.borrow_mut().add(through),
            }
            let user = scene.stood.borrow().user.clone();
            // To a CONNECT, any success would open the stream (RFC 9110 §9.3.6).
            if method == Method::CONNECT && route.pool().is_none() {
                return GatewayOutcome::Refused(GatewayRefusal::Method);
            }
            let strange = (&**caller, route.passed.request.as_slice());
            let overrides =
                if route.cache.is_some() { MethodOverrides::None } else { setup.overrides };
            setup.telling().disbelieve(request.headers_mut(), strange, (&method, overrides));
            match to {
                RouteDestination::Pool(pool) => {
                    let trip = PassContext { setup, route: &route, pool, caller, now };
                    pass(&trip, parsed, request).await
                }
                RouteDestination::Own(own) => {
                    GatewayOutcome::Answered(own.give(parsed, caller, &request), Source::Local)
                }
                RouteDestination::Folder(mount) => {
                    let body_max = route.body_max.unwrap_or(setup.settings.body_max.bytes());
                    if request.body().size_hint().lower() > body_max {
                        return GatewayOutcome::Refused(GatewayRefusal::BodyTooLarge);
                    }
                    let (response, source) =
                        mount.serve((parsed, user), caller, *request, now).await;
                    GatewayOutcome::Answered(response, source)
                }
            }
        }
    }
}

fn read(
    setup: &GatewaySetup,
    caller: &ClientConnection,
    request: &mut Request<Incoming>,
) -> Result<ParsedRequest, GatewayRefusal> {
    match websocket::asked(request) {
        Some(ConnectRequest::Other) => return Err(GatewayRefusal::Method),
        Some(ConnectRequest::WebSocket) | None => {}
    }
    if *request.method() == Method::TRACE {
        return Err(GatewayRefusal::Method);
    }
    // RFC 9112 §3.2.2: the authority of an absolute target stands over Host.
    if let Some(authority) = request.uri().authority() {
        let host = HeaderValue::from_str(authority.as_str()).map_err(|_| GatewayRefusal::Host)?;
        request.headers_mut().insert(HOST, host);
    }
    let uri = request.uri();
    let aimed = RequestAim::read(uri.path(), uri.query(), setup.slashes);
    let RequestAim { path, plain, raw } = aimed.map_err(GatewayRefusal::Path)?;
    if path.split('?').next() != Some(request.uri().path()) {
        *request.uri_mut() = path.parse().map_err(|_| GatewayRefusal::Host)?;
    }
    let headers = request.headers();
    let asked = match headers.get(HOST).map(HeaderValue::to_str) {
        // HTTP/1.0 knows no Host.
        None | Some(Ok("")) => None,
        Some(Ok(host)) => {
            let scheme = match &caller.secured {
                Some(_) => OriginScheme::Https,
                None => OriginScheme::Http,
            };
            Some(Origin::from_authority(scheme, host).map_err(|_| GatewayRefusal::Host)?)
        }
        Some(Err(_)) => return Err(GatewayRefusal::Host),
    };
    let url = match &asked {
        Some(origin) => origin.url(&path),
        None => path.clone(),
    };
    let host = match asked.map(|origin| origin.host) {
        None => Name::ROOT.to_owned(),
        Some(UrlHost::Name(name)) => name,
        Some(address @ UrlHost::Address(_)) => address.to_name(),
    };
    if let (Some(secured), Some(secure)) = (&caller.secured, &setup.secure)
        && !secure.serves(secured, host.as_name())
    {
        return Err(GatewayRefusal::Misdirected);
    }
    Ok(ParsedRequest {
        client: setup.telling().client(caller.peer, headers),
        host,
        page: [REFERER, ORIGIN].iter().find_map(|field| page_host(headers, field)),
        kind: kind::of_request(request.method(), request.uri(), headers),
        path,
        plain,
        url,
        raw,
        path_source: PathSource::Client,
    })
}

/// The request as the route that it takes reads its path.
pub(crate) fn as_taken<B>(
    parsed: ParsedRequest,
    decision: &RouteDecision,
    request: &mut Request<B>,
) -> ParsedRequest {
    let (Some(raw), Some(route)) = (&parsed.raw, decision.route()) else { return parsed };
    // It was read so before, or the route would not have taken it.
    let Ok(taken) = parsed.reread(raw, route.rule.slashes) else { return parsed };
    if let Ok(uri) = taken.path.parse() {
        *request.uri_mut() = uri;
    }
    taken
}

/// Closes the ticket when the answer's last byte is gone, or the connection that left HTTP ends.
fn record(
    mut ticket: GatewayTicket,
    shaped: ShapedAnswer,
    (setup, stall): (&GatewaySetup, Option<Duration>),
    becomes: &BecomesTunnel,
) -> Response<Body> {
    let ShapedAnswer { mut response, source, switched } = shaped;
    ticket.answered(source, response.status().as_u16());
    let Some(LeavingConnection { client, held, place }) = switched else {
        let stall = stall.unwrap_or(setup.settings.response_timeout.0.0);
        return response.map(|body| {
            MeteredBody::wrap(body, stall, move |bytes, end| ticket.ended(bytes, end))
        });
    };
    becomes.now();
    let idle = setup.settings.upgrade_idle.0.0;
    let server = upgrade::on(&mut response);
    let lease = response.extensions_mut().remove::<Arc<ServerLease>>();
    tokio::task::spawn_local(async move {
        let carried = carry_switched(client, server, idle).await;
        ticket.close(carried);
        drop((held, place, lease));
    });
    response.map(|_| Body::empty())
}

/// The host of the page that makes the request, from `Referer` or `Origin`.
fn page_host(headers: &HeaderMap, field: &HeaderName) -> Option<DomainName> {
    let page: Uri = headers.get(field)?.to_str().ok()?.parse().ok()?;
    DomainName::parse(page.host()?).ok()
}
