//! What every request passes before a handler sees it, and every answer after.
//!
//! Host name, origin of changes, then token or session; on the way out the headers that keep a
//! browser from being turned against its owner. Wrapped around the routes by [`crate::Admin`].

use crate::admin_scheme::AdminScheme;
use crate::api::audited;
use crate::api::{ApiRequest, ApiState};
use crate::gate::{AuthGate, host_field};
use crate::permissions::needed_role;
use crate::refused::ApiRefusal;
use crate::sender::RequestOrigin;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderName, ORIGIN, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{HeaderMap, HeaderValue, StatusCode};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use tokio::sync::watch;

/// The other end of the connection, and its protocol: put beside the request by [`crate::Admin`].
#[derive(Clone, Copy)]
pub(crate) struct PeerInfo {
    pub(crate) address: IpAddr,
    pub(crate) scheme: AdminScheme,
    pub(crate) listener: Option<SocketAddr>,
}

/// The end of a connection, for answers that would go on after it was asked to close: its sender is
/// gone then.
#[derive(Clone)]
pub(crate) struct ConnectionEnd(pub(crate) watch::Receiver<()>);

/// The content security policy, before and after sources of pictures besides our own.
const POLICY: [&str; 2] = [
    "default-src 'self'; img-src 'self' data:",
    "; frame-ancestors 'none'; base-uri 'none'; form-action 'self'; object-src 'none'",
];

const FIELDS: [(HeaderName, HeaderValue); 6] = [
    (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        HeaderValue::from_static("same-origin"),
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        HeaderValue::from_static("same-origin"),
    ),
    (
        HeaderName::from_static("permissions-policy"),
        HeaderValue::from_static("camera=(), geolocation=(), microphone=()"),
    ),
];

/// For every path: the host name, the origin of a change, the answer's headers.
pub(crate) async fn guard_request(
    State(app): State<Arc<ApiState>>,
    mut request: Request,
    next: Next,
) -> Response {
    let nobody = PeerInfo {
        address: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        scheme: AdminScheme::Http,
        listener: None,
    };
    let PeerInfo { address: client, scheme, listener } =
        request.extensions().get().copied().unwrap_or(nobody);
    let sender = RequestOrigin::of(request.headers(), host_field(request.headers()), scheme);
    let now = (app.clock)();
    request.extensions_mut().insert(ApiRequest { client, now, scheme, sender, listener });
    let (uri, headers) = (request.uri(), request.headers());
    let allowed = app
        .gate
        .check_host(uri, headers)
        .and_then(|()| AuthGate::check_origin(request.method(), uri, headers, scheme));
    let mut response = match allowed {
        Ok(()) => next.run(request).await,
        Err(refused) => refused.into_response(),
    };
    let picture = app.first_run.check_url();
    harden(response.headers_mut(), picture.as_deref().map(String::as_str));
    response
}

/// For everything that needs it: a token or a session, and the role for it. What is to change
/// something goes into the audit log.
pub(crate) async fn inside(
    State(app): State<Arc<ApiState>>,
    asked: ApiRequest,
    mut request: Request,
    next: Next,
) -> Result<Response, ApiRefusal> {
    let caller = app.gate.check_pass(request.headers(), asked)?;
    if app.gate.credentials.is_save_due() {
        app.ask(|app| app.gate.credentials.save_uses()).await?;
    }
    let allowed = caller.require(needed_role(request.method(), request.uri().path()));
    if request.method().is_safe() {
        allowed?;
        request.extensions_mut().insert(caller);
        return Ok(next.run(request).await);
    }
    audited::record_change(&app, asked, caller, allowed, request, next).await
}

/// Refuses what a page in a browser asks for, on the listener that asks for no token: a page
/// elsewhere could have its name lead here (DNS rebinding). Who types the address is served.
pub(crate) async fn no_pages(request: Request, next: Next) -> Response {
    let headers = request.headers();
    let by_page = headers.contains_key(ORIGIN)
        || headers.get("sec-fetch-site").is_some_and(|site| site != "none");
    let mut response = if by_page {
        let error = "a page in a browser asks for this";
        let remedy = "open the address itself, or the dashboard";
        ApiRefusal::new(StatusCode::FORBIDDEN, error, remedy).into_response()
    } else {
        next.run(request).await
    };
    harden(response.headers_mut(), None);
    response
}

/// Fields that every answer has. `picture` is the one address besides our own that pages of ours
/// may load a picture from.
fn harden(headers: &mut HeaderMap, picture: Option<&str>) {
    for (name, value) in FIELDS {
        // A page without scripts has stricter words of its own for these two.
        if !(name == REFERRER_POLICY && headers.contains_key(&name)) {
            headers.insert(name, value);
        }
    }
    if !headers.contains_key(CONTENT_SECURITY_POLICY) {
        let [begin, end] = POLICY;
        let picture = picture.map(|url| format!(" {url}")).unwrap_or_default();
        // An address of ours is written in letters that a field may have.
        if let Ok(policy) = HeaderValue::try_from(format!("{begin}{picture}{end}")) {
            headers.insert(CONTENT_SECURITY_POLICY, policy);
        }
    }
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
}
