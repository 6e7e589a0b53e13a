//! A request as the guard has seen it: from where, when, and by which protocol.

use crate::refused::ApiRefusal;
use axum::extract::FromRequestParts;
use http::StatusCode;
use http::request::Parts;
use std::net::IpAddr;
use vocab::Now;

/// The session's cookie.
pub(crate) const COOKIE_NAME: &str = "tidegate_session";
/// The same over HTTPS: browsers take it from a page of HTTPS alone (RFC 6265bis §4.1.3.2), so that
/// nobody on the network can plant one.
const SECURE_COOKIE_NAME: &str = "__Host-tidegate_session";

/// Client, moment and protocol of a request: put beside it by the guard.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ApiRequest {
    pub(crate) client: IpAddr,
    pub(crate) now: Now,
    pub(crate) scheme: AdminScheme,
}

/// Protocol that a request came by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AdminScheme {
    /// `http`, in clear.
    Http,
    /// `https`.
    Https,
}

impl AdminScheme {
    /// Beginning of an origin of it.
    pub(crate) const fn prefix(self) -> &'static str {
        match self {
            Self::Http => "http://",
            Self::Https => "https://",
        }
    }

    /// Name of the session's cookie.
    pub(crate) const fn cookie_name(self) -> &'static str {
        match self {
            Self::Http => COOKIE_NAME,
            Self::Https => SECURE_COOKIE_NAME,
        }
    }

    /// Name of the cookie of a browser that is at the provider of single sign-on.
    pub(crate) const fn sign_on_cookie_name(self) -> &'static str {
        match self {
            Self::Http => "tidegate_sign_on",
            Self::Https => "__Host-tidegate_sign_on",
        }
    }

    /// End of the cookie's field.
    pub(crate) const fn cookie_mark(self) -> &'static str {
        match self {
            Self::Http => "",
            Self::Https => "; Secure",
        }
    }
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
