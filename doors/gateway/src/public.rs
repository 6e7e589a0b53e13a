//! The address of a server behind, taken out of what its answers say of themselves.
//!
//! A server that builds URLs of the address where it listens would send clients there. What leads
//! to a server of the route's pool is made a path, which clients read against the URL that they
//! asked for: scheme, host and port are then the public ones, whatever stands in front. Called by
//! `finish`.

use balancer::ServerPool;
use http::header::{
    CONTENT_LOCATION, HeaderMap, HeaderName, HeaderValue, LOCATION, REFRESH, SET_COOKIE,
};
use origins::{Origin, OriginScheme, UrlHost};
use route_matching::PathRewrite;
use vocab::DomainName;

/// Holds what a route does about its servers' addresses.
#[derive(Clone, Debug, Default)]
pub(crate) struct PublicAddress {
    /// In `Location`, `Content-Location` and `Refresh`; none where they are left alone.
    pub(crate) links: Option<PublicAuthorities>,
    /// In the `Domain` and `Path` of cookies.
    pub(crate) cookies: CookieRewrite,
}

/// Authorities besides those of the pool's servers: a `Host` that a rule sets.
#[derive(Clone, Debug, Default)]
pub(crate) struct PublicAuthorities(pub(crate) Vec<String>);

/// Tells whether cookies for a server's own name and path are made cookies of the public ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum CookieRewrite {
    #[default]
    Unchanged,
    Public,
}

/// Takes the addresses of the servers of `pool` out of `headers`; `rewrite` is what was done to the
/// path that they were asked for.
pub(crate) fn make(
    address: &PublicAddress,
    rewrite: &PathRewrite,
    pool: Option<&ServerPool>,
    headers: &mut HeaderMap,
) {
    if let Some(links) = &address.links {
        let is_ours = |origin: &Origin| {
            pool.is_some_and(|pool| pool.has_server_at(origin))
                || links.0.iter().any(|it| it.eq_ignore_ascii_case(&origin.authority()))
        };
        let public = |url: &str| {
            let path = path_of(url, &is_ours)?;
            Some(rewrite.public(path))
        };
        for name in [LOCATION, CONTENT_LOCATION] {
            replace(headers, &name, public);
        }
        replace(headers, &REFRESH, |value| refresh(value, &public));
    }
    if address.cookies == CookieRewrite::Public && headers.contains_key(SET_COOKIE) {
        let is_ours = |name: &DomainName| {
            pool.is_some_and(|pool| pool.has_host(&UrlHost::Name(name.clone())))
        };
        let ours = pool.and_then(|pool| pool.settings().sticky.as_ref());
        let is_sticky = |cookie: &str| {
            ours.is_some_and(|it| cookie.split('=').next() == Some(it.cookie.as_str()))
        };
        let cookies: Vec<HeaderValue> = headers.get_all(SET_COOKIE).iter().cloned().collect();
        headers.remove(SET_COOKIE);
        for cookie in cookies {
            let text = cookie.to_str().ok().filter(|text| !is_sticky(text));
            let made =
                text.and_then(|text| made_public(text, &is_ours, |path| rewrite.scope(path)));
            let made = made.and_then(|made| HeaderValue::try_from(made).ok());
            headers.append(SET_COOKIE, made.unwrap_or(cookie));
        }
    }
}

fn replace(headers: &mut HeaderMap, name: &HeaderName, change: impl Fn(&str) -> Option<String>) {
    let Some(value) = headers.get_mut(name) else { return };
    let made =
        value.to_str().ok().and_then(change).and_then(|made| HeaderValue::try_from(made).ok());
    if let Some(made) = made {
        *value = made;
    }
}

/// The path of a URL at an address of ours; none for any other.
fn path_of(url: &str, is_ours: &impl Fn(&Origin) -> bool) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let scheme = match () {
        () if scheme.eq_ignore_ascii_case("http") => OriginScheme::Http,
        () if scheme.eq_ignore_ascii_case("https") => OriginScheme::Https,
        () => return None,
    };
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    if !is_ours(&Origin::from_authority(scheme, authority).ok()?) {
        return None;
    }
    Some(match path.as_bytes() {
        // Two slashes would begin a host (RFC 3986 §4.2), and browsers read the other slash as one.
        [b'/', b'/' | b'\\', ..] => format!("/.{path}"),
        [b'/', ..] => path.to_owned(),
        _ => format!("/{path}"),
    })
}

