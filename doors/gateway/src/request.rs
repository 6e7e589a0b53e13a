//! One request through the gateway, top to bottom: read, decide, act, review, shape, record.

use crate::cached::{self, Errand, Failed};
use crate::door::{Door, Setup};
use crate::forwarded;
use crate::pages;
use crate::pool::{Pool, Tried};
use crate::routes::{self, DotSegment};
use crate::ticket::Ticket;
use http::header::{
    CONNECTION, HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN, REFERER, UPGRADE,
};
use http::{Method, Request, Response, StatusCode, Uri, Version};
use http_body::Body as _;
use http_body_util::Limited;
use http_cache::{Cache, Question};
use http_engine::{Body, Incoming, hop_by_hop, kind, upgrade};
use ledger::Subject;
use policy::{Ask, RuleText, Verdict};
use std::net::IpAddr;
use std::sync::Arc;
use transport::clock;
use upstream::origins::{
    Anywhere, BecomesTunnel, Blame, Loop, Metered, Origin, OriginScheme, SendError, Unanswered,
    add_via, carry_switched,
};
use vocab::{Action, Cause, DomainName, Kind, Name, Now, RuleRef, Source};

/// What a client wants, once it is understood.
struct Wish {
    client: IpAddr,
    host: DomainName,
    page: Option<DomainName>,
    kind: Kind,
    /// Path and query.
    path: String,
    /// For the policy and the ledger.
    url: String,
}

/// Why a request goes no further than being read.
enum Refusal {
    Method,
    Host,
    Path(DotSegment),
    BodyTooLarge,
}

/// What is to be done with a request.
enum Decision {
    Block(Verdict),
    Pass(Verdict, Arc<Pool>, Caching),
    /// No route fits.
    Nowhere(Verdict),
}

/// Whether a route's answers are cached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caching {
    On,
    Off,
}

/// What came of a request.
enum Outcome {
    Refused(Refusal),
    Blocked {
        verdict: Verdict,
        host: DomainName,
    },
    Nowhere,
    Fetched(Response<Body>),
    Cached(http_cache::Served),
    /// The server agreed to leave HTTP, and the client had asked for it.
    Switched(Response<Body>, upgrade::OnUpgrade),
    GoingRound,
    Failed(SendError),
}

/// Answers one request. The future is dropped when the client goes away; the ticket notes it.
pub(crate) async fn answer(
    door: &Arc<Door>,
    peer: IpAddr,
    tunnel: &BecomesTunnel,
    mut request: Request<Incoming>,
) -> Response<Body> {
    let now = clock::now();
    let setup = door.setup();
    let mut ticket = Ticket::open(&door.parts.ledger, now, peer);

    // read
    let wish = match read(&setup, peer, &mut request) {
        Ok(wish) => wish,
        Err(refusal) => {
            ticket.asked(Kind::Other, Subject::url(&request.uri().to_string()));
            let shaped = shape(door, &setup, Outcome::Refused(refusal));
            return record(ticket, shaped, &setup, tunnel);
        }
    };
    ticket.came_from(wish.client);
    ticket.asked(wish.kind, Subject::url(&wish.url));

    // decide
    let decision = decide(door, &setup, &wish, now);
    let (Decision::Block(verdict) | Decision::Pass(verdict, ..) | Decision::Nowhere(verdict)) =
        &decision;
    ticket.decided(verdict.action, verdict.cause);

    // act
    let acted = match decision {
        Decision::Block(verdict) => Outcome::Blocked { verdict, host: wish.host },
        Decision::Nowhere(_) => Outcome::Nowhere,
        Decision::Pass(_, pool, caching) => {
            let cache = setup.cache.as_ref().filter(|_| caching == Caching::On);
            pass(&Trip { setup: &setup, pool: &pool, cache, peer, now }, &wish, request).await
        }
    };

    // review
    let reviewed = review(acted);

    // shape
    let shaped = shape(door, &setup, reviewed);

    // record
    record(ticket, shaped, &setup, tunnel)
}

