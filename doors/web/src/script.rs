//! From a request to a script's answer and back.
//!
//! It decides nothing: `request` has found the script. It says what the script is told, and shapes
//! what it says: coded on the way where that is worth it, never where the script has coded it
//! itself. Called by `request` and `visit`.

use crate::compress::SiteCompression;
use crate::fastcgi::FoundScript;
use crate::programs::FoundProgram;
use crate::visit::SiteVisit;
use cgi::{CallSecurity, ScriptAnswer, ScriptCall, ScriptFailure};
use http::header::{CONTENT_LENGTH, HeaderValue};
use http::{Response, request};
use http_engine::encoding::{AcceptedCodings, CodingDue};
use http_engine::{Body, Incoming};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Our end of a connection that is gone already.
const NOWHERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);

/// Asks `script` for what the request wants.
pub(crate) async fn ask(
    script: &FoundScript,
    head: &request::Parts,
    body: Incoming,
    visit: &SiteVisit<'_>,
) -> Result<ScriptAnswer, ScriptFailure> {
    let call = ScriptCall {
        script_name: &script.name,
        script_file: script.below(&visit.site.path),
        path_info: &script.path_info,
        ..call(head, visit)
    };
    visit.site.fastcgi.ask(script, call, Body::from(body), visit.ledger, visit.now).await
}

/// Runs `program` for what the request wants.
pub(crate) async fn run(
    program: &FoundProgram,
    head: &request::Parts,
    body: Incoming,
    visit: &SiteVisit<'_>,
) -> Result<ScriptAnswer, ScriptFailure> {
    let call = ScriptCall {
        script_name: &program.name,
        script_filename: Some(&program.file),
        path_info: &program.path_info,
        ..call(head, visit)
    };
    let runner = &program.folder.runner;
    runner.ask(&program.file, call, Body::from(body), visit.ledger, visit.now).await
}

/// The call of a request, without its script.
fn call<'r>(head: &'r request::Parts, visit: &'r SiteVisit<'_>) -> ScriptCall<'r> {
    let target = head.uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    let authority = head.uri.authority().map(http::uri::Authority::as_str);
    let secured = visit.context.handshake();
    ScriptCall {
        method: &head.method,
        version: head.version,
        headers: &head.headers,
        // A name and password before it are nobody's business.
        authority: authority.map(|it| it.rsplit_once('@').map_or(it, |(_, host)| host)),
        target,
        query: head.uri.query().unwrap_or(""),
        script_name: "",
        script_file: "",
        script_filename: None,
        path_info: "",
        root: visit.site.root.path(),
        host: visit.host,
        client: visit.context.client,
        trust: visit.site.trust(visit.context),
        server: visit.context.local.unwrap_or(NOWHERE),
        security: if secured.is_some() { CallSecurity::Tls } else { CallSecurity::Plain },
        client_certificate: secured.and_then(|it| it.client_certificate.as_deref()),
        user: visit.user.as_deref(),
        body_len: 0,
    }
}

/// The script's answer as ours.
pub(crate) fn shape(
    answer: ScriptAnswer,
    compress: Option<&SiteCompression>,
    request: &request::Parts,
) -> Response<Body> {
    let ScriptAnswer { head, body } = answer;
    let mut response = Response::new(body);
    *response.status_mut() = head.status;
    *response.headers_mut() = head.fields;
    if let Some(length) = head.length {
        response.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(length));
    }
    coded(response, head.length, compress, request)
}

/// The answer in the coding that the client likes best, where that is worth it.
pub(crate) fn coded(
    response: Response<Body>,
    length: Option<u64>,
    compress: Option<&SiteCompression>,
    request: &request::Parts,
) -> Response<Body> {
    let due = compress.map_or(CodingDue::Never, |compress| {
        compress.offer().select_coding(&AcceptedCodings::of(&request.headers), &response, length)
    });
    due.apply(response, &request.method)
}
