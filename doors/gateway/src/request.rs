//! One request through the gateway, top to bottom: read, decide, act, review, shape, record.

use crate::decide::{Decision, decide};
use crate::door::{Door, Setup};
use crate::forwarded;
use crate::passing::{Trip, pass};
use crate::pools::Lease;
use crate::reproxy;
use crate::routes::{self, DotSegment};
use crate::shape::{Shaped, review, shape};
use crate::ticket::Ticket;
use http::header::{HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN, REFERER};
use http::uri::PathAndQuery;
use http::{Method, Request, Response, Uri};
use http_body::Body as _;
use http_engine::{Body, Incoming, kind, upgrade};
use ledger::Subject;
use policy::Verdict;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use transport::clock;
use upstream::origins::{BecomesTunnel, Metered, Origin, OriginScheme, SendError, carry_switched};
use vocab::{DomainName, Kind, Name, Now};

/// What a client wants, once it is understood.
#[derive(Clone)]
pub(crate) struct Wish {
    pub(crate) client: IpAddr,
    pub(crate) host: DomainName,
    pub(crate) page: Option<DomainName>,
    pub(crate) kind: Kind,
    /// Path and query.
    pub(crate) path: String,
    /// For the policy and the ledger.
    pub(crate) url: String,
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
    pub(crate) peer: IpAddr,
    pub(crate) now: Now,
}

impl Wish {
    /// The same at another path and query that a server names, if that is one.
    pub(crate) fn led_to(&self, path: &str) -> Option<Self> {
        let target: PathAndQuery = path.parse().ok()?;
        routes::check_path(target.path()).ok()?;
        let before = self.url.strip_suffix(&self.path).unwrap_or("");
        let url = format!("{before}{target}");
        Some(Self { path: target.to_string(), url, led: Led::ByServer, ..self.clone() })
    }
}

/// Why a request goes no further than being read.
pub(crate) enum Refusal {
    Method,
    Host,
    Path(DotSegment),
    BodyTooLarge,
}

/// What came of a request.
pub(crate) enum Outcome {
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
    /// The pool has nobody for it; this is when to ask again.
    Unavailable(Duration),
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
    let scene = Scene { door, setup: &setup, peer, now };
    let acted = reproxy::act(scene, decision, &wish, request).await;

    // review
    let reviewed = review(acted);

    // shape
    let shaped = shape(door, &setup, reviewed);

    // record
    record(ticket, shaped, &setup, tunnel)
}

/// Does what was decided.
pub(crate) async fn act(
    scene: Scene<'_>,
    decision: Decision,
    wish: &Wish,
    request: Request<Incoming>,
) -> Outcome {
    let Scene { setup, peer, now, .. } = scene;
    match decision {
        Decision::Block(verdict) => Outcome::Blocked { verdict, host: wish.host.clone() },
        Decision::Nowhere(_) => Outcome::Nowhere,
        Decision::Pass(_, route, pool) => {
            pass(&Trip { setup, route: &route, pool: &pool, peer, now }, wish, request).await
        }
    }
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
    let path = request.uri().path_and_query().map_or("/", PathAndQuery::as_str);
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
        led: Led::ByClient,
    })
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
    let place = response.extensions_mut().remove::<Arc<Lease>>();
    tokio::task::spawn_local(async move {
        let carried = carry_switched(client, server, idle).await;
        ticket.close(carried);
        drop(place);
    });
    response.map(|_| Body::empty())
}

/// The host of the page that makes the request, from `Referer` or `Origin`.
fn page_host(headers: &HeaderMap, field: &HeaderName) -> Option<DomainName> {
    let page: Uri = headers.get(field)?.to_str().ok()?.parse().ok()?;
    DomainName::parse(page.host()?).ok()
}
