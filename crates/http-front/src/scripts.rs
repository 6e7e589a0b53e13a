//! Scripts of routes and sites: their hooks, called with what a door lends of its messages.
//!
//! The parts of a message are lent to the hook and taken back. It decides nothing: a door says
//! what a moved, answered or failed request means there. Called by the doors that have `script:`.

use crate::ticket::CloseHook;
use http::{HeaderMap, Method, Response, Uri};
use http_engine::{Body, reply};
use ledger::RequestEvent;
use scripting::{
    LuauScript, OnScriptError, RequestVerdict, ScriptAnswer, ScriptHook, ScriptVariables,
    ScriptedLogEntry, ScriptedRequest, ScriptedResponse,
};
use std::net::IpAddr;

/// The client of a request, as scripts are told.
#[derive(Clone, Copy, Debug)]
pub struct ScriptedClient<'r> {
    /// The host it asks for, lower-case and without a port.
    pub host: &'r str,
    /// `http` or `https`, by its connection.
    pub scheme: &'static str,
    /// Address of the client.
    pub ip: IpAddr,
    /// Variables that hooks keep for each other.
    pub variables: &'r ScriptVariables,
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

/// Calls `on_request`, which may change URI and fields.
pub fn on_request(
    script: &LuauScript,
    client: &ScriptedClient<'_>,
    method: &Method,
    uri: &mut Uri,
    headers: &mut HeaderMap,
) -> ScriptedCourse {
    if !script.has(ScriptHook::Request) {
        return ScriptedCourse::Same;
    }
    let mut lent = client.request(method, std::mem::take(uri));
    lent.headers = std::mem::take(headers);
    let verdict = script.on_request(ScriptHook::Request, &mut lent);
    let RequestVerdict { is_moved, answer, failure } = verdict;
    *headers = lent.headers;
    *uri = lent.uri;
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
            variables: self.variables.clone(),
        }
    }
}

/// A request whose answer a script will be shown.
#[derive(Debug)]
pub struct ScriptedAsker {
    method: Method,
    uri: Uri,
    host: String,
    scheme: &'static str,
    client: IpAddr,
    variables: ScriptVariables,
}

impl ScriptedAsker {
    /// Kept of a request, where the script wants to see the answer.
    pub fn of(
        script: &LuauScript,
        client: &ScriptedClient<'_>,
        method: &Method,
        uri: &Uri,
    ) -> Option<Self> {
        script.has(ScriptHook::Response).then(|| Self {
            method: method.clone(),
            uri: uri.clone(),
            host: client.host.to_owned(),
            scheme: client.scheme,
            client: client.ip,
            variables: client.variables.clone(),
        })
    }

    /// Calls `on_response`; nothing is returned where the script fails the answer.
    pub fn on_response(
        &self,
        script: &LuauScript,
        mut response: Response<Body>,
    ) -> Option<Response<Body>> {
        let Self { host, scheme, client, variables, .. } = self;
        let client = ScriptedClient { host, scheme, ip: *client, variables };
        let mut asked = client.request(&self.method, self.uri.clone());
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

/// Kept of a request, where the script wants to hear what became of it: calls `on_log`.
pub fn log_hook(
    script: &LuauScript,
    client: &ScriptedClient<'_>,
    method: &Method,
    uri: &Uri,
) -> Option<CloseHook> {
    if !script.has(ScriptHook::Log) {
        return None;
    }
    let (script, mut asked) = (script.clone(), client.request(method, uri.clone()));
    Some(Box::new(move |event: &RequestEvent| {
        let entry = ScriptedLogEntry {
            status: event.status,
            bytes: u64::from(event.bytes),
            duration_ms: f64::from(event.duration_us) / 1000.0,
            source: event.source.as_str(),
        };
        script.on_log(&mut asked, entry);
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
