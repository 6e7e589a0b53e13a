//! One request through the proxy, top to bottom: read, decide, act, review, shape, record.

use crate::bandwidth::paced;
use crate::blocked;
use crate::cached::{self, OriginTarget, ProxyFetchFailed};
use crate::connection::ProxyConnection;
use crate::context::{PageSubject, ProxyContext};
use crate::decide::{ProxyDecision, decide};
use crate::destination_guard::{DestinationGuard, HostAsker};
use crate::door::ProxyDoor;
use crate::headers::wanted_protocol;
use crate::host_check::HostCheck;
use crate::local_endpoints;
use crate::mirror::{self, TargetForm};
use crate::pages;
use crate::proxy_request::ProxyRequest;
use crate::redirected::{self, RedirectedCourse, RedirectorRequest};
use crate::refusal::ProxyRefusal;
use crate::remove_params;
use crate::scripted::{ScriptVisit, ScriptedEnd};
use crate::setup::ProxySetup;
use crate::target::ProxyTarget;
use crate::tunnel::{self, HandOver};
use access_log::PendingLine;
use http::header::HeaderValue;
use http::{Method, Request, Response, StatusCode, Uri, Version};
use http_cache::AnswerSource;
use http_engine::html::PageReader;
use http_engine::{Body, Incoming, hop_by_hop, interim, reply, upgrade};
use http_front::RequestTicket;
use ledger::EventSubject;
use origins::{Blame, BodyEnd, DialError, MeteredBody, Origin, SendError};
use std::pin::pin;
use std::sync::Arc;
use telemetry::{RequestArrival, ServerSpan};
use transport::clock;
use vocab::{Action, Door, Now, RequestKind, Source};

/// Outcome of a request.
enum ProxyOutcome {
    Refused(ProxyRefusal),
    /// In place of what the policy blocks, or would have asked for otherwise.
    ByPolicy(Response<Body>),
    /// By the redirector.
    Redirected(Box<Response<Body>>),
    Scripted(Box<Response<Body>>),
    ScriptFailed,
    Fetched(Response<Body>),
    Cached(http_cache::ServedAnswer),
    Switched(Response<Body>, upgrade::OnUpgrade),
    Loop,
    Failed(SendError),
}

/// An answer as the client gets it, and where it comes from.
struct ShapedResponse {
    response: Response<Body>,
    source: Source,
}

/// Answers one request. The future is dropped when the client goes away; the ticket notes it.
pub(crate) async fn answer(
    door: &Arc<ProxyDoor>,
    setup: Arc<ProxySetup>,
    caller: &Arc<ProxyConnection>,
    mut request: Request<Incoming>,
) -> Response<Body> {
    let (now, mut ticket) = open_ticket(door, &setup, caller, &mut request);

    // read
    let mut wish = match ProxyRequest::read(door, &setup, caller, &request, now).await {
        Ok(wish) => wish,
        Err(refusal) => return refuse(&refusal, &request, caller, &setup, ticket),
    };
    wish.note_in(&mut ticket);

    // decide
    let decision = decide_held(door, &setup, caller, &mut wish, request.method(), now).await;
    ticket.decided(decision.verdict().action, decision.cause());

    // act
    let scripted = ScriptVisit::of(&setup, &wish.target, request.method());
    let script = scripted.as_ref();
    ticket.on_close(script.and_then(|it| it.log_hook(&setup, caller)));
    let ended = match &decision {
        ProxyDecision::Pass(_) => lead(&setup, caller, &mut wish, script, &mut request).await,
        ProxyDecision::Block(_) | ProxyDecision::RemoveParams(..) => None,
    };
    let (policy, user, pinned) = (door.parts.policy.load(), wish.user.take(), wish.pinned);
    let asker = HostAsker::of(&door.parts.policy, caller, user, decision.verdict().cause, now);
    let within = DestinationGuard::of(&setup, &door.parts.off_limits, asker, wish.target.host());
    let trip = ProxyContext { door, setup: &setup, caller, destination: within, pinned, now };
    let page = PageSubject { text: &wish.subject, reader: PageReader::of(request.headers()) };
    let acted = match (decision, &wish.target, ended) {
        (_, _, Some(ended)) => ended,
        (ProxyDecision::Block(_), ProxyTarget::Tunnel(to), _)
            if tunnel::hand_to_pixel(&trip, to, &mut request, &mut ticket) == HandOver::Taken =>
        {
            return reply::empty(StatusCode::OK);
        }
        (ProxyDecision::Block(verdict), ..) => block(&trip, &wish, verdict, &request),
        (ProxyDecision::RemoveParams(_, cut), ..) => {
            ProxyOutcome::ByPolicy(remove_params::answer(&policy, &wish.host, cut))
        }
        (ProxyDecision::Pass(_), ProxyTarget::Fetch { origin, path }, None) => {
            fetch(&trip, origin, path, request).await
        }
        (ProxyDecision::Pass(_), ProxyTarget::Tunnel(to), None) => {
            let opened = Box::pin(open_tunnel(&trip, to, request, ticket)).await;
            // A tunnel's ticket is closed when the tunnel is.
            let Err((outcome, unused)) = opened else { return reply::empty(StatusCode::OK) };
            ticket = unused;
            outcome
        }
        (ProxyDecision::Pass(_), ProxyTarget::Local(own), None) => {
            ProxyOutcome::Refused(ProxyRefusal::Local(*own))
        }
    };

    // review
    let reviewed = review(&trip, page, &mut ticket, acted);
    if let ProxyOutcome::Switched(answer, client) = reviewed {
        return switch(&trip, &wish.target, answer, client, ticket);
    }

    // shape
    let shaped = shape(&trip, page, reviewed).finished(&wish, script, &setup, caller);

    // record
    record(ticket, shaped, &setup)
}