fn read(setup: &Setup, peer: IpAddr, request: &mut Request<Incoming>) -> Result<Wish, Refusal> {
    if matches!(*request.method(), Method::CONNECT | Method::TRACE) {
        return Err(Refusal::Method);
    }
    let declared = request.body().size_hint().lower();
    if declared > setup.settings.body_max.bytes() {
        return Err(Refusal::BodyTooLarge);
    }
    // RFC 9112 §3.2.2: the authority of an absolute target stands over Host.
    if let Some(authority) = request.uri().authority() {
        let host = HeaderValue::from_str(authority.as_str()).map_err(|_| Refusal::Host)?;
        request.headers_mut().insert(HOST, host);
    }
    let path = request.uri().path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    let path = path.to_owned();
    routes::check_path(request.uri().path()).map_err(Refusal::Path)?;
    let headers = request.headers();
    let asked = match headers.get(HOST).map(HeaderValue::to_str) {
        // HTTP/1.0 knows no Host.
        None | Some(Ok("")) => None,
        Some(Ok(host)) => {
            Some(Origin::from_authority(OriginScheme::Http, host).map_err(|_| Refusal::Host)?)
        }
        Some(Err(_)) => return Err(Refusal::Host),
    };
    let url = match &asked {
        Some(origin) => format!("{origin}{path}"),
        None => path.clone(),
    };
    Ok(Wish {
        client: forwarded::client(peer, headers, &setup.trusted),
        host: asked.map_or_else(|| Name::ROOT.to_owned(), |origin| origin.host.to_name()),
        page: [REFERER, ORIGIN].iter().find_map(|field| page_host(headers, field)),
        kind: kind::of_request(request.method(), request.uri(), headers),
        path,
        url,
    })
}

/// The first route that fits decides; a route whose patterns do not hit and that has no pool leaves
/// it to those that follow. Patterns come before the policy: they are the nearer rule.
fn decide(door: &Door, setup: &Setup, wish: &Wish, now: Now) -> Decision {
    let path = wish.path.split('?').next().unwrap_or(&wish.path);
    let mut pool = None;
    for route in &setup.routes {
        let host_fits = route.host.as_ref().is_none_or(|host| host.fits(wish.host.as_name()));
        if !host_fits || !route.path.fits(path) {
            continue;
        }
        if let Some(block) = &route.block
            && let Some(line) = block.patterns.hit(&wish.path)
        {
            let cause = Cause::Rule(RuleRef { list: block.list, line });
            return Decision::Block(Verdict::usual(Action::Block, cause));
        }
        if let Some(found) = &route.pool {
            pool = Some((Arc::clone(found), route.caching));
            break;
        }
    }
    let ask = Ask {
        door: vocab::Door::Gateway,
        client: wish.client,
        who: None,
        host: wish.host.as_name(),
        kind: wish.kind,
        url: Some(&wish.url),
        page: wish.page.as_ref().map(DomainName::as_name),
    };
    let verdict = door.parts.policy.load().decide(&ask, now);
    match (verdict.action, pool) {
        (Action::Block, _) => Decision::Block(verdict),
        (Action::Pass, Some((pool, caching))) => Decision::Pass(verdict, pool, caching),
        (Action::Pass, None) => Decision::Nowhere(verdict),
    }
}

/// What passing a request on needs to know.
struct Trip<'s> {
    setup: &'s Arc<Setup>,
    pool: &'s Arc<Pool>,
    cache: Option<&'s Arc<Cache>>,
    peer: IpAddr,
    now: Now,
}

/// What is put into a request that goes on.
pub(crate) struct Onward<'s> {
    pub(crate) setup: &'s Setup,
    pub(crate) peer: IpAddr,
    pub(crate) received: Version,
}

impl Onward<'_> {
    /// Makes its fields ours to send; a protocol to switch to is asked for on our own behalf.
    pub(crate) fn prepare(
        &self,
        headers: &mut HeaderMap,
        wants: Option<HeaderValue>,
    ) -> Result<(), Loop> {
        hop_by_hop::strip(headers);
        if let Some(protocol) = wants {
            headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
            headers.insert(UPGRADE, protocol);
        }
        forwarded::tell(headers, self.peer, &self.setup.trusted);
        add_via(headers, self.received)
    }
}

