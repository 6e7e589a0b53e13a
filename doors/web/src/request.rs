//! One request at the web door, top to bottom: read, decide, act, review, shape, record.

use crate::answer::FilePayload;
use crate::concat;
use crate::connection::WebConnection;
use crate::door::WebDoor;
use crate::handshake::WebContext;
use crate::outcome::{WebOutcome, WebRefusal};
use crate::pages;
use crate::palimg;
use crate::path::{self, BadPath, PathTarget};
use crate::record::CountedBody;
use crate::root::NotOpened;
use crate::shape::shape;
use crate::site::Site;
use crate::table::{RoutedSite, SiteTable};
use crate::visit::{self, PathStanding, SiteVisit, reads};
use access_log::PendingLine;
use http::header::STRICT_TRANSPORT_SECURITY;
use http::{Request, Response, request};
use http_body::Body as _;
use http_engine::content::FileContent;
use http_engine::{Body, Incoming, kind};
use http_front::scripts::{self, ScriptedAsker, ScriptedClient};
use http_front::{HookVisit, MessageHooks, RequestTicket, host_of, page_of, target_authority};
use ledger::EventSubject;
use policy::{Ask, Policy, RuleText, Verdict};
use std::sync::Arc;
use telemetry::{RequestArrival, ServerSpan};
use transport::clock;
use vocab::{Action, DomainName, Door, Name, Now, RequestKind, Source};

/// Holds what a client wants, once it is understood.
struct WebRequest {
    host: DomainName,
    page: Option<DomainName>,
    kind: RequestKind,
    /// Absolute, for the policy and the ledger.
    url: String,
    target: Result<PathTarget, BadPath>,
}

/// Answers one request. The bytes of a large file follow as its body is read.
pub(crate) async fn answer(
    door: &Arc<WebDoor>,
    connection: &Arc<WebConnection>,
    mut request: Request<Incoming>,
) -> Response<Body> {
    let WebConnection { table, context, .. } = &**connection;
    let (now, client) = (clock::now(), connection.client());
    let mut ticket = RequestTicket::open(&door.parts.ledger, Door::Web, now, client);
    let arrival = RequestArrival { door: Door::Web, peer: client, scheme: context.scheme() };
    ticket.trace(ServerSpan::begin(&mut request, arrival));

    // read
    let (mut head, body) = request.into_parts();
    let mut wish = read(&head, context);
    ticket.asked(wish.kind, EventSubject::url(&wish.url));
    let (site, standing) = route(table, &wish);
    let log = site.and_then(|site| site.log.as_ref());
    ticket.log(PendingLine::begin(log, &head, context.scheme(), now));

    // decide
    let policy = door.parts.policy.load_full();
    let sources = site.map_or_else(Vec::new, |site| source_urls(site, context, &wish, &head));
    let verdict = decide(&policy, context, &wish, &sources, now);
    ticket.decided(verdict.action, verdict.cause);
    let hooks = site.and_then(|site| site.hooks.as_ref());
    let hook_visit = MessageHooks::visit(hooks);
    let client = scripted_client(context, &wish, &hook_visit);
    let log_hook = |hooks| scripts::log_hook(hooks, &client, &head.method, &head.uri);
    ticket.on_close(hooks.and_then(log_hook));

    // act
    let rule = (verdict.action == Action::Block).then(|| rule_text(&policy, verdict, &wish));
    let asker = |hooks| ScriptedAsker::of(hooks, &client, &head.method, &head.uri);
    let asker = hooks.and_then(asker);
    let outcome = match (rule, site, &mut wish.target) {
        (Some(rule), _, _) => WebOutcome::Blocked(rule),
        (None, _, Err(why)) if reads(&head) => WebOutcome::Refused(WebRefusal::Path(*why)),
        (None, _, Err(_)) => WebOutcome::Refused(WebRefusal::Method),
        (None, None, Ok(_)) => WebOutcome::NotOpened(NotOpened::NotFound),
        (None, Some(site), Ok(target)) => {
            let (host, ledger, hooks) = (wish.host.as_str(), &door.parts.ledger, &hook_visit);
            let user = None;
            let mut visit = SiteVisit { site, host, user, context, hooks, ledger, now };
            let outcome = visit::answer(&mut visit, standing, target, &mut head, body).await;
            ticket.user(visit.user.as_ref());
            outcome
        }
    };

    // review
    let mut source = outcome.source();

    // shape
    let site = site.map(Arc::as_ref);
    let (mut response, mut payload) = shape(outcome, site, &head, wish.target.as_ref().ok(), now);
    if context.handshake().is_some()
        && let Some(hsts) = site.and_then(|site| site.hsts.as_ref())
    {
        response.headers_mut().insert(STRICT_TRANSPORT_SECURITY, hsts.clone());
    }
    if let Some((asker, hooks)) = asker.zip(site.and_then(|site| site.hooks.as_ref())) {
        (response, payload, source) = asker.on_response(hooks, response).map_or_else(
            || (pages::luau_failed(), FilePayload::Buffered, Source::Failed),
            |response| (response, payload, source),
        );
    }

    // record
    record(ticket, source, response, payload)
}

