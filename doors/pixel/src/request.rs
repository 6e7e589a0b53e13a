//! One request at the pixel door, top to bottom: read, decide, act, review, shape, record.

use crate::answer::{self, Keep};
use crate::covers::covers;
use crate::door::{Connection, Door, Transport};
use crate::null::{self, Due, Hints, Null, Seat};
use crate::page;
use crate::ticket::Ticket;
use http::header::{ACCEPT, CONNECTION, HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN, REFERER};
use http::{Method, Request, Response, Version};
use http_body::Body as _;
use http_body_util::BodyExt;
use http_engine::{Body, Incoming, kind};
use ledger::Subject;
use policy::{Ask, Policy, Verdict};
use std::time::Duration;
use transport::clock;
use vocab::{Action, DomainName, Kind, Name, Now, Source};

/// Bytes of a request body that are taken and thrown away; beyond it the connection is closed. The
/// longest reports that pages send are some 100 KiB, and taking one costs less than a new handshake.
const BODY_BYTES_MAX: u64 = 1 << 20;
/// How long that may take.
const BODY_DEADLINE: Duration = Duration::from_secs(5);
/// DNS type A, the question that led here.
const TYPE_A: u16 = 1;

/// What a client wants, once it is understood.
struct Wish {
    /// The host asked for; the root where none is named, or one that is no name.
    host: DomainName,
    page: Option<DomainName>,
    kind: Kind,
    seat: Seat,
    /// Absolute.
    url: String,
}

/// What is to be done with a request.
enum Decision {
    Block(Verdict),
    /// The name is not blocked: it came here by an address that a device remembers.
    NotBlocked(Verdict),
    /// The connection's certificate is for other names.
    NotCovered(Verdict),
}

/// What the client gets.
enum Outcome<'r> {
    Null(Null<'r>, Keep),
    BlockPage(Verdict),
    NotBlockedPage,
    NotCoveredPage,
}

/// Whether the request's body has been read to its end.
enum Drained {
    Yes,
    /// This is left of it.
    No(Incoming),
}

/// Answers one request. The future is dropped when the client goes away; the ticket notes it.
pub(crate) async fn answer(
    door: &Door,
    connection: &Connection,
    request: Request<Incoming>,
) -> Response<Body> {
    let now = clock::now();
    let mut ticket = Ticket::open(&door.parts.ledger, now, connection.client);

    // read
    let (head, body) = request.into_parts();
    let wish = read(connection, &head);
    ticket.asked(wish.kind, Subject::url(&wish.url));
    let drained = drain(body).await;

    // decide
    let policy = door.parts.policy.load();
    let decision = decide(&policy, connection, &wish, now);
    let (Decision::Block(verdict) | Decision::NotBlocked(verdict) | Decision::NotCovered(verdict)) =
        decision;
    ticket.decided(verdict.action, verdict.cause);

    // act
    let outcome = act(&decision, connection, &wish, &head);

    // review: nothing comes from elsewhere, so there is nothing to distrust.
    let source = match outcome {
        Outcome::Null(..) if verdict.action == Action::Pass => Source::Local,
        Outcome::Null(..) | Outcome::BlockPage(_) => Source::Policy,
        Outcome::NotBlockedPage | Outcome::NotCoveredPage => Source::Refused,
    };

    // shape
    let mut response = match outcome {
        Outcome::Null(null, keep) => answer::render(&null, keep, &head.method, &head.headers),
        Outcome::BlockPage(verdict) => {
            let told = page::Told {
                policy: &policy,
                verdict,
                client: connection.client,
                dashboard: door.parts.dashboard,
                now,
            };
            page::blocked(&wish.host, &wish.url, &told)
        }
        Outcome::NotBlockedPage => page::not_blocked(&wish.host),
        Outcome::NotCoveredPage => page::not_covered(&wish.host),
    };
    shape(&mut response, &head, &drained);
    linger(drained, head.version);

    // record
    let bytes = response.body().size_hint().exact().unwrap_or(0);
    ticket.close(source, response.status().as_u16(), bytes);
    response
}

fn read(connection: &Connection, head: &http::request::Parts) -> Wish {
    let headers = &head.headers;
    // RFC 9112 §3.2.2: the authority of an absolute target, or of HTTP/2, stands over Host.
    let authority = head.uri.authority().map(http::uri::Authority::as_str);
    let authority = authority.unwrap_or_else(|| text(headers, &HOST));
    let host = host_of(authority);
    let path = head.uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    let url = [connection.transport.scheme(), "://", authority, path].concat();
    let page = [REFERER, ORIGIN].iter().find_map(|field| page_host(headers, field));
    let kind = kind::of_request(&head.method, &head.uri, headers);
    // Fetch metadata comes over HTTPS only. Without it, a page asked for by a page of another host
    // is taken for a frame: a block page amid an article would be worse than an empty one.
    let has_metadata = headers.contains_key("sec-fetch-dest");
    let is_foreign = page.as_ref().is_some_and(|page| Some(page) != host.as_ref());
    let seat = if !has_metadata && is_foreign { Seat::Frame } else { Seat::Tab };
    Wish { host: host.unwrap_or_else(|| Name::ROOT.to_owned()), page, kind, seat, url }
}

