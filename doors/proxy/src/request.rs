//! One request through the proxy, top to bottom: read, decide, act, review, shape, record.

use crate::access::Denied;
use crate::blocked;
use crate::cached::{self, Failed};
use crate::decide::{Asked, Decision, decide};
use crate::door::{Caller, Door, Setup};
use crate::headers::{max_forwards, page_of, wanted_protocol};
use crate::own::{self, Own};
use crate::pages;
use crate::target::{self, BadTarget, Target};
use crate::ticket::Ticket;
use crate::trims;
use crate::tunnel::{self, HandOver};
use crate::within::{Asker, Within};
use http::header::{HeaderMap, HeaderValue};
use http::{Method, Request, Response, StatusCode, Uri, Version};
use http_engine::html::Reader;
use http_engine::{Body, Incoming, hop_by_hop, interim, kind, reply, upgrade};
use ledger::Subject;
use policy::Who;
use std::pin::pin;
use std::sync::Arc;
use transport::clock;
use upstream::origins::{Blame, DialError, Metered, Origin, SendError};
use vocab::{Action, DomainName, Kind, Near, Now, Source};

/// What a client wants, once it is understood.
struct Wish {
    target: Target,
    host: DomainName,
    page: Option<DomainName>,
    kind: Kind,
    user: Option<Arc<str>>,
    /// The URL, or `host:port` of a tunnel: for the policy, the ledger and people.
    subject: String,
}

/// Why a request goes no further than being read.
enum Refusal {
    Stranger,
    Denied(Denied),
    Target(BadTarget),
    Own(Own),
    Port(Method, u16),
    Trace,
    EndsHere,
}

/// What came of a request.
enum Outcome {
    Refused(Refusal),
    /// In place of what the policy blocks, or would have asked for otherwise.
    ByPolicy(Response<Body>),
    Fetched(Response<Body>),
    Cached(http_cache::Served),
    Switched(Response<Body>, upgrade::OnUpgrade),
    Tunnelled,
    GoingRound,
    Failed(SendError),
}

/// What acting on a request needs to know.
pub(crate) struct Trip<'d> {
    pub(crate) door: &'d Arc<Door>,
    pub(crate) setup: &'d Arc<Setup>,
    pub(crate) caller: &'d Arc<Caller>,
    pub(crate) within: Within<'d>,
    pub(crate) now: Now,
}

/// Answers one request. The future is dropped when the client goes away; the ticket notes it.
pub(crate) async fn answer(
    door: &Arc<Door>,
    caller: &Arc<Caller>,
    mut request: Request<Incoming>,
) -> Response<Body> {
    let (now, setup) = (clock::now(), door.setup());
    let mut ticket = Ticket::open(&door.parts.ledger, now, caller.client);
    let reader = Reader::of(request.headers());

    // read
    let wish = match read(door, &setup, caller, &request, now).await {
        Ok(wish) => wish,
        Err(refusal) => return refuse(&refusal, &request, (caller, &setup), ticket),
    };
    ticket.asked(wish.kind, wish.recorded());

    // decide
    let decision = settle(door, caller, &wish, request.method(), now);
    ticket.decided(decision.verdict().action, decision.cause());

    // act
    let asker = Asker::of(door, caller, wish.user, decision.verdict().cause, now);
    let within = setup.within(door, asker, wish.target.host());
    let trip = Trip { door, setup: &setup, caller, within, now };
    let subject = wish.subject;
    let acted = match (decision, &wish.target) {
        (Decision::Block(_), Target::Tunnel(to))
            if tunnel::hand_over(&trip, to, &mut request, &mut ticket) == HandOver::Taken =>
        {
            return shape(&trip, (&subject, reader), Outcome::Tunnelled).0;
        }
        (Decision::Block(verdict), _) => {
            let (host, page, kind) = (&wish.host, wish.page.as_ref(), wish.kind);
            let refused = blocked::Asked { verdict, host, page, kind, subject: &subject };
            Outcome::ByPolicy(blocked::answer(&trip, &refused, &request))
        }
        (Decision::Trim(_, cut), _) => Outcome::ByPolicy(trims::answer(&trip, &wish.host, cut)),
        (Decision::Pass(_), Target::Fetch { origin, path }) => {
            let fetching = pin!(fetch(&trip, origin, path, request));
            interim::hearing(fetching, |early| interim::tell(setup.fields.back(early))).await
        }
        (Decision::Pass(_), Target::Tunnel(to)) => {
            match Box::pin(open_tunnel(&trip, to, request, ticket)).await {
                // A tunnel's ticket is closed when the tunnel is.
                Ok(()) => return shape(&trip, (&subject, reader), Outcome::Tunnelled).0,
                Err((outcome, unused)) => {
                    ticket = unused;
                    outcome
                }
            }
        }
        (Decision::Pass(_), Target::Own(own)) => Outcome::Refused(Refusal::Own(*own)),
    };

    // review
    let reviewed = match review(&trip, (&subject, reader), &mut ticket, acted) {
        Outcome::Switched(mut response, client) => {
            let server = upgrade::on(&mut response);
            tunnel::switch(&trip, (client, server), ticket);
            return setup.fields.switching(response).map(|_| Body::empty());
        }
        other => other,
    };

    // shape
    let shaped = shape(&trip, (&subject, reader), reviewed);

    // record
    record(ticket, shaped, &setup)
}

