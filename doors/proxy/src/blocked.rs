//! The answer in place of a blocked URL: of the type that was asked for, or the page that says why.
//!
//! Programs that take no page get the reason in plain words, and so do tunnels, inside which nothing can
//! be said. Every such answer says in `Proxy-Status` that it is ours. Called by `request`.

use crate::pages;
use crate::request::Trip;
use http::header::{HeaderMap, HeaderName};
use http::{Method, Request, Response};
use http_engine::Body;
use http_engine::html::Reader;
use null_answers::page::{self, Told};
use null_answers::{Blank, Due, Hints, Keep, Null, due, render, seat};
use policy::{Manner, Policy, Verdict};
use vocab::{DomainName, Kind};

/// What was asked for.
pub(crate) struct Asked<'w> {
    pub(crate) verdict: Verdict,
    pub(crate) host: &'w DomainName,
    pub(crate) page: Option<&'w DomainName>,
    pub(crate) kind: Kind,
    /// The URL, or `host:port` of a tunnel.
    pub(crate) subject: &'w str,
}

/// The answer to `request`, which is blocked.
pub(crate) fn answer<B>(
    trip: &Trip<'_>,
    asked: &Asked<'_>,
    request: &Request<B>,
) -> Response<Body> {
    let policy = trip.door.parts.policy.load();
    let headers = request.headers();
    let hints = hints(asked, &policy, request);
    let who = trip.who();
    let reader = Reader::of(headers);
    let mut answer = match due(&hints) {
        _ if asked.kind == Kind::Tunnel => in_words(asked, &policy),
        Due::Page if reader == Reader::Person || hints.destination == "document" => {
            let told = Told {
                policy: &policy,
                verdict: asked.verdict,
                door: vocab::Door::Proxy,
                client: trip.caller.client,
                who: &who,
                dashboard: trip.door.parts.dashboard.get().copied(),
                setup: None,
                now: trip.now,
            };
            page::blocked(asked.host, asked.subject, &told)
        }
        // Nobody knows what would do for it: an empty file would be taken for the real one.
        Due::Page | Due::Null(Null::Blank(Blank::Text | Blank::NoMethod)) => {
            in_words(asked, &policy)
        }
        // A WebSocket is opened by the door that stands for the host.
        Due::Null(Null::Socket) => {
            render(&Null::Blank(Blank::NoSocket), Keep::No, request.method(), headers)
        }
        Due::Null(null) => render(&null, Keep::Briefly, request.method(), headers),
    };
    pages::denied_by_policy(&mut answer);
    if request.method() == Method::HEAD {
        // The length stands in its field already.
        *answer.body_mut() = Body::empty();
    }
    answer
}

fn in_words(asked: &Asked<'_>, policy: &Policy) -> Response<Body> {
    let rule = asked.verdict.cause.rule();
    let rule = rule.and_then(|rule| policy.rule_text(rule, asked.host.as_name()));
    pages::blocked(asked.subject, None, rule.as_ref())
}

fn hints<'r, B>(asked: &Asked<'r>, policy: &'r Policy, request: &'r Request<B>) -> Hints<'r> {
    let field = |name| text(request.headers(), &HeaderName::from_static(name));
    let (host, destination) = (asked.host.as_name(), field("sec-fetch-dest"));
    Hints {
        method: request.method(),
        kind: asked.kind,
        seat: seat(destination, asked.page.map(DomainName::as_name), host),
        host,
        path: request.uri().path(),
        query: request.uri().query().unwrap_or(""),
        accept: field("accept"),
        destination,
        service_worker: field("service-worker"),
        named: match asked.verdict.manner {
            Manner::StandIn(id) => policy.stand_in(id),
            Manner::Usual | Manner::Rewrite => None,
        },
    }
}

fn text<'h>(headers: &'h HeaderMap, field: &HeaderName) -> &'h str {
    headers.get(field).and_then(|value| value.to_str().ok()).unwrap_or("")
}
