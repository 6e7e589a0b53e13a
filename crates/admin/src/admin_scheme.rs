//! Protocol of a request, with the cookies and the origin that go with it.

/// The session's cookie.
pub(crate) const COOKIE_NAME: &str = "tidegate_session";
/// The same over HTTPS: browsers take it from a page of HTTPS alone (RFC 6265bis §4.1.3.2), so that
/// nobody on the network can plant one.
const SECURE_COOKIE_NAME: &str = "__Host-tidegate_session";

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
