//! One request through the gateway, top to bottom: read, decide, act, review, shape, record.

use crate::caller::Caller;
use crate::decide::{Decision, decide};
use crate::door::{Door, Setup};
use crate::finish::Finish;
use crate::guards::{Block, Occasion, Stood, Turned, Visit};
use crate::leaving::Leaving;
use crate::matching::Asked;
use crate::passing::{Trip, pass};
use crate::path::{BadPath, RequestPath, SlashRule, depends_on_slashes};
use crate::pools::Lease;
use crate::readings::SlashRules;
use crate::reproxy;
use crate::route::Destination;
use crate::settings::EncodedSlash;
use crate::shape::{Shaped, review, shape};
use crate::ticket::Ticket;
use crate::websocket::{self, Connect};
use http::header::{HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN, REFERER};
use http::uri::PathAndQuery;
use http::{Method, Request, Response, Uri};
use http_body::Body as _;
use http_engine::claims::Overrides;
use http_engine::html::Reader;
use http_engine::{Body, Incoming, interim, kind, upgrade};
use ledger::Subject;
use policy::Verdict;
use std::cell::RefCell;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use transport::clock;
use transport::near::CameTo;
use upstream::origins::{
    BecomesTunnel, Host, Metered, Origin, OriginScheme, SendError, carry_switched,
};
use vocab::{DomainName, Kind, Name, Now, Source};

/// What a client wants, once it is understood.
#[derive(Clone)]
pub(crate) struct Wish {
    pub(crate) client: IpAddr,
    /// The address of ours that its connection is to, if the policy wants to know the interface.
    pub(crate) local: Option<CameTo>,
    pub(crate) host: DomainName,
    pub(crate) page: Option<DomainName>,
    pub(crate) kind: Kind,
    /// Path and query; the path in normal form.
    pub(crate) path: String,
    /// The path percent-decoded, where that is another text.
    pub(crate) plain: Option<String>,
    /// For the policy and the ledger: with that path.
    pub(crate) url: String,
    /// The path as it came, where routes read its slashes by rules of their own.
    pub(crate) raw: Option<Box<str>>,
    pub(crate) led: Led,
}

/// Who has chosen the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Led {
    ByClient,
    /// One of ours: see `reproxy`.
    ByServer,
}

/// What doing something about a request needs to know.
#[derive(Clone, Copy)]
pub(crate) struct Scene<'s> {
    pub(crate) door: &'s Arc<Door>,
    pub(crate) setup: &'s Arc<Setup>,
    pub(crate) caller: &'s Arc<Caller>,
    pub(crate) now: Now,
    /// What the guards of its routes have to say with the answer.
    pub(crate) stood: &'s RefCell<Stood>,
}

impl Wish {
    /// The same at another path and query that a server names.
    pub(crate) fn led_to(&self, path: &str, rules: SlashRules) -> Result<Self, BadPath> {
        let target: PathAndQuery = path.parse().map_err(|_| BadPath::NotAPath)?;
        let Aim { path, plain, raw } = aim(target.path(), target.query(), rules)?;
        let url = self.url_of(&path);
        Ok(Self { path, plain, url, raw, led: Led::ByServer, ..self.clone() })
    }

    /// The same as a server sees it that takes the parameters of segments off; none where there are none.
    /// `rule`: that by which the path was read.
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

