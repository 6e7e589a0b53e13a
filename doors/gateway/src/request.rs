//! One request through the gateway, top to bottom: read, decide, act, review, shape, record.

use crate::act::act;
use crate::caller::ClientConnection;
use crate::context::RequestContext;
use crate::decide::{RequestRules, RouteDecision, RouteQuestion, as_taken, decide};
use crate::door::GatewayDoor;
use crate::finish::AnswerFinish;
use crate::guards::{AdmittedRequest, BlockOccasion};
use crate::outcome::{GatewayOutcome, GatewayRefusal};
use crate::read::read;
use crate::reroute::RerouteContext;
use crate::setup::GatewaySetup;
use crate::shape::{ShapedAnswer, review, shape};
use crate::ticket::GatewayTicket;
use crate::upgraded::LeavingConnection;
use balancer::ServerLease;
use http::{Request, Response};
use http_engine::html::PageReader;
use http_engine::{Body, Incoming, interim, upgrade};
use ledger::EventSubject;
use origins::{BecomesTunnel, BodyEnd, MeteredBody, relay_upgraded};
use route_matching::ParsedRequest;
use std::cell::RefCell;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use transport::clock;
use vocab::RequestKind;

/// Times after which an answer on its way counts as broken off.
#[derive(Clone, Copy)]
struct AnswerPatience {
    /// Silence of a server within its answer.
    stall: Duration,
    /// Quiet of a connection that left HTTP.
    upgrade_idle: Duration,
}

/// Answers one request. The future is dropped when the client goes away; the ticket notes it.
pub(crate) fn answer(
    door: &Arc<GatewayDoor>,
    setup: Arc<GatewaySetup>,
    connection: &Arc<ClientConnection>,
    request: Request<Incoming>,
) -> impl Future<Output = Response<Body>> {
    // Boxed: it goes through many hands, and is copied in none.
    answer_boxed(door, setup, connection, Box::new(request))
}

async fn answer_boxed(
    door: &Arc<GatewayDoor>,
    setup: Arc<GatewaySetup>,
    caller: &Arc<ClientConnection>,
    mut request: Box<Request<Incoming>>,
) -> Response<Body> {
    let now = clock::now();
    let mut ticket = GatewayTicket::open(&door.parts.ledger, &setup, caller, &mut request, now);
    let (reader, forwarding) = (PageReader::of(request.headers()), &setup.forwarding);
    let timeout = forwarding.limits.response_timeout;
    let rules = RequestRules { table: &setup.table, policy: &door.parts.policy };
    let mut patience =
        AnswerPatience { stall: timeout, upgrade_idle: setup.settings.upgrade_idle.0.0 };

    // read
    let parsed = match understood(&setup, caller, &mut request) {
        Ok(parsed) => parsed,
        Err(refusal) => {
            ticket.asked(RequestKind::Other, EventSubject::url(&request.uri().to_string()));
            let shaped = shape(GatewayOutcome::Refused(refusal), reader, rules, timeout);
            return record(ticket, shaped, patience, &caller.tunnel);
        }
    };
    ticket.came_from(parsed.client);
    ticket.asked(parsed.kind, EventSubject::url(&parsed.url));

    // decide
    let question = RouteQuestion {
        parsed: &parsed,
        input: caller.match_input(&request),
        occasion: BlockOccasion::Request,
        local: caller.arrived_at(),
        now,
    };
    let decision = decide(rules, &question);
    if let Some(verdict) = decision.verdict() {
        ticket.decided(verdict.action, verdict.cause);
    }
    let parsed = as_taken(parsed, &decision, &mut request);
    if parsed.raw.is_some() {
        ticket.asked(parsed.kind, EventSubject::url(&parsed.url));
    }
    let route = decision.route();
    let finish = AnswerFinish::of(&setup.response_fields, route, &parsed, caller, &request);
    ticket.on_close(finish.log_hook(caller, &parsed, &request));
    patience.stall = route.and_then(|route| route.silence_max()).unwrap_or(timeout);

    // act
    let admitted = RefCell::new(AdmittedRequest::default());
    let (client, url, visit) = (parsed.client, parsed.url.as_str(), &finish.visit);
    let context = RequestContext { forwarding, caller, client, url, visit, now };
    let acting = do_decided(&context, &admitted, rules, decision, &parsed, request);
    let tell = |early| interim::send(finish.interim(early));
    let acted = interim::with_handler(pin!(acting), tell).await;
    let admitted = admitted.into_inner();

    // review
    let reviewed = review(acted);

    // shape
    if let GatewayOutcome::Cached(served) = &reviewed {
        ticket.cached(served.caching);
    }
    let mut shaped = finish.apply(shape(reviewed, reader, rules, timeout));
    admitted.apply_limit_headers(shaped.response.headers_mut());
    ticket.keep(admitted);

    // record
    record(ticket, shaped, patience, &caller.tunnel)
}

/// Does what was decided, and follows to where servers lead the request, if they may.
async fn do_decided(
    context: &RequestContext<'_>,
    admitted: &RefCell<AdmittedRequest>,
    rules: RequestRules<'_>,
    decision: RouteDecision,
    parsed: &ParsedRequest,
    request: Box<Request<Incoming>>,
) -> GatewayOutcome {
    let Some(kept) = RerouteContext::of(&decision, &request) else {
        return act(context, admitted, decision, parsed, request).await;
    };
    // Boxed: few routes let a server lead, and all others would carry the room.
    Box::pin(async {
        let outcome = act(context, admitted, decision, parsed, request).await;
        kept.follow(context, admitted, rules, parsed, outcome).await
    })
    .await
}

/// Reads a request that its connection may be used for.
fn understood(
    setup: &GatewaySetup,
    caller: &ClientConnection,
    request: &mut Request<Incoming>,
) -> Result<ParsedRequest, GatewayRefusal> {
    let parsed = read(setup.table.slashes, setup.forwarding.telling(), caller, request)?;
    if let (Some(secured), Some(secure)) = (caller.context.handshake(), &setup.secure)
        && !secure.serves(secured, parsed.host.as_name())
    {
        return Err(GatewayRefusal::Misdirected);
    }
    Ok(parsed)
}

/// Closes the ticket when the answer's last byte is gone, or the connection that left HTTP ends.
fn record(
    mut ticket: GatewayTicket,
    shaped: ShapedAnswer,
    patience: AnswerPatience,
    becomes: &BecomesTunnel,
) -> Response<Body> {
    let ShapedAnswer { mut response, source, switched } = shaped;
    ticket.answered(source, response.status().as_u16());
    let Some(LeavingConnection { client, held, permit: place }) = switched else {
        let ended = move |bytes, end| {
            if end == BodyEnd::Broken {
                ticket.broke_off();
            }
            ticket.close(bytes);
        };
        return response.map(|body| MeteredBody::wrap(body, patience.stall, ended));
    };
    becomes.now();
    let server = upgrade::on(&mut response);
    let lease = response.extensions_mut().remove::<Arc<ServerLease>>();
    tokio::task::spawn_local(async move {
        let carried = relay_upgraded(client, server, patience.upgrade_idle).await;
        ticket.close(carried);
        drop((held, place, lease));
    });
    response.map(|_| Body::empty())
}