/// Takes a body and throws it away, so that the connection can go on.
async fn drain(mut body: Incoming) -> Drained {
    if body.is_end_stream() {
        return Drained::Yes;
    }
    if body.size_hint().lower() > BODY_BYTES_MAX || !discard(&mut body).await {
        return Drained::No(body);
    }
    Drained::Yes
}

/// Whether the body's end came within cap and time.
async fn discard(body: &mut Incoming) -> bool {
    let to_the_end = async {
        let mut taken = 0;
        while let Some(frame) = body.frame().await {
            let Ok(frame) = frame else { return false };
            taken += frame.data_ref().map_or(0, |data| data.len() as u64);
            if taken > BODY_BYTES_MAX {
                return false;
            }
        }
        true
    };
    tokio::time::timeout(BODY_DEADLINE, to_the_end).await.unwrap_or(false)
}

/// A URL is blocked by a rule about it or about its host. One that a rule excepts, on a host that is
/// blocked all the same, is answered too: the real one cannot be reached from here.
fn decide(policy: &Policy, connection: &Connection, wish: &Wish, now: Now) -> Decision {
    let host = wish.host.as_name();
    let ask = Ask {
        door: vocab::Door::Pixel,
        client: connection.client,
        who: None,
        host,
        kind: wish.kind,
        url: Some(&wish.url),
        page: wish.page.as_ref().map(DomainName::as_name),
    };
    let of_url = policy.decide(&ask, now);
    let verdict = match of_url.action {
        Action::Block => of_url,
        Action::Pass => match of_name(policy, connection, host, now) {
            blocked @ Verdict { action: Action::Block, .. } => blocked,
            Verdict { action: Action::Pass, .. } => of_url,
        },
    };
    let is_blocked =
        |name: Name<'_>| of_name(policy, connection, name, now).action == Action::Block;
    let is_covered = match &connection.transport {
        Transport::Plain => true,
        Transport::Tls(asked) => covers(asked.as_name(), host, is_blocked),
    };
    if !is_covered {
        return Decision::NotCovered(verdict);
    }
    match verdict.action {
        Action::Block => Decision::Block(verdict),
        Action::Pass => Decision::NotBlocked(verdict),
    }
}

/// What the DNS door would say to the question for the name's address.
fn of_name(policy: &Policy, connection: &Connection, host: Name<'_>, now: Now) -> Verdict {
    let (door, client, kind) = (vocab::Door::Pixel, connection.client, Kind::Lookup(TYPE_A));
    policy.decide(&Ask { door, client, who: None, host, kind, url: None, page: None }, now)
}

fn act<'r>(
    decision: &Decision,
    connection: &Connection,
    wish: &Wish,
    head: &'r http::request::Parts,
) -> Outcome<'r> {
    let hints = Hints {
        method: &head.method,
        kind: wish.kind,
        seat: wish.seat,
        path: head.uri.path(),
        query: head.uri.query().unwrap_or(""),
        accept: text(&head.headers, &ACCEPT),
    };
    match (decision, null::due(&hints)) {
        (Decision::NotCovered(_), _) => Outcome::NotCoveredPage,
        (Decision::Block(verdict), Due::Page) => Outcome::BlockPage(*verdict),
        (Decision::Block(_), Due::Null(null)) => Outcome::Null(null, Keep::Briefly),
        (Decision::NotBlocked(_), Due::Page) => Outcome::NotBlockedPage,
        (Decision::NotBlocked(_), Due::Null(null)) => match connection.transport {
            // Over HTTP/2 a browser answers 421 by asking anew on a connection of its own.
            Transport::Tls(_) => Outcome::NotBlockedPage,
            // An alias behind the name may be blocked, and forgotten here since the device asked: to
            // the page that embeds it, it is blocked.
            Transport::Plain => Outcome::Null(null, Keep::No),
        },
    }
}

/// What depends on the form of the request alone.
fn shape(response: &mut Response<Body>, head: &http::request::Parts, drained: &Drained) {
    if head.method == Method::HEAD {
        // The length stands in its field already.
        *response.body_mut() = Body::empty();
    }
    if matches!(drained, Drained::No(_)) && head.version != Version::HTTP_2 {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
}

/// Over HTTP/2, dropping a body resets its stream, and the reset would overtake the answer: the rest
/// is taken for a while longer, within the same cap. Over HTTP/1 the connection closes anyway.
fn linger(drained: Drained, version: Version) {
    if let Drained::No(mut rest) = drained
        && version == Version::HTTP_2
    {
        tokio::task::spawn_local(async move {
            if !discard(&mut rest).await {
                // Not read on: what is on its way stays within the stream's window.
                tokio::time::sleep(BODY_DEADLINE).await;
            }
        });
    }
}

fn text<'h>(headers: &'h HeaderMap, field: &HeaderName) -> &'h str {
    headers.get(field).and_then(|value| value.to_str().ok()).unwrap_or("")
}

/// The name in `host[:port]`.
fn host_of(authority: &str) -> Option<DomainName> {
    let host = authority.rsplit_once(':').map_or(authority, |(host, _)| host);
    DomainName::parse(host).ok()
}

/// The host of the page that asks, where it says so and is one.
fn page_host(headers: &HeaderMap, field: &HeaderName) -> Option<DomainName> {
    let (_, rest) = text(headers, field).split_once("://")?;
    host_of(rest.split(['/', '?', '#']).next().unwrap_or(rest))
}