/// `5; url=http://10.0.0.11/x` with what is public of the URL; the field has no standard but
/// browsers.
fn refresh(value: &str, public: &impl Fn(&str) -> Option<String>) -> Option<String> {
    let at = value.to_ascii_lowercase().find("url=")? + "url=".len();
    let (before, url) = value.split_at(at);
    let quote = url.chars().next().filter(|it| matches!(it, '"' | '\''));
    let url = quote.map_or(url, |quote| url.trim_matches(quote));
    Some(format!("{before}{}", public(url)?))
}

/// A cookie without its `Domain`, where that is a name of ours: it is then one of the host that the
/// client asked (RFC 6265 §5.3). Its `Path` becomes what `scope` makes of it. None if it stays as
/// it is.
fn made_public(
    cookie: &str,
    is_ours: &impl Fn(&DomainName) -> bool,
    scope: impl Fn(&str) -> Option<String>,
) -> Option<String> {
    let (pair, attributes) = cookie.split_once(';')?;
    let mut made = pair.to_owned();
    let mut is_changed = false;
    for attribute in attributes.split(';') {
        let (name, value) = attribute.split_once('=').unwrap_or((attribute, ""));
        let (name, value) = (name.trim(), value.trim());
        let host = value.trim_start_matches('.');
        if name.eq_ignore_ascii_case("domain")
            && DomainName::parse(host).is_ok_and(|host| is_ours(&host))
        {
            is_changed = true;
            continue;
        }
        made.push(';');
        match Some(value).filter(|_| name.eq_ignore_ascii_case("path")).and_then(&scope) {
            Some(path) => {
                is_changed = true;
                made.extend([" Path=", &path]);
            }
            None => made.push_str(attribute),
        }
    }
    is_changed.then_some(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_ours(origin: &Origin) -> bool {
        origin.to_string() == "http://10.0.0.11:8080" || origin.to_string() == "http://app.internal"
    }

    #[test]
    fn what_leads_to_a_server_becomes_a_path() {
        for (url, expected) in [
            ("http://10.0.0.11:8080/login?a=b#c", Some("/login?a=b#c")),
            ("HTTP://APP.internal:80", Some("/")),
            ("http://app.internal?x", Some("/?x")),
            ("http://app.internal//evil.example/", Some("/.//evil.example/")),
            ("http://app.internal/\\evil.example/", Some("/./\\evil.example/")),
            ("http://10.0.0.11/", None),
            ("https://10.0.0.11:8080/", None),
            ("http://app.internal@evil.example/", None),
            ("/login", None),
            ("//10.0.0.11:8080/", None),
            ("ftp://app.internal/", None),
        ] {
            assert_eq!(path_of(url, &is_ours).as_deref(), expected, "{url}");
        }
        let public = |url: &str| path_of(url, &is_ours);
        let refreshed = |value: &str| refresh(value, &public);
        assert_eq!(refreshed("5; URL=http://app.internal/a").as_deref(), Some("5; URL=/a"));
        assert_eq!(refreshed("5; url='http://app.internal/a'").as_deref(), Some("5; url=/a"));
        assert_eq!(refreshed("5"), None);
        assert_eq!(refreshed("5; url=http://other.example/"), None);
    }

    #[test]
    fn a_servers_own_cookie_becomes_the_hosts() {
        let ours = |name: &DomainName| name.as_str() == "app.internal";
        let check = |cookie: &str| made_public(cookie, &ours, |_| None);
        assert_eq!(
            check("a=b; Path=/; Domain=.app.internal; Secure").as_deref(),
            Some("a=b; Path=/; Secure")
        );
        assert_eq!(check("a=b; domain=example"), None);
        assert_eq!(check("domain=app.internal"), None);
    }

    #[test]
    fn a_cookies_path_gets_its_prefix_back() {
        let scope = |path: &str| (path == "/").then(|| "/app".to_owned());
        let check = |cookie: &str| made_public(cookie, &|_| false, scope);
        assert_eq!(check("a=b; path=/; Secure").as_deref(), Some("a=b; Path=/app; Secure"));
        assert_eq!(check("a=b; Path = / ;HttpOnly").as_deref(), Some("a=b; Path=/app;HttpOnly"));
        assert_eq!(check("a=b; Path=/app"), None);
        assert_eq!(check("path=/"), None);
        assert_eq!(check("a=b"), None);
    }
}