async fn pass(trip: &Trip<'_>, wish: &Wish, mut request: Request<Incoming>) -> Outcome {
    let wants = hop_by_hop::wants_upgrade(request.headers())
        .and_then(|protocol| HeaderValue::from_str(protocol).ok());
    let upgrading = wants.is_some().then(|| upgrade::on(&mut request));
    let (mut head, body) = request.into_parts();
    let Ok(uri) = wish.path.parse::<Uri>() else { return Outcome::Refused(Refusal::Host) };
    let received = std::mem::replace(&mut head.version, Version::HTTP_11);
    let is_get = head.method == Method::GET || head.method == Method::HEAD;
    if let Some(cache) = trip.cache
        && is_get
        && upgrading.is_none()
        && body.is_end_stream()
    {
        return through_cache(trip, cache, wish, (head, uri, received)).await;
    }
    head.uri = uri;
    let onward = Onward { setup: trip.setup, peer: trip.peer, received };
    if onward.prepare(&mut head.headers, wants).is_err() {
        return Outcome::GoingRound;
    }
    let method = head.method.clone();
    let onward = Request::from_parts(head, capped(body, trip.setup.settings.body_max.bytes()));
    match send(trip.setup, trip.pool, onward, trip.now).await {
        Err(why) => Outcome::Failed(why),
        Ok(response) => match upgrading {
            Some(client) if response.status() == StatusCode::SWITCHING_PROTOCOLS => {
                Outcome::Switched(response, client)
            }
            Some(_) | None => Outcome::Fetched(changing(trip, wish, method, response).await),
        },
    }
}

async fn through_cache(
    trip: &Trip<'_>,
    cache: &Arc<Cache>,
    wish: &Wish,
    (head, path, received): (http::request::Parts, Uri, Version),
) -> Outcome {
    let question = Question {
        method: head.method,
        url: wish.url.clone(),
        fields: head.headers,
        now: trip.now,
    };
    let errand = Errand {
        setup: Arc::clone(trip.setup),
        pool: Arc::clone(trip.pool),
        peer: trip.peer,
        path,
        received,
        now: trip.now,
    };
    match cached::answer(cache, question, errand).await {
        Ok(served) => Outcome::Cached(served),
        Err(Failed::GoingRound) => Outcome::GoingRound,
        Err(Failed::Send(why)) => Outcome::Failed(why),
    }
}

/// Drops what a request may have changed that went past the cache.
async fn changing(
    trip: &Trip<'_>,
    wish: &Wish,
    method: Method,
    response: Response<Body>,
) -> Response<Body> {
    let Some(cache) = trip.cache else { return response };
    let (head, body) = response.into_parts();
    let (url, fields) = (wish.url.clone(), HeaderMap::new());
    cache.changed(&Question { method, url, fields, now: trip.now }, &head).await;
    Response::from_parts(head, body)
}

/// Tries servers in turn until one takes the request. Only a request of which nothing was sent
/// goes on to the next.
pub(crate) async fn send(
    setup: &Setup,
    pool: &Pool,
    mut request: Request<Body>,
    now: Now,
) -> Result<Response<Body>, SendError> {
    let mut tried = Tried::default();
    let mut failure = SendError::Closed;
    while let Some(server) = pool.pick(&mut tried, now) {
        match setup.origins.send(pool.origin(server), request, &Anywhere).await {
            Ok(response) => {
                pool.answered(server);
                return Ok(response);
            }
            Err(Unanswered { why, unsent }) => {
                if matches!(why, SendError::Dial(_)) {
                    pool.failed(server, now);
                }
                failure = why;
                match unsent {
                    Some(unsent) => request = *unsent,
                    None => return Err(failure),
                }
            }
        }
    }
    Err(failure)
}

fn capped(body: Incoming, bytes_max: u64) -> Body {
    if body.is_end_stream() || body.size_hint().exact().is_some() {
        // Its length was declared, and was held against the cap when the request was read.
        return Body::from(body);
    }
    Body::boxed(Limited::new(body, usize::try_from(bytes_max).unwrap_or(usize::MAX)))
}

/// What a server sent is passed on only if it is an answer to what was asked. What came through the
/// cache was looked at before it was stored.
fn review(outcome: Outcome) -> Outcome {
    match &outcome {
        Outcome::Fetched(response) => match answers(response) {
            Ok(()) => outcome,
            Err(why) => Outcome::Failed(why),
        },
        _ => outcome,
    }
}