/// Opens the event of a request that comes now, and begins its line where there is an access log.
fn open_ticket(
    door: &ProxyDoor,
    setup: &ProxySetup,
    caller: &ProxyConnection,
    request: &mut Request<Incoming>,
) -> (Now, RequestTicket) {
    let (now, peer, scheme) = (clock::now(), caller.client(), caller.context.scheme());
    let mut ticket = RequestTicket::open(&door.parts.ledger, Door::Proxy, now, peer);
    ticket.trace(ServerSpan::begin(request, RequestArrival { door: Door::Proxy, peer, scheme }));
    let mut line = PendingLine::begin(setup.access_log.as_ref(), &*request, scheme, now);
    if let Some(line) = &mut line {
        line.at_proxy(request.uri());
    }
    ticket.log(line);
    (now, ticket)
}

/// The answer that leaves HTTP; from then on client and origin have the connection to themselves.
fn switch(
    trip: &ProxyContext<'_>,
    target: &ProxyTarget,
    mut answer: Response<Body>,
    client: upgrade::OnUpgrade,
    ticket: RequestTicket,
) -> Response<Body> {
    let server = upgrade::on(&mut answer);
    let pace = match target {
        ProxyTarget::Fetch { origin, path } => trip.pace(origin, path),
        ProxyTarget::Tunnel(_) | ProxyTarget::Local(_) => None,
    };
    tunnel::switch(trip, client, server, pace, ticket);
    trip.setup.fields.switching(answer).map(|_| Body::empty())
}

/// The answer in place of what the policy blocks.
fn block(
    trip: &ProxyContext<'_>,
    wish: &ProxyRequest,
    verdict: policy::Verdict,
    request: &Request<Incoming>,
) -> ProxyOutcome {
    let (host, page, kind) = (&wish.host, wish.page.as_ref(), wish.kind);
    let blocked = blocked::BlockedRequest { verdict, host, page, kind, subject: &wish.subject };
    ProxyOutcome::ByPolicy(blocked::answer(trip, &blocked, request))
}

/// The answer to a request that was refused before the policy was asked, noted in the ledger.
fn refuse(
    refusal: &ProxyRefusal,
    request: &Request<Incoming>,
    caller: &ProxyConnection,
    setup: &ProxySetup,
    mut ticket: RequestTicket,
) -> Response<Body> {
    ticket.asked(RequestKind::Other, EventSubject::url(&request.uri().to_string()));
    let address = local_endpoints::address_for(caller, request);
    let page = PageSubject { text: &address, reader: PageReader::of(request.headers()) };
    record(ticket, refused(refusal, caller, setup, page), setup)
}