fn read(head: &request::Parts, context: &WebContext) -> WebRequest {
    let headers = &head.headers;
    let authority = target_authority(&head.uri, headers);
    let scheme = context.scheme();
    let path = head.uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    let target = PathTarget::parse(head.uri.path());
    WebRequest {
        host: host_of(authority).unwrap_or_else(|| Name::ROOT.to_owned()),
        page: page_of(headers),
        kind: kind::of_request(&head.method, &head.uri, headers),
        url: match &target {
            // Rules are held against the path that is served, whatever it was written like.
            Ok(target) if !path::is_plain(head.uri.path()) => {
                let query = head.uri.query().map(|query| ["?", query].concat());
                let path = target.as_url();
                [scheme, "://", authority, &path, query.as_deref().unwrap_or("")].concat()
            }
            Ok(_) | Err(_) => [scheme, "://", authority, path].concat(),
        },
        target,
    }
}

fn scripted_client<'r>(
    context: &WebContext,
    wish: &'r WebRequest,
    visit: &'r HookVisit,
) -> ScriptedClient<'r> {
    let (scheme, ip) = (context.scheme(), context.client_ip());
    ScriptedClient { host: wish.host.as_str(), scheme, ip, visit }
}

/// The URLs of the files that an answer is made of, where those are not the one asked for: rules
/// hold for each of them.
fn source_urls(
    site: &Site,
    context: &WebContext,
    wish: &WebRequest,
    head: &request::Parts,
) -> Vec<String> {
    let Ok(asked) = &wish.target else { return Vec::new() };
    let targets: Vec<_> = match concat::names_of(site, head.uri.query()) {
        Some(names) => names.filter_map(|name| concat::target(asked, name).ok()).collect(),
        None => palimg::asked(site, asked).into_iter().map(|image| image.target).collect(),
    };
    if targets.is_empty() {
        return Vec::new();
    }
    let origin = [context.scheme(), "://", target_authority(&head.uri, &head.headers)].concat();
    targets.iter().map(|target| [origin.as_str(), &target.as_url()].concat()).collect()
}

/// The site that a request is for, if there is one.
fn route<'t>(table: &'t SiteTable, wish: &WebRequest) -> (Option<&'t Arc<Site>>, PathStanding) {
    let routed = wish.target.as_ref().map(|it| table.route(wish.host.as_name(), &it.text()));
    match routed {
        Ok(RoutedSite::Site(site)) => (Some(site), PathStanding::Below),
        Ok(RoutedSite::Slash(site)) => (Some(site), PathStanding::Slash),
        Ok(RoutedSite::Nowhere) | Err(_) => (None, PathStanding::Below),
    }
}

/// The verdict about a request: that about its own URL, or about the first of `sources` that is
/// blocked.
fn decide(
    policy: &Policy,
    context: &WebContext,
    wish: &WebRequest,
    sources: &[String],
    now: Now,
) -> Verdict {
    let own = decide_url(policy, context, wish, &wish.url, now);
    if own.action == Action::Block {
        return own;
    }
    let mut others = sources.iter().map(|url| decide_url(policy, context, wish, url, now));
    others.find(|verdict| verdict.action == Action::Block).unwrap_or(own)
}

fn decide_url(
    policy: &Policy,
    context: &WebContext,
    wish: &WebRequest,
    url: &str,
    now: Now,
) -> Verdict {
    let who = context.link_info(policy.link_info_needs(), now).into();
    let ask = Ask {
        door: Door::Web,
        client: context.client_ip(),
        identity: Some(&who),
        host: wish.host.as_name(),
        kind: wish.kind,
        url: Some(url),
        page: wish.page.as_ref().map(DomainName::as_name),
    };
    policy.decide(&ask, now)
}

fn rule_text(policy: &Policy, verdict: Verdict, wish: &WebRequest) -> Option<RuleText> {
    policy.rule_text(verdict.cause.rule()?, wish.host.as_name())
}

fn record(
    mut ticket: RequestTicket,
    source: Source,
    response: Response<Body>,
    payload: FilePayload,
) -> Response<Body> {
    ticket.answered(source, response.status().as_u16());
    match payload {
        FilePayload::Buffered => {
            let bytes = response.body().size_hint().lower();
            ticket.close(bytes);
            response
        }
        FilePayload::Streaming => response.map(|body| Body::boxed(CountedBody::new(body, ticket))),
        FilePayload::Content(open, segments) => response.map(|_| {
            Body::boxed(FileContent::new(Arc::new(open), segments, |sent| ticket.close(sent)))
        }),
    }
}