/// Whether it is an answer to what was asked.
pub(crate) fn answers(response: &Response<Body>) -> Result<(), SendError> {
    match response.status() {
        StatusCode::SWITCHING_PROTOCOLS => {
            Err(SendError::BadResponse("it switched protocols unasked".into()))
        }
        _ => Ok(()),
    }
}

/// An answer ready to go out.
struct Shaped {
    response: Response<Body>,
    source: Source,
    switched: Option<upgrade::OnUpgrade>,
}

impl Shaped {
    fn new(response: Response<Body>, source: Source) -> Self {
        Self { response, source, switched: None }
    }
}

fn shape(door: &Door, setup: &Setup, outcome: Outcome) -> Shaped {
    match outcome {
        Outcome::Refused(refusal) => {
            let page = match refusal {
                Refusal::Method => pages::method(),
                Refusal::Host => pages::bad_request("The request names no host that can be served"),
                Refusal::Path(why) => pages::bad_request(&why.to_string()),
                Refusal::BodyTooLarge => pages::too_large(),
            };
            Shaped::new(page, Source::Refused)
        }
        Outcome::Blocked { verdict, host } => {
            let rule = rule_text(door, setup, verdict, host.as_name());
            Shaped::new(pages::blocked(rule.as_ref()), Source::Policy)
        }
        Outcome::Nowhere => Shaped::new(pages::no_route(), Source::Local),
        Outcome::Fetched(response) => Shaped::new(passed_on(response), Source::Origin),
        Outcome::Cached(served) => {
            let source = match served.source {
                http_cache::Source::Fresh => Source::Cache,
                http_cache::Source::Stale => Source::Stale,
                http_cache::Source::Origin => Source::Origin,
                http_cache::Source::Nowhere => Source::Refused,
            };
            Shaped::new(passed_on(served.response), source)
        }
        Outcome::Switched(response, client) => {
            let protocol = response.headers().get(UPGRADE).cloned();
            let mut response = passed_on(response);
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("upgrade"));
            if let Some(protocol) = protocol {
                response.headers_mut().insert(UPGRADE, protocol);
            }
            Shaped { response, source: Source::Tunnel, switched: Some(client) }
        }
        Outcome::GoingRound => Shaped::new(pages::going_round(), Source::Refused),
        Outcome::Failed(why) => {
            let source = match why.blame() {
                Blame::Client => Source::Refused,
                Blame::Origin | Blame::Slow | Blame::Guard => Source::Failed,
            };
            Shaped::new(pages::rescue(&why), source)
        }
    }
}

fn passed_on(mut response: Response<Body>) -> Response<Body> {
    let received = response.version();
    *response.version_mut() = Version::HTTP_11;
    hop_by_hop::strip(response.headers_mut());
    // A response that has passed many of us is not dangerous: it has arrived.
    let _ = add_via(response.headers_mut(), received);
    response
}

fn rule_text(door: &Door, setup: &Setup, verdict: Verdict, host: Name<'_>) -> Option<RuleText> {
    let rule = verdict.cause.rule()?;
    setup.rule_text(rule).or_else(|| door.parts.policy.load().rule_text(rule, host))
}

/// Closes the ticket when the answer's last byte is gone, or the connection that left HTTP ends.
fn record(
    mut ticket: Ticket,
    shaped: Shaped,
    setup: &Setup,
    becomes: &BecomesTunnel,
) -> Response<Body> {
    let Shaped { mut response, source, switched } = shaped;
    ticket.answered(source, response.status().as_u16());
    let Some(client) = switched else {
        let stall = setup.settings.response_timeout.0.0;
        return response
            .map(|body| Metered::wrap(body, stall, move |bytes, _| ticket.close(bytes)));
    };
    becomes.now();
    let idle = setup.settings.upgrade_idle.0.0;
    let server = upgrade::on(&mut response);
    tokio::task::spawn_local(async move {
        let carried = carry_switched(client, server, idle).await;
        ticket.close(carried);
    });
    response.map(|_| Body::empty())
}

/// The host of the page that makes the request, from `Referer` or `Origin`.
fn page_host(headers: &HeaderMap, field: &HeaderName) -> Option<DomainName> {
    let page: Uri = headers.get(field)?.to_str().ok()?.parse().ok()?;
    DomainName::parse(page.host()?).ok()
}
