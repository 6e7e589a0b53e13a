//! One request through the proxy, top to bottom: read, decide, act, review, shape, record.

use crate::door::{Door, Setup};
use crate::pages;
use crate::target::{self, BadTarget, Target};
use crate::ticket::Ticket;
use http::header::{HOST, HeaderMap, HeaderName, HeaderValue, MAX_FORWARDS, ORIGIN, REFERER};
use http::{Method, Request, Response, StatusCode, Uri, Version};
use http_engine::{Body, Incoming, hop_by_hop, kind, reply, upgrade};
use ledger::Subject;
use policy::{Ask, Verdict};
use std::net::IpAddr;
use std::sync::Arc;
use transport::clock;
use upstream::origins::{
    BecomesTunnel, Blame, Connection, Metered, Origin, Reach, SendError, add_via, tunnel,
};
use vocab::{Action, DomainName, Kind, Now, Source};

/// What a client wants, once it is understood.
struct Wish {
    target: Target,
    host: DomainName,
    page: Option<DomainName>,
    kind: Kind,
    /// The URL, or `host:port` of a tunnel: for the policy, the ledger and people.
    subject: String,
}

/// Why a request goes no further than being read.
enum Refusal {
    Stranger,
    Target(BadTarget),
    Own,
    Port(u16),
    Trace,
    EndsHere,
}

/// What came of a request.
enum Outcome {
    Refused(Refusal),
    Blocked { verdict: Verdict, host: DomainName },
    Fetched(Response<Body>),
    Tunnelled,
    GoingRound,
    Failed(SendError),
}

/// Answers one request. The future is dropped when the client goes away; the ticket notes it.
pub(crate) async fn answer(
    door: &Arc<Door>,
    client: IpAddr,
    tunnel: &BecomesTunnel,
    request: Request<Incoming>,
) -> Response<Body> {
    let now = clock::now();
    let setup = door.setup();
    let mut ticket = Ticket::open(&door.parts.ledger, now, client);

    // read
    let wish = match read(&setup, client, &request) {
        Ok(wish) => wish,
        Err(refusal) => {
            let subject = request.uri().to_string();
            ticket.asked(Kind::Other, Subject::url(&subject));
            return record(ticket, shape(door, &subject, Outcome::Refused(refusal)), &setup);
        }
    };
    ticket.asked(wish.kind, wish.recorded());

    // decide
    let verdict = decide(door, client, &wish, now);
    ticket.decided(verdict.action, verdict.cause);

    // act
    let reach = Reach {
        client,
        destinations: setup.settings.destinations,
        off_limits: &door.parts.off_limits,
    };
    let subject = wish.subject;
    let acted = match (verdict.action, wish.target) {
        (Action::Block, _) => Outcome::Blocked { verdict, host: wish.host },
        (Action::Pass, Target::Fetch { origin, path }) => {
            fetch(&setup, &reach, &origin, &path, request).await
        }
        (Action::Pass, Target::Tunnel(to)) => {
            match open_tunnel(&setup, &reach, &to, tunnel, request, ticket).await {
                // A tunnel's ticket is closed when the tunnel is.
                Ok(()) => return shape(door, &subject, Outcome::Tunnelled).0,
                Err((why, unused)) => {
                    ticket = unused;
                    Outcome::Failed(why)
                }
            }
        }
        (Action::Pass, Target::Own) => Outcome::Refused(Refusal::Own),
    };

    // review
    let reviewed = review(acted);

    // shape
    let shaped = shape(door, &subject, reviewed);

    // record
    record(ticket, shaped, &setup)
}

fn read(setup: &Setup, client: IpAddr, request: &Request<Incoming>) -> Result<Wish, Refusal> {
    if !setup.serves(client) {
        return Err(Refusal::Stranger);
    }
    let (method, headers) = (request.method(), request.headers());
    let target = target::read(method, request.uri()).map_err(Refusal::Target)?;
    let page = [REFERER, ORIGIN].iter().find_map(|field| page_host(headers, field));
    match &target {
        Target::Own => Err(Refusal::Own),
        Target::Tunnel(to) if !setup.settings.connect_ports.contains(&to.port) => {
            Err(Refusal::Port(to.port))
        }
        Target::Tunnel(to) => {
            let subject = format!("{}:{}", to.host, to.port);
            Ok(Wish { host: to.host.to_name(), page, kind: Kind::Tunnel, subject, target })
        }
        Target::Fetch { .. } if method == Method::TRACE => Err(Refusal::Trace),
        Target::Fetch { .. } if ends_here(method, headers) => Err(Refusal::EndsHere),
        Target::Fetch { origin, path } => {
            let kind = kind::of_request(method, request.uri(), headers);
            let subject = format!("{origin}{path}");
            Ok(Wish { host: origin.host.to_name(), page, kind, subject, target })
        }
    }
}

fn decide(door: &Door, client: IpAddr, wish: &Wish, now: Now) -> Verdict {
    let url = match wish.target {
        Target::Fetch { .. } => Some(wish.subject.as_str()),
        Target::Tunnel(_) | Target::Own => None,
    };
    let ask = Ask {
        door: vocab::Door::Proxy,
        client,
        who: None,
        host: wish.host.as_name(),
        kind: wish.kind,
        url,
        page: wish.page.as_ref().map(DomainName::as_name),
    };
    door.parts.policy.load().decide(&ask, now)
}

