//! A request as the guard has seen it: from where, when, by which protocol, and had sent by whom.

use crate::admin_scheme::AdminScheme;
use crate::refused::ApiRefusal;
use crate::sender::RequestOrigin;
use axum::extract::FromRequestParts;
use http::StatusCode;
use http::request::Parts;
use std::net::{IpAddr, SocketAddr};
use vocab::Now;

/// Client, moment, protocol and sender of a request: put beside it by the guard.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ApiRequest {
    pub(crate) client: IpAddr,
    pub(crate) now: Now,
    pub(crate) scheme: AdminScheme,
    /// A person, our own page or a page of another site, as far as its fields tell.
    pub(crate) sender: RequestOrigin,
    /// Listener that it came to, where there are several.
    pub(crate) listener: Option<SocketAddr>,
}

impl<S: Send + Sync> FromRequestParts<S> for ApiRequest {
    type Rejection = ApiRefusal;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiRefusal> {
        // The guard put it there; without it the request has passed no guard.
        parts.extensions.get().copied().ok_or_else(|| {
            ApiRefusal::new(StatusCode::UNAUTHORIZED, "the request passed no guard", "report this")
        })
    }
}
