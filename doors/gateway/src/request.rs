//! One request through the gateway, top to bottom: read, decide, act, review, shape, record.

use crate::caller::ClientConnection;
use crate::decide::{RouteDecision, decide};
use crate::door::{GatewayDoor, GatewaySetup};
use crate::finish::AnswerFinish;
use crate::guards::{AdmittedRequest, BlockOccasion, BlockRules, GuardAnswer, GuardVisit};
use crate::leaving::LeavingConnection;
use crate::matching::MatchInput;
use crate::passing::{PassContext, pass};
use crate::path::{BadPath, RequestPath, SlashRule, depends_on_slashes};
use crate::readings::SlashRules;
use crate::reproxy;
use crate::route::RouteDestination;
use crate::settings::EncodedSlash;
use crate::shape::{ShapedAnswer, review, shape};
use crate::ticket::GatewayTicket;
use crate::websocket::{self, ConnectRequest};
use balancer::ServerLease;
use http::header::{HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN, REFERER};
use http::uri::PathAndQuery;
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
use std::cell::RefCell;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use transport::clock;
use transport::near::ArrivedAt;
use vocab::{DomainName, Name, Now, RequestKind, Source};

/// Holds what a client wants, once it is understood.
#[derive(Clone)]
pub(crate) struct GatewayRequest {
    pub(crate) client: IpAddr,
    /// The address of ours that its connection is to, if the policy wants to know the interface.
    pub(crate) local: Option<ArrivedAt>,
    pub(crate) host: DomainName,
    pub(crate) page: Option<DomainName>,
    pub(crate) kind: RequestKind,
    /// Path and query; the path in normal form.
    pub(crate) path: String,
    /// The path percent-decoded, where that is another text.
    pub(crate) plain: Option<String>,
    /// For the policy and the ledger: with that path.
    pub(crate) url: String,
    /// The path as it came, where routes read its slashes by rules of their own.
    pub(crate) raw: Option<Box<str>>,
    pub(crate) led: PathChooser,
}

/// Tells who has chosen the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathChooser {
    ByClient,
    /// One of ours: see `reproxy`.
    ByServer,
}

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

impl GatewayRequest {
    /// The same at another path and query that a server names.
    pub(crate) fn led_to(&self, path: &str, rules: SlashRules) -> Result<Self, BadPath> {
        let target: PathAndQuery = path.parse().map_err(|_| BadPath::NotAPath)?;
        let RequestAim { path, plain, raw } = aim(target.path(), target.query(), rules)?;
        let url = self.url_of(&path);
        Ok(Self { path, plain, url, raw, led: PathChooser::ByServer, ..self.clone() })
    }

    /// The same as a server sees it that takes the parameters of segments off; none where there are
    /// none. `rule`: that by which the path was read.
    pub(crate) fn without_parameters(&self, rule: SlashRule) -> Option<Self> {
        let bare = RequestPath::without_parameters(self.split().0, rule)?;
        Some(self.at(bare))
    }

    /// The same with its path, which came as `raw`, read by another rule.
    pub(crate) fn reread(&self, raw: &str, rule: SlashRule) -> Result<Self, BadPath> {
        RequestPath::read_by(raw, rule).map(|path| self.at(path))
    }

    /// The same at another path.
    fn at(&self, path: RequestPath) -> Self {
        let (mut text, plain) = path.into_texts();
        if let Some((_, query)) = self.path.split_once('?') {
            text.push('?');
            text.push_str(query);
        }
        let url = self.url_of(&text);
        Self { path: text, plain, url, ..self.clone() }
    }

    /// Returns its URL, were this its path and query.
    fn url_of(&self, path: &str) -> String {
        let before = self.url.strip_suffix(&self.path).unwrap_or("");
        format!("{before}{path}")
    }

    /// The path percent-decoded, which routes are held against.
    pub(crate) fn plain_path(&self) -> &str {
        self.plain.as_deref().unwrap_or_else(|| self.split().0)
    }

    /// The path in normal form, and the query or nothing.
    pub(crate) fn split(&self) -> (&str, &str) {
        self.path.split_once('?').unwrap_or((&self.path, ""))
    }
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
    let wish = match read(&setup, caller, &mut request) {
        Ok(wish) => wish,
        Err(refusal) => {
            ticket.asked(RequestKind::Other, EventSubject::url(&request.uri().to_string()));
            let shaped = shape(door, &setup, GatewayOutcome::Refused(refusal), reader);
            return record(ticket, shaped, (&setup, None), &caller.tunnel);
        }
    };
    ticket.came_from(wish.client);
    ticket.asked(wish.kind, EventSubject::url(&wish.url));

