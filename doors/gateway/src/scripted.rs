//! The script and the filters of a route: their hooks, called with requests and answers of this
//! door.
//!
//! Called by `act` before a request goes where its route leads, by `exchange` before a server is
//! asked, and by `finish` for the answer.

use crate::caller::ClientConnection;
use crate::context::RequestContext;
use crate::outcome::{GatewayOutcome, GatewayRefusal};
use crate::route::GatewayRoute;
use http::header::HOST;
use http::{Request, Uri};
use http_engine::Body;
use http_front::scripts::{self, ScriptedClient, ScriptedCourse};
use http_front::{HookVisit, MessageHooks};
use route_matching::{BadPath, ParsedRequest, SlashRules};
use scripting::{OnScriptError, ScriptFailure, ScriptHook};
use vocab::Source;

/// Calls `on_request`. The request as it goes on, if that is at another path; or what the client
/// gets in place of it.
pub(crate) fn on_request<B>(
    route: &GatewayRoute,
    context: &RequestContext<'_>,
    parsed: &ParsedRequest,
    request: &mut Request<B>,
) -> Result<Option<Box<ParsedRequest>>, Box<GatewayOutcome>> {
    let Some(hooks) = &route.hooks else { return Ok(None) };
    let (method, mut uri) = (request.method().clone(), std::mem::take(request.uri_mut()));
    let client = client(context.caller, parsed, context.visit);
    let course = scripts::on_request(hooks, &client, &method, &mut uri, request.headers_mut());
    *request.uri_mut() = uri;
    match course {
        ScriptedCourse::Same => Ok(None),
        ScriptedCourse::Failed => Err(Box::new(GatewayOutcome::ScriptFailed)),
        ScriptedCourse::Answered(answer) => {
            Err(Box::new(GatewayOutcome::Answered(*answer, Source::Local)))
        }
        ScriptedCourse::Moved => {
            let moved = moved_to(route, parsed, request.uri());
            let moved = moved
                .map_err(|why| Box::new(GatewayOutcome::Refused(GatewayRefusal::Path(why))))?;
            *request.uri_mut() = moved.path.parse().unwrap_or_default();
            Ok(Some(Box::new(moved)))
        }
    }
}

/// Calls `on_upstream` with what a server is about to be sent.
pub(crate) fn on_upstream(
    route: &GatewayRoute,
    context: &RequestContext<'_>,
    request: &mut Request<Body>,
) -> Result<(), ScriptFailure> {
    let script = route.hooks.as_ref().and_then(MessageHooks::script);
    let script = script.filter(|script| script.has(ScriptHook::Upstream));
    let Some(script) = script else { return Ok(()) };
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok());
    let client = ScriptedClient {
        host: host.unwrap_or_default(),
        scheme: context.caller.scheme(),
        ip: context.client,
        visit: context.visit,
    };
    let mut lent = client.request(request.method(), request.uri().clone());
    lent.headers = std::mem::take(request.headers_mut());
    let verdict = script.on_request(ScriptHook::Upstream, &mut lent);
    *request.headers_mut() = lent.headers;
    match verdict.failure {
        Some(failure) if script.on_error() == OnScriptError::Fail => Err(failure),
        Some(_) | None => Ok(()),
    }
}

/// The client of a request, as scripts are told.
pub(crate) fn client<'r>(
    caller: &ClientConnection,
    parsed: &'r ParsedRequest,
    visit: &'r HookVisit,
) -> ScriptedClient<'r> {
    let (scheme, ip) = (caller.scheme(), parsed.client);
    ScriptedClient { host: parsed.host.as_str(), scheme, ip, visit }
}

/// The same request at the path that a script has set, as its route reads paths.
fn moved_to(
    route: &GatewayRoute,
    parsed: &ParsedRequest,
    to: &Uri,
) -> Result<ParsedRequest, BadPath> {
    let target = to.path_and_query().map_or("/", |target| target.as_str());
    let moved = parsed.with_path(target, SlashRules::ByRoute)?;
    match &moved.raw {
        Some(raw) => moved.reread(raw, route.rule.slashes),
        None => Ok(moved),
    }
}