/// Returns whoever was sent to a shorter URL too often gets the one that is asked for.
fn limit_redirects(
    door: &ProxyDoor,
    caller: &ProxyConnection,
    wish: &ProxyRequest,
    method: &Method,
    now: Now,
) -> ProxyDecision {
    match decide(door, caller, &wish.query(method), now) {
        ProxyDecision::RemoveParams(verdict, _)
            if !door.recent_redirects.may_redirect(caller.client(), &wish.subject, now) =>
        {
            ProxyDecision::Pass(verdict)
        }
        other => other,
    }
}

/// The decision about a request, once its host is held against its connection.
async fn decide_held(
    door: &Arc<ProxyDoor>,
    setup: &ProxySetup,
    caller: &ProxyConnection,
    wish: &mut ProxyRequest,
    method: &Method,
    now: Now,
) -> ProxyDecision {
    let decision = limit_redirects(door, caller, wish, method, now);
    let Some(intercepted) = &caller.intercepted else { return decision };
    let check = HostCheck { door, setup, caller, method, now };
    Box::pin(check.hold(intercepted, wish, decision)).await
}

/// Asks the redirector about a request that passes, and shows it to the script: either may lead it
/// elsewhere from then on, or end it.
async fn lead(
    setup: &ProxySetup,
    caller: &ProxyConnection,
    wish: &mut ProxyRequest,
    script: Option<&ScriptVisit>,
    request: &mut Request<Incoming>,
) -> Option<ProxyOutcome> {
    if let Some(alias) = wish.blocked_alias.take() {
        return Some(ProxyOutcome::Failed(alias.into()));
    }
    if wish.form == TargetForm::Mirror {
        mirror::clean_request(request.headers_mut());
    }
    if let Some(redirector) = &setup.redirector {
        let asked = RedirectorRequest {
            target: &wish.target,
            subject: &wish.subject,
            method: request.method(),
            client: caller.client(),
            user: wish.user.as_deref(),
        };
        match redirected::ask(redirector, setup, asked).await {
            RedirectedCourse::Same => {}
            // The owner's program says where: no longer the client.
            RedirectedCourse::Elsewhere(target) => (wish.target, wish.pinned) = (target, None),
            RedirectedCourse::Answered(answer) => return Some(ProxyOutcome::Redirected(answer)),
        }
    }
    match script?.on_request(setup, caller, &mut wish.target, request)? {
        ScriptedEnd::Answered(answer) => Some(ProxyOutcome::Scripted(answer)),
        ScriptedEnd::Failed => Some(ProxyOutcome::ScriptFailed),
    }
}

/// Asks the origin or the cache; what is said on the way goes to the client at once.
async fn fetch(
    trip: &ProxyContext<'_>,
    origin: &Origin,
    path: &str,
    request: Request<Incoming>,
) -> ProxyOutcome {
    let fetching = pin!(fetch_last(trip, origin, path, request));
    let fields = &trip.setup.fields;
    interim::with_handler(fetching, |early| interim::send(fields.for_client(early))).await
}