/// The answer to a request that was refused before the policy was asked, noted in the ledger.
fn refuse(
    refusal: &Refusal,
    request: &Request<Incoming>,
    (caller, setup): (&Caller, &Setup),
    mut ticket: Ticket,
) -> Response<Body> {
    ticket.asked(Kind::Other, Subject::url(&request.uri().to_string()));
    let address = own::address_for(caller, request);
    let reader = Reader::of(request.headers());
    record(ticket, shape_refusal(refusal, caller, setup, (&address, reader)), setup)
}

async fn read(
    door: &Door,
    setup: &Setup,
    caller: &Caller,
    request: &Request<Incoming>,
    now: Now,
) -> Result<Wish, Refusal> {
    if !setup.serves(caller.client) {
        return Err(Refusal::Stranger);
    }
    let (method, headers) = (request.method(), request.headers());
    let target = match target::read(method, request.uri()).map_err(Refusal::Target)? {
        Target::Own(own) => return Err(Refusal::Own(own)),
        Target::Fetch { origin, path } if own::leads_here(caller, &origin, &path) => {
            return Err(Refusal::Own(Own::at(method, &path)));
        }
        other => other,
    };
    let user = match &setup.access {
        None => None,
        Some(access) => {
            let admitted = access.admit(&door.guesses, caller.client, headers, now).await;
            admitted.map_err(Refusal::Denied)?
        }
    };
    let page = page_of(headers);
    let (host, kind, subject) = match &target {
        Target::Own(own) => return Err(Refusal::Own(*own)),
        Target::Tunnel(to) if !setup.tunnels_to(to.port) => {
            return Err(Refusal::Port(Method::CONNECT, to.port));
        }
        Target::Tunnel(to) => (to.host.to_name(), Kind::Tunnel, format!("{}:{}", to.host, to.port)),
        Target::Fetch { .. } if method == Method::TRACE => return Err(Refusal::Trace),
        Target::Fetch { .. } if ends_here(method, headers) => return Err(Refusal::EndsHere),
        Target::Fetch { origin, .. } if !setup.fetches_from(origin.port) => {
            return Err(Refusal::Port(method.clone(), origin.port));
        }
        Target::Fetch { origin, path } => {
            let kind = kind::of_request(method, request.uri(), headers);
            (origin.host.to_name(), kind, origin.url(path))
        }
    };
    Ok(Wish { target, host, page, kind, user, subject })
}

/// Whoever was sent to a shorter URL too often gets the one that is asked for.
fn settle(door: &Door, caller: &Caller, wish: &Wish, method: &Method, now: Now) -> Decision {
    match decide(door, caller, &wish.asked(method), now) {
        Decision::Trim(verdict, _) if !door.trims.may_turn(caller.client, &wish.subject, now) => {
            Decision::Pass(verdict)
        }
        other => other,
    }
}