    /// Its URL, were this its path and query.
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
pub(crate) enum Refusal {
    Method,
    Host,
    Path(BadPath),
    BodyTooLarge,
    /// The connection was made for another name.
    Misdirected,
    /// Too many connections have left HTTP.
    TooManyUpgrades,
}

/// What came of a request.
pub(crate) enum Outcome {
    Refused(Refusal),
    Blocked {
        verdict: Verdict,
        host: DomainName,
        /// What refuses it, where that is not the policy.
        block: Option<Arc<Block>>,
    },
    Nowhere,
    /// The route's own answer, or what its folder has.
    Answered(Response<Body>, Source),
    /// A guard of its route did not let it through.
    Turned(Box<Turned>),
    Fetched(Response<Body>),
    Cached(http_cache::Served),
    /// The server agreed to leave HTTP, and the client had asked for it.
    Switched(Response<Body>, Leaving),
    GoingRound,
    Failed(SendError),
    /// The pool has nobody for it; this is when to ask again.
    Unavailable(Duration),
}

/// Answers one request. The future is dropped when the client goes away; the ticket notes it.
pub(crate) async fn answer(
    door: &Arc<Door>,
    caller: &Arc<Caller>,
    mut request: Box<Request<Incoming>>,
) -> Response<Body> {
    let now = clock::now();
    let setup = door.setup();
    let mut ticket = Ticket::open(&door.parts.ledger, now, caller.peer);
    let reader = Reader::of(request.headers());

    // read
    let wish = match read(&setup, caller, &mut request) {
        Ok(wish) => wish,
        Err(refusal) => {
            ticket.asked(Kind::Other, Subject::url(&request.uri().to_string()));
            let shaped = shape(door, &setup, Outcome::Refused(refusal), reader);
            return record(ticket, shaped, (&setup, None), &caller.tunnel);
        }
    };
    ticket.came_from(wish.client);
    ticket.asked(wish.kind, Subject::url(&wish.url));

    // decide
    let decision = decide((door, &setup), &wish, (Asked::of(&request), Occasion::Request), now);
    if let Some(verdict) = decision.verdict() {
        ticket.decided(verdict.action, verdict.cause);
    }
    let wish = as_taken(wish, &decision, &mut request);
    if wish.raw.is_some() {
        ticket.asked(wish.kind, Subject::url(&wish.url));
    }
    let route = decision.route();
    let finish = Finish::of(&setup, route, (&wish, caller), &request);
    let stall = route.and_then(|route| route.silence_max());

    // act
    let stood = RefCell::new(Stood::default());
    let scene = Scene { door, setup: &setup, caller, now, stood: &stood };
    let tell = |early| interim::tell(finish.interim(early));
    let acted = interim::hearing(pin!(reproxy::act(scene, decision, &wish, request)), tell).await;
    let stood = stood.into_inner();

    // review
    let reviewed = review(acted);

    // shape
    if let Outcome::Cached(served) = &reviewed {
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
    scene: Scene<'_>,
    decision: Decision,
    wish: &Wish,
    mut request: Box<Request<Incoming>>,
) -> Outcome {
    let Scene { setup, caller, now, .. } = scene;
    match decision {
        Decision::Block(verdict, block) => {
            Outcome::Blocked { verdict, host: wish.host.clone(), block }
        }
        Decision::Nowhere(_) => Outcome::Nowhere,
        Decision::Refuse(why) => Outcome::Refused(Refusal::Path(why)),
        Decision::Pass(_, route) => {
            let Some(to) = &route.to else { return Outcome::Nowhere };
            let method = request.method().clone();
            let visit = Visit { setup, wish, method: &method, caller, now };
            match route.guards.stand(&visit, request.headers_mut()).await {
                Err(turned) => return Outcome::Turned(turned),
                Ok(through) => scene.stood.borrow_mut().add(through),
            }
            let user = scene.stood.borrow().user.clone();
            // To a CONNECT, any success would open the stream (RFC 9110 §9.3.6).
            if method == Method::CONNECT && route.pool().is_none() {
                return Outcome::Refused(Refusal::Method);
            }
            let strange = (&**caller, route.passed.request.as_slice());
            let overrides = if route.cache.is_some() { Overrides::None } else { setup.overrides };
            setup.telling().disbelieve(request.headers_mut(), strange, (&method, overrides));
            match to {
                Destination::Pool(pool) => {
                    let trip = Trip { setup, route: &route, pool, caller, now };
                    pass(&trip, wish, request).await
                }
                Destination::Own(own) => {
                    Outcome::Answered(own.give(wish, caller, &request), Source::Local)
                }
                Destination::Folder(mount) => {
                    let body_max = route.body_max.unwrap_or(setup.settings.body_max.bytes());
                    if request.body().size_hint().lower() > body_max {
                        return Outcome::Refused(Refusal::BodyTooLarge);
                    }
                    let (response, source) = mount.serve((wish, user), caller, *request, now).await;
                    Outcome::Answered(response, source)
                }
            }
        }
    }
}

fn read(setup: &Setup, caller: &Caller, request: &mut Request<Incoming>) -> Result<Wish, Refusal> {
    match websocket::asked(request) {
        Some(Connect::Other) => return Err(Refusal::Method),
        Some(Connect::WebSocket) | None => {}
    }
    if *request.method() == Method::TRACE {
        return Err(Refusal::Method);
    }
    // RFC 9112 §3.2.2: the authority of an absolute target stands over Host.
    if let Some(authority) = request.uri().authority() {
        let host = HeaderValue::from_str(authority.as_str()).map_err(|_| Refusal::Host)?;
        request.headers_mut().insert(HOST, host);
    }
    let aimed = aim(request.uri().path(), request.uri().query(), setup.slashes);
    let Aim { path, plain, raw } = aimed.map_err(Refusal::Path)?;
    if path.split('?').next() != Some(request.uri().path()) {
        *request.uri_mut() = path.parse().map_err(|_| Refusal::Host)?;
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
            Some(Origin::from_authority(scheme, host).map_err(|_| Refusal::Host)?)
        }
        Some(Err(_)) => return Err(Refusal::Host),
    };
    let url = match &asked {
        Some(origin) => origin.url(&path),
        None => path.clone(),
    };
    let host = match asked.map(|origin| origin.host) {
        None => Name::ROOT.to_owned(),
        Some(Host::Name(name)) => name,
        Some(address @ Host::Address(_)) => address.to_name(),
    };
    if let (Some(secured), Some(secure)) = (&caller.secured, &setup.secure)
        && !secure.serves(secured, host.as_name())
    {
        return Err(Refusal::Misdirected);
    }
    Ok(Wish {
        client: setup.telling().client(caller.peer, headers),
        local: caller.local,
        host,
        page: [REFERER, ORIGIN].iter().find_map(|field| page_host(headers, field)),
        kind: kind::of_request(request.method(), request.uri(), headers),
        path,
        plain,
        url,
        raw,
        led: Led::ByClient,
    })
}

/// Path and query of a request, read.
pub(crate) struct Aim {
    /// Path and query; the path in normal form.
    pub(crate) path: String,
    /// The path decoded, where that is another text.
    pub(crate) plain: Option<String>,
    /// The path as it came, where routes read its slashes by rules of their own.
    pub(crate) raw: Option<Box<str>>,
}

/// Reads path and query. Where routes have rules for slashes, and it depends on them, all slashes
/// are decoded and merged until a route is found: whoever reads it otherwise reads less of them.
pub(crate) fn aim(path: &str, query: Option<&str>, rules: SlashRules) -> Result<Aim, BadPath> {
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
    Ok(Aim { path: text, plain, raw: by_route.then(|| path.into()) })
}

/// The request as the route that it takes reads its path.
pub(crate) fn as_taken<B>(wish: Wish, decision: &Decision, request: &mut Request<B>) -> Wish {
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
    mut ticket: Ticket,
    shaped: Shaped,
    (setup, stall): (&Setup, Option<Duration>),
    becomes: &BecomesTunnel,
) -> Response<Body> {
    let Shaped { mut response, source, switched } = shaped;
    ticket.answered(source, response.status().as_u16());
    let Some(Leaving { client, held, place }) = switched else {
        let stall = stall.unwrap_or(setup.settings.response_timeout.0.0);
        return response
            .map(|body| Metered::wrap(body, stall, move |bytes, end| ticket.ended(bytes, end)));
    };
    becomes.now();
    let idle = setup.settings.upgrade_idle.0.0;
    let server = upgrade::on(&mut response);
    let lease = response.extensions_mut().remove::<Arc<Lease>>();
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