/// The same without what is said on the way.
async fn fetch_last(
    trip: &ProxyContext<'_>,
    origin: &Origin,
    path: &str,
    mut request: Request<Incoming>,
) -> ProxyOutcome {
    // HTTP/2 has no `Upgrade` (RFC 9113 §8.6).
    let wanted = match request.version() {
        Version::HTTP_11 => wanted_protocol(request.headers(), &trip.setup.settings.upgrade),
        _ => None,
    };
    let upgrading = wanted.is_some().then(|| upgrade::on(&mut request));
    let (mut head, body) = request.into_parts();
    let Ok(uri) = path.parse::<Uri>() else {
        return ProxyOutcome::Failed(SendError::BadResponse("the path cannot be sent on".into()));
    };
    if let Some(cache) = &trip.setup.cache
        && upgrading.is_none()
        && cached::is_for_cache(&head, &body)
    {
        return match cached::answer(trip, cache, origin, uri, head).await {
            Ok(served) => ProxyOutcome::Cached(served),
            Err(ProxyFetchFailed::Loop) => ProxyOutcome::Loop,
            Err(ProxyFetchFailed::Send(why)) => ProxyOutcome::Failed(why),
        };
    }
    let question = match trip.pinned {
        None => cached::bypass(trip, &head, origin, path),
        // What is said by whoever is at an address changes nothing of a host.
        Some(_) => None,
    };
    let (received, client) = (head.version, trip.caller.client());
    let fields = &trip.setup.fields;
    let asked = wanted.clone();
    if fields.for_origin(&mut head.headers, origin, received, client, asked).is_err() {
        return ProxyOutcome::Loop;
    }
    head.uri = uri.clone();
    head.version = Version::HTTP_11;
    let onward = Request::from_parts(head, Body::from(body));
    let (way, server) = (trip.route_for(origin), trip.server_of(origin));
    let (origins, guard) = (&trip.setup.origins, &trip.destination);
    let sent = origins.send_by(way, &server, Box::new(onward), guard, trip.now);
    // Boxed, as tunnels are: what the cache answers would carry its room.
    match Box::pin(sent).await {
        Ok(response) => match upgrading {
            Some(client) if response.status() == StatusCode::SWITCHING_PROTOCOLS => {
                switched(response, client, wanted.as_ref())
            }
            Some(_) | None => {
                let response = at_its_pace(trip, origin, path, response);
                let target = OriginTarget { origin, path: uri, received };
                ProxyOutcome::Fetched(
                    cached::invalidate_after(trip, question, target, response).await,
                )
            }
        },
        Err(unanswered) => ProxyOutcome::Failed(unanswered.error),
    }
}

/// The answer of an origin past the cache, at the pace of its class of traffic.
fn at_its_pace(
    trip: &ProxyContext<'_>,
    origin: &Origin,
    path: &str,
    response: Response<Body>,
) -> Response<Body> {
    let Some(pace) = trip.pace(origin, path) else { return response };
    let stall = trip.setup.settings.response_timeout.0.0;
    response.map(|body| paced(MeteredBody::wrap(body, stall, |_, _| ()), Some(pace)))
}

/// An origin that switches to another protocol than it was asked for has not answered.
fn switched(
    response: Response<Body>,
    client: upgrade::OnUpgrade,
    wanted: Option<&HeaderValue>,
) -> ProxyOutcome {
    let wanted = wanted.and_then(|protocol| protocol.to_str().ok());
    if wanted.is_some_and(|protocol| hop_by_hop::switches_to(response.headers(), protocol)) {
        return ProxyOutcome::Switched(response, client);
    }
    let why = "it switched to another protocol than it was asked for";
    ProxyOutcome::Failed(SendError::BadResponse(why.into()))
}

async fn open_tunnel(
    trip: &ProxyContext<'_>,
    to: &Origin,
    mut request: Request<Incoming>,
    ticket: RequestTicket,
) -> Result<(), (ProxyOutcome, RequestTicket)> {
    let received = request.version();
    if trip.setup.fields.sign(request.headers_mut(), received).is_err() {
        return Err((ProxyOutcome::Loop, ticket));
    }
    let opened = tunnel::open(trip, trip.route_for(to), to, request, ticket).await;
    opened.map_err(|(why, ticket)| (ProxyOutcome::Failed(why), ticket))
}

/// Returns what an origin sent is passed on only if it is an answer to what was asked. What came
/// through the cache was looked at before it was stored. What a host is an alias of is known once
/// it is looked up.
fn review(
    trip: &ProxyContext<'_>,
    page: PageSubject<'_>,
    ticket: &mut RequestTicket,
    outcome: ProxyOutcome,
) -> ProxyOutcome {
    match &outcome {
        ProxyOutcome::Fetched(response) => match cached::no_answer(response.status()) {
            Some(why) => ProxyOutcome::Failed(SendError::BadResponse(why.into())),
            None => outcome,
        },
        ProxyOutcome::Cached(served) => {
            ticket.cached(served.caching);
            outcome
        }
        ProxyOutcome::Failed(SendError::Dial(DialError::CnameBlocked(alias))) => {
            let Some(cause) = trip.destination.blocks(alias.as_name()) else { return outcome };
            ticket.decided(Action::Block, cause);
            let policy = trip.door.parts.policy.load();
            let rule = cause.rule().and_then(|rule| policy.rule_text(rule, alias.as_name()));
            let blocked = pages::blocked(page.text, Some(alias), rule.as_ref());
            ProxyOutcome::ByPolicy(page.reader.render_for(blocked))
        }
        _ => outcome,
    }
}

