//! Scripts and filters of routes and sites: their hooks, called with what a door lends of its
//! messages.
//!
//! The parts of a message are lent to the hook and taken back. It decides nothing: a door says
//! what a moved, answered or failed request means there. Called by the doors that have `script:`
//! and `wasm:`.

use crate::hooks::{HookVisit, MessageHooks};
use crate::ticket::CloseHook;
use http::{HeaderMap, Method, Response, Uri};
use http_engine::{Body, reply};
use ledger::RequestEvent;
use scripting::{
    LuauScript, OnScriptError, RequestVerdict, ScriptAnswer, ScriptHook, ScriptedLogEntry,
    ScriptedRequest, ScriptedResponse,
};
use std::net::IpAddr;
use wasm_filters::FilterCourse;

/// The client of a request, as scripts are told.
#[derive(Clone, Copy, Debug)]
pub struct ScriptedClient<'r> {
    /// The host it asks for, lower-case and without a port.
    pub host: &'r str,
    /// `http` or `https`, by its connection.
    pub scheme: &'static str,
    /// Address of the client.
    pub ip: IpAddr,
    /// State that hooks share.
    pub visit: &'r HookVisit,
}

/// Course of a request after `on_request`.
#[derive(Debug)]
pub enum ScriptedCourse {
    /// Goes on where it was going.
    Same,
    /// Goes on at the path that its URI has now.
    Moved,
    /// The script has answered it.
    Answered(Box<Response<Body>>),
    /// The script failed, and is set to fail its requests.
    Failed,
}

/// Calls `on_request` of the script and then the filters, which may change URI and fields.
pub fn on_request(
    hooks: &MessageHooks,
    client: &ScriptedClient<'_>,
    method: &Method,
    uri: &mut Uri,
    headers: &mut HeaderMap,
) -> ScriptedCourse {
    let script = hooks.script().filter(|script| script.has(ScriptHook::Request));
    if script.is_none() && hooks.filters.is_none() {
        return ScriptedCourse::Same;
    }
    let mut lent = client.request(method, std::mem::take(uri));
    lent.headers = std::mem::take(headers);
    let mut course = script.map_or(ScriptedCourse::Same, |script| ask_script(script, &mut lent));
    if let (Some(filters), ScriptedCourse::Same | ScriptedCourse::Moved) = (&hooks.filters, &course)
    {
        let visit = hooks.filter_visit(client.visit).unwrap_or_else(|| filters.visit());
        course = match visit.on_request(&mut lent) {
            FilterCourse::Same => course,
            FilterCourse::Moved => ScriptedCourse::Moved,
            FilterCourse::Answered(answer) => {
                ScriptedCourse::Answered(Box::new(answer_of(*answer)))
            }
            FilterCourse::Failed => ScriptedCourse::Failed,
        };
    }
    *headers = lent.headers;
    *uri = lent.uri;
    course
}

fn ask_script(script: &LuauScript, request: &mut ScriptedRequest) -> ScriptedCourse {
    let verdict = script.on_request(ScriptHook::Request, request);
    let RequestVerdict { is_moved, answer, failure } = verdict;
    match answer {
        _ if failure.is_some() && script.on_error() == OnScriptError::Fail => {
            ScriptedCourse::Failed
        }
        Some(answer) => ScriptedCourse::Answered(Box::new(answer_of(*answer))),
        None if is_moved => ScriptedCourse::Moved,
        None => ScriptedCourse::Same,
    }
}

impl ScriptedClient<'_> {
    /// A request of this client, without fields.
    pub fn request(&self, method: &Method, uri: Uri) -> ScriptedRequest {
        ScriptedRequest {
            method: method.clone(),
            uri,
            headers: HeaderMap::new(),
            host: self.host.to_owned(),
            scheme: self.scheme,
            client: Some(self.ip),
            variables: self.visit.variables.clone(),
        }
    }
}

/// A request whose answer a script or filters will be shown.
#[derive(Debug)]
pub struct ScriptedAsker {
    visit: HookVisit,
    method: Method,
    uri: Uri,
    host: String,
    scheme: &'static str,
    client: IpAddr,
}

impl ScriptedAsker {
    /// Kept of a request, where the hooks want to see the answer.
    pub fn of(
        hooks: &MessageHooks,
        client: &ScriptedClient<'_>,
        method: &Method,
        uri: &Uri,
    ) -> Option<Self> {
        let is_filtered = hooks.filter_visit(client.visit).is_some();
        let is_wanted = hooks.script().is_some_and(|script| script.has(ScriptHook::Response));
        (is_wanted || is_filtered).then(|| Self {
            visit: client.visit.clone(),
            method: method.clone(),
            uri: uri.clone(),
            host: client.host.to_owned(),
            scheme: client.scheme,
            client: client.ip,
        })
    }

    /// Calls `on_response` of the filters and then the script; nothing is returned where one of
    /// them fails the answer.
    pub fn on_response(
        &self,
        hooks: &MessageHooks,
        mut response: Response<Body>,
    ) -> Option<Response<Body>> {
        let Self { host, scheme, client, visit, .. } = self;
        let client = ScriptedClient { host, scheme, ip: *client, visit };
        let mut asked = client.request(&self.method, self.uri.clone());
        let headers = std::mem::take(response.headers_mut());
        let mut lent = ScriptedResponse { status: response.status(), headers };
        if let Some(visit) = hooks.filter_visit(visit)
            && !visit.on_response(&mut asked, &mut lent)
        {
            return None;
        }
        if let Some(script) = hooks.script()
            && script.on_response(&mut asked, &mut lent).is_some()
            && script.on_error() == OnScriptError::Fail
        {
            return None;
        }
        *response.status_mut() = lent.status;
        *response.headers_mut() = lent.headers;
        Some(response)
    }
}

/// Kept of a request, where the hooks want to hear what became of it: calls `on_log`.
pub fn log_hook(
    hooks: &MessageHooks,
    client: &ScriptedClient<'_>,
    method: &Method,
    uri: &Uri,
) -> Option<CloseHook> {
    let script = hooks.script().filter(|script| script.has(ScriptHook::Log)).cloned();
    let visit = hooks.filter_visit(client.visit);
    if script.is_none() && visit.is_none() {
        return None;
    }
    let mut asked = client.request(method, uri.clone());
    Some(Box::new(move |event: &RequestEvent| {
        let entry = ScriptedLogEntry {
            status: event.status,
            bytes: u64::from(event.bytes),
            duration_ms: f64::from(event.duration_us) / 1000.0,
            source: event.source.as_str(),
        };
        if let Some(visit) = &visit {
            visit.on_log(&mut asked, &entry);
        }
        if let Some(script) = &script {
            script.on_log(&mut asked, entry);
        }
    }))
}

fn answer_of(answer: ScriptAnswer) -> Response<Body> {
    let mut response = reply::empty(answer.status);
    response.headers_mut().extend(answer.headers);
    if !answer.body.is_empty() {
        *response.body_mut() = Body::full(answer.body);
    }
    response
}
