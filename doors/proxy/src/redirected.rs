//! Answers of a redirector to requests that the policy lets pass.
//!
//! A URL may be fetched as it is, led elsewhere, or another one fetched in its place. A tunnel
//! cannot be led: it passes, or it is refused. Where there is no answer, the settings say. Called
//! by `request`.

use crate::pages;
use crate::setup::ProxySetup;
use crate::target::{self, ProxyTarget};
use http::{Method, Response, Uri};
use http_engine::Body;
use redirector::{FailureChoice, HelperAnswer, HelperQuestion, UrlRedirector};
use std::net::IpAddr;

/// Course of a request after its redirector was asked.
pub(crate) enum RedirectedCourse {
    /// As it is.
    Same,
    /// Another URL in its place.
    Elsewhere(ProxyTarget),
    /// Answered here.
    Answered(Box<Response<Body>>),
}

/// A request as it is asked about.
pub(crate) struct RedirectorRequest<'r> {
    pub(crate) target: &'r ProxyTarget,
    /// The URL, or host and port of a tunnel.
    pub(crate) subject: &'r str,
    pub(crate) method: &'r Method,
    pub(crate) client: IpAddr,
    pub(crate) user: Option<&'r str>,
}

/// Asks about a request.
pub(crate) async fn ask(
    redirector: &UrlRedirector,
    setup: &ProxySetup,
    request: RedirectorRequest<'_>,
) -> RedirectedCourse {
    let answered = |page| RedirectedCourse::Answered(Box::new(page));
    let question = HelperQuestion {
        url: request.subject.to_owned(),
        client: request.client,
        user: request.user.map(str::to_owned),
        method: request.method.clone(),
    };
    let answer = redirector.ask(question).await;
    let is_tunnel = matches!(request.target, ProxyTarget::Tunnel(_));
    match answer {
        HelperAnswer::Unchanged => RedirectedCourse::Same,
        HelperAnswer::Redirect(..) | HelperAnswer::Rewrite(_) if is_tunnel => {
            answered(pages::tunnel_redirected(request.subject))
        }
        HelperAnswer::Redirect(status, url) => answered(pages::redirected(status, &url)),
        HelperAnswer::Rewrite(url) => match rewritten(setup, request.method, &url) {
            Some(target) => RedirectedCourse::Elsewhere(target),
            None => answered(pages::redirector_failed()),
        },
        HelperAnswer::Failed => match redirector.settings().on_failure {
            FailureChoice::Pass => RedirectedCourse::Same,
            FailureChoice::Refuse => answered(pages::redirector_failed()),
        },
    }
}

/// The target that is fetched in place of another; none for one that a client could not ask for.
fn rewritten(setup: &ProxySetup, method: &Method, url: &str) -> Option<ProxyTarget> {
    let uri: Uri = url.parse().ok()?;
    let target = target::read(method, &uri).ok()?;
    match &target {
        ProxyTarget::Fetch { origin, .. } if setup.fetches_from(origin.port) => Some(target),
        ProxyTarget::Fetch { .. } | ProxyTarget::Tunnel(_) | ProxyTarget::Local(_) => None,
    }
}