async fn fetch(
    trip: &Trip<'_>,
    origin: &Origin,
    path: &str,
    mut request: Request<Incoming>,
) -> Outcome {
    // HTTP/2 has no `Upgrade` (RFC 9113 §8.6).
    let wanted = match request.version() {
        Version::HTTP_11 => wanted_protocol(request.headers(), &trip.setup.settings.upgrade),
        _ => None,
    };
    let upgrading = wanted.is_some().then(|| upgrade::on(&mut request));
    let (mut head, body) = request.into_parts();
    let Ok(uri) = path.parse::<Uri>() else {
        return Outcome::Failed(SendError::BadResponse("the path cannot be sent on".into()));
    };
    if let Some(cache) = &trip.setup.cache
        && upgrading.is_none()
        && cached::concerns(&head, &body)
    {
        return match cached::answer(trip, cache, origin, uri, head).await {
            Ok(served) => Outcome::Cached(served),
            Err(Failed::GoingRound) => Outcome::GoingRound,
            Err(Failed::Send(why)) => Outcome::Failed(why),
        };
    }
    let question = cached::passing(trip, &head, origin, path);
    let (received, client) = (head.version, trip.caller.client);
    let fields = &trip.setup.fields;
    let asked = wanted.clone();
    if fields.onward(&mut head.headers, origin, received, client, asked).is_err() {
        return Outcome::GoingRound;
    }
    head.uri = uri.clone();
    head.version = Version::HTTP_11;
    let onward = Request::from_parts(head, Body::from(body));
    let way = trip.setup.routes.way(&origin.host);
    let sent = trip.setup.origins.send_by(way, origin, Box::new(onward), &trip.within, trip.now);
    // Boxed, as tunnels are: what the cache answers would carry its room.
    match Box::pin(sent).await {
        Ok(response) => match upgrading {
            Some(client) if response.status() == StatusCode::SWITCHING_PROTOCOLS => {
                switched(response, client, wanted.as_ref())
            }
            Some(_) | None => Outcome::Fetched(
                cached::passed(trip, question, (origin, uri, received), response).await,
            ),
        },
        Err(unanswered) => Outcome::Failed(unanswered.why),
    }
}

/// An origin that switches to another protocol than it was asked for has not answered.
fn switched(
    response: Response<Body>,
    client: upgrade::OnUpgrade,
    wanted: Option<&HeaderValue>,
) -> Outcome {
    let wanted = wanted.and_then(|protocol| protocol.to_str().ok());
    if wanted.is_some_and(|protocol| hop_by_hop::switches_to(response.headers(), protocol)) {
        return Outcome::Switched(response, client);
    }
    let why = "it switched to another protocol than it was asked for";
    Outcome::Failed(SendError::BadResponse(why.into()))
}

async fn open_tunnel(
    trip: &Trip<'_>,
    to: &Origin,
    mut request: Request<Incoming>,
    ticket: Ticket,
) -> Result<(), (Outcome, Ticket)> {
    let received = request.version();
    if trip.setup.fields.sign(request.headers_mut(), received).is_err() {
        return Err((Outcome::GoingRound, ticket));
    }
    let way = trip.setup.routes.way(&to.host);
    let opened = tunnel::open(trip, way, to, request, ticket).await;
    opened.map_err(|(why, ticket)| (Outcome::Failed(why), ticket))
}

/// What an origin sent is passed on only if it is an answer to what was asked. What came through the
/// cache was looked at before it was stored. What a host is an alias of is known once it is looked up.
fn review(
    trip: &Trip<'_>,
    (subject, reader): (&str, Reader),
    ticket: &mut Ticket,
    outcome: Outcome,
) -> Outcome {
    match &outcome {
        Outcome::Fetched(response) => match cached::no_answer(response.status()) {
            Some(why) => Outcome::Failed(SendError::BadResponse(why.into())),
            None => outcome,
        },
        Outcome::Cached(served) => {
            ticket.cached(served.caching);
            outcome
        }
        Outcome::Failed(SendError::Dial(DialError::Aliased(alias))) => {
            let Some(cause) = trip.within.blocks(alias.as_name()) else { return outcome };
            ticket.decided(Action::Block, cause);
            let policy = trip.door.parts.policy.load();
            let rule = cause.rule().and_then(|rule| policy.rule_text(rule, alias.as_name()));
            let page = pages::blocked(subject, Some(alias), rule.as_ref());
            Outcome::ByPolicy(reader.shown(page))
        }
        _ => outcome,
    }
}

