//! The script of a route: its hooks, called with requests and answers of this door.
//!
//! The parts of a message are lent to the hook and taken back. Called by `act` before a request
//! goes where its route leads, by `exchange` before a server is asked, and by `finish` for the
//! answer.

use crate::caller::ClientConnection;
use crate::outcome::{GatewayOutcome, GatewayRefusal};
use crate::route::GatewayRoute;
use http::header::HOST;
use http::{HeaderMap, Method, Request, Response, Uri};
use http_engine::Body;
use http_engine::reply;
use route_matching::{BadPath, ParsedRequest, SlashRules};
use scripting::{
    LuauScript, OnScriptError, RequestVerdict, ScriptAnswer, ScriptFailure, ScriptHook,
    ScriptedRequest, ScriptedResponse,
};
use std::net::IpAddr;
use vocab::Source;

/// A request whose answer a script will be shown.
pub(crate) struct ScriptedAsker {
    method: Method,
    uri: Uri,
    host: String,
    client: IpAddr,
    scheme: &'static str,
}

/// Calls `on_request`. The request as it goes on, if that is at another path; or what the client
/// gets in place of it.
pub(crate) fn on_request<B>(
    route: &GatewayRoute,
    caller: &ClientConnection,
    parsed: &ParsedRequest,
    request: &mut Request<B>,
) -> Result<Option<Box<ParsedRequest>>, Box<GatewayOutcome>> {
    let Some(script) = with_hook(route, ScriptHook::Request) else { return Ok(None) };
    let mut lent = ScriptedRequest {
        method: request.method().clone(),
        uri: std::mem::take(request.uri_mut()),
        headers: std::mem::take(request.headers_mut()),
        host: parsed.host.as_str().to_owned(),
        scheme: caller.scheme(),
        client: Some(parsed.client),
    };
    let verdict = script.on_request(ScriptHook::Request, &mut lent);
    let RequestVerdict { is_moved, answer, failure } = verdict;
    *request.headers_mut() = lent.headers;
    *request.uri_mut() = lent.uri;
    if failure.is_some() && script.on_error() == OnScriptError::Fail {
        return Err(Box::new(GatewayOutcome::ScriptFailed));
    }
    if let Some(answer) = answer {
        return Err(Box::new(GatewayOutcome::Answered(answer_of(*answer), Source::Local)));
    }
    if !is_moved {
        return Ok(None);
    }
    let moved = moved_to(route, parsed, request.uri());
    let moved =
        moved.map_err(|why| Box::new(GatewayOutcome::Refused(GatewayRefusal::Path(why))))?;
    *request.uri_mut() = moved.path.parse().unwrap_or_default();
    Ok(Some(Box::new(moved)))
}

/// Calls `on_upstream` with what a server is about to be sent.
pub(crate) fn on_upstream(
    route: &GatewayRoute,
    caller: &ClientConnection,
    client: IpAddr,
    request: &mut Request<Body>,
) -> Result<(), ScriptFailure> {
    let Some(script) = with_hook(route, ScriptHook::Upstream) else { return Ok(()) };
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok());
    let mut lent = ScriptedRequest {
        host: host.unwrap_or_default().to_owned(),
        method: request.method().clone(),
        uri: request.uri().clone(),
        headers: std::mem::take(request.headers_mut()),
        scheme: caller.scheme(),
        client: Some(client),
    };
    let verdict = script.on_request(ScriptHook::Upstream, &mut lent);
    *request.headers_mut() = lent.headers;
    match verdict.failure {
        Some(failure) if script.on_error() == OnScriptError::Fail => Err(failure),
        Some(_) | None => Ok(()),
    }
}

impl ScriptedAsker {
    /// Kept of a request, where its route has a script that wants to see the answer.
    pub(crate) fn of<B>(
        route: &GatewayRoute,
        caller: &ClientConnection,
        parsed: &ParsedRequest,
        request: &Request<B>,
    ) -> Option<Self> {
        with_hook(route, ScriptHook::Response)?;
        Some(Self {
            method: request.method().clone(),
            uri: request.uri().clone(),
            host: parsed.host.as_str().to_owned(),
            client: parsed.client,
            scheme: caller.scheme(),
        })
    }

    /// Calls `on_response`; none where the script fails the answer.
    pub(crate) fn on_response(
        &self,
        route: &GatewayRoute,
        mut response: Response<Body>,
    ) -> Option<Response<Body>> {
        let Some(script) = with_hook(route, ScriptHook::Response) else { return Some(response) };
        let mut asked = ScriptedRequest {
            method: self.method.clone(),
            uri: self.uri.clone(),
            headers: HeaderMap::new(),
            host: self.host.clone(),
            scheme: self.scheme,
            client: Some(self.client),
        };
        let headers = std::mem::take(response.headers_mut());
        let mut lent = ScriptedResponse { status: response.status(), headers };
        let failure = script.on_response(&mut asked, &mut lent);
        if failure.is_some() && script.on_error() == OnScriptError::Fail {
            return None;
        }
        *response.status_mut() = lent.status;
        *response.headers_mut() = lent.headers;
        Some(response)
    }
}

fn with_hook(route: &GatewayRoute, hook: ScriptHook) -> Option<&LuauScript> {
    route.script.as_ref().filter(|script| script.has(hook))
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

fn answer_of(answer: ScriptAnswer) -> Response<Body> {
    let mut response = reply::empty(answer.status);
    response.headers_mut().extend(answer.headers);
    if !answer.body.is_empty() {
        *response.body_mut() = Body::full(answer.body);
    }
    response
}