    // decide
    let decision =
        decide((door, &setup), &wish, (MatchInput::of(&request), BlockOccasion::Request), now);
    if let Some(verdict) = decision.verdict() {
        ticket.decided(verdict.action, verdict.cause);
    }
    let wish = as_taken(wish, &decision, &mut request);
    if wish.raw.is_some() {
        ticket.asked(wish.kind, EventSubject::url(&wish.url));
    }
    let route = decision.route();
    let finish = AnswerFinish::of(&setup, route, (&wish, caller), &request);
    let stall = route.and_then(|route| route.silence_max());

    // act
    let stood = RefCell::new(AdmittedRequest::default());
    let scene = RequestContext { door, setup: &setup, caller, now, stood: &stood };
    let tell = |early| interim::tell(finish.interim(early));
    let acted = interim::hearing(pin!(reproxy::act(scene, decision, &wish, request)), tell).await;
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
    wish: &GatewayRequest,
    mut request: Box<Request<Incoming>>,
) -> GatewayOutcome {
    let RequestContext { setup, caller, now, .. } = scene;
    match decision {
        RouteDecision::Block(verdict, block) => {
            GatewayOutcome::Blocked { verdict, host: wish.host.clone(), block }
        }
        RouteDecision::Nowhere(_) => GatewayOutcome::Nowhere,
        RouteDecision::Refuse(why) => GatewayOutcome::Refused(GatewayRefusal::Path(why)),
        RouteDecision::Pass(_, route) => {
            let Some(to) = &route.to else { return GatewayOutcome::Nowhere };
            let method = request.method().clone();
            let visit = GuardVisit { setup, wish, method: &method, caller, now };
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
                    pass(&trip, wish, request).await
                }
                RouteDestination::Own(own) => {
                    GatewayOutcome::Answered(own.give(wish, caller, &request), Source::Local)
                }
                RouteDestination::Folder(mount) => {
                    let body_max = route.body_max.unwrap_or(setup.settings.body_max.bytes());
                    if request.body().size_hint().lower() > body_max {
                        return GatewayOutcome::Refused(GatewayRefusal::BodyTooLarge);
                    }
                    let (response, source) = mount.serve((wish, user), caller, *request, now).await;
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
) -> Result<GatewayRequest, GatewayRefusal> {
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
    let aimed = aim(request.uri().path(), request.uri().query(), setup.slashes);
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
    Ok(GatewayRequest {
        client: setup.telling().client(caller.peer, headers),
        local: caller.local,
        host,
        page: [REFERER, ORIGIN].iter().find_map(|field| page_host(headers, field)),
        kind: kind::of_request(request.method(), request.uri(), headers),
        path,
        plain,
        url,
        raw,
        led: PathChooser::ByClient,
    })
}

/// Path and query of a request, read.
pub(crate) struct RequestAim {
    /// Path and query; the path in normal form.
    pub(crate) path: String,
    /// The path decoded, where that is another text.
    pub(crate) plain: Option<String>,
    /// The path as it came, where routes read its slashes by rules of their own.
    pub(crate) raw: Option<Box<str>>,
}

/// Reads path and query. Where routes have rules for slashes, and it depends on them, all slashes
/// are decoded and merged until a route is found: whoever reads it otherwise reads less of them.
pub(crate) fn aim(
    path: &str,
    query: Option<&str>,
    rules: SlashRules,
) -> Result<RequestAim, BadPath> {
    // An absolute URL without a path asks for the root (RFC 9112 §3.2.1).
    let path = if path.is_empty() { "/" } else { path };
    let by_route = rules == SlashRules::ByRoute && depends_on_slashes(path);
    let encoded = if by_route { EncodedSlash::Decode } else { EncodedSlash::Refuse };
    let read = RequestPath::read_by(path, SlashRule { encoded, ..SlashRule::default() })?;
    let (mut text, plain) = read.into_texts();
    if let Some(query) = query {
        text.push('?');
        text.push_str(query);
    }
    Ok(RequestAim { path: text, plain, raw: by_route.then(|| path.into()) })
}

/// The request as the route that it takes reads its path.
pub(crate) fn as_taken<B>(
    wish: GatewayRequest,
    decision: &RouteDecision,
    request: &mut Request<B>,
) -> GatewayRequest {
    let (Some(raw), Some(route)) = (&wish.raw, decision.route()) else { return wish };
    // It was read so before, or the route would not have taken it.
    let Ok(taken) = wish.reread(raw, route.slashes) else { return wish };
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