fn shape(
    trip: &Trip<'_>,
    (subject, reader): (&str, Reader),
    outcome: Outcome,
) -> (Response<Body>, Source) {
    match outcome {
        Outcome::Refused(refusal) => {
            shape_refusal(&refusal, trip.caller, trip.setup, (subject, reader))
        }
        Outcome::ByPolicy(answer) => (answer, Source::Policy),
        Outcome::Fetched(response) => (trip.setup.fields.back(response), Source::Origin),
        Outcome::Cached(served) => {
            let source = match served.source {
                http_cache::Source::Fresh => Source::Cache,
                http_cache::Source::Stale => Source::Stale,
                http_cache::Source::Origin => Source::Origin,
                http_cache::Source::Nowhere => Source::Refused,
            };
            if served.source == http_cache::Source::Nowhere {
                return (reader.shown(served.response), source);
            }
            (trip.setup.fields.back(served.response), source)
        }
        Outcome::Switched(response, _) => (trip.setup.fields.switching(response), Source::Tunnel),
        Outcome::Tunnelled => (reply::empty(StatusCode::OK), Source::Tunnel),
        Outcome::GoingRound => (reader.shown(pages::going_round()), Source::Refused),
        Outcome::Failed(why) => {
            let source = match why.blame() {
                Blame::Guard | Blame::Client => Source::Refused,
                Blame::Origin | Blame::Slow => Source::Failed,
            };
            (reader.shown(pages::rescue(subject, &why)), source)
        }
    }
}

fn shape_refusal(
    refusal: &Refusal,
    caller: &Caller,
    setup: &Setup,
    (address, reader): (&str, Reader),
) -> (Response<Body>, Source) {
    let page = match refusal {
        Refusal::Own(Own::Pac) => {
            return (own::script(caller, address, &setup.settings.pac), Source::Local);
        }
        Refusal::Own(Own::Help) => return (own::help(caller, address), Source::Local),
        Refusal::Own(Own::Nothing) => pages::help(address),
        Refusal::Stranger => pages::stranger(),
        Refusal::Denied(why) => pages::denied(why),
        Refusal::Target(why) => pages::bad_request(&why.to_string()),
        Refusal::Port(method, port) => pages::port(method, *port),
        Refusal::Trace => pages::no_trace(),
        Refusal::EndsHere => pages::options(),
    };
    (reader.shown(page), Source::Refused)
}

/// Closes the ticket when the answer's last byte is gone.
fn record(
    mut ticket: Ticket,
    (response, source): (Response<Body>, Source),
    setup: &Setup,
) -> Response<Body> {
    ticket.answered(source, response.status().as_u16());
    let stall = setup.settings.response_timeout.0.0;
    response.map(|body| Metered::wrap(body, stall, move |bytes, end| ticket.ended(bytes, end)))
}

impl Trip<'_> {
    /// What is known of the client beside its address.
    pub(crate) fn who(&self) -> Who<'_> {
        Who { user: self.within.asker.user.as_deref(), ..self.near().into() }
    }

    /// What the client's link tells of it, as far as the policy wants to know.
    pub(crate) fn near(&self) -> Near {
        self.caller.near(&self.door.parts.policy.load(), self.now)
    }
}

impl Wish {
    fn asked<'w>(&'w self, method: &'w Method) -> Asked<'w> {
        Asked {
            method,
            host: self.host.as_name(),
            page: self.page.as_ref().map(DomainName::as_name),
            kind: self.kind,
            user: self.user.as_deref(),
            url: match self.target {
                Target::Fetch { .. } => Some(&self.subject),
                Target::Tunnel(_) | Target::Own(_) => None,
            },
        }
    }

    fn recorded(&self) -> Subject {
        match self.target {
            Target::Fetch { .. } => Subject::url(&self.subject),
            Target::Tunnel(_) | Target::Own(_) => Subject::name(self.host.as_name()),
        }
    }
}

/// RFC 9110 §7.6.2: with no forward left, the recipient answers in place of the origin.
fn ends_here(method: &Method, headers: &HeaderMap) -> bool {
    method == Method::OPTIONS && max_forwards(headers) == Some(0)
}