fn shape(trip: &ProxyContext<'_>, page: PageSubject<'_>, outcome: ProxyOutcome) -> ShapedResponse {
    let (response, source) = match outcome {
        ProxyOutcome::Refused(refusal) => {
            return refused(&refusal, trip.caller, trip.setup, page);
        }
        ProxyOutcome::ByPolicy(answer) => (answer, Source::Policy),
        ProxyOutcome::Redirected(answer) => (page.reader.render_for(*answer), Source::Local),
        ProxyOutcome::Scripted(answer) => (*answer, Source::Local),
        ProxyOutcome::ScriptFailed => {
            (page.reader.render_for(pages::script_failed()), Source::Failed)
        }
        ProxyOutcome::Fetched(response) => (trip.setup.fields.for_client(response), Source::Origin),
        ProxyOutcome::Cached(served) => {
            let source = served.source.recorded();
            match served.source {
                AnswerSource::NotFetched => (page.reader.render_for(served.response), source),
                AnswerSource::Fresh | AnswerSource::Stale | AnswerSource::Origin => {
                    (trip.setup.fields.for_client(served.response), source)
                }
            }
        }
        ProxyOutcome::Switched(response, _) => {
            (trip.setup.fields.switching(response), Source::Tunnel)
        }
        ProxyOutcome::Loop => (page.reader.render_for(pages::loop_detected()), Source::Refused),
        ProxyOutcome::Failed(why) => {
            let source = match why.blame() {
                Blame::Guard | Blame::Client => Source::Refused,
                Blame::Origin | Blame::Slow | Blame::Busy => Source::Failed,
            };
            (page.reader.render_for(pages::error_page(page.text, &why)), source)
        }
    };
    ShapedResponse { response, source }
}

fn refused(
    refusal: &ProxyRefusal,
    caller: &ProxyConnection,
    setup: &ProxySetup,
    page: PageSubject<'_>,
) -> ShapedResponse {
    let (response, source) = refusal.shape(caller, setup, page);
    ShapedResponse { response, source }
}

/// Closes the ticket when the answer's last byte is gone.
fn record(mut ticket: RequestTicket, shaped: ShapedResponse, setup: &ProxySetup) -> Response<Body> {
    ticket.answered(shaped.source, shaped.response.status().as_u16());
    let stall = setup.stall();
    let ended = move |bytes, end| {
        if end == BodyEnd::Broken {
            ticket.broke_off();
        }
        ticket.close(bytes);
    };
    shaped.response.map(|body| MeteredBody::wrap(body, stall, ended))
}

impl ShapedResponse {
    /// The answer as the mirror and the script leave it.
    fn finished(
        self,
        wish: &ProxyRequest,
        script: Option<&ScriptVisit>,
        setup: &ProxySetup,
        caller: &ProxyConnection,
    ) -> Self {
        self.mirrored(wish, setup).scripted(script, setup, caller)
    }

    /// The answer as it is in the mirror, to a request that was for it.
    fn mirrored(mut self, wish: &ProxyRequest, setup: &ProxySetup) -> Self {
        if wish.form == TargetForm::Mirror {
            mirror::clean_answer(setup, &wish.target, self.response.headers_mut());
        }
        self
    }

    /// The answer as the script leaves it.
    fn scripted(
        self,
        script: Option<&ScriptVisit>,
        setup: &ProxySetup,
        caller: &ProxyConnection,
    ) -> Self {
        let Some(asker) = script.and_then(|it| it.asker(setup, caller)) else { return self };
        let Some(hooks) = &setup.hooks else { return self };
        match asker.on_response(hooks, self.response) {
            Some(response) => Self { response, ..self },
            None => Self { response: pages::script_failed(), source: Source::Failed },
        }
    }
}