async fn fetch(
    setup: &Setup,
    reach: &Reach<'_>,
    origin: &Origin,
    path: &str,
    request: Request<Incoming>,
) -> Outcome {
    let (mut head, body) = request.into_parts();
    let received = head.version;
    if forward_headers(&mut head.headers, origin, received).is_err() {
        return Outcome::GoingRound;
    }
    let Ok(uri) = path.parse::<Uri>() else {
        return Outcome::Failed(SendError::BadResponse("the path cannot be sent on".into()));
    };
    head.uri = uri;
    head.version = Version::HTTP_11;
    let onward = Request::from_parts(head, Body::from(body));
    match setup.origins.send(origin, onward, reach).await {
        Ok(response) => Outcome::Fetched(response),
        Err(unanswered) => Outcome::Failed(unanswered.why),
    }
}

/// The fields that go on to the origin (RFC 9110 §7.6): ours are taken out, its `Host` is the one
/// that was asked for, and we sign.
fn forward_headers(
    headers: &mut HeaderMap,
    origin: &Origin,
    received: Version,
) -> Result<(), upstream::origins::Loop> {
    hop_by_hop::strip(headers);
    headers.remove(http::header::PROXY_AUTHORIZATION);
    headers.remove(HeaderName::from_static("proxy-connection"));
    let host = HeaderValue::from_str(&origin.authority());
    headers.insert(HOST, host.expect("a host and port are visible ASCII"));
    if let Some(left) = max_forwards(headers) {
        headers.insert(MAX_FORWARDS, HeaderValue::from(left.saturating_sub(1)));
    }
    add_via(headers, received)
}

async fn open_tunnel(
    setup: &Arc<Setup>,
    reach: &Reach<'_>,
    to: &Origin,
    becomes: &BecomesTunnel,
    request: Request<Incoming>,
    mut ticket: Ticket,
) -> Result<(), (SendError, Ticket)> {
    let server = match setup.origins.dialer().dial_tcp(&to.host, to.port, reach).await {
        Ok((server, _)) => Connection::Plain(server),
        Err(why) => return Err((why.into(), ticket)),
    };
    ticket.answered(Source::Tunnel, StatusCode::OK.as_u16());
    becomes.now();
    let idle = setup.settings.tunnel_idle.0.0;
    let upgrading = upgrade::on(request);
    tokio::task::spawn_local(async move {
        // The client may leave before it has heard that the tunnel stands.
        let carried = match upgrade::stream(upgrading).await {
            Ok(client) => tunnel(client, server, idle).await.down,
            Err(_) => 0,
        };
        ticket.close(carried);
    });
    Ok(())
}

/// What an origin sent is passed on only if it is an answer to what was asked.
fn review(outcome: Outcome) -> Outcome {
    match outcome {
        // We asked for no other protocol, so this would be a hole in the framing.
        Outcome::Fetched(response) if response.status() == StatusCode::SWITCHING_PROTOCOLS => {
            Outcome::Failed(SendError::BadResponse("it switched protocols unasked".into()))
        }
        other => other,
    }
}

fn shape(door: &Door, subject: &str, outcome: Outcome) -> (Response<Body>, Source) {
    match outcome {
        Outcome::Refused(refusal) => (shape_refusal(&refusal), Source::Refused),
        Outcome::Blocked { verdict, host } => {
            let policy = door.parts.policy.load();
            let rule = verdict.cause.rule().and_then(|rule| policy.rule_text(rule, host.as_name()));
            (pages::blocked(subject, rule.as_ref()), Source::Policy)
        }
        Outcome::Fetched(mut response) => {
            let received = response.version();
            *response.version_mut() = Version::HTTP_11;
            hop_by_hop::strip(response.headers_mut());
            // A response that has passed many of us is not dangerous: it has arrived.
            let _ = add_via(response.headers_mut(), received);
            (response, Source::Origin)
        }
        Outcome::Tunnelled => (reply::empty(StatusCode::OK), Source::Tunnel),
        Outcome::GoingRound => (pages::going_round(), Source::Refused),
        Outcome::Failed(why) => {
            let source = match why.blame() {
                Blame::Guard | Blame::Client => Source::Refused,
                Blame::Origin | Blame::Slow => Source::Failed,
            };
            (pages::rescue(subject, &why), source)
        }
    }
}

fn shape_refusal(refusal: &Refusal) -> Response<Body> {
    match refusal {
        Refusal::Stranger => pages::stranger(),
        Refusal::Target(why) => pages::bad_request(&why.to_string()),
        Refusal::Own => pages::help(),
        Refusal::Port(port) => pages::port(*port),
        Refusal::Trace => pages::no_trace(),
        Refusal::EndsHere => pages::options(),
    }
}

/// Closes the ticket when the answer's last byte is gone.
fn record(
    mut ticket: Ticket,
    (response, source): (Response<Body>, Source),
    setup: &Setup,
) -> Response<Body> {
    ticket.answered(source, response.status().as_u16());
    let stall = setup.settings.response_timeout.0.0;
    response.map(|body| Metered::wrap(body, stall, move |bytes, _| ticket.close(bytes)))
}

impl Wish {
    fn recorded(&self) -> Subject {
        match self.target {
            Target::Fetch { .. } => Subject::url(&self.subject),
            Target::Tunnel(_) | Target::Own => Subject::name(self.host.as_name()),
        }
    }
}

/// The host of the page that makes the request, from `Referer` or `Origin`.
fn page_host(headers: &HeaderMap, field: &HeaderName) -> Option<DomainName> {
    let page: Uri = headers.get(field)?.to_str().ok()?.parse().ok()?;
    DomainName::parse(page.host()?).ok()
}

fn max_forwards(headers: &HeaderMap) -> Option<u32> {
    headers.get(MAX_FORWARDS)?.to_str().ok()?.parse().ok()
}

/// RFC 9110 §7.6.2: with no forward left, the recipient answers in place of the origin.
fn ends_here(method: &Method, headers: &HeaderMap) -> bool {
    method == Method::OPTIONS && max_forwards(headers) == Some(0)
}
